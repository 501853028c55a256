"""`graphwalker graph`: make, compile and describe graphs."""

from pathlib import Path
from typing import Annotated

import typer

from graphwalker.commands.shared import OutOption, SeedOption, load

app = typer.Typer(help="Make, compile and describe graphs.", no_args_is_help=True)


@app.command("make")
def make(
    entities: Annotated[int, typer.Option("--entities", min=1, help="Named entities.")],
    out: OutOption,
    seed: SeedOption = 0,
) -> None:
    """Generate a fictional, Freebase-shaped world (TSV, N-Triples and compiled).

    Example: graphwalker graph make --entities 3000 --out runs/world
    """
    note = load("graphwalker.console:note")
    info = load("graphwalker.graphs.synthetic:make_world")(entities, seed, out, progress=note)
    load("graphwalker.console:facts")(str(out), info)


@app.command("build")
def build(
    triples: Annotated[
        list[Path], typer.Option("--triples", help="TSV or N-Triples, plain or .gz; repeatable.")
    ],
    out: OutOption,
    names: Annotated[Path | None, typer.Option("--names", help="TSV: id, name.")] = None,
    types: Annotated[Path | None, typer.Option("--types", help="TSV: id, type.")] = None,
    memory_limit: Annotated[str, typer.Option(help="Memory for sorting.")] = "2GB",
) -> None:
    """Compile triples into a memory-mapped graph that opens in milliseconds.

    Example: graphwalker graph build --triples kb.tsv.gz --names names.tsv --out runs/graph
    """
    note = load("graphwalker.console:note")
    build = load("graphwalker.graphs.build:build_graph")
    info = build(triples, out, names=names, types=types, memory_limit=memory_limit, progress=note)
    load("graphwalker.console:facts")(str(out), info)


@app.command("info")
def info(
    graph: Annotated[Path, typer.Argument(help="A compiled graph.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Describe a compiled graph: counts, checksum, size."""
    info = load("graphwalker.graphs.compiled:open_graph")(graph).info()
    if as_json:
        typer.echo(load("graphwalker.jsonl:dumps")(info))
    else:
        load("graphwalker.console:facts")(str(graph), info)
