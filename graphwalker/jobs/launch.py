"""Training as on a cluster: `accelerate launch` of a training script, and what it ended with."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import current_thread, main_thread
from types import FrameType

from graphwalker.errors import GraphWalkerError, UserError

STOPPING = (signal.SIGTERM, signal.SIGUSR1)
"""Signals upon which training saves a checkpoint and ends."""
PROCESSES = 2
"""Processes of one thread each on CPUs."""


class TrainingError(GraphWalkerError, RuntimeError):
    """A training script failed, with the exit code that it ended with."""

    def __init__(self, message: str, exit_code: int) -> None:
        self.exit_code = exit_code
        super().__init__(message)


def launch(script: str, config: Path, section: str, overrides: Sequence[str]) -> None:
    """Run `training.SCRIPT` on a section of a config, in two processes where there is no GPU.

    Raises `TrainingError` where it fails; what it said stands above.
    """
    import torch

    on_gpu = torch.cuda.is_available()
    # "multi_gpu" is torchrun, whose processes talk over gloo where there is no GPU.
    layout = ["--num_processes", "1"]
    if not on_gpu:
        layout, overrides = (
            ["--multi_gpu", "--num_processes", str(PROCESSES)],
            [*overrides, "allow_cpu=true"],
        )
    command = [
        *(sys.executable, "-m", "training.launch", *layout),
        *("--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no"),
        *("--num_cpu_threads_per_process", "1", "--main_process_port", "0"),
        *("--module", f"training.{script}", "--config", f"{config}#{section}", *overrides),
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, env=environment) as process, _passing_on(process):
        code = process.wait()
    if code == 2:
        raise UserError(f"{section}: refused by training.{script}; its message stands above")
    if code:
        raise TrainingError(f"{section} ended with code {code}; its error stands above", code)


@contextmanager
def _passing_on(process: "subprocess.Popen[bytes]") -> Generator[None]:
    """The signals that stop training go to the process that trains."""

    def forward(number: int, _: FrameType | None) -> None:
        process.send_signal(number)

    if current_thread() is not main_thread():  # elsewhere Python sets no handlers
        yield
        return
    before = {number: signal.signal(number, forward) for number in STOPPING}
    try:
        yield
    finally:
        if process.poll() is None:
            process.terminate()
        for number, handler in before.items():
            signal.signal(number, handler)
