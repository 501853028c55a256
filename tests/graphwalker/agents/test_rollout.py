"""Episodes: prompts, turns, budgets, stop reasons, retries, an order that nothing can change."""

import pytest

from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.episode import Episode
from graphwalker.agents.prompt import Prompt
from graphwalker.agents.rollout import Inbox, Task, TaskList, rollout
from graphwalker.errors import GraphError, PolicyError, UserError
from graphwalker.graphs.base import Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.policies.base import Completion, Sampling
from graphwalker.policies.scripted import ScriptedPolicy
from graphwalker.question import Question
from graphwalker.scoring import score
from graphwalker.trajectory import Message, StopReason
from support.paths import ROOT

GRAPH = MemoryGraph(
    [("m.a", "r.r.to", "m.b"), ("m.b", "r.r.to", "m.c")], {"m.a": "A", "m.b": "B", "m.c": "C"}
)
LOOK = '<think> Look. </think>\n<kg-query> get_relations("A") </kg-query>'
STEP = '<kg-query> get_triples("A", ["r.r.to"]) </kg-query>'
DONE = '<answer> ["B"] </answer>'
WALK = [LOOK, STEP, DONE]


FORCE = 'No queries are left. Answer now: <answer> ["NAME OF AN ANSWER"] </answer>'


def environment(graph=GRAPH, **config):
    return Environment(graph, EnvironmentConfig(prompt="compact", **config))


def questions(*ids):
    return [Question(i, f"Where from {i}?", (Entity("m.a", "A"),)) for i in ids]


def play(*lines, policy=None, retries=1, graph=GRAPH, **config):
    """The trajectory of one question whose completions are `lines`."""
    policy = policy or ScriptedPolicy({"q": lines})
    env = environment(graph, **config)
    (done,) = rollout(questions("q"), env, policy, Sampling(), retries=retries)
    return done


def test_an_episode_records_every_turn_and_the_answer_with_its_id():
    done = play(*WALK)
    assert (done.stop, done.answer, done.answer_ids) == (StopReason.ANSWERED, ("B",), ("m.b",))
    assert [turn.observation for turn in done.turns] == ["r.r.to", "[A, r.r.to, B]", ""]
    assert [turn.action for turn in done.turns] == [
        {"tool": "get_relations", "arguments": {"entity": "A"}},
        {"tool": "get_triples", "arguments": {"entity": "A", "relations": ["r.r.to"]}},
        {"answer": ["B"]},
    ]
    assert done.turns[1].shown == (Entity("m.a", "A"), Entity("m.b", "B"))
    assert done.usage["turns"] == 3 and done.usage["graph_calls"] > 0
    assert done.provenance["environment"] == "graphwalker"


def test_the_answer_is_forced_once_after_the_last_turn():
    done = play(LOOK, STEP, DONE, max_turns=2)
    assert (done.stop, done.answer) == (StopReason.FORCED, ("B",))
    assert done.turns[2].context == (
        Message("user", f"<information> [A, r.r.to, B] </information>\n{FORCE}"),
    )
    assert len(play(*[LOOK] * 10, DONE).turns) == 11  # the paper's ten, and the forced one


def test_a_query_in_place_of_the_forced_answer_ends_without_answer():
    done = play(LOOK, STEP, STEP, DONE, max_turns=2)
    assert (done.stop, done.answer, len(done.turns)) == (StopReason.MAX_TURNS, None, 3)
    assert done.turns[2].error == "query_after_budget" and done.turns[2].graph_calls == 0


def test_three_malformed_turns_in_a_row_end_the_episode_without_a_forced_answer():
    done = play("hm", LOOK, "hm", "hm", "hm", DONE)
    assert (done.stop, done.answer, len(done.turns)) == (StopReason.MALFORMED, None, 5)
    assert [turn.error for turn in done.turns[2:]] == ["malformed"] * 3
    assert done.turns[-1].observation == ""  # the agent never read a reply to it
    assert score(done)["em"] == 0.0


def test_a_call_that_is_repeated_forces_the_answer_where_that_is_asked_for():
    done = play(STEP, LOOK, LOOK, LOOK, DONE, stop_repeats=2)
    assert (done.stop, len(done.turns)) == (StopReason.FORCED, 5)
    assert done.turns[4].context[0].content.endswith(FORCE)


def test_a_completion_cut_by_its_token_cap_is_told_to_be_shorter():
    done = play(Completion("<think> so long", "length", (1, 2), (-0.1, -0.2)), DONE)
    assert "cut off" in done.turns[0].observation
    assert (done.turns[0].token_ids, done.turns[0].logprobs) == ((1, 2), (-0.1, -0.2))
    assert done.stop is StopReason.ANSWERED


def test_a_full_context_ends_the_episode():
    done = play(LOOK, Completion("", "length", ()))
    assert (done.stop, done.answer, len(done.turns)) == (StopReason.LENGTH, None, 1)


def test_the_answer_is_forced_before_the_context_is_full():
    long = Completion(LOOK, "stop", (1,) * 10, None, prompt_tokens=95)
    done = play(long, DONE, max_context_tokens=100)
    assert (done.stop, done.answer) == (StopReason.FORCED, ("B",))


def test_one_bad_episode_never_stops_the_others():
    ids = [f"q{i}" for i in range(9)]
    policy = ScriptedPolicy({i: WALK for i in ids if i != "q4"})
    done = list(rollout(questions(*ids), environment(), policy, Sampling(), concurrency=3))
    assert [t.question.id for t in done] == ids
    assert [t.stop for t in done if t.stop.infrastructure_failure] == [StopReason.POLICY_ERROR]


class DyingPolicy(ScriptedPolicy):
    """An engine that crashes on its first collect, and forgets a request on its second."""

    deaths = 0

    def collect(self):
        self.deaths += 1
        if self.deaths > 2:
            return super().collect()
        self._pending.clear()
        if self.deaths == 1:
            raise PolicyError("engine crashed")
        return []


def test_a_crashed_engine_loses_what_was_in_flight_and_nothing_else():
    policy = DyingPolicy(dict.fromkeys("abc", WALK))
    env = environment()
    once = rollout(questions(*"abc"), env, policy, Sampling(), concurrency=1, retries=0)
    assert [t.stop.value for t in once] == ["policy_error", "policy_error", "answered"]


def test_a_request_that_is_not_taken_ends_its_episode():
    class Full(ScriptedPolicy):
        def submit(self, request):
            raise PolicyError("queue full")

    ids = [f"q{i}" for i in range(20)]
    done = rollout(questions(*ids), environment(), Full({}), Sampling(), concurrency=2)
    assert [(t.question.id, t.stop) for t in done] == [(i, StopReason.POLICY_ERROR) for i in ids]


def test_out_of_order_an_episode_that_ended_does_not_wait_for_a_slower_one():
    policy = ScriptedPolicy({"a": [LOOK, LOOK, *WALK], "b": WALK, "c": [DONE]})
    tasks = TaskList((Task(q, 0, Sampling()) for q in questions(*"abc")), ordered=False)
    done = rollout(tasks, environment(), policy)
    assert [t.question.id for t in done] == ["c", "b", "a"]


def test_the_number_of_episodes_in_flight_is_bounded():
    class Counting(ScriptedPolicy):
        most = 0

        def submit(self, request):
            super().submit(request)
            self.most = max(self.most, len(self._pending))

    ids = [f"q{i}" for i in range(30)]
    policy = Counting(dict.fromkeys(ids, WALK), latest_first=True)
    done = rollout(questions(*ids), environment(), policy, Sampling(), concurrency=4)
    assert len(list(done)) == 30 and policy.most == 4


def test_questions_are_read_as_they_are_needed():
    read = []

    def stream():
        for question in questions(*(f"q{i}" for i in range(1000))):
            read.append(question.id)
            yield question

    policy = ScriptedPolicy({f"q{i}": WALK for i in range(1000)})
    run = rollout(stream(), environment(), policy, Sampling(), concurrency=4)
    next(run)
    run.close()
    assert len(read) <= 20


def test_closing_a_run_releases_what_was_in_flight():
    policy = ScriptedPolicy({"a": WALK, "b": [LOOK, *WALK]})
    run = rollout(questions("a", "b"), environment(), policy, Sampling())
    next(run)
    run.close()
    assert policy.released == ["a#0", "b#0"]


def test_a_question_id_that_appears_twice_is_the_users_mistake():
    policy = ScriptedPolicy({"a": WALK})
    with pytest.raises(UserError, match="'a' appears twice"):
        list(rollout(questions("a", "a"), environment(), policy, Sampling()))


def test_turns_are_reported_as_they_go_by():
    seen, policy = [], ScriptedPolicy({"q": WALK})

    def report(task, number, turn):
        seen.append((task.key, number, turn.observation))

    assert next(rollout(questions("q"), environment(), policy, on_turn=report)).answer == ("B",)
    assert seen == [("q#0", 1, "r.r.to"), ("q#0", 2, "[A, r.r.to, B]"), ("q#0", 3, "")]


def test_tools_that_fail_as_they_are_made_are_a_failure_of_the_graph():
    class Down(Environment):
        def toolbox(self, question):
            raise GraphError("down")

    (done,) = rollout(questions("q"), Down(GRAPH), ScriptedPolicy({}), retries=0)
    assert (done.stop, done.provenance["error"]) == (StopReason.GRAPH_ERROR, "down")


def test_an_inbox_takes_questions_while_the_rollout_runs():
    inbox = Inbox()
    policy = ScriptedPolicy({"first": WALK, "second": [DONE]}, latest_first=True)

    def arrive(task, number, turn):
        if (task.question.id, number) == ("first", 1):
            inbox.put(questions("second")[0], Sampling())
            inbox.close()

    inbox.put(questions("first")[0], Sampling())
    done = list(rollout(inbox, environment(), policy, on_turn=arrive))
    assert [trajectory.id for trajectory in done] == ["second#2", "first#1"]


def test_a_cancelled_question_ends_before_its_next_completion():
    inbox, policy = Inbox(), ScriptedPolicy({"q": WALK})
    inbox.put(questions("q")[0], Sampling())
    inbox.close()
    run = rollout(inbox, environment(), policy, on_turn=lambda task, *_: inbox.cancel(task))
    assert list(run) == [] and policy.released == ["q#1"]


def test_a_closed_inbox_takes_no_more_but_ends_what_it_has():
    inbox = Inbox()
    inbox.put(questions("q")[0], Sampling())
    inbox.close()
    with pytest.raises(RuntimeError, match="closed"):
        inbox.put(questions("p")[0], Sampling())
    (done,) = rollout(inbox, environment(), ScriptedPolicy({"q": WALK}))
    assert done.answer == ("B",)


def test_policies_are_asked_in_one_place_alone():
    files = (ROOT / "graphwalker").rglob("*.py")
    asking = [path.name for path in files if "policy.submit(" in path.read_text(encoding="utf-8")]
    assert asking == ["rollout.py"]


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
    config = EnvironmentConfig(preset="io-prompt", prompt="io")
    (system, user) = Episode(questions("q")[0], 0, Environment(GRAPH, config)).ask.messages
    assert "no tools" in system.content and user.content == "Question: Where from q?"


@pytest.mark.parametrize("line", [LOOK, "It is B.", Completion("<answer> [", "length")])
def test_without_an_answer_the_io_prompt_ends_malformed(line):
    done = play(line, DONE, preset="io-prompt")
    assert (done.stop, done.answer, len(done.turns)) == (StopReason.MALFORMED, None, 1)


@pytest.mark.parametrize("name", ["missing", ".", "../prompts"])
def test_an_unknown_prompt_names_the_shipped_ones(name):
    with pytest.raises(UserError, match="compact, graphwalker, io"):
        Prompt.load(name)
