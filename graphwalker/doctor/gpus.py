"""GPUs: those that were promised to a process, and those that PyTorch sees."""

import importlib.util
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from typing import Any, cast

from graphwalker.doctor.diagnosis import Diagnosis, note, ok, wrong

GIB = 2**30


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


def torch_build() -> str:
    """PyTorch's version and what it was built for."""
    import torch

    built = f"built for CUDA {torch.version.cuda}" if torch.version.cuda else "a build for CPUs"
    return f"torch {torch.__version__}, {built}"


def look_at_gpus(allow_cpu: bool = False, layout: str = "") -> Iterator[Diagnosis]:
    """PyTorch's build, the GPUs that it sees with their memory, and NCCL. A login node has no GPU;
    a build of PyTorch for CPUs sees none on any node, and does not suit a `layout`."""
    if importlib.util.find_spec("torch") is None:
        yield note("GPUs", "torch is not installed", "pip install 'graphwalker-kgqa[train]'")
        return
    import torch

    promise = promised_gpus(os.environ)
    if torch.cuda.is_available():
        yield ok("GPUs", f"{torch_build()}; {', '.join(_devices(torch))}")
        yield ok("NCCL", _nccl(torch))
    elif promise and not allow_cpu:
        advice = "install a CUDA build of torch (make setup TORCH=cuda), or set allow_cpu=true"
        yield wrong("GPUs", f"{promise}, but PyTorch sees none ({torch_build()})", advice)
    elif (shutil.which("nvidia-smi") or layout) and torch.version.cuda is None and not allow_cpu:
        why = f"layout {layout} is for GPUs" if layout else "nvidia-smi is there"
        advice = "install a CUDA build of torch (make setup TORCH=cuda)"
        yield wrong("GPUs", f"{why}, but {torch_build()}", advice)
    else:
        yield note("GPUs", f"none; {torch_build()}")


def _devices(torch: Any) -> Iterator[str]:
    for number in range(torch.cuda.device_count()):
        free, total = torch.cuda.mem_get_info(number)
        name = torch.cuda.get_device_name(number)
        yield f"{name} ({free / GIB:.0f} of {total / GIB:.0f} GiB free)"


def _nccl(torch: Any) -> str:
    found: Any = torch.cuda.nccl.version()
    if not isinstance(found, tuple):
        return str(found)
    return ".".join(str(number) for number in cast(tuple[int, ...], found))
