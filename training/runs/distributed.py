"""The processes of a run: which one this is, how they talk, and what their layout must allow."""

import os
from datetime import timedelta
from importlib import import_module
from typing import Any, TypeVar

from graphwalker.errors import UserError

T = TypeVar("T")

_DEEPSPEED_STATE = (
    "deepspeed.runtime.fp16.loss_scaler.DynamicLossScaler",
    "deepspeed.runtime.fp16.loss_scaler.LossScaler",
    "deepspeed.runtime.zero.config.ZeroStageEnum",
    "deepspeed.utils.tensor_fragment.fragment_address",
)
"""What its optimizer states hold besides tensors."""


def rank() -> int:
    """Return the number of this process, 0 for the first; as `accelerate` or `torchrun` set it."""
    return int(os.environ.get("RANK", "0"))


def processes() -> int:
    """Return the number of processes that train together."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def gather_all(items: list[T]) -> list[T]:
    """Return the items of all processes by rank; every process must call it."""
    if processes() == 1:
        return items
    from accelerate.utils import gather_object

    return gather_object(items)


def agree_on_first(value: T) -> T:
    """Return the first process's value; every process must call it."""
    if processes() == 1:
        return value
    from accelerate.utils import broadcast_object_list

    return broadcast_object_list([value])[0]


def check_layout() -> None:
    """Raise `UserError` where the layout of `accelerate launch` cannot do what the run needs."""
    if flag("ACCELERATE_USE_FSDP") and os.environ.get("FSDP_VERSION", "1") != "2":
        raise UserError("of FSDP only version 2 works: use configs/accelerate/fsdp2.yaml")


def cuts_up_matrices() -> bool:
    """Return whether no process holds whole weights in this layout."""
    return flag("ACCELERATE_USE_DEEPSPEED") or flag("ACCELERATE_USE_FSDP")


def leave_the_other_processes() -> None:
    """Left to the interpreter's end, gloo's threads now and then abort a process that is done."""
    from torch import distributed

    if distributed.is_available() and distributed.is_initialized():
        distributed.destroy_process_group()


def limit_waiting(seconds: int) -> None:
    """Let processes on CPUs wait so long for each other; transformers tells those on GPUs alone."""
    import torch

    layouts = ("ACCELERATE_USE_DEEPSPEED", "ACCELERATE_USE_FSDP")
    if processes() == 1 or torch.cuda.is_available() or any(map(flag, layouts)):
        return
    from accelerate import PartialState

    PartialState(cpu=True, backend="gloo", timeout=timedelta(seconds=seconds))


def process_arguments(bf16: bool) -> dict[str, Any]:
    """Return the fields of `TrainingArguments` about processes; the run's precision wins.

    `accelerate launch` passes on the `mixed_precision` of its own file, which would otherwise hold
    wherever ours is not bfloat16: on a CPU, or with `dtype=float32`.
    """
    import torch

    os.environ["ACCELERATE_MIXED_PRECISION"] = "bf16" if bf16 else "no"
    if flag("ACCELERATE_USE_DEEPSPEED"):
        if not torch.cuda.is_available():
            os.environ.setdefault("DS_ACCELERATOR", "cpu")
        _read_state_alone()
    if torch.cuda.is_available():
        return {"use_cpu": False}
    # Else each of several processes has `cpu:0`, to which PyTorch copies what is on `cpu`.
    os.environ["ACCELERATE_TORCH_DEVICE"] = "cpu"
    if flag("ACCELERATE_USE_DEEPSPEED"):
        return {"use_cpu": bf16, "ddp_backend": "gloo"}  # False: bfloat16 wants a GPU
    return {"use_cpu": True, "ddp_backend": "gloo" if processes() > 1 else None}


def _read_state_alone() -> None:
    """DeepSpeed unpickles its checkpoints; let torch read tensors and these facts, never code."""
    from torch.serialization import add_safe_globals

    os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] = "1"
    names = [name.rpartition(".") for name in _DEEPSPEED_STATE]
    add_safe_globals([getattr(import_module(module), name) for module, _, name in names])


def flag(name: str) -> bool:
    return os.environ.get(name, "false").lower() in ("1", "true", "yes")


def uses_bfloat16(dtype: str) -> bool:
    """True where arithmetic of that setting is bfloat16: `auto` is, on a GPU that has it; `native`
    also on a CPU that multiplies in it."""
    import torch

    if dtype not in ("auto", "native"):
        return dtype == "bfloat16"
    if torch.cuda.is_available():
        return torch.cuda.is_bf16_supported()
    # Without such instructions oneDNN converts back and forth, which is slower than float32.
    return dtype == "native" and (
        torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    )
