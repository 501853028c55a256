"""The reward: what of the final answer counts, and nothing for episodes that failed for us."""

from collections.abc import Sequence
from typing import Any

from pydantic import Field, model_validator

from graphwalker.config import Config
from graphwalker.scoring import GoldSet, normalise, predicted_entities, score
from graphwalker.trajectory import Trajectory


class RewardMix(Config):
    """Weights of the reward's terms. Each term reads the finished episode's answer and no more."""

    em: float = Field(default=1.0, ge=0)
    """Strict set EM, 0 or 1 (GraphWalker: this alone)."""
    f1: float = Field(default=0.0, ge=0)
    """Set F1, from 0 to 1: part of the reward for part of the answers."""
    hits1: float = Field(default=0.0, ge=0)
    """1 when the first answer is right."""
    answered: float = Field(default=0.0, ge=0)
    """1 when an answer was given at all, right or wrong."""
    over_answer: float = Field(default=0.0, ge=0)
    """Penalty: the share of the answers that are more than the gold set holds, subtracted."""

    @model_validator(mode="after")
    def _pays_for_something(self) -> "RewardMix":
        if not (self.em or self.f1 or self.hits1):
            raise ValueError("em, f1 or hits1 must have a weight: nothing else says what is right")
        return self


EXACT_MATCH = RewardMix()


def reward_of(trajectory: Trajectory, mix: RewardMix = EXACT_MATCH) -> float | None:
    """The weighted sum of the mix's terms. `None` where the graph or the engine failed.

    Only the answer of the finished episode is read, so no text in a thought, an observation or the
    prompt can earn it.

    >>> from graphwalker.graphs.base import Entity
    >>> from graphwalker.question import Answer, Question
    >>> from graphwalker.trajectory import StopReason
    >>> question = Question("q", "Who?", (Entity("m.1", "A"),), (Answer("B"),))
    >>> episode = Trajectory(question, "agent", "policy", (), ("B", "C"), StopReason.ANSWERED)
    >>> reward_of(episode), reward_of(episode, RewardMix(em=0, hits1=1, over_answer=0.5))
    (0.0, 0.75)
    """
    if trajectory.stop.ours:
        return None
    scores = score(trajectory)
    terms = {name: scores[name] for name in ("em", "f1", "hits1")}
    terms["answered"] = float(trajectory.answer is not None)
    terms["over_answer"] = -surplus(trajectory)
    return sum(terms[name] * weight for name, weight in mix.model_dump().items())


def surplus(trajectory: Trajectory) -> float:
    """Share of the distinct answers that are more than the gold answers are, from 0 to 1."""
    predicted = {e.id or normalise(e.name) for e in predicted_entities(trajectory) or ()}
    gold = len(GoldSet.of(trajectory.question.answers).ids)
    return max(0, len(predicted) - gold) / len(predicted) if predicted else 0.0


def scored(trajectory: Trajectory, mix: RewardMix = EXACT_MATCH) -> Trajectory:
    """With `reward`, `em` and `f1` as scores; unscored where it failed for our reasons."""
    reward = reward_of(trajectory, mix)
    if reward is None:
        return trajectory
    scores = score(trajectory)
    return trajectory.with_scores(em=scores["em"], f1=scores["f1"], reward=reward)


def episode_reward(*, episode_reward: Sequence[float | None], **_: Any) -> list[float | None]:
    """TRL's reward function: what the rollout computed, passed through its extra fields."""
    return list(episode_reward)
