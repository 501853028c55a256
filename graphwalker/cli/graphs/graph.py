"""`graphwalker graph`: make, compile and describe graphs."""

from pathlib import Path
from typing import Annotated

import typer

from graphwalker.cli.shared import OutOption, SeedOption, load

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
    note = load("graphwalker.cli.console:note")
    info = load("graphwalker.world.generate:make_world")(entities, seed, out, progress=note)
    load("graphwalker.cli.console:facts")(str(out), info)


@app.command("build")
def build(
    out: OutOption,
    triples: Annotated[
        list[Path] | None,
        typer.Option("--triples", help="TSV or N-Triples, plain or .gz; repeatable."),
    ] = None,
    property_files: Annotated[
        list[Path] | None,
        typer.Option("--property", help="Property graph: JSON lines or CSV; repeatable."),
    ] = None,
    names: Annotated[
        list[Path] | None, typer.Option("--names", help="TSV: id, name; repeatable.")
    ] = None,
    types: Annotated[
        list[Path] | None, typer.Option("--types", help="TSV: id, type; repeatable.")
    ] = None,
    freebase: Annotated[
        bool, typer.Option("--freebase", help="A Freebase dump: its own ids, English, no schema.")
    ] = False,
    language: Annotated[
        list[str] | None, typer.Option(help="Keep names and texts of this language; repeatable.")
    ] = None,
    predicates: Annotated[
        Path | None, typer.Option(help="Keep only these relations: a JSON list, plain or .gz.")
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option(help="Keep only relations like this (film.*); repeatable.")
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="Leave out relations like this; repeatable.")
    ] = None,
    namespace: Annotated[
        list[str] | None, typer.Option(help="Keep only IRIs that begin so; repeatable.")
    ] = None,
    memory_limit: Annotated[str, typer.Option(help="Memory of the build.")] = "2GB",
    disk_limit: Annotated[str | None, typer.Option(help="Temporary files of the build.")] = None,
    max_malformed: Annotated[
        int | None, typer.Option(min=0, help="Malformed lines that are skipped; one more stops.")
    ] = None,
    rejects: Annotated[
        Path | None, typer.Option(help="Malformed lines go here. [default: OUT/rejects.tsv]")
    ] = None,
) -> None:
    """Compile triples into a memory-mapped graph that opens in milliseconds.

    A build that was killed goes on where it was when the same command is typed again.

    Example: graphwalker graph build --triples kb.tsv.gz --names names.tsv --out runs/graph

    Example: graphwalker graph build --freebase --triples freebase-rdf-latest.gz --out freebase
    """
    given = {
        "relations": load("graphwalker.graphs.views.freebase_schema:load_predicates")(predicates)
        if predicates
        else None,
        "keep": tuple(keep or ()),
        "drop": tuple(drop or ()),
        "namespaces": tuple(namespace or ()),
        "languages": tuple(language or ()),
    }
    limit = "graphwalker.graphs.intake.freebase_dump:MALFORMED" if freebase else _REJECT_LIMIT
    info = load("graphwalker.graphs.build.build:build_graph")(
        triples or [],
        out,
        property_files=property_files or [],
        names=names or None,
        types=types or None,
        memory_limit=memory_limit,
        disk_limit=disk_limit,
        filters=load(f"graphwalker.graphs.intake.{_FILTERS[freebase]}")(
            **{key: value for key, value in given.items() if value}
        ),
        max_malformed=load(limit) if max_malformed is None else max_malformed,
        rejects=rejects,
        progress=load("graphwalker.cli.console:note"),
    )
    load("graphwalker.cli.console:facts")(str(out), info)


_FILTERS = {False: "filters:Filters", True: "freebase_dump:dump_filters"}
_REJECT_LIMIT = "graphwalker.graphs.intake.rejects:REJECT_LIMIT"


@app.command("info")
def info(
    graph: Annotated[Path, typer.Argument(help="A compiled graph.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Describe a compiled graph: counts, checksum, size."""
    info = load("graphwalker.graphs.compiled.open:open_compiled")(graph).info()
    if as_json:
        typer.echo(load("graphwalker.files:dumps")(info))
    else:
        load("graphwalker.cli.console:facts")(str(graph), info)


@app.command("check")
def check(
    graph: Annotated[Path, typer.Argument(help="A compiled graph.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check a compiled graph from end to end: checksums, order, counts, look-ups both ways.

    Example: graphwalker graph check runs/graph
    """
    note = load("graphwalker.cli.console:note")
    found = load("graphwalker.graphs.compiled.check:check_graph")(graph, progress=note)
    if as_json:
        typer.echo(load("graphwalker.files:dumps")(found))
    else:
        load("graphwalker.cli.console:facts")("sound", found)
