"""Trajectories to read: which ones, how each ended, and its actions as a person writes them."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphwalker.trajectory import StopReason, Trajectory

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
            key=lambda t: (outcomes[outcome(t)], structures[t.question.structure], _shuffled(t.id)),
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


def written(action: Mapping[str, Any]) -> str:
    """An action as a person writes it: `get_relations("Ann Lee")`, `answer ["Oslo"]`."""
    if "tool" in action:
        arguments = dict(action.get("arguments") or {})
        inside = ", ".join(json.dumps(v, ensure_ascii=False) for v in arguments.values())
        calls = [f"{action['tool']}({inside})", *map(written, action.get("further") or ())]
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


def _shuffled(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
