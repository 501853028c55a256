"""Prompts: the shipped ones, one's own, and the agent that is asked once."""

import pytest
from test_rollout import DONE, GRAPH, LOOK, environment, play, questions

from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.episode import Episode
from graphwalker.agents.prompt import Prompt
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.policies.base import Completion
from graphwalker.question import Question
from graphwalker.trajectory import StopReason


def io_environment():
    return Environment(GRAPH, EnvironmentConfig(preset="io-prompt", prompt="io"))


def test_the_full_prompt_names_the_tools_and_the_budget():
    env = Environment(GRAPH, EnvironmentConfig(max_turns=7))
    system, user = Episode(questions("q")[0], 0, env).ask.messages
    assert system.role == "system" and "at most 7 messages" in system.content
    assert "get_triples(" in system.content and "{" not in system.content
    assert user.content == "Question: Where from q?\nEntities: A"


def test_a_question_that_holds_a_placeholder_stays_as_it_is():
    question = Question("q", "What is {tools}?", (Entity("m.a", "A, B"),))
    (user,) = Episode(question, 0, environment()).ask.messages
    assert user.content == 'Question: What is {tools}?\nEntities: "A, B"'


def test_your_own_prompt_is_a_path(tmp_path):
    path = tmp_path / "mine.md"
    path.write_text("Be brief.\n---\n{question}")
    assert Prompt.load(str(path)) == Prompt("Be brief.", "{question}")


def test_the_io_prompt_asks_once_and_shows_no_graph():
    done = play('<think> I know. </think>\n<answer> ["b"] </answer>', preset="io-prompt")
    assert (done.stop, done.answer, done.usage["graph_calls"]) == (StopReason.ANSWERED, ("b",), 0)
    (system, user) = Episode(questions("q")[0], 0, io_environment()).ask.messages
    assert "no tools" in system.content and user.content == "Question: Where from q?"


@pytest.mark.parametrize("line", [LOOK, "It is B.", Completion("<answer> [", "length")])
def test_without_an_answer_the_io_prompt_ends_malformed(line):
    done = play(line, DONE, preset="io-prompt")
    assert (done.stop, done.answer, len(done.turns)) == (StopReason.MALFORMED, None, 1)


@pytest.mark.parametrize("name", ["missing", ".", "../prompts"])
def test_an_unknown_prompt_names_the_shipped_ones(name):
    with pytest.raises(UserError, match="compact, graphwalker, io"):
        Prompt.load(name)
