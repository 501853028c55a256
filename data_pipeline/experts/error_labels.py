"""Error labels: what went wrong in anyone's episode, turn by turn, and which turn put it right."""

from typing import Any

from graphwalker.scoring import normalise
from graphwalker.trajectory import Trajectory, Turn

DEAD_END = "dead_end"


def labelled(trajectory: Trajectory) -> list[dict[str, Any]]:
    """The errors of a scored episode, in the order of its turns.

    `kind` is the environment's (`unknown_relation`, `malformed`, ...), or `dead_end`: a call that
    was answered, but nothing that it showed was used in a later call or in the answer.
    `recovered_at` is the next turn that was none of these, where the episode ended right.
    """
    turns = trajectory.turns
    kinds = [_kind(trajectory, number) for number in range(len(turns))]
    right = trajectory.scores.get("em") == 1.0
    found: list[dict[str, Any]] = []
    for number, kind in enumerate(kinds):
        if not kind:
            continue
        later = (k for k in range(number + 1, len(turns)) if not kinds[k])
        mended = next(later, None) if right else None
        what = _what(turns[number])
        about = {"turn": number, "kind": kind, "what": what, "slip": False}
        found.append({**about, "recovered": mended is not None, "recovered_at": mended})
    return found


def _kind(trajectory: Trajectory, number: int) -> str:
    turn = trajectory.turns[number]
    if turn.error or not turn.triples:
        return turn.error
    subject = normalise(str(turn.action["arguments"].get("entity", "")))
    shown = {normalise(entity.name) for entity in turn.shown} - {subject}
    names = _later_starts(trajectory, number)
    used = {normalise(name) for name in (*names, *(trajectory.answer or ()))}
    return "" if shown & used else DEAD_END


def _later_starts(trajectory: Trajectory, number: int) -> list[str]:
    """What later calls start at."""
    later = (turn.action.get("arguments", {}) for turn in trajectory.turns[number + 1 :])
    return [str(arguments.get("entity", "")) for arguments in later]


def _what(turn: Turn) -> str:
    arguments = turn.action.get("arguments", {})
    relations = arguments.get("relations")
    if isinstance(relations, list | tuple):
        return ", ".join(map(str, relations))
    return str(arguments.get("entity", turn.action.get("malformed", "")))
