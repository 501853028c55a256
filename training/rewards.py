"""The reward: strict set EM of the final answer, and nothing for episodes that failed for us."""

from collections.abc import Sequence
from typing import Any

from graphwalker.scoring import score
from graphwalker.trajectory import Trajectory


def reward_of(trajectory: Trajectory) -> float | None:
    """1 when the answered set is the gold set. `None` where the graph or the engine failed.

    Only the answer of the finished episode is read, so no text in a thought, an observation or the
    prompt can earn it.
    """
    return None if trajectory.stop.ours else score(trajectory)["em"]


def exact_match_reward(*, episode_reward: Sequence[float | None], **_: Any) -> list[float | None]:
    """TRL's reward function: what the rollout computed, passed through its extra fields."""
    return list(episode_reward)
