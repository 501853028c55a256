"""Model shapes: dimensions without weights, from a local folder or for a known Hub name."""

from pathlib import Path
from typing import Any

from graphwalker.errors import UserError
from graphwalker.pretrained.load import make_model, read_config

_KEYS = (
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "intermediate_size",
    "vocab_size",
    "tie_word_embeddings",
    "max_position_embeddings",
)
# As in the config.json of each model on the Hub.
_KNOWN: dict[str, tuple[str, tuple[int, ...], dict[str, Any]]] = {
    "Qwen/Qwen2.5-0.5B-Instruct": ("qwen2", (896, 24, 14, 2, 4864, 151936, True, 32768), {}),
    "Qwen/Qwen2.5-1.5B-Instruct": ("qwen2", (1536, 28, 12, 2, 8960, 151936, True, 32768), {}),
    "Qwen/Qwen2.5-3B-Instruct": ("qwen2", (2048, 36, 16, 2, 11008, 151936, True, 32768), {}),
    "Qwen/Qwen2.5-7B-Instruct": ("qwen2", (3584, 28, 28, 4, 18944, 152064, False, 32768), {}),
    "Qwen/Qwen2.5-14B-Instruct": ("qwen2", (5120, 48, 40, 8, 13824, 152064, False, 32768), {}),
    "Qwen/Qwen3-4B": ("qwen3", (2560, 36, 32, 8, 9728, 151936, True, 40960), {"head_dim": 128}),
    "Qwen/Qwen3-8B": ("qwen3", (4096, 36, 32, 8, 12288, 151936, False, 40960), {"head_dim": 128}),
    "meta-llama/Llama-3.1-8B-Instruct": (
        "llama",
        (4096, 32, 32, 8, 14336, 128256, False, 131072),
        {},
    ),
}


def model_shape(model: str) -> Any:
    """Get the transformers config of a local folder or of a known Hub name; nothing is downloaded.

    Raises `UserError` for any other name.
    """
    from transformers import AutoConfig

    if Path(model).is_dir():
        return read_config(model)
    if model not in _KNOWN:
        raise UserError(
            f"model: the dimensions of {model} are not known here; put its config.json into a "
            f"folder and give that as model=FOLDER. Known: {', '.join(_KNOWN)}"
        )
    kind, values, more = _KNOWN[model]
    return AutoConfig.for_model(kind, **dict(zip(_KEYS, values, strict=True)), **more)


def empty_model(shape: Any) -> Any:
    """Return the model on the meta device: every module and parameter, no memory."""
    import torch

    with torch.device("meta"):
        return make_model(shape)


def head_size(shape: Any) -> int:
    """Width of one attention head."""
    return getattr(shape, "head_dim", None) or shape.hidden_size // shape.num_attention_heads
