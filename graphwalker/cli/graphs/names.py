"""`graphwalker graph index` and `search`: names and aliases that people look for."""

from pathlib import Path
from typing import Annotated, Any

import typer

from graphwalker.cli.shared import load

GraphArgument = Annotated[Path, typer.Argument(help="A compiled graph (`graph build`).")]


def index(
    graph: GraphArgument,
    aliases: Annotated[
        Path | None, typer.Option("--aliases", help="TSV: id, alias; besides the graph's own.")
    ] = None,
) -> None:
    """Index the names and aliases of a graph, for `graph search` and for resolving by alias.

    Example: graphwalker graph index runs/graph --aliases aliases.tsv
    """
    opened = load("graphwalker.graphs.compiled.open:open_compiled")(graph)
    more = load("graphwalker.graphs.views.name_index:read_aliases")(aliases) if aliases else ()
    rows = load("graphwalker.graphs.views.name_index:name_rows")(opened, more)
    path = _index_path(opened)
    load("graphwalker.graphs.views.name_index:build_index")(rows, path, checksum=opened.checksum)
    load("graphwalker.cli.console:note")(f"{path}: {path.stat().st_size:,} bytes")


def search(
    graph: GraphArgument,
    text: Annotated[str, typer.Argument(help="A name, or something like it.")],
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many to show.")] = 10,
) -> None:
    """Find entities whose name or alias looks like a text.

    Example: graphwalker graph search runs/graph "barak obama"
    """
    opened = load("graphwalker.graphs.compiled.open:open_compiled")(graph)
    path = _index_path(opened)
    if path.is_file():
        names = load("graphwalker.graphs.views.name_index:open_index")(path, opened.checksum)
    else:
        rows = load("graphwalker.graphs.views.name_index:name_rows")(opened)
        names = load("graphwalker.graphs.views.name_index:build_index")(rows)
    for hit in names.search(text, limit):
        alias = f"\talias: {hit.alias}" if hit.alias else ""
        typer.echo(f"{hit.score:.2f}\t{hit.entity.id}\t{hit.entity.name}{alias}")


def _index_path(opened: Any) -> Path:
    return opened.path.parent / load("graphwalker.graphs.views.name_index:FILE_NAME")
