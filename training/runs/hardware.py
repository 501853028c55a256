"""Whether the hardware that a job was promised is there: a job for GPUs never trains on a CPU."""

import os
import re
from collections.abc import Mapping, Sequence

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
        f"{promise} promises GPUs, but PyTorch sees none ({_build()}): install a CUDA build of "
        "torch, or set allow_cpu=true to train on the CPU"
    )


def promised_gpus(environment: Mapping[str, str]) -> str:
    """The variable, with its value, or the layout that promises this process a GPU; else `""`."""
    on_node = environment.get("SLURM_GPUS_ON_NODE", "")
    if any(int(number) for number in re.findall(r"\d+", on_node)[-1:]):
        return f"SLURM_GPUS_ON_NODE={on_node}"
    visible = environment.get("CUDA_VISIBLE_DEVICES", "").strip()
    if visible and not visible.startswith("-1") and visible.lower() not in ("none", "nodevfiles"):
        return f"CUDA_VISIBLE_DEVICES={visible}"
    if environment.get("ACCELERATE_USE_DEEPSPEED", "").lower() == "true":
        return "accelerate's DeepSpeed layout"
    # Only its launcher for one process says that it uses the CPU; that for several is for GPUs.
    several = int(environment.get("WORLD_SIZE", "1")) > 1
    launched = "ACCELERATE_MIXED_PRECISION" in environment
    if several and launched and "ACCELERATE_USE_CPU" not in environment:
        return f"accelerate's layout of {environment['WORLD_SIZE']} processes"
    return ""


def _cuda() -> bool:
    import torch

    return torch.cuda.is_available()


def _build() -> str:
    import torch

    built = f"built for CUDA {torch.version.cuda}" if torch.version.cuda else "a build for CPUs"
    return f"torch {torch.__version__}, {built}"


def _allowed(path: str | None, overrides: Sequence[str]) -> bool:
    """The setting, from the command line or else the file; other faults of the file come later."""
    from omegaconf import OmegaConf

    given = [word.partition("=")[2] for word in overrides if word.startswith("allow_cpu=")]
    if not given and path is not None:
        try:
            loaded = OmegaConf.to_container(OmegaConf.load(path))
        except Exception:
            return False
        given = [str(loaded.get("allow_cpu", ""))] if isinstance(loaded, dict) else []
    return bool(given) and given[-1].strip().lower() in ("true", "1", "yes", "on")
