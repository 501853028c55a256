"""Dev questions that the model in training answers: greedily, and if asked at a temperature."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from graphwalker.agents.environment import Environment
from graphwalker.agents.rollout import rollout
from graphwalker.datasets.base import load_questions
from graphwalker.errors import UserError
from graphwalker.policies.base import Sampling
from graphwalker.policies.local.policy import TransformersPolicy
from graphwalker.question import Question
from graphwalker.tokens.segments import ChatFormat
from training.evaluation.figures import Play, em_by_question, figures
from training.models.copies import copy_of_shared
from training.runs.distributed import gathered, processes, rank

SAMPLED = "sampled_"
"""Before the names of figures of sampled episodes."""


@dataclass(frozen=True, slots=True)
class DevSet:
    """Questions, and how they are answered. The processes share the questions out."""

    questions: Sequence[Question]
    environment: Environment
    fmt: ChatFormat
    tokenizer: Any
    max_turn_tokens: int
    max_context: int
    batch_size: int
    samples: int = 0
    """Sampled episodes of a question, besides the greedy one."""
    temperature: float = 1.0
    seed: int = 0

    def play(self, trainer: Any) -> tuple[dict[str, float], dict[str, float]]:
        """Figures, and the greedy EM of each question. A collective: all processes play together.

        The weights are those that the trainer's model has now.
        """
        with drawing_model(trainer) as model, attention_of_engine(model):
            policy = TransformersPolicy(
                model,
                self.tokenizer,
                self.fmt,
                batch_size=self.batch_size,
                max_context=self.max_context,
                name="training",
            )
            greedy = Sampling(max_tokens=self.max_turn_tokens)
            plays = gathered(self._episodes(policy, greedy, 1))
            found = figures(plays)
            if self.samples:
                drawn = replace(greedy, temperature=self.temperature, seed=self.seed)
                sampled = figures(gathered(self._episodes(policy, drawn, self.samples)))
                found |= {SAMPLED + name: sampled[name] for name in ("em", "em_low", "em_high")}
        return found, em_by_question(plays)

    def _episodes(self, policy: TransformersPolicy, sampling: Sampling, samples: int) -> list[Play]:
        mine = self.questions[rank() :: processes()]
        done = rollout(
            mine, self.environment, policy, sampling, samples=samples, concurrency=self.batch_size
        )
        return [Play.of(trajectory) for trajectory in done]


@contextmanager
def drawing_model(trainer: Any) -> Generator[Any]:
    """The model of a trainer, to draw with: gathered where ZeRO-3 shares it out, a copy of it where
    FSDP2 does. A collective."""
    from trl.models.utils import unwrap_model_for_generation

    copied = copy_of_shared(trainer.model, trainer.accelerator)
    with unwrap_model_for_generation(trainer.model_wrapped, trainer.accelerator) as model:
        yield model if copied is None else copied.update(model)


def dev_questions(path: str, limit: int) -> list[Question]:
    """The first `limit` questions of a file. Raises `UserError` for one that cannot be scored."""
    if not Path(path).is_file():
        raise UserError(f"evaluation.questions: {path}: no such file")
    questions = load_questions(path, limit)
    if any(not question.answers for question in questions):
        raise UserError(f"{path}: a question without answers cannot be scored")
    return questions


@contextmanager
def attention_of_engine(model: Any) -> Generator[None]:
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
