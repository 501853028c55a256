"""LoRA adapters: the settings in peft's words, and folders that hold an adapter."""

from pathlib import Path
from typing import Any

from graphwalker.errors import UserError
from training.config import LoraSettings


def lora_config(settings: LoraSettings) -> Any:
    """The `peft.LoraConfig` of these settings. Raises `UserError` where peft is missing."""
    try:
        from peft import LoraConfig  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise UserError(
            "lora needs the package peft: pip install 'graphwalker-kgqa[lora]'"
        ) from None
    return LoraConfig(
        r=settings.r,
        lora_alpha=settings.alpha,  # type: ignore[arg-type]  # a float will do
        lora_dropout=settings.dropout,
        target_modules=list(settings.targets) or "all-linear",
        task_type="CAUSAL_LM",
    )


def refuse_adapter(model: str) -> None:
    """Raises `UserError` for a folder that `lora` training wrote, which is not a whole model."""
    if (Path(model) / "adapter_config.json").is_file():
        raise UserError(
            f"model: {model} is a LoRA adapter; make it a whole model first: "
            f"graphwalker merge {model} --out {model}-merged, then model={model}-merged"
        )
