"""A copy of the model in training: to draw with, in a precision and a time of its own."""

import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from graphwalker.errors import UserError


class ModelCopy:
    """The weights as they stood at the last `update`, adapters merged in, in `dtype`."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype
        self._model: Any = None

    def update(self, model: Any) -> Any:
        """Take over the weights of `model` (bare, whole); returns the copy, the same each time."""
        if self._model is None:
            self._model = _empty_like(model, self.dtype)
        targets = dict(self._model.named_parameters(remove_duplicate=False))
        with torch.no_grad():
            for name, weights in merged_weights(model):
                targets[name].copy_(weights)
        return self._model


def merged_weights(model: Any) -> Iterator[tuple[str, Tensor]]:
    """The parameters of a model under its own names; adapters are added to what they adapt."""
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


def refuse_sharded_copy(accelerator: Any, setting: str) -> None:
    """Raises `UserError` where no process holds whole weights (ZeRO-3, FSDP)."""
    plugin = getattr(accelerator.state, "deepspeed_plugin", None)
    if plugin is not None and plugin.zero_stage == 3:
        raise UserError(
            f"{setting} needs whole weights in every process, which ZeRO-3 shares out; "
            "use configs/accelerate/zero2.yaml, or engine=vllm-server"
        )


def _empty_like(model: Any, dtype: torch.dtype) -> Any:
    """A model of the same shape. It is made anew: the forward methods of the one in training are
    patched, and a deep copy of them would still run the original."""
    from transformers import AutoModelForCausalLM

    base: Any = model.get_base_model() if hasattr(model, "peft_config") else model
    config = copy.deepcopy(base.config)
    config._attn_implementation = "sdpa"
    with torch.random.fork_rng(devices=[]):  # its first weights are thrown away
        made: Any = AutoModelForCausalLM.from_config(config, dtype=dtype)
    made.generation_config = copy.deepcopy(base.generation_config)
    return made.to(base.device).requires_grad_(False).eval()
