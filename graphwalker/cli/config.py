"""`graphwalker config`: what can be set, what a file sets, and what a training run will take."""

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from graphwalker.cli.shared import JsonFlag
from graphwalker.console import console
from graphwalker.errors import UserError

if TYPE_CHECKING:
    from graphwalker.config import Config
    from training.config import SftConfig
    from training.grpo_config import GrpoConfig


app = typer.Typer()


class ProcessLayout(Enum):
    """How processes share a model."""

    DDP = "ddp"
    ZERO2 = "zero2"
    ZERO3 = "zero3"
    FSDP2 = "fsdp2"


@app.command("config")
def show_config(
    name: Annotated[
        str, Argument(help="A config, such as sft; or a training run's FILE[#SECTION].")
    ],
    overrides: Annotated[
        list[str] | None, Argument(metavar="A.B=C", help="Settings over the file's.")
    ] = None,
    all_settings: Annotated[bool, Option("--all", help="Every setting.")] = False,
    search: Annotated[
        str, Option(help="List every setting whose name or meaning contains this text.")
    ] = "",
    as_json: JsonFlag = False,
    estimate: Annotated[
        bool, Option("--estimate", help="Memory per GPU, by part; disk; hours.")
    ] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Build data, model and a batch.")] = False,
    gpus: Annotated[int, Option(min=1, help="Processes that train together.")] = 1,
    layout: Annotated[
        ProcessLayout, Option(help="How processes share a model.")
    ] = ProcessLayout.DDP,
    gpu_gib: Annotated[
        float, Option(help="Memory of one GPU in GiB; vLLM takes a share of it.")
    ] = 80.0,
) -> None:
    """List the settings of a config with their meaning, or show what a training run will take.

    By default only the settings that people change are listed; --all lists every one. Settings
    that several stages share are a block with its own name: `graphwalker config environment`.
    A file of a training run is printed with all its settings. --estimate and --dry-run show what
    they need before anything is loaded.

    Example: graphwalker config sft

    Example: graphwalker config sft --search length

    Example: graphwalker config configs/sft.yaml --estimate --gpus 8 --layout zero2
    """
    from graphwalker.config import as_yaml
    from graphwalker.demo.models import config_models

    if model := config_models().get(name):
        _list(name, model, search, all_settings, as_json)
        return
    config = _training(name, overrides)
    if estimate:
        _estimate(name, config, gpus, layout, gpu_gib)
    if dry_run:
        from training.dry_run import dry_run as try_out

        console.facts(f"{name}, a dry run", try_out(config, gpus))
    if not estimate and not dry_run:
        console.echo(as_yaml(config), nl=False)


def _list(name: str, model: "type[Config]", search: str, all_settings: bool, as_json: bool) -> None:
    import json
    from dataclasses import asdict

    from graphwalker.console.settings import describe, describe_basic

    rows, basic = list(describe(model, whole=False)), describe_basic(model)
    if search:
        word = search.casefold()
        rows = [row for row in describe(model) if word in f"{row.key} {row.meaning}".casefold()]
        if not rows:
            raise UserError(f"no setting of {name} has {search!r} in its name or meaning")
    if as_json:
        keys = {row.key for row in basic}
        console.echo(json.dumps([{**asdict(row), "basic": row.key in keys} for row in rows]))
    elif search or all_settings or not basic:
        console.settings(rows)
    else:
        console.settings(basic)
        console.note(f"all {len(rows)}: graphwalker config {name} --all")


def _training(file: str, overrides: list[str] | None) -> "SftConfig | GrpoConfig":
    """Return the config of a training run: its own settings tell of which stage it is."""
    from graphwalker.config import config_file, keys_of, load_config
    from graphwalker.demo.models import config_models
    from training.config import SftConfig
    from training.grpo_config import GrpoConfig

    try:
        config_file(file.partition("#")[0])
    except UserError:
        raise UserError(
            f"no config is named {file!r}, nor a file; known: {', '.join(config_models())}"
        ) from None
    keys = keys_of(file)
    if "policy" in keys or not keys & {"data", "questions"}:
        sections = keys & {"sft1", "sft2", "sft", "grpo"}
        more = f": give {' or '.join(f'{file}#{name}' for name in sorted(sections))}"
        why = " (no `data`, no `questions`)"
        raise UserError(f"{file}: not a config of a training run{more if sections else why}")
    return load_config(SftConfig if "data" in keys else GrpoConfig, file, overrides or [])


def _estimate(
    name: str, config: "SftConfig | GrpoConfig", gpus: int, layout: ProcessLayout, gpu_gib: float
) -> None:
    from training.estimate import GIB, checkpoint_bytes, estimate, host_memory, peak, training_hours

    first = _first_model(name, config.model)
    if first != config.model:
        console.note(f"{config.model} is not made yet: the dimensions are those of {first}")
        config = config.model_copy(update={"model": first})
    parts = estimate(config, gpus, layout.value, gpu_gib)
    host = host_memory(config, gpus, layout.value)
    for title, found in ((f"{gpus} x {layout.value}, a GPU", parts), ("a node's own memory", host)):
        rows = {part.name: f"{part.bytes / GIB:8.2f} GiB  {part.how}" for part in found}
        console.facts(f"{name}: {title}", rows)
    console.echo(f"peak {peak(parts) / GIB:.2f} GiB a GPU; the libraries take 1 to 2 GiB more")
    console.echo(f"host memory {sum(part.bytes for part in host) / GIB:.1f} GiB a node")
    size = checkpoint_bytes(config, layout.value) / GIB
    kept = f"{config.keep_checkpoints} checkpoints, the next one and final/"
    console.echo(f"disk {size:,.1f} GiB at most: {kept}")
    hours = training_hours(config, gpus)
    console.echo(f"time {hours:.1f} h at most on A100s, if every row is as long as it may be")


def _first_model(name: str, model: str) -> str:
    """Return the model that a chain of stages starts from, where `model` is one that an earlier
    section of the same file has yet to make: a chain keeps the dimensions of its first model."""
    from graphwalker.config import SHARED, read_settings

    file, _, section = name.partition("#")
    if not section:
        return model
    sections: dict[str, Any] = read_settings(file)
    runs = [run for key, run in sections.items() if key != SHARED and "output_dir" in run]
    stages = {str(run["output_dir"]): str(run["model"]) for run in runs if "model" in run}
    while not Path(model).exists():
        made = [out for out in stages if model == out or model.startswith((f"{out}/", f"{out}-"))]
        if not made:
            break
        model = stages.pop(max(made, key=len))
    return model
