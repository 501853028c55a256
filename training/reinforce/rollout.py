"""The one door to TRL's generation: prompts in, whole episodes out as ids, masks and rewards.

TRL 1.16 calls `rollout_func(prompts, trainer)`. A prompt is a question id, because prompts arrive
repeated once per sample and other columns of the dataset do not arrive at all.
"""

import hashlib
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from graphwalker.agents.environment import Environment
from graphwalker.agents.rollout import rollout
from graphwalker.errors import GraphWalkerError
from graphwalker.policies.base import Policy, Sampling
from graphwalker.question import Question
from graphwalker.tokens.segments import ChatFormat
from graphwalker.trajectory import Trajectory
from training.reinforce.ahead import Ahead, StepEpisodes, StepQuestions
from training.reinforce.batch import Batch, Groups, RolloutRules, make_batch, rewards
from training.reinforce.engines import BudgetPolicy, RolloutEngine, TransformersRollouts
from training.reinforce.groups import Winnable, chunks, grouped, has_no_variance, substitutes
from training.reinforce.pool import QuestionPool, Visit, visit
from training.reinforce.rewards.mix import scored
from training.reinforce.rows.episode_tokens import EpisodeTokens, episode_tokens
from training.reinforce.rows.guidance import Guidance, guide_tokens
from training.runs.distributed import gathered, rank

log = logging.getLogger(__name__)


class OutageError(GraphWalkerError, RuntimeError):
    """Too many episodes of a step failed because the graph or the engine did."""


def step_seed(seed: int, step: int) -> int:
    """The sampling seed of a trainer step, so a resumed run draws what it would have drawn."""
    return int.from_bytes(hashlib.blake2b(f"{seed}:{step}".encode(), digest_size=6).digest())


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
        rules: RolloutRules | None = None,
        engine: RolloutEngine | None = None,
        pool: QuestionPool | None = None,
        ahead: Ahead | None = None,
        demonstrations: Mapping[str, Trajectory] | None = None,
    ) -> None:
        self.questions = {question.id: question for question in questions}
        self.environment, self.fmt = environment, fmt
        self.samples, self.sampling = samples, sampling
        self.engine_batch = engine_batch
        self.rules = rules or RolloutRules()
        self._winnable = Winnable(environment)
        self._pool = pool
        self.ahead = ahead
        """Where batches are drawn one step ahead."""
        self.demonstrations = demonstrations
        """By question, where groups without a right episode are guided."""
        self.batch = Batch()
        """That of the last call."""
        self.engine = engine or TransformersRollouts(fmt, max_context, engine_batch)

    def __call__(self, prompts: list[str], trainer: Any) -> dict[str, Any]:
        """Raises `OutageError`, in all processes, for too many infrastructure failures."""
        started, step = time.perf_counter(), int(trainer.state.global_step)
        drawn = self.ahead.take(step) if self.ahead else None
        if drawn is None:
            plan = self._plan(grouped(prompts, self.samples), step, trainer)
            with self.engine.open(trainer) as policy:
                drawn = self._draw(plan, policy, step)
        if self._pool is not None:
            self._pool.note(step, drawn.visits)
        episodes = self._tokens(drawn.groups, trainer.processing_class, trainer.eos_token_ids)
        guides = self._guidance(trainer).guides(drawn.groups)
        self.batch = make_batch(
            step, drawn.groups, episodes, self.rules, drawn.resampled, started, self._winnable,
            guides,
        )  # fmt: skip
        staleness, exchanged = step - drawn.drawn_by, drawn.plan.exchanged
        self.batch = replace(self.batch, exchanged=exchanged, staleness=staleness)
        self._check_failures()
        if self.ahead is not None:  # last: the graph is one thread's from here on
            self._draw_ahead(self.ahead, step, trainer)
        return {
            "prompt_ids": [e.prompt for e in episodes],
            "completion_ids": [e.completion for e in episodes],
            "logprobs": [e.logprobs for e in episodes],
            "env_mask": [e.mask for e in episodes],
            "episode_reward": [t.scores.get("reward") for t in self.batch.trajectories],
        }

    # --- a step's questions and episodes

    def _plan(self, wanted: list[str], step: int, trainer: Any) -> StepQuestions:
        """What this process draws in that step: `wanted`, open questions in the place of solved
        ones. A collective."""
        exchanged = 0
        if self._pool is not None:
            chosen, exchanged = self._pool.open_ones(gathered(list(wanted)), step)
            first = trainer.accelerator.process_index * len(wanted)
            wanted = chosen[first : first + len(wanted)]
        again = self.rules.zero_variance == "resample"
        return StepQuestions(step, wanted, gathered(list(wanted)) if again else (), exchanged)

    def _draw(self, plan: StepQuestions, policy: Policy, drawn_by: int) -> StepEpisodes:
        run = self._runner(policy, plan.step)
        groups = run(plan.wanted)
        visits, resampled = [visit(group) for group in groups], 0
        if self.rules.zero_variance == "resample":
            resampled = self._resample(groups, plan, run, visits)
        return StepEpisodes(plan, drawn_by, groups, visits, resampled)

    def _draw_ahead(self, ahead: Ahead, step: int, trainer: Any) -> None:
        """Let the next step's batch be drawn by the weights as they are now."""
        if not (wanted := ahead.wanted(step + 1)):
            return
        plan, opened = self._plan(wanted, step + 1, trainer), ExitStack()
        policy = opened.enter_context(self.engine.open(trainer))
        ahead.start(opened, lambda: self._draw(plan, policy, step))

    def _runner(self, engine: Policy, step: int) -> Callable[[Sequence[str]], Groups]:
        """What runs a group of episodes for each question id, all of them together."""
        # `top_p` stays 1: log-probabilities are of the whole distribution, and the loss's ratio to
        # the sampling policy would be wrong for one that was cut.
        sampling = Sampling(
            temperature=self.sampling.temperature,
            max_tokens=self.sampling.max_tokens,
            seed=step_seed(self.sampling.seed, step),
        )
        budget = self.rules.max_episode_tokens
        policy = BudgetPolicy(engine, budget) if budget else engine

        def run(wanted: Sequence[str]) -> Groups:
            done = rollout(
                [self.questions[key] for key in wanted],
                self.environment,
                policy,
                sampling,
                samples=self.samples,
                concurrency=self.engine_batch,
            )
            return list(chunks([scored(t, self.rules.reward) for t in done], self.samples))

        return run

    def _resample(
        self,
        groups: Groups,
        plan: StepQuestions,
        run: Callable[[Sequence[str]], Groups],
        visits: list[Visit],
    ) -> int:
        """Put groups of other questions in the place of those without variance, and add to
        `visits`; returns how many.

        Which question comes next in a group's place depends on its place in the whole step, never
        on the number of processes, and no question is drawn twice in a step.
        """
        pool = substitutes(self.questions, plan.everyone, f"{self.sampling.seed}:{plan.step}")
        first, count = rank() * len(plan.wanted), 0
        for attempt in range(self.rules.resample_tries):
            uniform = [i for i, group in enumerate(groups) if has_no_variance(rewards(group))]
            # A place of its own in the pool for each group and attempt, counted over the whole
            # step.
            places = {i: attempt * len(plan.everyone) + first + i for i in uniform}
            fresh = {i: pool[place] for i, place in places.items() if place < len(pool)}
            if not fresh:
                break
            for i, group in zip(fresh, run(list(fresh.values())), strict=True):
                groups[i] = group
                visits.append(visit(group))
            count += len(fresh)
        return count

    def _tokens(
        self, groups: Groups, tokenizer: Any, end_ids: Sequence[int]
    ) -> list[EpisodeTokens]:
        episodes = [episode_tokens(t, self.fmt, tokenizer, end_ids) for g in groups for t in g]
        if not all(episode.completion and episode.prompt for episode in episodes):
            raise RuntimeError("an episode came back without a prompt or a completion")
        return episodes

    def _guidance(self, trainer: Any) -> Guidance:
        tokenizer, end_ids = trainer.processing_class, trainer.eos_token_ids
        return Guidance(
            self.demonstrations or {},
            lambda t: scored(t, self.rules.reward),
            lambda t: guide_tokens(t, self.fmt, tokenizer, end_ids),
        )

    def _check_failures(self) -> None:
        # The facts are those of all processes, so all of them raise or none: one that raised alone
        # would leave the others in their next collective.
        failed = sum(facts.reward is None for facts in self.batch.facts)
        if failed > self.rules.max_failed * len(self.batch.facts):
            errors = (
                t.provenance.get("error")
                for t in self.batch.trajectories
                if t.stop.infrastructure_failure
            )
            raise OutageError(
                f"step {self.batch.step + 1}: {failed} of {len(self.batch.facts)} episodes failed, "
                f"more than max_failed = {self.rules.max_failed:g}"
                f" ({next(errors, 'in another process')}); the run resumes from its last "
                "checkpoint when it is started again"
            )
