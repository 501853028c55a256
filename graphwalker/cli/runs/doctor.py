"""`graphwalker doctor`: what a run needs, looked at before it starts."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer import Argument, Option

from graphwalker.cli import console
from graphwalker.cli.config import ProcessLayout
from graphwalker.cli.shared import CommandOptions, JsonFlag, verb
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
    layout: Annotated[
        ProcessLayout | None, Option(help="How processes are to share a model.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Look at software, GPUs, graph, model, servers and disk, before a run does.

    Exit code: 0 when nothing is wrong, 1 when something is; the table names the next move.

    Example: graphwalker doctor

    Example: graphwalker doctor grpo --config configs/grpo.yaml --layout zero2
    """
    findings = list(_findings(given, stage, layout))
    if as_json:
        print(json.dumps([_row(one) for one in findings]))
    else:
        _show(findings)
    if any(one.verdict == "wrong" for one in findings):
        raise typer.Exit(1)


def _row(one: "Diagnosis") -> dict[str, str]:
    return {"what": one.what, "verdict": one.verdict, "found": one.found, "next": one.next}


def _findings(
    given: CommandOptions, stage: str, layout: ProcessLayout | None
) -> "Iterator[Diagnosis]":
    from graphwalker.doctor.diagnosis import wrong
    from graphwalker.doctor.places import look_at_disk, look_at_gpus
    from graphwalker.doctor.software import look_at_software

    values: Mapping[str, Any] = {}
    faults: list[Diagnosis] = []
    try:
        values = _settings(given, stage)
    except UserError as error:
        faults.append(wrong("config", str(error), "mend the setting; graphwalker config lists all"))
    yield from look_at_software(_extras(values, stage, layout))
    yield from look_at_gpus(bool(values.get("allow_cpu")), layout.value if layout else "")
    yield from faults
    yield from _places(given, values)
    yield from look_at_disk(Path(str(values.get("output_dir") or given.get("output_dir") or ".")))


def _settings(given: CommandOptions, stage: str) -> Mapping[str, Any]:
    """All settings of the stage, checked; without a stage those that were given."""
    from graphwalker.cli.models import config_models

    if not stage:
        if given.config or given.overrides:
            raise UserError("settings are of a stage: name it, as in graphwalker doctor sft a.b=c")
        return {key: value for key, value in given.values.items() if value}
    models = config_models()
    if stage not in models:
        raise UserError(f"{stage}: no such stage; known: {', '.join(models)}")
    return given.settings(models[stage]).model_dump(mode="json")


def _extras(values: Mapping[str, Any], stage: str, layout: ProcessLayout | None) -> set[str]:
    """The extras that these settings need."""
    policy: Mapping[str, Any] = values.get("policy") or {}
    training = stage in ("sft", "grpo", "model", "demo")
    local = stage in ("eval", "ask", "experts") and bool(policy) and not policy.get("api")
    wanted = {
        "train": training or local,
        "deepspeed": layout in (ProcessLayout.ZERO2, ProcessLayout.ZERO3),
        "vllm": "vllm" in (values.get("engine"), policy.get("engine")),
        "ray": values.get("engine") == "ray",
        "lora": bool(values.get("lora")),
        "api": any(base_url for _, base_url, _ in _servers(values)),
        "sparql": str(values.get("graph", "")).startswith("http"),
    }
    return {extra for extra, needed in wanted.items() if needed}


def _places(given: CommandOptions, values: Mapping[str, Any]) -> "Iterator[Diagnosis]":
    from graphwalker.doctor.places import (
        look_at_files,
        look_at_graph,
        look_at_model,
        look_at_server,
    )

    graph = str(values.get("graph") or given.get("graph"))
    if graph:
        yield from look_at_graph(graph)
    for setting in ("questions", "data"):
        given_files: Any = values.get(setting) or ()
        files = (given_files,) if isinstance(given_files, str) else given_files
        if files:
            yield from look_at_files(setting, files)
    policy: Mapping[str, Any] = values.get("policy") or {}
    model: Any = values.get("model") or values.get("policy.model") or policy.get("model")
    server: Any = policy.get("api") or values.get("policy.api.base_url")
    if isinstance(model, str) and model and not server and not _without_model(model):
        yield from look_at_model(model)
    for what, url, key in _servers(values):
        yield from look_at_server(what, url, key)


def _without_model(name: str) -> bool:
    from graphwalker.policies.load import WITHOUT_MODEL

    return name in WITHOUT_MODEL


def _servers(values: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str, str]]:
    """(setting, address, variable of its key) of every chat server that the settings name."""
    for key, value in values.items():
        name = f"{path}.{key}" if path else key
        if isinstance(value, dict):
            section = cast(Mapping[str, Any], value)
            url = section.get("base_url")
            if isinstance(url, str) and url and key != "vllm":
                yield name, url, str(section.get("api_key_env") or "")
            yield from _servers(section, name)
        elif name == "policy.api.base_url" and isinstance(value, str):
            yield "policy.api", value, ""


def _show(findings: "list[Diagnosis]") -> None:
    from rich.markup import escape
    from rich.table import Column, Table

    colours = {"ok": "green", "note": "yellow", "wrong": "red"}
    # A log has 80 columns: what is to be typed next is broken there, not cut.
    columns = (Column(name, overflow="fold") for name in ("", "", "found", "next"))
    table = Table(*columns, highlight=False)
    for one in findings:
        verdict = f"[{colours[one.verdict]}]{one.verdict}[/]"
        table.add_row(verdict, one.what, escape(one.found), escape(one.next))
    console.out.print(table)
