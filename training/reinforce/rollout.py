"""The one door to TRL's generation: prompts in, whole episodes out as ids, masks and rewards.

TRL 1.16 calls `rollout_func(prompts, trainer)`. A prompt is a question id, because prompts arrive
repeated once per sample and other columns of the dataset do not arrive at all.
"""

import hashlib
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from graphwalker.agents.environment import Environment
from graphwalker.agents.rollout import rollout
from graphwalker.errors import GraphWalkerError
from graphwalker.policies.base import Policy, Sampling
from graphwalker.question import Question
from graphwalker.tokens.formats import ChatFormat
from graphwalker.trajectory import StopReason
from training.grpo_config import GrpoConfig
from training.reinforce.batch import Batch, Groups, make_batch, rewards
from training.reinforce.engines import BudgetPolicy, rollout_engine
from training.reinforce.episode_tokens import EpisodeTokens, episode_tokens
from training.reinforce.groups import Winnable, chunks, group_ids, has_no_variance, substitutes
from training.rewards.mix import reward_mix, score_episode
from training.runs.distributed import gather_all, rank

log = logging.getLogger(__name__)


class OutageError(GraphWalkerError, RuntimeError):
    """Too many episodes of a step failed because the graph or the engine did."""


def step_seed(seed: int, step: int) -> int:
    """Get the sampling seed of a trainer step, so a resumed run draws what it would have drawn."""
    return int.from_bytes(hashlib.blake2b(f"{seed}:{step}".encode(), digest_size=6).digest())


class Rollouts:
    """TRL's `rollout_func`: runs the episodes of a step with the model as it stands."""

    def __init__(
        self,
        config: GrpoConfig,
        questions: Iterable[Question],
        environment: Environment,
        fmt: ChatFormat,
    ) -> None:
        self.config, self.environment, self.fmt = config, environment, fmt
        self.questions = {question.id: question for question in questions}
        self._reward = reward_mix(config.rewards)
        self._winnable = Winnable(environment)
        self.batch = Batch()
        """That of the last call."""
        self.engine = rollout_engine(config, fmt)
        self._failing: list[int] = []
        """How many steps in a row the engine of each process has failed in."""

    def __call__(self, prompts: list[str], trainer: Any) -> dict[str, Any]:
        """Raise `OutageError`, in all processes, for too many infrastructure failures, and for an
        engine that fails twice in a row."""
        started, step = time.perf_counter(), int(trainer.state.global_step)
        wanted, resampled = group_ids(prompts, self.config.samples), 0
        with self.engine.open(trainer) as policy:
            run = self._runner(policy, step)
            groups = run(wanted)
            if self.config.zero_variance == "resample":
                resampled = self._resample(groups, wanted, run, step)
        episodes = self._tokens(groups, trainer.processing_class, trainer.eos_token_ids)
        self.batch = make_batch(
            step, groups, episodes, self.config, resampled, started, self._winnable
        )
        self._check_failures()
        self._check_engines()
        return {
            "prompt_ids": [e.prompt for e in episodes],
            "completion_ids": [e.completion for e in episodes],
            "logprobs": [e.logprobs for e in episodes],
            "env_mask": [e.mask for e in episodes],
            "episode_reward": [t.scores.get("reward") for t in self.batch.trajectories],
        }

    # --- a step's episodes

    def _runner(self, engine: Policy, step: int) -> Callable[[Sequence[str]], Groups]:
        """Return a function that runs a group of episodes for each question id, all together."""
        # `top_p` stays 1: log-probabilities are of the whole distribution, and the loss's ratio to
        # the sampling policy would be wrong for one that was cut.
        sampling = Sampling(
            temperature=self.config.temperature,
            max_tokens=self.config.max_turn_tokens,
            seed=step_seed(self.config.seed, step),
        )
        budget, samples = self.config.max_episode_tokens, self.config.samples
        policy = BudgetPolicy(engine, budget) if budget else engine

        def run(wanted: Sequence[str]) -> Groups:
            done = rollout(
                [self.questions[key] for key in wanted],
                self.environment,
                policy,
                sampling,
                samples=samples,
                concurrency=self.config.engine_batch,
            )
            return list(chunks([score_episode(t, self._reward) for t in done], samples))

        return run

    def _resample(
        self,
        groups: Groups,
        wanted: Sequence[str],
        run: Callable[[Sequence[str]], Groups],
        step: int,
    ) -> int:
        """Put groups of other questions in the place of those without variance; returns how many.
        A collective.

        Which question comes next in a group's place depends on its place in the whole step, never
        on the number of processes, and no question is drawn twice in a step.
        """
        everyone = gather_all(list(wanted))
        pool = substitutes(self.questions, everyone, f"{self.config.seed}:{step}")
        first, count = rank() * len(wanted), 0
        for attempt in range(self.config.resample_tries):
            uniform = [i for i, group in enumerate(groups) if has_no_variance(rewards(group))]
            # A place of its own in the pool for each group and attempt, counted over the whole
            # step.
            places = {i: attempt * len(everyone) + first + i for i in uniform}
            fresh = {i: pool[place] for i, place in places.items() if place < len(pool)}
            if not fresh:
                break
            for i, group in zip(fresh, run(list(fresh.values())), strict=True):
                groups[i] = group
            count += len(fresh)
        return count

    def _tokens(
        self, groups: Groups, tokenizer: Any, end_ids: Sequence[int]
    ) -> list[EpisodeTokens]:
        episodes = [episode_tokens(t, self.fmt, tokenizer, end_ids) for g in groups for t in g]
        if not all(episode.completion and episode.prompt for episode in episodes):
            raise RuntimeError("an episode came back without a prompt or a completion")
        return episodes

    def _check_failures(self) -> None:
        # The facts are those of all processes, so all of them raise or none: one that raised alone
        # would leave the others in their next collective.
        failed, most = sum(f.reward is None for f in self.batch.facts), self.config.max_failed
        if failed > most * len(self.batch.facts):
            errors = (
                t.provenance.get("error")
                for t in self.batch.trajectories
                if t.stop.infrastructure_failure
            )
            raise OutageError(
                f"step {self.batch.step + 1}: {failed} of {len(self.batch.facts)} episodes failed, "
                f"more than max_failed = {most:g}"
                f" ({next(errors, 'in another process')}); the run resumes from its last "
                "checkpoint when it is started again"
            )

    def _check_engines(self) -> None:
        """Raise `OutageError`, in all processes, for an engine that failed twice in a row: of
        eight, one alone stays below `max_failed`, and every step would lose its part. A collective.
        """
        lost = [t for t in self.batch.trajectories if t.stop is StopReason.POLICY_ERROR]
        why = str(lost[0].provenance.get("error", "")) if lost else ""
        failing = gather_all([(2 * len(lost) > len(self.batch.trajectories), why)])
        before = self._failing or [0] * len(failing)
        self._failing = [n + 1 if bad else 0 for n, (bad, _) in zip(before, failing, strict=True)]
        if (most := max(self._failing)) >= 2:
            sick = self._failing.index(most)
            raise OutageError(
                f"step {self.batch.step + 1}: the engine of process {sick} failed twice in a row "
                f"({failing[sick][1]}); the run resumes from its last checkpoint when it is "
                "started again"
            )
