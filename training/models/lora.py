"""LoRA adapters: the settings in the words of peft, folders of adapters, and merging one."""

from pathlib import Path
from typing import Any

from graphwalker.agents.model_environment import copy_environment
from graphwalker.errors import UserError
from graphwalker.files import read_json
from training.config import LoraSettings
from training.runs.checkpoints import publish


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


ADAPTER = "adapter_config.json"


def merge_adapter(run: Path, out: Path) -> Path:
    """Write the base model plus the adapter of `run` (a run folder or an adapter) to `out`.

    The sum is made in float32 (4 bytes per parameter of memory) and saved in the base model's own
    type, as safetensors with config and tokenizer. Raises `UserError` where there is no adapter, no
    base model, or something at `out`.
    """
    adapter = _adapter(run)
    if out.exists():
        raise UserError(f"{out}: exists already; choose another --out")
    base = _base(adapter)
    model = _load_merged(adapter, base)
    partial = out.with_name(out.name + ".partial")
    partial.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(partial)
    _tokenizer(adapter, base).save_pretrained(partial)
    copy_environment(adapter, partial)
    publish(partial, out)
    return out


def _adapter(run: Path) -> Path:
    for folder in (run / "final", run):
        if (folder / ADAPTER).is_file():
            return folder
    if (run / "final" / "config.json").is_file():
        raise UserError(f"{run}: not a LoRA run; its final/ is a whole model already")
    raise UserError(f"{run}: no adapter here (looked for final/{ADAPTER} and {ADAPTER})")


def _base(adapter: Path) -> str:
    base = str(read_json(adapter / ADAPTER).get("base_model_name_or_path"))
    if Path(base).is_dir() or base.count("/") == 1:
        return base
    raise UserError(f"{adapter / ADAPTER}: base_model_name_or_path: {base}: no such folder")


def _load_merged(adapter: Path, base: str) -> Any:
    import torch
    from transformers import AutoModelForCausalLM

    try:
        from peft import PeftModel  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise UserError("merge needs peft: pip install 'graphwalker-kgqa[lora]'") from None
    try:
        dtype = getattr(_config(base), "dtype", None) or torch.float32
        model: Any = AutoModelForCausalLM.from_pretrained(
            base, dtype=torch.float32, local_files_only=True
        )
    except OSError:
        raise UserError(
            f"{base}: the adapter's base is not on this machine; hf download {base} fetches it"
        ) from None
    return PeftModel.from_pretrained(model, str(adapter)).merge_and_unload().to(dtype)


def _tokenizer(adapter: Path, base: str) -> Any:
    from transformers import AutoTokenizer

    source = adapter if (adapter / "tokenizer_config.json").is_file() else base
    return AutoTokenizer.from_pretrained(source, config=_config(base), local_files_only=True)


def _config(base: str) -> Any:
    """The base is named by the adapter's file: it is looked for on this machine alone."""
    from transformers import AutoConfig

    return AutoConfig.from_pretrained(base, local_files_only=True)
