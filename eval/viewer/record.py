"""Trajectories to read: which ones, how each ended, and its record for the viewer."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from eval.viewer.gold import in_words
from eval.viewer.subgraph import WalkGraph, label, states_triples, walk_graph
from graphwalker.api.terminal import printable
from graphwalker.trajectory import StopReason, Trajectory, Turn

LONGEST_OBSERVATION = 6000


@dataclass(frozen=True, slots=True)
class ShownWalk:
    """A trajectory to read, and how other stages answered its question (name -> trajectory)."""

    trajectory: Trajectory
    others: Mapping[str, Trajectory] = field(default_factory=dict)


def choose(trajectories: Sequence[Trajectory], count: int = 10) -> list[Trajectory]:
    """A varied few: recovered, wrong and right in turn, each time the structure seen least so far.

    The choice depends on ids and scores alone, never on luck or file order.
    """
    pool = [t for t in trajectories if not t.stop.infrastructure_failure]
    chosen: list[Trajectory] = []
    outcomes: Counter[str] = Counter()
    structures: Counter[str] = Counter()
    while pool and len(chosen) < count:
        best = min(
            pool,
            key=lambda t: (
                outcomes[outcome(t)],
                structures[t.question.structure],
                _shuffle_key(t.id),
            ),
        )
        pool.remove(best)
        chosen.append(best)
        outcomes[outcome(best)] += 1
        structures[best.question.structure] += 1
    return chosen


def outcome(trajectory: Trajectory) -> str:
    """`recovered` (right after an error), `right` or `wrong`."""
    if trajectory.scores.get("em") != 1:
        return "wrong"
    return "recovered" if trajectory.scores.get("recovered") else "right"


def action_text(action: Mapping[str, Any]) -> str:
    """An action as a person writes it: `get_relations("Ann Lee")`, `answer ["Oslo"]`."""
    if "tool" in action:
        arguments = dict(action.get("arguments") or {})
        inside = ", ".join(json.dumps(v, ensure_ascii=False) for v in arguments.values())
        calls = [f"{action['tool']}({inside})", *map(action_text, action.get("further") or ())]
        return "; ".join(calls)
    if "answer" in action:
        return f"answer {json.dumps(action['answer'], ensure_ascii=False)}"
    return f"no valid action: {action.get('malformed', 'unreadable')}"


ENDS = {
    StopReason.ANSWERED: "answered",
    StopReason.FORCED: "had to answer after the last turn",
    StopReason.MAX_TURNS: "the turn budget ran out",
    StopReason.LENGTH: "a completion ran into its token limit",
    StopReason.MALFORMED: "no readable action",
    StopReason.GRAPH_ERROR: "the graph failed",
    StopReason.POLICY_ERROR: "the policy failed",
}


def _shuffle_key(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def clean(text: object) -> str:
    """Text with unprintable characters as U+FFFD; markup stays as it is.

    >>> clean("a\\x00b") == "a\\N{REPLACEMENT CHARACTER}b"
    True
    """
    if isinstance(text, Markup):
        return text
    return printable(str(text))


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
        "action": clean(action_text(turn.action)),
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
