"""The `graphwalker` command: the composition root, which names other packages only as strings."""

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from graphwalker.errors import GraphWalkerError, UserError

app = typer.Typer(
    help=(
        "Train and evaluate agents that answer questions by walking a knowledge graph.\n\n"
        "Start with `graphwalker demo`: the whole road on an embedded graph, on a laptop."
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
graph_app = typer.Typer(help="Make, compile and describe graphs.", no_args_is_help=True)
app.add_typer(graph_app, name="graph")

GraphOption = Annotated[Path, typer.Option("--graph", help="A compiled graph (`graph build`).")]
OutOption = Annotated[Path, typer.Option("--out", help="Where the result goes.")]
SeedOption = Annotated[int, typer.Option("--seed", help="Same seed, same records.")]
WorkersOption = Annotated[int, typer.Option("--workers", min=1, help="Processes; any number gives the same files.")]
ConfigOption = Annotated[Path | None, typer.Option("--config", help="YAML settings; see `graphwalker config`.")]
Overrides = Annotated[list[str] | None, typer.Argument(help="Settings as a.b=c, over the config file.")]


def load(name: str) -> Any:
    """`package.module:attribute`, imported now and not before."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


@graph_app.command("make")
def graph_make(
    entities: Annotated[int, typer.Option("--entities", min=200, help="Named entities, about.")],
    out: OutOption,
    seed: SeedOption = 0,
) -> None:
    """Generate a fictional, Freebase-shaped world (TSV, N-Triples and compiled)."""
    info = load("graphwalker.graphs.synthetic:make_world")(entities, seed, out, progress=_note)
    _table("world", info)


@graph_app.command("build")
def graph_build(
    triples: Annotated[list[Path], typer.Option("--triples", help="TSV or N-Triples, plain or .gz.")],
    out: OutOption,
    names: Annotated[Path | None, typer.Option("--names", help="TSV: id, name.")] = None,
    types: Annotated[Path | None, typer.Option("--types", help="TSV: id, type.")] = None,
    memory_limit: Annotated[str, typer.Option(help="Memory for sorting.")] = "2GB",
) -> None:
    """Compile triples into a memory-mapped graph."""
    build = load("graphwalker.graphs.build:build_graph")
    info = build(triples, out, names=names, types=types, memory_limit=memory_limit, progress=_note)
    _table(str(out), info)


@graph_app.command("info")
def graph_info(
    graph: Annotated[Path, typer.Argument(help="A compiled graph.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Describe a compiled graph: counts, checksum, size."""
    info = load("graphwalker.graphs.compiled:open_graph")(graph).info()
    if as_json:
        typer.echo(load("graphwalker.jsonl:dumps")(info))
    else:
        _table(str(graph), info)


def _note(text: str) -> None:
    typer.echo(text, err=True)


def _table(title: str, rows: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(title), show_header=False)
    for key, value in rows.items():
        shown = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
        table.add_row(escape(str(key)), escape(shown))
    Console().print(table)


def run(command: Callable[[], Any]) -> int:
    """Exit codes: 0 done, 1 a failure of ours or of a service, 2 bad input, 130 interrupted."""
    try:
        command()
    except UserError as error:
        typer.echo(f"error: {error}", err=True)
        return 2
    except GraphWalkerError as error:
        typer.echo(f"error: {error}", err=True)
        return 1
    except KeyboardInterrupt:
        typer.echo("interrupted: run the same command again to go on", err=True)
        return 130
    except BrokenPipeError:
        return 0
    return 0


def main() -> None:
    sys.exit(run(app))


if __name__ == "__main__":
    main()
