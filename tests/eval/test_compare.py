"""Analysis of a run and comparison of two: kinds of error, groups, Pass@k, wins and losses."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from eval.analysis.analysis import analyse, number_of_answers
from eval.analysis.error_kinds import KINDS, error_kind, taxonomy, walked_relations
from eval.run.evaluate import evaluate
from graphwalker.agents.environment import Environment
from graphwalker.agents.rollout import rollout
from graphwalker.cli.app import app
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.policies.base import Sampling
from graphwalker.policies.scripted import ScriptedPolicy
from graphwalker.protocols.base import FinalAnswer
from graphwalker.protocols.tags import TagProtocol
from graphwalker.query.query import Branch, Hop, Query
from graphwalker.question import Answer, Question
from graphwalker.tools.base import Call
from graphwalker.tools.walker import EXAMPLES
from graphwalker.trajectory import StopReason, Trajectory
from support.eval_toy import toy_environment, toy_questions, trained_script, untrained_script

NAMES = {"m.a": "A", "m.b": "B", "m.c": "C", "m.d": "D", "m.e": "E"}
GRAPH = MemoryGraph(
    [
        ("m.a", "x.x.to", "m.b"),
        ("m.b", "x.x.on", "m.c"),
        ("m.b", "x.x.on", "m.d"),
        ("m.a", "x.x.off", "m.e"),
    ],
    NAMES,
)
QUESTION = Question(
    "q",
    "Where to?",
    (Entity("m.a", "A"),),
    (Answer("C", "m.c"), Answer("D", "m.d")),
    hops=2,
    query=Query((Branch(Entity("m.a", "A"), (Hop("x.x.to"), Hop("x.x.on"))),)),
    relation_path=("x.x.to/~x.x.no",),
)
say = TagProtocol(EXAMPLES).render


def look(name: str) -> str:
    return say("", Call("get_relations", {"entity": name}))


def step(name: str, relation: str) -> str:
    return say("", Call("get_triples", {"entity": name, "relations": [relation]}))


def give(*names: str) -> str:
    return say("", FinalAnswer(names))


TO = (look("A"), step("A", "x.x.to"))
ON = (*TO, look("B"), step("B", "x.x.on"))
OFF = (look("A"), step("A", "x.x.off"))


def walk(*lines: str, question: Question = QUESTION, **settings: int) -> Trajectory:
    environment = Environment(GRAPH, toy_environment().config.model_copy(update=settings))
    policy = ScriptedPolicy({"q": lines})
    (done,) = rollout([question], environment, policy, Sampling(), retries=0)
    return done


@pytest.mark.parametrize(
    ("kind", "lines"),
    [
        ("", (*ON, give("C", "D"))),
        ("malformed", ("hm", "hm", "hm")),
        ("ungrounded", (*TO, give("Z"))),
        ("ungrounded", (give("C", "D", "Z"),)),
        ("partial answer set", (*ON, give("C"))),
        ("partial answer set", (*ON, give("C", "D", "B"))),
        ("wrong entity", (*ON, give("B"))),
        ("stopped early", (*TO, give("B"))),
        ("wrong relation", (*OFF, give("E"))),
        ("wrong relation", (*TO, *OFF, give("E"))),
    ],
)
def test_an_error_has_one_kind(kind: str, lines: tuple[str, ...]) -> None:
    assert error_kind(walk(*lines)) == kind


def test_a_spent_budget_is_the_kind_of_what_it_cut_short() -> None:
    assert error_kind(walk(*TO, give("B"), max_turns=2)) == "budget"
    assert error_kind(walk(*TO, look("B"), max_turns=2)) == "budget"
    assert error_kind(walk(*ON, give("C"), max_turns=4)) == "partial answer set"


@pytest.mark.parametrize(
    ("kind", "lines"), [("stopped early", TO), ("wrong relation", (*TO, *OFF))]
)
def test_without_a_gold_path_the_number_of_calls_decides(kind: str, lines: tuple[str, ...]) -> None:
    bare = replace(QUESTION, query=None)
    assert error_kind(walk(*lines, give("B"), question=bare)) == kind


def test_an_inverse_relation_is_on_the_gold_path() -> None:
    asked = Query((Branch(Entity("m.a", "A"), (Hop("x.x.ot"),)),))
    answers = (Answer("D", "m.d"),)
    other = replace(QUESTION, query=asked, relation_path=("~x.x.to",), answers=answers)
    assert error_kind(walk(*TO, give("B"), question=other)) == "wrong entity"


def test_relations_that_were_refused_or_begin_anothers_id_were_not_walked() -> None:
    both = say("", Call("get_triples", {"entity": "A", "relations": ["x.x.t", "x.x.to"]}))
    for lines in ((step("A", "x.x.none"), *TO), (look("A"), both)):
        assert walked_relations(walk(look("A"), *lines, give("B"))) == ("x.x.to",)


def test_kinds_sum_to_the_wrong_answers_and_infrastructure_failures_have_none() -> None:
    done = [walk(*ON, give("C", "D")), walk(*TO, give("B")), walk(*OFF, give("E")), walk(*TO)]
    assert done[-1].stop is StopReason.POLICY_ERROR
    table = taxonomy(done)
    assert list(table) == list(KINDS) and sum(row["count"] for row in table.values()) == 2
    assert table["stopped early"]["share"] == 0.5
    assert table["wrong relation"]["examples"] == ["q#0"]


def evaluated(out: Path, script: dict, samples: int = 0) -> Path:  # type: ignore[type-arg]
    return evaluate(
        toy_questions(), toy_environment(), ScriptedPolicy(script), out, samples=samples
    )


def test_the_commands_print_tables_and_json(tmp_path: Path) -> None:
    a = evaluated(tmp_path / "a", untrained_script())
    b = evaluated(tmp_path / "b", trained_script(), samples=2)
    call = CliRunner().invoke
    shown = call(app, ["analyse", str(b), "--json"])
    assert json.loads(shown.stdout)["wrong"] == 2
    compared = json.loads(call(app, ["compare", str(a), str(b), "--json"]).stdout)
    assert len(compared["wins"]) == 6 and compared["p"] == pytest.approx(2 / 2**6)
    assert call(app, ["analyse", str(b)]).exit_code == 0
    assert call(app, ["compare", str(a), str(b), "--list", "2"]).exit_code == 0
    with pytest.raises(UserError, match="no scored episode"):
        analyse(evaluated(tmp_path / "none", {}))
    bins = {0: "(none)", 1: "1", 3: "2-3", 4: "4-10", 11: "11+"}
    for count, label in bins.items():
        answers = tuple(Answer(str(i)) for i in range(count))
        assert number_of_answers(replace(QUESTION, answers=answers)) == label
