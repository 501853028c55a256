"""Evaluation while training: the model as it stands plays episodes in the environment."""

import logging
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState

from graphwalker.agents.environment import Environment
from graphwalker.agents.rollout import rollout
from graphwalker.datasets.base import load_questions
from graphwalker.errors import UserError
from graphwalker.graphs.open import open_graph
from graphwalker.policies.base import Sampling
from graphwalker.policies.local.policy import TransformersPolicy
from graphwalker.tokens.segments import chat_format
from training.config import EvaluationSettings, SftConfig
from training.reinforce.batch import facts_of, summary
from training.reinforce.rewards import scored
from training.runs.distributed import gathered, processes, rank
from training.supervised.best import BestModel

log = logging.getLogger(__name__)

FIGURES = ("em", "f1", "answered", "valid_actions", "failed")
"""Reported of the episodes; `failed` counts infrastructure failures, which no mean holds."""


class RolloutEvaluation(TrainerCallback):
    """Evaluates every so many steps and at the end, and keeps the best model.

    Set `trainer` before training. The processes share the questions out.
    """

    trainer: Any = None

    def __init__(self, config: SftConfig, settings: EvaluationSettings, tokenizer: Any) -> None:
        self._config, self._settings, self._tokenizer = config, settings, tokenizer
        questions = load_questions(settings.questions, settings.limit)
        if any(not question.answers for question in questions):
            raise UserError(f"{settings.questions}: a question without answers cannot be scored")
        self._questions = questions[rank() :: processes()]
        graph = open_graph(settings.graph, wikidata=settings.environment.layers.wikidata)
        self._environment = Environment(graph, settings.environment)
        self.best = BestModel(Path(config.output_dir)) if settings.choose_best else None
        self._fresh: dict[str, float] = {}

    def take(self) -> dict[str, float]:
        """The scores of the last evaluation, once."""
        scores, self._fresh = self._fresh, {}
        return scores

    def on_step_end(
        self, args: Any, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        if state.global_step % self._settings.every_steps and not control.should_training_stop:
            return
        self._fresh = self._evaluate()
        control.should_log = True
        if rank() == 0:
            log.info(
                "step %d: EM %.3f, valid actions %.3f",
                state.global_step,
                self._fresh["eval_em"],
                self._fresh["eval_valid_actions"],
            )
        if self.best is not None:
            self.best.offer(self.trainer, state.global_step, self._fresh["eval_em"])

    def _evaluate(self) -> dict[str, float]:
        from trl.models.utils import unwrap_model_for_generation

        trainer = self.trainer
        with (
            unwrap_model_for_generation(trainer.model_wrapped, trainer.accelerator) as model,
            _attention_of_engine(model),
        ):
            policy = TransformersPolicy(
                model,
                self._tokenizer,
                chat_format(self._config.format),
                batch_size=self._settings.batch_size,
                max_context=self._settings.max_context or self._config.max_length,
                name="training",
            )
            episodes = rollout(
                self._questions,
                self._environment,
                policy,
                Sampling(max_tokens=self._settings.max_turn_tokens),
                concurrency=self._settings.batch_size,
            )
            facts = [facts_of(scored(trajectory), 0) for trajectory in episodes]
        means = summary(gathered(facts), 1)
        return {f"eval_{name}": means[name] for name in FIGURES}


@contextmanager
def _attention_of_engine(model: Any) -> Generator[None]:
    """The engine keeps its own cache and masks, which flash attention does not take."""
    before = model.config._attn_implementation
    if before in ("sdpa", "eager"):
        yield
        return
    model.set_attn_implementation("sdpa")
    try:
        yield
    finally:
        model.set_attn_implementation(before)
