"""Saving: a trainer's checkpoints and its final model, whole or not there, whatever happens."""

import errno
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graphwalker.agents.model_environment import copy_environment
from graphwalker.errors import GraphWalkerError
from training.runs.checkpoints import last_checkpoint, publish_checkpoint, publish_final, staging

_NO_ROOM = (
    "No space left", "Disk quota exceeded", "File too large",
    "file write failed", "iostream error", "unexpected pos",
)  # fmt: skip
"""How Python and safetensors, and then torch, say that a file could not grow."""


START = "ref"
"""TRL's name of the adapter that GRPO continues, as it was: the reference. A resumed run reads
it from where the first one did, so no folder keeps it."""


class DiskFullError(GraphWalkerError, OSError):
    """There is no room for a checkpoint; the last whole one is still there."""


class WholeCheckpoints:
    """For a transformers `Trainer`, named before it: checkpoints appear in one piece.

    A checkpoint is written in a folder of its own, brought to the disk and renamed, by the first
    process after all have written. So a killed run finds its last one, and so does a run whose disk
    is full: that raises `DiskFullError`.
    """

    keep_checkpoints: int = 2
    """Older ones are removed."""
    _saving = False

    def _get_output_dir(self: Any, trial: Any) -> str:
        # transformers writes checkpoint-STEP in place, where a kill leaves a half one.
        folder = Path(self.args.output_dir)
        return str(staging(folder) if self._saving else folder)

    def save_model(self: Any, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """Save the model with the environment of the run."""
        for adapter in getattr(self.model, "peft_config", {}).values():
            if isinstance(adapter.target_modules, set):  # equal runs write equal files
                adapter.target_modules = sorted(adapter.target_modules)
        super().save_model(output_dir, _internal_call)  # type: ignore[misc]
        shutil.rmtree(Path(output_dir or self.args.output_dir) / START, ignore_errors=True)
        if self.args.should_save and output_dir not in (None, self.args.output_dir):
            copy_environment(self.args.output_dir, str(output_dir))

    def _save_checkpoint(self: Any, model: Any, trial: Any) -> None:
        folder, step = Path(self.args.output_dir), self.state.global_step
        if self.is_world_process_zero():
            shutil.rmtree(staging(folder), ignore_errors=True)
        self.accelerator.wait_for_everyone()
        self._saving = True
        try:
            with room_for(folder):
                super()._save_checkpoint(model, trial)  # type: ignore[misc]
            self.accelerator.wait_for_everyone()
            if self.is_world_process_zero():
                publish_checkpoint(folder, step, self.keep_checkpoints)
        except OSError as error:
            if _disk_is_full(error):
                raise _no_room(folder, f"checkpoint-{step}") from error
            raise
        finally:
            self._saving = False
        self.accelerator.wait_for_everyone()


def save_final(trainer: Any, folder: Path) -> Path:
    """Write the trained model and its tokenizer to `final/`; all processes take part.

    Raises `DiskFullError`; the run then resumes from its last checkpoint.
    """
    partial, final = folder / "final.partial", folder / "final"
    try:
        with room_for(partial):
            trainer.save_model(str(partial))
        trainer.accelerator.wait_for_everyone()
        if trainer.is_world_process_zero():
            publish_final(partial, folder)
    except OSError as error:
        if _disk_is_full(error):
            raise _no_room(folder, "final") from error
        raise
    trainer.accelerator.wait_for_everyone()
    return final


@contextmanager
def room_for(folder: Path) -> Generator[None, None, None]:
    """Say of a full disk that it is one, as an `OSError`, whichever library has met it."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:  # tokenizers raises nothing else; others have errors of their own
        if not _disk_is_full(error):
            raise
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder)) from error


def _disk_is_full(error: Exception) -> bool:
    return any(words in str(error) for words in _NO_ROOM)


def _no_room(folder: Path, what: str) -> DiskFullError:
    shutil.rmtree(staging(folder), ignore_errors=True)  # its room may be all that there is
    last = last_checkpoint(folder)
    rest = f"checkpoint-{last} is whole" if last else "there is no earlier checkpoint"
    return DiskFullError(
        f"{folder}: no room on the disk for {what}; {rest}: make room and run the same command"
    )
