"""The record of a training run: metrics.jsonl, progress, and the clock."""

import math
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState

from graphwalker.console import console
from graphwalker.errors import GraphWalkerError
from graphwalker.files import JsonlAppender
from training.runs.checkpoints import lines_until
from training.runs.distributed import agree_on_first, rank


class RunLog(TrainerCallback):
    """Writes one line per logged step and shows the rate; a resumed run continues where it was.

    Of several processes, the first one writes.
    `tokens` holds the number of tokens that the run has seen after each step.
    """

    def __init__(
        self, folder: Path, start: int, tokens: list[int], max_seconds: float, show: bool
    ) -> None:
        self._folder = folder
        path = folder / "metrics.jsonl" if rank() == 0 else None
        known = lines_until(path, start) if path else []
        self._before = float(known[-1].get("seconds", 0.0)) if known else 0.0
        self._tokens, self._start, self._max_seconds = tokens, start, max_seconds
        self._clock = time.monotonic()
        self._metrics = JsonlAppender(path) if path else None
        self._shown = ExitStack()
        shown = path and (show or not console.err.is_terminal)
        self._tick = self._shown.enter_context(console.progress("SFT")) if shown else console.silent
        self.agreed_seconds = self._before
        """The first process's clock after the last step, where `max_seconds` needs one."""

    @property
    def seconds(self) -> float:
        """Seconds of training, those before a resume included."""
        return self._before + time.monotonic() - self._clock

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._clock = time.monotonic()
        self._tick(self._start, len(self._tokens))

    def on_step_end(
        self, args: Any, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        if self._max_seconds:  # processes that stopped at different steps would hang
            self.agreed_seconds = agree_on_first(self.seconds)
        if self._max_seconds and self.agreed_seconds >= self._max_seconds:
            control.should_training_stop = control.should_log = True
        if control.should_save:  # so that a line never spans a checkpoint
            control.should_log = True

    def on_log(self, args: Any, state: TrainerState, control: Any, **values: Any) -> None:
        logs: dict[str, float] = values["logs"]
        if "loss" in logs and self._metrics is not None:
            self._write(state.global_step, logs, self._metrics)
        # Before its checkpoint is saved, and in all processes.
        for name in ("loss", "grad_norm"):
            if not math.isfinite(logs.get(name) or 0.0):
                raise GraphWalkerError(
                    f"{self._folder}: stopped at step {state.global_step}: {name} is {logs[name]}; "
                    "lower lr and start in a new output_dir"
                )

    def _write(self, step: int, logs: dict[str, float], metrics: JsonlAppender) -> None:
        seconds = self.seconds
        here = self._tokens[step - 1] - (self._tokens[self._start - 1] if self._start else 0)
        line = {
            "step": step,
            "loss": logs["loss"],
            "lr": logs.get("learning_rate"),
            "grad_norm": logs.get("grad_norm"),
            "tokens": self._tokens[step - 1],
            "seconds": round(seconds, 3),
            "tokens_per_s": round(here / max(seconds - self._before, 1e-9), 1),
            **{name: value for name, value in logs.items() if name.startswith("eval_")},
        }
        metrics.append(line)
        figures = {"loss": line["loss"], "tokens/s": line["tokens_per_s"]}
        self._tick(step, len(self._tokens), **figures)

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._metrics is not None:
            self._metrics.close()
        self._shown.close()
