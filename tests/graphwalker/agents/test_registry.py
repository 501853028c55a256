"""Presets and rankers by name, and the user's own from a file outside the package."""

from pathlib import Path

import pytest

from eval.run.evaluate import evaluate
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.presets import find_preset
from graphwalker.agents.rollout import rollout
from graphwalker.config import load_config
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.policies.base import Sampling
from graphwalker.policies.scripted import ScriptedPolicy
from graphwalker.question import Answer, Question
from support.paths import ROOT
from support.toy import toy_graph

AGENT = ROOT / "tests/support/search_agent.py"
ADA = Question("q", "Who is Eve's mother?", (Entity("m.0eve", "Eve Mbeki-Lindqvist"),))
LINES = [
    '<kg-query> search("Eve Mbeki-Lindqvist", "outgoing") </kg-query>',
    '<answer> ["Ada Mbeki"] </answer>',
]


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory that holds the user's agent and a ranker, and nothing of ours."""
    (tmp_path / "search_agent.py").write_text(AGENT.read_text())
    (tmp_path / "my_ranker.py").write_text(
        "class Backwards:\n"
        "    def rank(self, question, entity, relations):\n"
        "        return sorted(relations, reverse=True)\n"
        "def alphabet(question, entity, relations):\n"
        "    return sorted(relations)\n"
        "nothing = 7\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def environment(*overrides: str) -> Environment:
    return Environment(toy_graph(), load_config(EnvironmentConfig, None, list(overrides)))


def test_an_unknown_preset_is_refused_with_what_there_is():
    with pytest.raises(UserError, match="did you mean io-prompt"):
        find_preset("io-promt")
    with pytest.raises(UserError, match=r"preset 'react' is unknown.*known: "):
        load_config(EnvironmentConfig, None, ["preset=react"])


def test_an_agent_of_ones_own_is_one_short_file(own: Path):
    assert len(AGENT.read_text().splitlines()) < 60
    env = environment("preset=search_agent:SPEC")
    (done,) = rollout([ADA], env, ScriptedPolicy({"q": LINES}), Sampling())
    assert (done.agent, done.answer_ids) == ("one-search", ("m.0ada",))
    assert "people.person.parents: Ada Mbeki" in done.turns[0].observation
    assert done.turns[0].context[0].content.startswith('Search the graph: search("entity"')
    assert done.provenance["environment"] == "one-search"


def test_complaints_name_the_tools_of_the_preset(own: Path):
    env = environment("preset=search_agent:SPEC")
    lines = ["Hm.", "<kg-query> look </kg-query>", "<kg-query> search(Ada) </kg-query>"]
    (done,) = rollout([ADA], env, ScriptedPolicy({"q": lines}), Sampling())
    seen = " ".join(turn.action["malformed"] for turn in done.turns)
    assert seen.count('search("Name", "outgoing")') == 3 and "get_" not in seen


def test_options_of_a_preset_are_checked(own: Path):
    assert environment("preset=search_agent:SPEC", "options.rows=1").config.options == {"rows": 1}
    with pytest.raises(UserError, match=r"options.*row is not a setting.*did you mean rows"):
        environment("preset=search_agent:SPEC", "options.row=1")
    with pytest.raises(UserError, match=r"rows is not a setting: there is none here"):
        environment("options.rows=1")


def test_another_agent_cannot_resume_in_a_run_folder(own: Path):
    question = Question("q", ADA.text, ADA.topic_entities, (Answer("Ada Mbeki", "m.0ada"),))
    policy = ScriptedPolicy({"q": LINES})
    evaluate([question], Environment(toy_graph()), policy, own / "run")
    other = Environment(toy_graph(), preset=find_preset("search_agent:SPEC"))
    with pytest.raises(UserError, match=r"environment was 'graphwalker' and is now 'one-search'"):
        evaluate([question], other, policy, own / "run")


def test_a_ranker_is_a_name_or_ones_own(own: Path):
    def listed(*overrides: str) -> list[str]:
        tools = environment(*overrides, "top_relations=3").toolbox(ADA)
        from graphwalker.tools.base import Call

        name = "Ada Mbeki"
        return tools.call(Call("get_relations", {"entity": name})).text.split(" (")[0].split(", ")

    forwards, backwards = listed("ranker=my_ranker:alphabet"), listed("ranker=my_ranker:Backwards")
    assert forwards == sorted(forwards) and backwards == sorted(backwards, reverse=True)
    assert listed() == listed("ranker=bm25") != forwards
    with pytest.raises(UserError, match="neither a function"):
        environment("ranker=my_ranker:nothing")
    with pytest.raises(UserError, match=r"ranker 'bm52' is unknown .did you mean bm25"):
        environment("ranker=bm52")
