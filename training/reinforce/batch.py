"""The batch of a step: its episodes, which of them are trained, and facts for the record."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from graphwalker.trajectory import Trajectory
from training.reinforce.episode_tokens import EpisodeTokens
from training.reinforce.groups import teaches_nothing
from training.reinforce.rewards import EXACT_MATCH, RewardMix
from training.reinforce.step_facts import EpisodeFacts, facts_of
from training.reinforce.turn_credit import turn_credit
from training.runs.distributed import gathered

Groups = list[list[Trajectory]]
"""Scored episodes, those of one question together."""


@dataclass(frozen=True, slots=True)
class RolloutRules:
    """What a batch of episodes is held to, and what it earns. `GrpoConfig` documents each."""

    rewards: RewardMix = EXACT_MATCH
    turn_credit: float = 0.0
    zero_variance: str = "keep"
    resample_tries: int = 3
    max_episode_tokens: int = 0
    max_failed: float = 1.0
    shown: int = 0


@dataclass(frozen=True, slots=True)
class Batch:
    """The episodes of a step: those of this process, and facts about those of all."""

    step: int = -1
    """Optimizer steps done when they were drawn."""
    trajectories: Sequence[Trajectory] = ()
    """With their scores, the samples of a question side by side."""
    kept: Sequence[bool] = ()
    """Which of them are in the loss."""
    credits: Sequence[Sequence[float]] = ()
    """Advantage of each token besides that of the episode; empty without turn credit."""
    facts: Sequence[EpisodeFacts] = ()
    """Of the episodes of all processes."""
    shown: Sequence[Trajectory] = ()
    """Some episodes of all processes, to be read."""
    resampled: int = 0
    """Groups of all processes that were drawn again."""
    filtered: int = 0
    """Groups of all processes that are left out of the loss."""
    seconds: float = 0.0


def make_batch(
    step: int,
    groups: Groups,
    episodes: Sequence[EpisodeTokens],
    rules: RolloutRules,
    resampled: int,
    started: float,
) -> Batch:
    """The batch of these groups, whose episodes that are filtered out lose their masks.

    A collective: all processes call it together. `started` is a reading of `perf_counter`.
    """
    dull = [rules.zero_variance == "filter" and teaches_nothing(rewards(g)) for g in groups]
    trajectories = [t for group in groups for t in group]
    kept = [not (d or t.stop.ours) for d, group in zip(dull, groups, strict=True) for t in group]
    for tokens, is_kept in zip(episodes, kept, strict=True):
        if not is_kept:
            tokens.drop()
    facts = [
        facts_of(trajectory, sum(turn < 0 for turn in tokens.turns))
        for trajectory, tokens in zip(trajectories, episodes, strict=True)
    ]
    counts: list[tuple[int, int]] = gathered([(resampled, sum(dull))])
    return Batch(
        step=step,
        trajectories=trajectories,
        kept=kept,
        credits=_credits(trajectories, episodes, len(groups[0]), rules.turn_credit),
        facts=gathered(facts),
        shown=_shown(groups, rules.shown),
        resampled=sum(count for count, _ in counts),
        filtered=sum(count for _, count in counts),
        seconds=time.perf_counter() - started,
    )


def rewards(group: Sequence[Trajectory]) -> list[float | None]:
    """Of scored episodes; `None` for one that failed for our reasons."""
    return [trajectory.scores.get("reward") for trajectory in group]


def _shown(groups: Groups, count: int) -> list[Trajectory]:
    """One episode of each question first: samples of one question are much alike."""
    mine = [t for sample in zip(*groups, strict=True) for t in sample][:count]
    return sorted(gathered(mine), key=lambda t: t.sample)[:count]


def _credits(
    trajectories: Sequence[Trajectory],
    episodes: Sequence[EpisodeTokens],
    samples: int,
    weight: float,
) -> list[list[float]]:
    if not weight:
        return []
    return [
        [weight * credit[turn] if turn >= 0 else 0.0 for turn in tokens.turns]
        for credit, tokens in zip(turn_credit(trajectories, samples), episodes, strict=True)
    ]
