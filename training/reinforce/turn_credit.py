"""Turn-level credit: a turn's own advantage, besides that of the episode's outcome.

MT-GRPO (Zeng et al. 2025, arXiv:2505.11821, section 4) adds to the outcome's advantage one of the
turn's own reward, normalised within the group. Here a turn earns 1 for an action that the tools
accepted and 0 otherwise, normalised over all turns of the group, as episodes differ in length:

    A[i, t] = A[i] + weight * (c[i, t] - mean(c)) / (deviation(c) + 1e-4)

The outcome's reward is untouched, and no text of an observation is read.
"""

from collections.abc import Sequence
from statistics import fmean, pstdev

from graphwalker.trajectory import Trajectory, Turn
from training.reinforce.groups import chunks

EPSILON = 1e-4
"""Added to the deviation, as TRL adds it to that of the rewards."""


def turn_credit(trajectories: Sequence[Trajectory], samples: int) -> list[list[float]]:
    """The normalised credit of each turn of each episode, groups of `samples` being neighbours.

    Episodes that failed for our reasons get zeros and count in no mean.
    """
    credits: list[list[float]] = []
    for group in chunks(trajectories, samples):
        earned = [_earned(turn) for t in group if not t.stop.ours for turn in t.turns]
        mean = fmean(earned) if earned else 0.0
        spread = pstdev(earned) + EPSILON if earned else 1.0
        for trajectory in group:
            ours = trajectory.stop.ours
            turns = trajectory.turns
            credits.append([0.0 if ours else (_earned(t) - mean) / spread for t in turns])
    return credits


def _earned(turn: Turn) -> float:
    return float("malformed" not in turn.action and not turn.error)
