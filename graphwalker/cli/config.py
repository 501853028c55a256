"""`graphwalker config`: what can be set, what a file sets, and what a training run will take."""

from pathlib import Path
from typing import Annotated, Any

import typer

from graphwalker.cli.shared import CONFIGS, Overrides, load, settings
from graphwalker.errors import UserError

app = typer.Typer()

TRAINING = ("sft", "grpo")


@app.command("config")
def show_config(
    name: Annotated[
        str,
        typer.Argument(help=f"One of: {', '.join(CONFIGS)}; or a training run's FILE[#SECTION]."),
    ],
    overrides: Overrides = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Memory per GPU, by part, without loading anything.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Build the data, the empty model and one batch.")
    ] = False,
    gpus: Annotated[int, typer.Option("--gpus", min=1, help="Processes that train together.")] = 1,
    layout: Annotated[
        str, typer.Option("--layout", help="ddp, zero2 or zero3 (configs/accelerate/).")
    ] = "ddp",
) -> None:
    """Every setting of a config with its meaning; or what a training run's file sets and takes.

    Example: graphwalker config sft

    Example: graphwalker config configs/sft.yaml --estimate --gpus 8 --layout zero2
    """
    if name in CONFIGS:
        rows = load("graphwalker.config:describe")(load(CONFIGS[name]))
        load("graphwalker.cli.console:settings_table")(name, rows)
        return
    config = _training(name, overrides)
    if estimate:
        _estimate(name, config, gpus, layout)
    if dry_run:
        facts = load("training.dry_run:dry_run")(config, gpus)
        load("graphwalker.cli.console:facts")(f"{name}, a dry run", facts)
    if not estimate and not dry_run:
        typer.echo(load("graphwalker.config:as_yaml")(config), nl=False)


def _training(file: str, overrides: list[str] | None) -> Any:
    """The config of a training run: the file's own keys tell of which stage it is."""
    if not Path(file.partition("#")[0]).is_file():
        raise UserError(f"no config is named {file!r}, nor a file; known: {', '.join(CONFIGS)}")
    keys = load("graphwalker.config:keys_of")(file)
    stage = next((s for s in TRAINING if {"sft": "data", "grpo": "questions"}[s] in keys), None)
    if stage is None or "policy" in keys:
        raise UserError(f"{file}: not a config of a training run (no `data`, no `questions`)")
    return settings(stage, Path(file), overrides)


def _estimate(name: str, config: Any, gpus: int, layout: str) -> None:
    if layout not in ("ddp", "zero2", "zero3"):
        raise UserError(f"--layout {layout}: write ddp, zero2 or zero3")
    parts = load("training.estimate:estimate")(config, gpus, layout)
    gib = load("training.estimate:GIB")
    facts = {part.name: f"{part.bytes / gib:8.2f} GiB  {part.how}" for part in parts}
    most = load("training.estimate:peak")(parts) / gib
    facts["peak"] = f"{most:8.2f} GiB  a GPU; the libraries take 1 to 2 GiB more"
    load("graphwalker.cli.console:facts")(f"{name}: {gpus} x {layout}", facts)
