"""One trajectory as the viewer's record: what the page needs to show it and to draw its walk."""

from collections.abc import Iterable
from typing import Any

from eval.markup import clean
from eval.viewer.gold import in_words
from eval.viewer.pages import ENDS, LONGEST_OBSERVATION, outcome, written
from eval.viewer.subgraph import WalkGraph, label, states_triples, walk_graph
from graphwalker.trajectory import Trajectory, Turn

NO_TRIPLES = (
    "This run's file holds no triples (its tools state none): the "
    "turns say what was shown, no path is drawn."
)
SCORES = ("em", "f1", "precision", "recall")


def walk_record(trajectory: Trajectory) -> dict[str, Any]:
    """JSON for the viewer: `turns`, `answer`, `stop`, `scores`, and the drawing's nodes and links.

    A node is `[label, marks, column]`, a link `[head, relation, tail, turn, gold]` with nodes by
    their place; see `WalkGraph` for marks and turns. Text is free of characters that HTML cannot
    hold or that would turn its direction around.
    """
    graph = walk_graph(trajectory)
    places = {name: place for place, name in enumerate(graph.nodes)}
    query = trajectory.question.query
    return {
        "outcome": result(trajectory),
        "turns": [
            _turn(turn, places.get(name, -1))
            for turn, name in zip(trajectory.turns, graph.focus, strict=True)
        ],
        "answer": None if trajectory.answer is None else _texts(trajectory.answer),
        "stop": ENDS[trajectory.stop],
        "scores": {k: trajectory.scores[k] for k in SCORES if k in trajectory.scores},
        "path": _texts(in_words(query)) if query else [],
        "note": "" if states_triples(trajectory) else NO_TRIPLES,
        "nodes": [[clean(label(n)), m, graph.columns[n]] for n, m in graph.nodes.items()],
        "links": _links(graph, places),
    }


def result(trajectory: Trajectory) -> str:
    """`right`, `recovered` or `wrong`; `failed` after an infrastructure failure."""
    return "failed" if trajectory.stop.infrastructure_failure else outcome(trajectory)


def _turn(turn: Turn, focus: int) -> dict[str, Any]:
    record: dict[str, Any] = {
        "thought": clean(turn.thought),
        "action": clean(written(turn.action)),
        "observation": clean(cut(turn.observation)),
        "focus": focus,
    }
    if turn.error:
        record["error"] = clean(turn.error)
    if "malformed" in turn.action:
        record["completion"] = clean(cut(turn.completion))
    return record


def cut(text: str) -> str:
    """The text, or its beginning and how much is left out."""
    if len(text) <= LONGEST_OBSERVATION:
        return text
    more = len(text) - LONGEST_OBSERVATION
    return f"{text[:LONGEST_OBSERVATION]}\n… {more:,} more characters"


def _links(graph: WalkGraph, places: dict[str, int]) -> list[list[Any]]:
    return [
        [places[x.head], clean(x.relation), places[x.tail], x.turn, int(x.gold)]
        for x in graph.links
    ]


def _texts(texts: Iterable[str]) -> list[str]:
    return [clean(text) for text in texts]
