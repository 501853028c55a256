"""Whether the hardware that a job was promised is there: a job for GPUs never trains on a CPU."""

import os
from collections.abc import Sequence

from graphwalker.doctor.gpus import promised_gpus, torch_build
from graphwalker.errors import UserError


def check_gpus(path: str | None, overrides: Sequence[str]) -> None:
    """Raises `UserError` where GPUs are promised, PyTorch sees none, and `allow_cpu` is not set.

    Asked before the config is read, as a job that cannot do its work should end at once: of the
    config only `allow_cpu` is looked at, where the file can be read.
    """
    promise = promised_gpus(os.environ)
    if not promise or _cuda() or _allowed(path, overrides):
        return
    raise UserError(
        f"{promise} promises GPUs, but PyTorch sees none ({torch_build()}): install a CUDA build "
        "of torch, or set allow_cpu=true to train on the CPU"
    )


def _cuda() -> bool:
    import torch

    return torch.cuda.is_available()


def _allowed(path: str | None, overrides: Sequence[str]) -> bool:
    """The setting, from the command line or else the file; other faults of the file come later."""
    from graphwalker.config import read_settings

    given = [word.partition("=")[2] for word in overrides if word.startswith("allow_cpu=")]
    if not given and path is not None:
        try:
            loaded: object = read_settings(path)
        except Exception:
            return False
        given = [str(loaded.get("allow_cpu", ""))] if isinstance(loaded, dict) else []
    return bool(given) and given[-1].strip().lower() in ("true", "1", "yes", "on")
