"""The facts of a step's episodes: rewards, and signs of collapse, gathered from all processes."""

from collections.abc import Sequence
from dataclasses import dataclass

from graphwalker.trajectory import StopReason, Trajectory
from training.reinforce.groups import chunks, teaches_nothing


@dataclass(frozen=True, slots=True)
class EpisodeFacts:
    """What a step's record needs of an episode; `reward` is `None` where it failed for us."""

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


def facts_of(trajectory: Trajectory, observation_tokens: int) -> EpisodeFacts:
    """Of an episode with its scores."""
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
        observation_tokens=observation_tokens,
        logprob=sum(logprobs),
    )


def summary(facts: Sequence[EpisodeFacts], samples: int) -> dict[str, float]:
    """Means over the episodes, or over their turns or tokens. Failures of ours count apart."""
    valid = [f for f in facts if f.reward is not None]
    turns, tokens = sum(f.turns for f in valid), sum(f.tokens for f in valid)
    rewards = [f.reward or 0.0 for f in valid]
    mean = _mean(rewards)
    dull = [teaches_nothing([f.reward for f in group]) for group in chunks(facts, samples)]
    return {
        "reward": mean,
        "reward_std": _mean([(r - mean) ** 2 for r in rewards]) ** 0.5,
        "em": _mean([f.em for f in valid]),
        "f1": _mean([f.f1 for f in valid]),
        "zero_variance": _mean(dull),
        "answered": _mean([f.answered for f in valid]),
        "forced": _mean([f.forced for f in valid]),
        "valid_actions": sum(f.valid_actions for f in valid) / max(1, turns),
        "errors": sum(f.errors for f in valid) / max(1, turns),
        "turns": _mean([f.turns for f in valid]),
        "tokens": float(tokens),
        "observation_tokens": float(sum(f.observation_tokens for f in valid)),
        "entropy": -sum(f.logprob for f in valid) / max(1, tokens),
        "failed": float(len(facts) - len(valid)),
    }


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
