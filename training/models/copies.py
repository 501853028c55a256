"""A copy of the model in training: to draw with, in a precision of its own."""

import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor

from graphwalker.pretrained.load import make_model
from training.runs.distributed import flag


class ModelCopy:
    """The weights as they stood at the last `update`, adapters merged in, in `dtype`."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype
        self._model: Any = None

    def update(self, model: Any) -> Any:
        """Take over the weights of `model` (bare); returns the copy, the same each time.

        A collective where FSDP2 shares the model out: every process gets all of it.
        """
        if self._model is None:
            self._model = _empty_like(model, self.dtype)
        for parameter in self._model.parameters():
            if not (storage := parameter.untyped_storage()).size():  # given back by `free`
                storage.resize_(parameter.numel() * parameter.element_size())
        targets = dict(self._model.named_parameters(remove_duplicate=False))
        with torch.no_grad():
            for name, weights in merged_weights(model):
                targets[name].copy_(whole(weights))
        return self._model

    def free(self) -> None:
        """Give back the room of the weights until the next `update`."""
        for parameter in self._model.parameters():
            parameter.untyped_storage().resize_(0)


def whole(weights: Tensor) -> Tensor:
    """Gather an FSDP2-sharded tensor in each process (a collective); return others as they are."""
    return weights.full_tensor() if isinstance(weights, DTensor) else weights


def copy_to_draw_with(model: Any, accelerator: Any) -> ModelCopy | None:
    """Return an empty copy to draw with, in the precision of the arithmetic, where FSDP2 shares the
    model out, and on a CPU that multiplies in bfloat16, where float32 weights take twice as long;
    otherwise `None`: the model draws itself."""
    half = accelerator.mixed_precision == "bf16"
    slow = half and accelerator.device.type == "cpu" and not flag("ACCELERATE_USE_DEEPSPEED")
    if not slow and not any(isinstance(parameter, DTensor) for parameter in model.parameters()):
        return None
    return ModelCopy(torch.bfloat16 if half else torch.float32)


def merged_weights(model: Any) -> Iterator[tuple[str, Tensor]]:
    """Get the parameters of a model under its own names; adapters are added to what they adapt."""
    base: Any = model.get_base_model() if hasattr(model, "peft_config") else model
    adapted = {
        f"{name}.weight": module
        for name, module in base.named_modules()
        if hasattr(module, "get_delta_weight")
    }
    for name, parameter in base.named_parameters(remove_duplicate=False):
        plain = name.replace(".base_layer.", ".")
        if ".lora_" in name:
            continue
        if module := adapted.get(plain):
            weights = parameter.detach()
            for adapter in module.active_adapters:
                weights = weights + module.get_delta_weight(adapter)
            yield plain, weights
        else:
            yield plain, parameter.detach()


def _empty_like(model: Any, dtype: torch.dtype) -> Any:
    """Return a model of the same shape. It is made anew: the forward methods of the one in training
    are patched, and a deep copy of them would still run the original."""
    base: Any = model.get_base_model() if hasattr(model, "peft_config") else model
    config = copy.deepcopy(base.config)
    config._attn_implementation = "sdpa"
    with torch.random.fork_rng(devices=[]):  # its first weights are thrown away
        made: Any = make_model(config, dtype=dtype)
    made.generation_config = copy.deepcopy(base.generation_config)
    return made.to(base.device).requires_grad_(False).eval()
