"""LoRA adapters: the settings in the words of peft, folders of adapters, and merging one."""

from pathlib import Path
from typing import Any

from graphwalker.agents.model_environment import copy_environment
from graphwalker.errors import UserError, lacks_extra
from graphwalker.pretrained.adapters import find_adapter
from graphwalker.pretrained.folders import ADAPTER, find_folder, read_config_file
from graphwalker.pretrained.load import check_pretrained, write_merged
from training.config import LoraSettings, TrainingConfig
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


def new_adapter(config: TrainingConfig) -> Any:
    """Return the `peft.LoraConfig` of a run; `None` where it trains the whole model, or
    the adapter that it starts from."""
    return lora_config(config.lora) if config.lora and not find_adapter(config.model) else None


def check_start(config: TrainingConfig) -> None:
    """Check the model that a run starts from, which is fetched where it is on the Hub alone. Raises
    `UserError` for one that cannot be read, and for an adapter that the run does not continue."""
    find_folder(config.model, fetch=True)
    check_adapter_settings(config)
    check_pretrained(config.model)


def check_adapter_settings(config: TrainingConfig) -> None:
    """Raise `UserError` for an adapter unless `lora` asks for one of its rank, which is trained
    further; its other settings are then those that it was made with."""
    folder = find_adapter(config.model)
    if folder is None:
        return
    rank = read_config_file(folder / ADAPTER).get("r")
    if config.lora is None:
        raise UserError(
            f"model: {folder} is a LoRA adapter; lora.r={rank} trains it further, or make it a "
            f"whole model first: graphwalker merge {folder} --out {folder}-merged, then "
            f"model={folder}-merged"
        )
    if config.lora.r != rank:
        raise UserError(
            f"lora.r = {config.lora.r}, but the adapter {folder} has rank {rank}, which stays: "
            f"set lora.r={rank}, or merge the adapter first and train a new one"
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
