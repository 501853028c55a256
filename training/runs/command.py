"""The command line of a training script: `--config FILE` and `a.b=c` overrides, nothing else."""

import errno
import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from graphwalker.config import Config, load_config
from graphwalker.console.program import as_typed
from graphwalker.console.settings import describe
from graphwalker.doctor.places import promised_gpus, torch_build
from graphwalker.errors import GraphWalkerError, UserError, first_line
from training.runs.distributed import leave_the_other_processes
from training.runs.failures import leave_reason, lost_the_others, why_alone

C = TypeVar("C", bound=Config)
EXIT_CODE = "GRAPHWALKER_EXIT_CODE"
"""Names a file for the exit code of a failure: several processes end for `accelerate` with 1."""


def run_command(
    name: str, model: type[C], run: Callable[[C], Path], arguments: Sequence[str] | None = None
) -> int:
    """Parse, run, and turn the user's mistakes into one line and exit code 2."""
    try:
        _run(name, model, run, list(sys.argv[1:] if arguments is None else arguments))
        return 0
    except (Exception, KeyboardInterrupt) as error:
        # The launcher ends the others once one has ended: let this one speak first.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        try:
            return _tell(name, error)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _tell(name: str, error: BaseException) -> int:
    """Write why the run ends, for the user and the other processes; return the exit code."""
    explanation = _explain(error)
    is_alone = isinstance(error, RuntimeError) and lost_the_others(error)
    if not is_alone:
        leave_reason(
            explanation[0] if explanation else f"{type(error).__name__}: {first_line(error)}"
        )
    if explanation is None:
        raise error
    sys.stderr.write(f"{name}: {explanation[0]}\n")
    if file := os.environ.get(EXIT_CODE):
        Path(file).write_text(str(explanation[1]), encoding="ascii")
    if is_alone:  # at the interpreter's end gloo would wait for the process that is lost
        sys.stderr.flush()
        os._exit(explanation[1])
    return explanation[1]


def _run(name: str, model: type[C], run: Callable[[C], Path], arguments: Sequence[str]) -> None:
    if any(word in ("-h", "--help") for word in arguments):
        sys.stdout.write(_help(name, model))
        return
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    for noisy in ("httpx", "filelock", "datasets", "accelerate"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    path, overrides = parse_arguments(arguments)
    check_gpus(path, overrides)
    result = run(load_config(model, path, overrides))
    if os.environ.get("RANK", "0") == "0":
        sys.stdout.write(f"{result}\n")
    leave_the_other_processes()


def _explain(error: BaseException) -> tuple[str, int] | None:
    """Return what to tell of it in one line, and the exit code; `None` for what nobody expected."""
    match error:
        case UserError():
            return as_typed(str(error)), 2
        case GraphWalkerError():
            return str(error), getattr(error, "exit_code", 1)
        case RuntimeError() if lost_the_others(error):
            return f"{why_alone(error)}; the same command resumes", 1
        case KeyboardInterrupt():
            return "interrupted; the same command resumes the run", 128 + signal.SIGINT
        case FileExistsError() | NotADirectoryError() | IsADirectoryError():
            return f"{error.filename}: {error.strerror}; give another path", 2
        case OSError() if error.errno == errno.ENOSPC:
            return f"{error}; make room and run the same command", 1
        case _:
            return None


def parse_arguments(arguments: Sequence[str]) -> tuple[str | None, list[str]]:
    """`--config FILE` (or `--config=FILE`), `--trust FOLDER` and overrides.

    Raises `UserError` for anything else.
    """
    path, overrides, words = None, [], iter(arguments)
    for word in words:
        if word == "--config":
            path = next(words, None)
            if path is None:
                raise UserError("--config needs a file")
        elif word.startswith("--config="):
            path = word.partition("=")[2]
        elif word == "--trust":
            overrides.append(f"trust={next(words, '')}")
        elif word.startswith("-") or "=" not in word:
            raise UserError(f"{word!r} is not understood; use --config FILE and KEY=VALUE")
        else:
            overrides.append(word)
    return path, overrides


def _help(name: str, model: type[Config]) -> str:
    lines = [f"usage: {name} --config FILE [KEY=VALUE ...]", "", "Settings (default): meaning"]
    for row in describe(model, whole=False):
        about = f"graphwalker config {row.block}" if row.block else row.default.strip("()")
        lines.append(f"  {row.key} ({as_typed(about) if row.block else about}): {row.meaning}")
    return "\n".join(lines) + "\n"


def check_gpus(path: str | None, overrides: Sequence[str]) -> None:
    """Raise `UserError` where GPUs are promised, PyTorch sees none, and `allow_cpu` is not set.

    Asked before the config is read, as a job that cannot do its work should end at once: of the
    config only `allow_cpu` is looked at, where the file can be read.
    """
    promise = promised_gpus(os.environ)
    if not promise or sees_gpus() or _allows_cpu(path, overrides):
        return
    raise UserError(
        f"{promise} promises GPUs, but PyTorch sees none ({torch_build()}): install a CUDA build "
        "of torch, or set allow_cpu=true to train on the CPU"
    )


def sees_gpus() -> bool:
    import torch

    return torch.cuda.is_available()


def _allows_cpu(path: str | None, overrides: Sequence[str]) -> bool:
    """Return the setting, from the command line or else the file, whose other faults come later."""
    from graphwalker.config import read_settings

    given = [word.partition("=")[2] for word in overrides if word.startswith("allow_cpu=")]
    if not given and path is not None:
        try:
            loaded: object = read_settings(path)
        except Exception:
            return False
        given = [str(loaded.get("allow_cpu", ""))] if isinstance(loaded, dict) else []
    return bool(given) and given[-1].strip().lower() in ("true", "1", "yes", "on")
