"""The classes of errors of GraphRunner's Table 2, told by machine from what an episode holds."""

from graphwalker.graphs.names import fold
from graphwalker.trajectory import StopReason, Trajectory

CLASSES = ("hallucination", "reasoning", "context_window")


def error_class(done: Trajectory, right: bool) -> str:
    """Why an episode went wrong, `""` where it did not.

    `context_window`: the policy's context was full, or the retrieved nodes did not fit the answer's
    budget. `hallucination`: no plan passed verification, or the answer says what was not
    retrieved. `reasoning`: all of it exists, and it is not what was asked for. The paper told them
    apart by hand; the second and third need its judgement where an answer only words otherwise what
    was retrieved.
    """
    if right or done.stop.infrastructure_failure:
        return ""
    plans = [turn for turn in done.turns if turn.action.get("tool") == "plan" and not turn.error]
    if done.stop is StopReason.LENGTH or any(turn.hidden for turn in plans):
        return "context_window"
    if not plans:
        return "hallucination"
    seen = fold("\n".join(turn.observation for turn in plans))
    names = [part for name in done.answer or () for part in name.split(", ")]
    made_up = any(fold(name) not in seen for name in names)
    return "hallucination" if made_up else "reasoning"
