"""Dev questions that the model in training answers, and the figures of its answers."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from graphwalker.agents.environment import Environment
from graphwalker.agents.rollout import rollout
from graphwalker.datasets.base import load_questions
from graphwalker.errors import UserError
from graphwalker.intervals import paired_interval, wilson
from graphwalker.policies.base import Sampling
from graphwalker.policies.local.policy import TransformersPolicy
from graphwalker.question import Question
from graphwalker.scoring import score
from graphwalker.tokens.formats import ChatFormat
from graphwalker.trajectory import Trajectory
from training.models.copies import copy_to_draw_with
from training.runs.distributed import gather_all, processes, rank


@dataclass(frozen=True, slots=True)
class EpisodeFigures:
    """Figures of an episode; no `em` for an infrastructure failure."""

    question: str
    em: float | None = None
    f1: float = 0.0
    answered: bool = False
    turns: int = 0
    valid_actions: int = 0

    @classmethod
    def of(cls, trajectory: Trajectory) -> "EpisodeFigures":
        if trajectory.stop.infrastructure_failure:
            return cls(trajectory.question.id)
        scores = score(trajectory)
        return cls(
            trajectory.question.id,
            scores["em"],
            scores["f1"],
            trajectory.answer is not None,
            len(trajectory.turns),
            sum("malformed" not in turn.action for turn in trajectory.turns),
        )


def figures(plays: Sequence[EpisodeFigures]) -> dict[str, float]:
    """Means over episodes, of EM with its interval; `failed` counts infrastructure failures, which
    no mean holds."""
    valid = [play for play in plays if play.em is not None]
    ems = em_by_question(plays)  # where one is a mean over samples, the interval is a wide one
    low, high = wilson(sum(ems.values()), len(ems))
    return {
        "em": _mean([play.em or 0.0 for play in valid]),
        "em_low": low,
        "em_high": high,
        "f1": _mean([play.f1 for play in valid]),
        "answered": _mean([play.answered for play in valid]),
        "valid_actions": sum(p.valid_actions for p in valid) / max(1, sum(p.turns for p in valid)),
        "failed": float(len(plays) - len(valid)),
    }


def em_by_question(plays: Sequence[EpisodeFigures]) -> dict[str, float]:
    """Return the mean EM of each question's episodes."""
    found: dict[str, list[float]] = {}
    for play in plays:
        if play.em is not None:
            found.setdefault(play.question, []).append(play.em)
    return {question: fmean(ems) for question, ems in found.items()}


def paired_gain(now: Mapping[str, float], before: Mapping[str, float]) -> dict[str, float]:
    """Mean difference over the questions that both have, with its 95 % interval; `{}` for none.

    >>> paired_gain({"a": 1.0, "b": 0.0}, {"a": 1.0, "b": 0.0, "c": 0.0})["gain"]
    0.0
    """
    changes = [now[question] - before[question] for question in now if question in before]
    if not changes:
        return {}
    low, high = paired_interval(changes)
    return {"gain": fmean(changes), "gain_low": low, "gain_high": high}


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else 0.0


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
            plays = gather_all(self._episodes(policy, greedy, 1))
            found = figures(plays)
            if self.samples:
                drawn = replace(greedy, temperature=self.temperature, seed=self.seed)
                sampled = figures(gather_all(self._episodes(policy, drawn, self.samples)))
                found |= {SAMPLED + name: sampled[name] for name in ("em", "em_low", "em_high")}
        return found, em_by_question(plays)

    def _episodes(
        self, policy: TransformersPolicy, sampling: Sampling, samples: int
    ) -> list[EpisodeFigures]:
        mine = self.questions[rank() :: processes()]
        done = rollout(
            mine, self.environment, policy, sampling, samples=samples, concurrency=self.batch_size
        )
        return [EpisodeFigures.of(trajectory) for trajectory in done]


@contextmanager
def drawing_model(trainer: Any) -> Generator[Any]:
    """Open the model of a trainer to draw with: gathered from ZeRO-3 shards, copied from FSDP2
    ones. A collective."""
    from trl.models.utils import unwrap_model_for_generation

    copied = copy_to_draw_with(trainer.model, trainer.accelerator)
    with unwrap_model_for_generation(trainer.model_wrapped, trainer.accelerator) as model:
        yield model if copied is None else copied.update(model)


def dev_questions(path: str, limit: int) -> list[Question]:
    """Return the first `limit` questions of a file. Raises `UserError` for unscorable ones."""
    if not Path(path).is_file():
        raise UserError(f"evaluation.questions: {path}: no such file")
    questions = load_questions(path, limit)
    if any(not (question.answers or question.gold) for question in questions):
        raise UserError(f"{path}: a question without answers cannot be scored")
    return questions


@contextmanager
def attention_of_engine(model: Any) -> Generator[None]:
    """Use the attention of the engine, whose cache and masks flash attention does not take."""
    before = model.config._attn_implementation
    if before in ("sdpa", "eager"):
        yield
        return
    model.set_attn_implementation("sdpa")
    try:
        yield
    finally:
        model.set_attn_implementation(before)
