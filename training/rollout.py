"""The one door to TRL's generation: prompts in, whole episodes out as ids, masks and rewards.

TRL 1.16 calls `rollout_func(prompts, trainer)`. A prompt is a question id, because prompts arrive
repeated once per sample and other columns of the dataset do not arrive at all.
"""

import hashlib
import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from graphwalker.agents.presets import Environment
from graphwalker.agents.rollout import rollout
from graphwalker.errors import UserError
from graphwalker.policies.base import Sampling
from graphwalker.policies.transformers_model import TransformersPolicy
from graphwalker.question import Question
from graphwalker.tokens import ChatFormat, Tokenizer, end_of_turn_id, extension_ids, prompt_ids
from graphwalker.trajectory import StopReason, Trajectory
from training.distributed import gathered
from training.rewards import reward_of

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EpisodeTokens:
    """An episode as TRL wants it. `mask` is 1 where the policy drew the token."""

    prompt: list[int]
    completion: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)

    def add(self, ids: Sequence[int], logprobs: Sequence[float] = ()) -> None:
        """Append ids; those beyond the given log-probabilities were not drawn."""
        rest = len(ids) - len(logprobs)
        self.completion.extend(ids)
        self.mask.extend([1] * len(logprobs) + [0] * rest)
        self.logprobs.extend([*logprobs, *[0.0] * rest])


def episode_tokens(
    trajectory: Trajectory, fmt: ChatFormat, tokenizer: Tokenizer, end_ids: Sequence[int]
) -> EpisodeTokens:
    """The very ids that the engine read and drew; an episode that failed for us has no mask.

    An engine without room leaves a turn without ids: the episode ends before it. An answered
    episode ends with one of `end_ids`, added and masked where need be, so that TRL does not count
    it as truncated.
    """
    turn_end = end_of_turn_id(fmt, tokenizer)
    tokens: EpisodeTokens | None = None
    for turn in trajectory.turns:
        if turn.restart:
            raise UserError(
                f"trajectory {trajectory.id!r} restarts its context: GRPO needs an agent whose "
                "context only grows"
            )
        if turn.token_ids is None or turn.logprobs is None:
            break
        if tokens is None:
            tokens = EpisodeTokens(prompt_ids(turn.context, fmt, tokenizer))
        else:
            tokens.add(extension_ids(turn.context, fmt, tokenizer))
        tokens.add(turn.token_ids, turn.logprobs)
    if tokens is None:
        tokens = EpisodeTokens([turn_end])
    answered = trajectory.stop in (StopReason.ANSWERED, StopReason.FORCED)
    if not tokens.completion or (answered and tokens.completion[-1] not in end_ids):
        tokens.add([end_ids[0]])
    if trajectory.stop.ours:
        tokens.mask[:] = [0] * len(tokens.mask)
    return tokens


def step_seed(seed: int, step: int) -> int:
    """The sampling seed of a trainer step, so a resumed run draws what it would have drawn."""
    return int.from_bytes(hashlib.blake2b(f"{seed}:{step}".encode(), digest_size=6).digest())


def grouped(prompts: Sequence[str], samples: int) -> list[str]:
    """The question id of each group. Raises `RuntimeError` unless all groups are full."""
    groups = [prompts[i : i + samples] for i in range(0, len(prompts), samples)]
    if any(len(group) != samples or len(set(group)) != 1 for group in groups):
        raise RuntimeError(f"the {len(prompts)} prompts are not groups of {samples} equal ones")
    return [group[0] for group in groups]


class Rollouts:
    """TRL's `rollout_func`: runs the episodes of a step with the model as it stands."""

    def __init__(
        self,
        questions: Iterable[Question],
        environment: Environment,
        fmt: ChatFormat,
        *,
        samples: int,
        sampling: Sampling,
        max_context: int,
        engine_batch: int = 256,
    ) -> None:
        self.questions = {question.id: question for question in questions}
        self.environment, self.fmt = environment, fmt
        self.samples, self.sampling = samples, sampling
        self.max_context, self.engine_batch = max_context, engine_batch
        self.trajectories: list[Trajectory] = []
        """Those of the last step, of all processes, with their scores."""
        self.seconds = 0.0
        self._policy: TransformersPolicy | None = None

    def __call__(self, prompts: list[str], trainer: Any) -> dict[str, Any]:
        from trl.models.utils import unwrap_model_for_generation

        started = time.perf_counter()
        groups = grouped(prompts, self.samples)
        sampling = Sampling(
            temperature=self.sampling.temperature,
            max_tokens=self.sampling.max_tokens,
            seed=step_seed(self.sampling.seed, trainer.state.global_step),
        )
        with unwrap_model_for_generation(trainer.model_wrapped, trainer.accelerator) as model:
            policy = self._engine(model, trainer.processing_class)
            done = rollout(
                [self.questions[key] for key in groups],
                self.environment,
                policy,
                sampling,
                samples=self.samples,
                concurrency=self.engine_batch,
            )
            self.trajectories = [scored(trajectory) for trajectory in done]
        batch = self._batch(trainer.processing_class, trainer.eos_token_ids)
        self.trajectories = gathered(self.trajectories)
        self.seconds = time.perf_counter() - started
        return batch

    def _engine(self, model: Any, tokenizer: Any) -> TransformersPolicy:
        if self._policy is None or self._policy.model is not model:
            self._policy = TransformersPolicy(
                model,
                tokenizer,
                self.fmt,
                batch_size=self.engine_batch,
                max_context=self.max_context,
                name="training",
            )
        return self._policy

    def _batch(self, tokenizer: Any, end_ids: Sequence[int]) -> dict[str, Any]:
        episodes = [episode_tokens(t, self.fmt, tokenizer, end_ids) for t in self.trajectories]
        if not all(episode.completion and episode.prompt for episode in episodes):
            raise RuntimeError("an episode came back without a prompt or a completion")
        return {
            "prompt_ids": [e.prompt for e in episodes],
            "completion_ids": [e.completion for e in episodes],
            "logprobs": [e.logprobs for e in episodes],
            "env_mask": [e.mask for e in episodes],
            "episode_reward": [t.scores.get("em") for t in self.trajectories],
        }


def scored(trajectory: Trajectory) -> Trajectory:
    """With its reward as the score `em`; unscored where it failed for our reasons."""
    reward = reward_of(trajectory)
    return trajectory if reward is None else trajectory.with_scores(em=reward)


def summary(trajectories: Sequence[Trajectory], samples: int) -> dict[str, float]:
    """What to watch in a step: rewards, and signs of collapse. Failures of ours count apart."""
    valid = [t for t in trajectories if not t.stop.ours]
    turns = list(chain.from_iterable(t.turns for t in valid))
    rewards = [t.scores["em"] for t in valid]
    logprobs = [p for turn in turns for p in turn.logprobs or ()]
    mean = _mean(rewards)
    return {
        "reward": mean,
        "reward_std": _mean([(r - mean) ** 2 for r in rewards]) ** 0.5,
        "em": mean,
        "zero_variance": _zero_variance(trajectories, samples),
        "answered": _mean([float(t.answer is not None) for t in valid]),
        "forced": _mean([float(t.stop is StopReason.FORCED) for t in valid]),
        "valid_actions": _mean([float("malformed" not in turn.action) for turn in turns]),
        "errors": _mean([float(bool(turn.error)) for turn in turns]),
        "turns": _mean([float(len(t.turns)) for t in valid]),
        "tokens": float(len(logprobs)),
        "entropy": -_mean(logprobs),
        "failed": float(len(trajectories) - len(valid)),
    }


def _zero_variance(trajectories: Sequence[Trajectory], samples: int) -> float:
    groups = [trajectories[i : i + samples] for i in range(0, len(trajectories), samples)]
    return _mean([float(len({t.scores.get("em") for t in group}) == 1) for group in groups])


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
