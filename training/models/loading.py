"""The models of a run as they come into memory: in which precision, where, and once a node.

Weights are mapped from their file, so what is read as it stands there is held once a node. Where a
process has a GPU of its own they go straight to it.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import register_parametrization

from graphwalker.pretrained.adapters import base_of, find_adapter
from graphwalker.pretrained.load import lay_over, read_model
from training.runs.distributed import flag, rank, uses_bfloat16

FIRST_READS = "FSDP_CPU_RAM_EFFICIENT_LOADING"
"""Set by accelerate where the first process alone has weights and FSDP2 deals them out."""


def load_policy(model: str, dtype: str, *, frozen: bool = False, **options: Any) -> Any:
    """Return the model that learns; `frozen`: its adapters alone do. Of an adapter's folder it is
    the base with that adapter, which is trained further.

    What an optimizer updates is float32. DeepSpeed makes that copy itself, in shares, from bfloat16
    weights. `options` are those of transformers' `from_pretrained`.
    """
    if find_adapter(model):
        base = load_policy(base_of(model), dtype, frozen=True, **options)
        return lay_over(model, base, trainable=True)
    half = uses_bfloat16(dtype) and (frozen or flag("ACCELERATE_USE_DEEPSPEED"))
    precision = torch.bfloat16 if half else torch.float32
    if _first_deals_out() and rank():
        with _reading_all():
            return _without_weights(read_model(model, dtype="auto", **options), precision)
    with _reading_all():
        return read_model(model, dtype=precision, **options, **_on_its_device())


def load_reference(model: str, dtype: str, **options: Any) -> Any:
    """Return the model that the policy is compared with: in bfloat16, if arithmetic is; otherwise
    as its file has it, and each weight is made float32 where it is used."""
    half, shared = uses_bfloat16(dtype), flag("ACCELERATE_USE_DEEPSPEED")
    held = torch.bfloat16 if half else torch.float32 if shared else "auto"
    with _reading_all():
        made = read_model(model, dtype=held, **options, **_on_its_device())
    made.requires_grad_(False)
    return made if half else _in_float32(made)


def _on_its_device() -> dict[str, Any]:
    """Return where the weights go at once; ZeRO-3 and FSDP2 shard from host memory."""
    from accelerate import PartialState
    from transformers.integrations.deepspeed import is_deepspeed_zero3_enabled

    if not torch.cuda.is_available() or is_deepspeed_zero3_enabled() or flag("ACCELERATE_USE_FSDP"):
        return {}
    return {"device_map": {"": PartialState().device}}


def _first_deals_out() -> bool:
    return flag("ACCELERATE_USE_FSDP") and flag(FIRST_READS)


@contextmanager
def _reading_all() -> Generator[None, None, None]:
    """Let transformers read in every process: in all but the first it would fill a model of zeros,
    of full size, which a reference would keep."""
    before = os.environ.get(FIRST_READS)
    os.environ[FIRST_READS] = "false"
    try:
        yield
    finally:
        os.environ.pop(FIRST_READS)
        os.environ.update({} if before is None else {FIRST_READS: before})


def _without_weights(model: Any, precision: torch.dtype) -> Any:
    """Return the model with room for weights that is never touched, so that it takes no memory: the
    first process deals them out. accelerate tells parameters apart by their addresses, which they
    would not have on the device `meta`."""
    for weights in model.parameters():
        weights.data = torch.empty_like(weights, dtype=precision)
    return model


class _Float32(nn.Module):
    """A weight in float32, made from the one that is held each time it is used."""

    def forward(self, weight: Tensor) -> Tensor:
        return weight.float()


def _in_float32(model: Any) -> Any:
    for module in list(model.modules()):
        for name, weight in list(module.named_parameters(recurse=False)):
            if weight.dtype != torch.float32:
                register_parametrization(module, name, _Float32(), unsafe=True)
    return model
