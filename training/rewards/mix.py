"""Mixes of rewards: what a finished episode earns, by name or `module:NAME`, times weights.

A reward is a function of the trajectory, its question and its scores (`graphwalker.scoring.score`)
that returns a number. To add one, write it in a file of your own and name it in the config:

    rewards: {em: 1.0, my_rewards:brevity: 0.2}
"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, cast

from pydantic import BeforeValidator

from graphwalker.errors import UserError
from graphwalker.question import Question
from graphwalker.scoring import score
from graphwalker.settings.named import find, is_own
from graphwalker.trajectory import Trajectory
from training.rewards.answers import ANSWER_REWARDS, Reward, em

SAY_WHAT_IS_RIGHT = ("em", "f1", "hits1", "grounded_em", "relaxed_em", "grounded_relaxed_em")
"""Of them or of the user's own, one must have a weight; one of them that is named takes the place
of `em`'s own weight of 1."""


def _weights(given: Any) -> dict[str, float]:
    """Weights by name. A list gives each of its rewards weight 1. In a mapping `em` counts 1 unless
    it says otherwise, as in runs from before rewards had names."""
    if isinstance(given, list | tuple):
        weights = dict.fromkeys(map(str, cast("list[Any]", given)), 1.0)
    elif isinstance(given, dict):
        weights = {"em": 1.0} | _flat(cast("dict[str, Any]", given))
    else:
        raise ValueError("rewards are a mapping of names to weights, or a list of names")
    for name in weights:
        if not is_own(name) and name not in ANSWER_REWARDS:
            _find_reward(name)  # raises, and names the nearest
    if any(weights.get(name, 0) < 0 for name in ANSWER_REWARDS):
        raise ValueError("a weight is not negative (over_answer is a penalty already)")
    used = {name: weights[name] for name in _in_order(weights) if weights[name]}
    if not any(is_own(name) or name in SAY_WHAT_IS_RIGHT for name in used):
        raise ValueError(
            f"{', '.join(SAY_WHAT_IS_RIGHT)}: one of them must have a weight, as nothing else says "
            "what is right"
        )
    return used


def _in_order(weights: Mapping[str, float]) -> list[str]:
    """Return the shipped rewards first, always in one order: a sum of floats depends on it."""
    return [
        *(n for n in ANSWER_REWARDS if n in weights),
        *(n for n in weights if n not in ANSWER_REWARDS),
    ]


def _flat(given: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """`rewards.pkg.module:NAME=0.2` on the command line arrives nested, cut at its dots."""
    weights: dict[str, float] = {}
    for key, value in given.items():
        if isinstance(value, dict):
            weights |= _flat(cast("dict[str, Any]", value), f"{prefix}{key}.")
        else:
            weights[f"{prefix}{key}"] = float(value)
    return weights


RewardWeights = Annotated[dict[str, float], BeforeValidator(_weights)]
"""A config field: weights of rewards by their names."""


def reward_mix(weights: Mapping[str, float]) -> Reward:
    """Return the weighted sum of the named rewards, itself a reward. Imports the user's own ones.

    >>> from graphwalker.graphs.base import Entity
    >>> from graphwalker.question import Answer
    >>> from graphwalker.trajectory import StopReason
    >>> question = Question("q", "Who?", (Entity("m.1", "A"),), (Answer("B"),))
    >>> episode = Trajectory(question, "agent", "policy", (), ("B", "C"), StopReason.ANSWERED)
    >>> reward_mix({"hits1": 1.0, "over_answer": 0.5})(episode, question, score(episode))
    0.75
    """
    terms = [(name, _find_reward(name), weight) for name, weight in weights.items()]

    def mix(trajectory: Trajectory, question: Question, scores: Mapping[str, float]) -> float:
        total = 0
        for name, reward, weight in terms:
            value = reward(trajectory, question, scores)
            if not isinstance(value, int | float) or not math.isfinite(value):
                raise UserError(
                    f"reward {name}: question {question.id!r}: it returned {value!r}; "
                    "a reward is a finite number"
                )
            total += value * weight
        return total

    return mix


def _find_reward(name: str) -> Reward:
    reward: Any = find(ANSWER_REWARDS, name, "reward")
    if not callable(reward):
        raise UserError(
            f"reward {name}: not a function of (trajectory, question, scores) but "
            f"a {type(reward).__name__}"
        )
    return cast("Reward", reward)


def score_episode(trajectory: Trajectory, reward: Reward = em) -> Trajectory:
    """Score an episode, with `reward`, `em`, `f1` and `grounded` as scores. An infrastructure
    failure stays unscored, whatever the reward: the agent did not cause it."""
    if trajectory.stop.infrastructure_failure:
        return trajectory
    scores = score(trajectory)
    earned = reward(trajectory, trajectory.question, scores)
    names = ("em", "f1", "grounded")
    return trajectory.with_scores(**{name: scores[name] for name in names}, reward=earned)


def episode_reward(*, episode_reward: Sequence[float | None], **_: Any) -> list[float | None]:
    """TRL's reward function: what the rollout computed, passed through its extra fields."""
    return list(episode_reward)
