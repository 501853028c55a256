"""The batch of a step: its episodes, which of them are trained, and facts for the record."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from graphwalker.question import Question
from graphwalker.trajectory import StopReason, Trajectory
from training.grpo_config import GrpoConfig
from training.reinforce.episode_tokens import EpisodeTokens
from training.reinforce.groups import ZERO_VARIANCE, chunks, has_no_variance, why_no_variance
from training.reinforce.rows import Context, further_contexts
from training.runs.distributed import gather_all

Groups = list[list[Trajectory]]
"""Scored episodes, those of one question together."""


@dataclass(frozen=True, slots=True)
class EpisodeFacts:
    """Facts of an episode for the step's record; no `reward` for an infrastructure failure."""

    reward: float | None
    em: float
    f1: float
    answered: bool
    forced: bool
    turns: int
    valid_actions: int
    errors: int
    tokens: int
    """Tokens that the policy drew."""
    observation_tokens: int
    """The other tokens after the prompt: observations and their layout."""
    logprob: float
    """Sum over the drawn tokens."""
    grounded: bool = True
    """Whether the tools showed every entity of the answer."""
    cut_turns: int = 0
    """Turns that met their cap before they held an action."""
    winnable: bool | None = None
    """Whether the environment lets anyone answer the question; asked of groups only that have no
    variance and are not right, `None` elsewhere."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The episodes of a step: those of this process, and facts about those of all."""

    step: int = -1
    """Optimizer steps done when they were drawn."""
    trajectories: Sequence[Trajectory] = ()
    """With their scores, the samples of a question side by side."""
    kept: Sequence[bool] = ()
    """Which of them are in the loss."""
    contexts: Sequence[Context] = ()
    """Where an agent began its conversation anew: the contexts after the first one."""
    facts: Sequence[EpisodeFacts] = ()
    """Of the episodes of all processes."""
    shown: Sequence[Trajectory] = ()
    """Some episodes of all processes, to be read."""
    resampled: int = 0
    """Groups of all processes that were drawn again."""
    filtered: int = 0
    """Groups of all processes without variance that were filtered out of the loss."""
    seconds: float = 0.0
    """Waited for them."""


def make_batch(
    step: int,
    groups: Groups,
    episodes: list[EpisodeTokens],
    config: GrpoConfig,
    resampled: int,
    started: float,
    winnable: Callable[[Question], bool | None],
) -> Batch:
    """Return the batch of these groups, whose episodes that are filtered out lose their masks.

    A collective: all processes call it together. `started` is a reading of `perf_counter`;
    `winnable` is asked of the questions that every episode got equally wrong.
    """
    # Episodes without a mask are counted as the others: the record is of what was played.
    can_win = [_can_win(group, winnable) for group in groups for _ in group]
    played = [trajectory for group in groups for trajectory in group]
    facts = [
        replace(facts_of(trajectory, tokens, config.max_turn_tokens), winnable=known)
        for trajectory, tokens, known in zip(played, episodes, can_win, strict=True)
    ]
    shown = _episodes_to_show(groups, config.trajectories_per_step)
    uniform = [config.zero_variance == "filter" and has_no_variance(rewards(g)) for g in groups]
    kept = [
        not (f or t.stop.infrastructure_failure)
        for f, group in zip(uniform, groups, strict=True)
        for t in group
    ]
    for tokens, is_kept in zip(episodes, kept, strict=True):
        if not is_kept:
            tokens.drop()
    # The collectives in one order for all processes: shown above, counts, then facts below.
    counts: list[tuple[int, int]] = gather_all([(resampled, sum(uniform))])
    return Batch(
        step=step,
        trajectories=played,
        kept=kept,
        facts=gather_all(facts),
        contexts=further_contexts(episodes),
        shown=shown,
        resampled=sum(count for count, _ in counts),
        filtered=sum(count for _, count in counts),
        seconds=time.perf_counter() - started,
    )


def facts_of(trajectory: Trajectory, tokens: EpisodeTokens, max_turn_tokens: int) -> EpisodeFacts:
    """Return the facts of a scored episode."""
    cut = [
        0 < max_turn_tokens <= len(turn.logprobs or ()) and "malformed" in turn.action
        for turn in trajectory.turns
    ]
    logprobs = [p for turn in trajectory.turns for p in turn.logprobs or ()]
    return EpisodeFacts(
        reward=trajectory.scores.get("reward"),
        em=trajectory.scores.get("em", 0.0),
        f1=trajectory.scores.get("f1", 0.0),
        answered=trajectory.answer is not None,
        forced=trajectory.stop is StopReason.FORCED,
        turns=len(trajectory.turns),
        valid_actions=sum("malformed" not in turn.action for turn in trajectory.turns),
        errors=sum(bool(turn.error) for turn in trajectory.turns),
        tokens=len(logprobs),
        observation_tokens=sum(turn < 0 for one in tokens.contexts for turn in one.turns),
        logprob=sum(logprobs),
        grounded=bool(trajectory.scores.get("grounded", 1.0)),
        cut_turns=sum(cut),
    )


def summary(facts: Sequence[EpisodeFacts], samples: int) -> dict[str, float | None]:
    """Return means over episodes, turns or tokens; `None` where there is none to take a mean of.

    Infrastructure failures count apart.
    """
    valid = [f for f in facts if f.reward is not None]
    turns, tokens = sum(f.turns for f in valid), sum(f.tokens for f in valid)
    rewards = [f.reward or 0.0 for f in valid]
    # Over valid episodes only: a graph that was down would look like an agent that got worse.
    mean = _mean(rewards)
    groups = list(chunks(facts, samples))
    uniform = [has_no_variance([f.reward for f in group]) for group in groups]
    reasons = [
        why_no_variance([f.em for f in group if f.reward is not None], group[0].winnable)
        for group, same in zip(groups, uniform, strict=True)
        if same
    ]
    right = [f.tokens for f in valid if f.em]
    wrong = [f.tokens for f in valid if not f.em]
    return {
        "reward": mean,
        "reward_std": _mean([(r - mean) ** 2 for r in rewards]) ** 0.5,
        "em": _mean([f.em for f in valid]),
        "f1": _mean([f.f1 for f in valid]),
        "zero_variance": _mean(uniform),
        "informative_groups": float(len(uniform) - sum(uniform)),
        **{why: reasons.count(why) / len(groups) for why in ZERO_VARIANCE},
        "answered": _mean([f.answered for f in valid]),
        "forced": _mean([f.forced for f in valid]),
        "valid_actions": sum(f.valid_actions for f in valid) / max(1, turns),
        "errors": sum(f.errors for f in valid) / max(1, turns),
        "turns": _mean([f.turns for f in valid]),
        "tokens": float(tokens),
        "tokens_right": _mean(right) if right else None,
        "tokens_wrong": _mean(wrong) if wrong else None,
        "ungrounded": _mean([not f.grounded for f in valid if (f.reward or 0.0) > 0]),
        "cut_turns": sum(f.cut_turns for f in valid) / max(1, turns),
        "observation_tokens": float(sum(f.observation_tokens for f in valid)),
        # On the policy's own draws -log p is an unbiased estimate of the entropy, and free.
        "entropy": -sum(f.logprob for f in valid) / max(1, tokens),
        "failed": float(len(facts) - len(valid)),
    }


def _can_win(
    group: Sequence[Trajectory], winnable: Callable[[Question], bool | None]
) -> bool | None:
    right = any(trajectory.scores.get("em") for trajectory in group)
    if right or not has_no_variance(rewards(group)):
        return None
    return winnable(group[0].question)


def rewards(group: Sequence[Trajectory]) -> list[float | None]:
    """Return the rewards of scored episodes; `None` for an infrastructure failure."""
    return [trajectory.scores.get("reward") for trajectory in group]


def _episodes_to_show(groups: Groups, count: int) -> list[Trajectory]:
    """Take one episode of each question first: samples of one question are much alike."""
    mine = [t for sample in zip(*groups, strict=True) for t in sample][:count]
    return sorted(gather_all(mine), key=lambda t: t.sample)[:count]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
