"""Attention in float32 where the rest of a CPU's forward pass is bfloat16."""

from typing import Any

FLOAT32 = "sdpa_float32"
"""Its name among the attention functions of transformers, after `add_float32_attention`."""


def add_float32_attention() -> str:
    """Make `attn_implementation="sdpa_float32"` known, and return the name.

    PyTorch's attention kernel for CPUs multiplies in float32 whatever it is given: in bfloat16 its
    backward pass takes 1.7 times as long, for the conversions.
    """
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS

    def float32(module: Any, query: Any, key: Any, value: Any, mask: Any, **more: Any) -> Any:
        import torch

        with torch.autocast(query.device.type, enabled=False):
            parts = query.float(), key.float(), value.float()
            output, weights = sdpa_attention_forward(module, *parts, mask, **more)
        return output.to(query.dtype), weights

    AttentionInterface.register(FLOAT32, float32)
    AttentionMaskInterface.register(FLOAT32, ALL_MASK_ATTENTION_FUNCTIONS["sdpa"])
    return FLOAT32
