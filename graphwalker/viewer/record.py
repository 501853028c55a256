"""A trajectory to read: how it ended, and its record for the viewer."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from markupsafe import Markup

from graphwalker.console.terminal import printable
from graphwalker.trajectory import StopReason, Trajectory, Turn
from graphwalker.viewer.gold import in_words
from graphwalker.viewer.subgraph import label, states_triples, walk_graph

LONGEST_OBSERVATION = 6000


def outcome(trajectory: Trajectory) -> str:
    """`recovered` (right after an error), `right` or `wrong`."""
    if trajectory.scores.get("em") != 1:
        return "wrong"
    return "recovered" if trajectory.scores.get("recovered") else "right"


def action_text(action: Mapping[str, Any]) -> str:
    """Return an action as a person writes it: `call("Ann Lee")`, `answer ["Oslo"]`."""
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


def clean(text: object) -> str:
    """Return text with unprintable characters as U+FFFD; markup stays as it is.

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
COSTS = ("prompt_tokens", "completion_tokens", "seconds", "cost")


def walk_record(trajectory: Trajectory, usage: Mapping[str, float] | None = None) -> dict[str, Any]:
    """JSON for the viewer: `turns`, `answer`, `stop`, `scores`, and the drawing's nodes and links.

    A node is `[label, marks]`, a link `[head, relation, tail, turn, gold]` with nodes by their
    place; see `WalkGraph` for marks and turns. Text is free of characters that HTML cannot hold or
    that would turn its direction around. `usage`: costs that the trajectory does not hold itself.
    """
    graph = walk_graph(trajectory)
    places = {name: place for place, name in enumerate(graph.nodes)}
    query = trajectory.question.query
    names = {e.id: e.name for e in trajectory.question.topic_entities}
    names |= {e.id: e.name for turn in trajectory.turns for e in turn.shown}
    spent = {**trajectory.usage, **(usage or {})}
    return {
        "outcome": result(trajectory),
        "turns": [
            _turn(turn, places.get(name, -1), names)
            for turn, name in zip(trajectory.turns, graph.focus, strict=True)
        ],
        "answer": None if trajectory.answer is None else _texts(trajectory.answer),
        "stop": ENDS[trajectory.stop],
        "scores": {k: trajectory.scores[k] for k in SCORES if k in trajectory.scores},
        "usage": {k: spent[k] for k in COSTS if spent.get(k)},
        "path": _texts(in_words(query)) if query else [],
        "note": "" if states_triples(trajectory) else NO_TRIPLES,
        "nodes": [[clean(label(name)), marks] for name, marks in graph.nodes.items()],
        "links": [
            [places[x.head], clean(x.relation), places[x.tail], x.turn, int(x.gold)]
            for x in graph.links
        ],
    }


def messages_record(trajectory: Trajectory) -> list[dict[str, Any]]:
    """Return the raw messages of each turn: what was new to the model, what it wrote, and the token
    ids of that where they are known."""
    return [
        {
            "context": [[clean(m.role), clean(cut(m.content))] for m in turn.context],
            "completion": clean(cut(turn.completion)),
            **({"ids": list(turn.token_ids)} if turn.token_ids else {}),
        }
        for turn in trajectory.turns
    ]


def result(trajectory: Trajectory) -> str:
    """`right`, `recovered` or `wrong`; `failed` after an infrastructure failure."""
    return "failed" if trajectory.stop.infrastructure_failure else outcome(trajectory)


def _turn(turn: Turn, focus: int, names: Mapping[str, str]) -> dict[str, Any]:
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
    if turn.listed:
        record["listed"] = [
            [clean(names.get(one.entity_id) or one.entity_id), _texts(map(str, one.hops))]
            for one in turn.listed
        ]
    if tokens := len(turn.token_ids or ()) or turn.tokens:
        record["tokens"] = tokens
    if turn.cost:
        record["cost"] = turn.cost
    return record


def cut(text: str) -> str:
    """Return the text, or its beginning and how much is left out."""
    if len(text) <= LONGEST_OBSERVATION:
        return text
    more = len(text) - LONGEST_OBSERVATION
    return f"{text[:LONGEST_OBSERVATION]}\n… {more:,} more characters"


def _texts(texts: Iterable[str]) -> list[str]:
    return [clean(text) for text in texts]
