"""Evaluation while training: the model answers dev questions now and then; the best is kept."""

import json
import logging
import shutil
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState

from graphwalker.files import JsonlAppender
from training.evaluation.dev_set import DevSet, paired_gain
from training.runs.checkpoints import lines_until, publish, publish_final
from training.runs.distributed import agree_on_first, rank


class BestModel:
    """Keeps the model of the step with the highest score; of equals the earliest.

    It outlives a kill: a resumed run measures the same steps again and finds the same scores.
    """

    def __init__(self, folder: Path, by: str = "em") -> None:
        self._folder, self._by, self._note = folder, by, folder / "best.json"
        self.step, self.score = 0, float("-inf")
        if self._note.is_file():
            note = json.loads(self._note.read_text(encoding="utf-8"))
            if self._place(note["step"]).is_dir():
                self.step, self.score = int(note["step"]), float(note[by])

    @property
    def has_model(self) -> bool:
        """Whether a best model is known; the one before the first step may be it."""
        return self.score > float("-inf")

    def offer(self, trainer: Any, step: int, score: float) -> None:
        """Save the trainer's model if it is better; all processes take part."""
        if score <= self.score:
            return
        before = self.step if self.has_model and self.step != step else None
        self.step, self.score = step, score
        partial = self._folder / "best.partial"
        if rank() == 0:
            shutil.rmtree(partial, ignore_errors=True)
        trainer.accelerator.wait_for_everyone()
        trainer.save_model(str(partial))
        trainer.accelerator.wait_for_everyone()
        if rank() == 0:
            shutil.rmtree(self._place(step), ignore_errors=True)
            publish(partial, self._place(step))
            note = self._note.with_name("best.json.partial")
            note.write_text(json.dumps({"step": step, self._by: score}) + "\n", encoding="utf-8")
            note.replace(self._note)
            if before is not None:
                shutil.rmtree(self._place(before), ignore_errors=True)

    def as_final(self, trainer: Any) -> Path:
        """Copy it to `final/`."""
        partial, final = self._folder / "final.partial", self._folder / "final"
        if rank() == 0:
            shutil.rmtree(partial, ignore_errors=True)
            shutil.copytree(self._place(self.step), partial)
            publish_final(partial, self._folder, self.step)
        trainer.accelerator.wait_for_everyone()
        return final

    def _place(self, step: int) -> Path:
        return self._folder / f"best-{step}"


log = logging.getLogger(__name__)

FILE = "evaluations.jsonl"
"""A line for each evaluation: its figures, and the greedy EM of each question."""


class RolloutEvaluation(TrainerCallback):
    """Evaluates every so many steps and at the end, and keeps the best model by `choose_by`.

    With `at_start` also before the first step: later figures then have a paired gain over it. After
    `patience` evaluations without a better one (0: never) the run ends. Set `trainer` before
    training.
    """

    trainer: Any = None

    def __init__(
        self,
        folder: Path,
        dev_set: DevSet,
        every_steps: int,
        *,
        keep_best: bool = True,
        choose_by: str = "em",
        at_start: bool = False,
        patience: int = 0,
    ) -> None:
        self._folder, self._dev_set, self._every_steps = folder, dev_set, every_steps
        self.best = BestModel(folder, choose_by) if keep_best else None
        self._choose_by, self._at_start, self._patience = choose_by, at_start, patience
        self._fresh: dict[str, float] = {}
        self._history: list[dict[str, Any]] = []

    def take(self) -> dict[str, float]:
        """Return the figures of the last evaluation, once."""
        figures, self._fresh = self._fresh, {}
        return figures

    def on_train_begin(
        self, args: Any, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        known = lines_until(self._folder / FILE, state.global_step) if rank() == 0 else []
        self._history = agree_on_first(known)
        if self._at_start and state.global_step == 0 and not self._history:
            self._evaluate(0)

    def on_step_end(
        self, args: Any, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        if state.global_step % self._every_steps and not control.should_training_stop:
            return
        self._evaluate(state.global_step)
        control.should_log = True
        if self._patience_is_over() and state.global_step < state.max_steps:
            if rank() == 0:
                words = "step %d: no gain in %d evaluations: the run ends"
                log.info(words, state.global_step, self._patience)
            control.should_training_stop = True

    def _evaluate(self, step: int) -> None:
        figures, em = self._dev_set.play(self.trainer)
        if self._history and self._at_start:
            figures |= paired_gain(em, self._history[0]["em_by_question"])
        if self.best is not None:
            self.best.offer(self.trainer, step, figures[self._choose_by])
        line = {"step": step, **figures, "em_by_question": em}
        self._history.append(line)
        self._fresh = {f"eval_{name}": value for name, value in figures.items()}
        if rank() == 0:
            appender = JsonlAppender(self._folder / FILE)
            appender.append(line)
            appender.close()
            _show(step, figures)

    def _patience_is_over(self) -> bool:
        scores = [line[self._choose_by] for line in self._history]
        since = len(scores) - 1 - scores.index(max(scores))
        return bool(self._patience) and since >= self._patience


def _show(step: int, figures: dict[str, float]) -> None:
    gain = "  gain {gain:+.3f} [{gain_low:+.3f}, {gain_high:+.3f}]" if "gain" in figures else ""
    sampled = "  sampled EM {sampled_em:.3f}" if "sampled_em" in figures else ""
    words = "EM {em:.3f} [{em_low:.3f}, {em_high:.3f}], valid actions {valid_actions:.3f}"
    log.info("step %d: %s", step, (words + sampled + gain).format(**figures))
