"""Walks for the viewer: the toy runs with their gold paths, and one walk written out by hand."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from eval.run.evaluate import evaluate
from eval.run.records import PREDICTIONS, read_run
from graphwalker.files import write_jsonl
from graphwalker.graphs.base import Entity
from graphwalker.policies.scripted import ScriptedPolicy
from graphwalker.query.query import Branch, Hop, Query, parse_hop
from graphwalker.question import Answer, Question
from graphwalker.tools.base import Listed, ShownTriple
from graphwalker.trajectory import StopReason, Trajectory, Turn
from support.eval_toy import ROWS, toy_environment, toy_questions, trained_script, untrained_script

HOSTILE = (
    '</script></style></title><img src=x onerror="window.broken=1"> "O\'Hara" [a, b, c] | `x` $1 '
    "🎬 <!-- \x00\u202e"
)


def query(topic: str, *hops: str, **more: Any) -> Query:
    return Query((Branch(Entity("m.t", topic), tuple(map(parse_hop, hops))),), **more)


def toy_runs(folder: Path) -> list[Path]:
    """Two runs on disk: one that babbles, one that is right, wrong, recovers and stays silent."""
    questions = [
        replace(question, query=query(question.topic_entities[0].name, *row[3]))
        for question, row in zip(toy_questions(), ROWS, strict=True)
    ]
    runs: list[Path] = []
    for name, script in (("untrained", untrained_script()), ("trained", trained_script())):
        policy = ScriptedPolicy(script)
        runs.append(evaluate(questions, toy_environment(), policy, folder / name, samples=2))
    return runs


def hostile_run(run: Path, folder: Path) -> Path:
    """The run again, with hostile text for every name and word."""
    trajectories = [spoil(t) for t in read_run(run).trajectories]
    write_jsonl(folder / PREDICTIONS, [t.to_json() for t in trajectories])
    return folder


def spoil(trajectory: Trajectory) -> Trajectory:
    asked = replace(
        trajectory.question, text=HOSTILE, structure=HOSTILE, split=HOSTILE,
        topic_entities=(Entity("m.1", HOSTILE),), answers=(Answer(HOSTILE + "!", "m.2"),),
        query=query(HOSTILE, HOSTILE),
    )  # fmt: skip
    action = {"tool": "get_triples", "arguments": {"entity": HOSTILE, "relations": [HOSTILE]}}
    turns = tuple(
        replace(turn, thought=HOSTILE, observation=HOSTILE, action=action, error="",
                shown=(one := Entity("m.1", HOSTILE), other := Entity("m.3", f"{HOSTILE} {i}")),
                triples=(ShownTriple(one, HOSTILE, other),))
        for i, turn in enumerate(trajectory.turns)
    )  # fmt: skip
    return replace(trajectory, question=asked, turns=turns, answer=(HOSTILE,))


def look(entity: str) -> Turn:
    """A turn that lists the relations of an entity."""
    listed = (Listed(f"m.{entity}", (Hop("r"), Hop("s"))),)
    action = {"tool": "get_relations", "arguments": {"entity": entity}}
    return Turn((), "", "Look.", action, "r, s", listed=listed)


def step(entity: str, relation: str, text: str, shown: Sequence[str] = ()) -> Turn:
    """A turn that follows a relation and displays `text`: triples `[Ann, r, Bo], [...]`, or prose
    about the entities `shown`."""
    action = {"tool": "get_triples", "arguments": {"entity": entity, "relations": [relation]}}
    entities = tuple(Entity(f"m.{n}", n) for n in shown)
    turn = Turn((), "", "Go.", action, text, entities)
    if not text.startswith("["):
        return turn
    rows = [row.split(", ") for row in text.strip("[]").split("], [")]
    made = (ShownTriple(Entity(f"m.{h}", h), r, Entity(f"m.{t}", t)) for h, r, t in rows)
    return replace(turn, triples=tuple(made))


def walked(
    turns: Sequence[Turn], gold: Query | None, topics: Sequence[str], answers: Sequence[str],
    given: Sequence[str] = (), path: Sequence[str] = (),
) -> Trajectory:  # fmt: skip
    question = Question(
        "q", "Which?", tuple(Entity(f"m.{n}", n) for n in topics),
        tuple(Answer(n, f"m.{n}") for n in answers), query=gold, relation_path=tuple(path),
    )  # fmt: skip
    answer = tuple(given) if given else None
    return Trajectory(question, "a", "p", tuple(turns), answer, StopReason.ANSWERED)
