"""`graphwalker doctor`: what a run needs, looked at before it starts."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from graphwalker.cli.config import ProcessLayout
from graphwalker.cli.shared import CommandOptions, JsonFlag, verb
from graphwalker.console import console
from graphwalker.errors import UserError

if TYPE_CHECKING:
    from graphwalker.doctor.diagnosis import Diagnosis

app = typer.Typer()


@verb(app, "graph", "model", "api", "out")
def doctor(
    given: CommandOptions,
    stage: Annotated[
        str, Argument(help="What is to run: sft, grpo, synth, experts, eval, ask, ...")
    ] = "",
    layout: Annotated[ProcessLayout | None, Option(help="How processes share a model.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Check software, GPUs, graph, model, servers and disk before a run.

    Exit code: 0 when nothing is wrong, 1 when something is; the next moves stand below the table.

    Example: graphwalker doctor

    Example: graphwalker doctor grpo --config configs/grpo.yaml --layout zero2
    """
    findings = list(_findings(given, stage, layout))
    show_findings(findings, as_json)
    if any(one.verdict == "wrong" for one in findings):
        raise typer.Exit(1)


def _row(one: "Diagnosis") -> dict[str, str]:
    return {"what": one.what, "verdict": one.verdict, "found": one.found, "next": one.next}


def _findings(
    given: CommandOptions, stage: str, layout: ProcessLayout | None
) -> "Iterator[Diagnosis]":
    from graphwalker.demo.needs import look_at_places, needed_extras
    from graphwalker.doctor.diagnosis import wrong
    from graphwalker.doctor.places import look_at_disk, look_at_gpus
    from graphwalker.doctor.software import look_at_software

    values: Mapping[str, Any] = {}
    faults: list[Diagnosis] = []
    try:
        values = _settings(given, stage)
    except UserError as error:
        faults.append(wrong("config", str(error), "mend the setting; graphwalker config lists all"))
    shown = layout.value if layout else ""
    yield from look_at_software(needed_extras(values, stage, shown))
    yield from look_at_gpus(bool(values.get("allow_cpu")), shown)
    yield from faults
    places = {"graph": given.get("graph"), **values}
    yield from look_at_places(places, _made_before(given))
    folder = Path(str(values.get("output_dir") or given.get("output_dir") or "."))
    training = stage in ("sft", "grpo") and values
    disk, memory = _sizes(given, stage, shown) if training else (0.0, None)
    yield from [memory] if memory else []
    yield from look_at_disk(folder, disk)


def _sizes(given: CommandOptions, stage: str, layout: Any) -> "tuple[float, Diagnosis | None]":
    """GiB on disk of a training run, and its memory; nothing where the dimensions of its model are
    not known."""
    import torch

    from graphwalker.demo.models import config_models
    from graphwalker.doctor.places import look_at_memory
    from training.estimate import GIB, checkpoint_bytes, estimate, host_gib, peak

    config: Any = given.settings(config_models()[stage])
    gpus, layout = torch.cuda.device_count(), layout or "ddp"
    try:
        disk = checkpoint_bytes(config, layout) / GIB
        gpu = peak(estimate(config, max(1, gpus), layout)) / GIB
        return disk, look_at_memory(gpu, host_gib(config, gpus, layout), gpus)
    except UserError:
        return 0.0, None


def _made_before(given: CommandOptions) -> list[str]:
    """Return the folders that other sections of the config make before this one starts."""
    from graphwalker.config import read_settings
    from graphwalker.jobs.sections import made_before

    file, _, section = str(given.config or "").partition("#")
    return made_before(read_settings(file), section) if section else []


def _settings(given: CommandOptions, stage: str) -> Mapping[str, Any]:
    """Return all settings of the stage, checked; without a stage those that were given."""
    from graphwalker.demo.models import config_models

    if not stage:
        if given.config or given.overrides:
            raise UserError("settings are of a stage: name it, as in graphwalker doctor sft a.b=c")
        return {key: value for key, value in given.values.items() if value}
    models = config_models()
    if stage not in models:
        raise UserError(f"{stage}: no such stage; known: {', '.join(models)}")
    return given.settings(models[stage]).model_dump(mode="json")


def show_findings(findings: "list[Diagnosis]", as_json: bool = False) -> None:
    """Print a row for each thing that was looked at, and the next moves as they are typed."""
    if as_json:
        print(json.dumps([_row(one) for one in findings]))
        return
    from rich.markup import escape
    from rich.table import Column, Table

    colours = {"ok": "green", "note": "yellow", "wrong": "red"}
    table = Table(*(Column(name, overflow="fold") for name in ("", "", "found")), highlight=False)
    for one in findings:
        table.add_row(f"[{colours[one.verdict]}]{one.verdict}[/]", one.what, escape(one.found))
    console.out.print(table)
    for one in findings:  # in a table of 80 columns a command would be broken
        if one.next:
            console.hint(f"next ({one.what}): {one.next}")
