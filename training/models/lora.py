"""LoRA adapters: the settings in the words of peft, folders of adapters, and merging one."""

from pathlib import Path
from typing import Any

from graphwalker.agents.model_environment import copy_environment
from graphwalker.errors import UserError, lacks_extra
from graphwalker.pretrained.adapters import is_adapter
from graphwalker.pretrained.folders import ADAPTER, find_folder
from graphwalker.pretrained.load import check_pretrained, write_merged
from training.config import LoraSettings
from training.runs.checkpoints import publish
from training.runs.saving import room_for


def lora_config(settings: LoraSettings) -> Any:
    """Return the `peft.LoraConfig` of these settings. Raises `UserError` where peft is missing."""
    try:
        from peft import LoraConfig  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise lacks_extra("lora needs the package peft", "lora") from None
    return LoraConfig(
        r=settings.r,
        lora_alpha=settings.alpha,  # type: ignore[arg-type]  # a float will do
        lora_dropout=settings.dropout,
        target_modules=list(settings.targets) or "all-linear",
        task_type="CAUSAL_LM",
    )


def check_whole(model: str) -> None:
    """Check the model that a run starts from, which is fetched where it is on the Hub alone. Raises
    `UserError` for one that cannot be read, and for an adapter."""
    refuse_adapter(str(find_folder(model, fetch=True)))
    check_pretrained(model)


def refuse_adapter(model: str) -> None:
    """Raise `UserError` for a folder that `lora` training wrote, which is not a whole model."""
    if is_adapter(Path(model)):
        raise UserError(
            f"model: {model} is a LoRA adapter; make it a whole model first: "
            f"graphwalker merge {model} --out {model}-merged, then model={model}-merged"
        )


def merge_adapter(run: Path, out: Path, *, force_base: bool = False) -> Path:
    """Write the base model plus the adapter of `run` (a run folder or an adapter) to `out`.

    Raises `UserError` where there is no adapter, no base model, another base than it was trained on
    (unless `force_base`), or something at `out`.
    """
    adapter = _adapter(run)
    if out.exists():
        raise UserError(f"{out}: exists already; choose another --out")
    partial = out.with_name(out.name + ".partial")
    with room_for(out):
        partial.mkdir(parents=True, exist_ok=True)
        write_merged(adapter, partial, force_base=force_base)
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
