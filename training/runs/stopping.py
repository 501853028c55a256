"""Stopping early: SIGTERM and SIGUSR1 save a checkpoint after the step at hand and end the run."""

import json
import logging
import signal
from pathlib import Path
from threading import current_thread, main_thread
from types import FrameType
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState

from graphwalker.errors import GraphWalkerError
from graphwalker.files import write_json
from training.runs.distributed import gather_all, rank

SIGNALS = (signal.SIGTERM, signal.SIGUSR1)
"""Slurm sends SIGTERM before it kills a job, and with `--signal=USR1@300` a notice before that."""
MARKER = "stopped.json"
"""In the run folder while a stopped run waits to be resumed: the signal and the step."""


class StoppedError(GraphWalkerError, RuntimeError):
    """A signal ended the run; its last step is in a checkpoint."""

    def __init__(self, folder: Path, number: int, step: int) -> None:
        self.exit_code = 128 + number  # as shells count a process that a signal ended
        name = signal.Signals(number).name
        super().__init__(
            f"{folder}: {name}: stopped after step {step}, which is saved; the same command "
            "resumes there"
        )


class StopSignals(TrainerCallback):
    """Ends training at the end of a step once any process got a signal.

    A checkpoint is only made after every `iterations` steps, as the batch of episodes that the
    others share is not saved.
    """

    def __init__(self, folder: Path, iterations: int = 1) -> None:
        self._folder, self._iterations = folder, iterations
        self._received = self.stopped_by = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "StopSignals":
        if current_thread() is main_thread():  # elsewhere Python sets no handlers
            self._before = {number: signal.signal(number, self._note) for number in SIGNALS}
        (self._folder / MARKER).unlink(missing_ok=True)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, _: FrameType | None) -> None:
        self._received = number

    def on_step_end(
        self, args: Any, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        number = max(gather_all([self._received]))
        if not number or state.global_step % self._iterations:
            return
        if state.global_step < state.max_steps:
            self.stopped_by = number
        control.should_save = control.should_log = control.should_training_stop = True

    def mark(self, step: int) -> None:
        """Raise `StoppedError` where a signal ended the run, and leaves the marker."""
        if self.stopped_by:
            if rank() == 0:
                name = signal.Signals(self.stopped_by).name
                write_json(self._folder / MARKER, {"signal": name, "step": step})
            raise StoppedError(self._folder, self.stopped_by, step)


def train(trainer: Any, start: int, iterations: int = 1) -> None:
    """Train from the checkpoint of step `start`, 0 for the beginning, to the end.

    Raises `StoppedError` once a signal has come and the step at hand is saved.
    """
    folder = Path(trainer.args.output_dir)
    trainer.add_callback(NewSettings())
    with StopSignals(folder, iterations) as signals:
        trainer.add_callback(signals)  # last: an evaluation at this step could outlast the notice
        trainer.train(resume_from_checkpoint=str(folder / f"checkpoint-{start}") if start else None)
    signals.mark(trainer.state.global_step)


log = logging.getLogger(__name__)


class NewSettings(TrainerCallback):
    """Applies new settings when a run resumes, in place of those of its checkpoint.

    transformers takes the intervals from the checkpoint, and the optimizer's next learning rate,
    which a schedule of another length would not have.
    """

    def on_train_begin(
        self, args: Any, state: TrainerState, control: TrainerControl, **more: Any
    ) -> None:
        if not state.global_step:
            return
        state.compute_steps(args, state.max_steps)
        checkpoint = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        before = json.loads((checkpoint / "trainer_state.json").read_text(encoding="utf-8"))
        if before["max_steps"] == state.max_steps:
            return
        log.info("the run has %d steps now, not %d", state.max_steps, before["max_steps"])
        schedule = getattr(more["lr_scheduler"], "scheduler", more["lr_scheduler"])
        if hasattr(schedule, "lr_lambdas"):
            pairs = zip(schedule.base_lrs, schedule.lr_lambdas, strict=True)
            rates = [base * factor(schedule.last_epoch) for base, factor in pairs]
            for group, rate in zip(more["optimizer"].param_groups, rates, strict=True):
                group["lr"] = rate
            schedule._last_lr = rates  # what is logged
