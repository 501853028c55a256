"""Where a walk goes astray, and how a model is led there."""

from dataclasses import replace

import pytest

from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.rollout import rollout
from graphwalker.graphs.base import Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.policies.scripted import ScriptedPolicy
from graphwalker.query.query import Branch, Hop, Query
from graphwalker.question import Answer, Question
from graphwalker.trajectory import Trajectory
from support.paths import ROOT

GRAPH = MemoryGraph(
    [("m.a", "r.r.child", "m.b"), ("m.b", "r.r.parent", "m.a"), ("m.a", "r.r.friend", "m.c")],
    {"m.a": "A", "m.b": "B", "m.c": "C"},
)
TOPIC = Entity("m.a", "A")
ASKED = Question(
    "q",
    "Who is the child of A?",
    (TOPIC,),
    (Answer("B", "m.b"),),
    query=Query((Branch(TOPIC, (Hop("r.r.child"),)),)),
)
WORLD = Environment(GRAPH, EnvironmentConfig(preset="graphwalker"))
LOOK = '<think> . </think> <kg-query> get_relations("A") </kg-query>'
RIGHT = '<think> . </think> <kg-query> get_triples("A", ["r.r.child"]) </kg-query>'
TWIN = '<think> . </think> <kg-query> get_triples("A", ["r.r.parent"]) </kg-query>'
WRONG = '<think> . </think> <kg-query> get_triples("A", ["r.r.friend"]) </kg-query>'
REFUSED = '<think> . </think> <kg-query> get_relations("Nobody") </kg-query>'


@pytest.fixture(autouse=True)
def _benchmarks_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))


def walk(*lines: str, answer: str) -> Trajectory:
    policy = ScriptedPolicy({"q": [*lines, f'<think> . </think> <answer> ["{answer}"] </answer>']})
    return next(iter(rollout([ASKED], WORLD, policy)))


@pytest.mark.parametrize(
    ("lines", "answer", "turns"),
    [
        ((LOOK, WRONG), "C", 2),
        ((LOOK, REFUSED, RIGHT), "C", 2),
        ((LOOK, TWIN, WRONG), "C", 3),  # the graph says the same by two relations
        ((LOOK, RIGHT), "C", 0),  # nothing went astray but the answer
        ((LOOK, WRONG, RIGHT), "B", 0),  # it came back
    ],
)
def test_a_start_ends_at_the_first_turn_off_the_gold_walk(
    lines: tuple[str, ...], answer: str, turns: int
) -> None:
    from benchmarks.corpora_recovery import own_start
    from training.reinforce.rewards.gold import GoldWalks

    steps = GoldWalks(GRAPH).steps(ASKED)
    assert own_start(walk(*lines, answer=answer), steps) == list(lines[:turns])


def test_an_injected_start_ends_at_the_slip() -> None:
    from benchmarks.corpora_recovery import injected_start

    plain = walk(LOOK, WRONG, RIGHT, answer="B")
    assert injected_start(plain) == []
    errors = [{"turn": 0, "slip": False}, {"turn": 1, "slip": True}]
    assert injected_start(replace(plain, provenance={"errors": errors})) == [LOOK, WRONG]


def test_a_model_plays_on_from_the_start_it_is_given() -> None:
    from benchmarks.corpora_recovery import Astray

    script = [LOOK, WRONG, RIGHT, '<think> . </think> <answer> ["B"] </answer>']
    policy = Astray(ScriptedPolicy({"q": script[2:]}), {"q": script[:2]})
    (played,) = rollout([ASKED], WORLD, policy)
    assert [turn.completion for turn in played.turns] == [LOOK, WRONG, *script[2:]]
    assert played.answer == ("B",)
