"""`graphwalker virtuoso`: a Virtuoso server of one's own, for SPARQL over the same graph."""

from pathlib import Path
from typing import Annotated

import typer

from graphwalker.cli.shared import load

app = typer.Typer(help="A Virtuoso server of one's own: start, load, stop.", no_args_is_help=True)

FolderArgument = Annotated[Path, typer.Argument(help="The server's own folder.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("up")
def up(
    folder: FolderArgument,
    memory: Annotated[str, typer.Option(help="Memory for its buffers, such as 8GB.")] = "1GB",
    host: Annotated[str, typer.Option(help="Address that the endpoint listens on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port of the endpoint; 0 takes a free one.")] = 0,
    max_rows: Annotated[int, typer.Option(help="Rows at which answers are cut; 0: never.")] = 0,
) -> None:
    """Start the server of a folder, made if it is new, and print the address of its endpoint.

    Example: graphwalker virtuoso up runs/virtuoso --memory 4GB
    """
    start = load("graphwalker.graphs.virtuoso.server:up")
    typer.echo(start(folder, memory, host, port, max_rows).endpoint)


@app.command("load")
def load_files(
    folder: FolderArgument,
    triples: Annotated[
        list[Path], typer.Option("--triples", help="N-Triples or TSV, plain or .gz; repeatable.")
    ],
    names: Annotated[list[Path] | None, typer.Option("--names", help="TSV: id, name.")] = None,
    types: Annotated[list[Path] | None, typer.Option("--types", help="TSV: id, type.")] = None,
    graph: Annotated[str, typer.Option(help="IRI of the named graph.")] = "http://rdf.freebase.com",
    as_is: Annotated[
        bool, typer.Option("--as-is", help="Hand N-Triples over unread: no index, fewer checks.")
    ] = False,
) -> None:
    """Load files and verify the count inside the graph.

    Example: graphwalker virtuoso load runs/virtuoso --triples runs/world/triples.nt.gz
    """
    note = load("graphwalker.cli.console:note")
    run = load("graphwalker.graphs.virtuoso.load:load")
    told = run(folder, triples, names or (), types or (), graph, as_is, progress=note)
    load("graphwalker.cli.console:facts")(str(folder), told)


@app.command("down")
def down(folder: FolderArgument) -> None:
    """Shut the server down cleanly."""
    stopped = load("graphwalker.graphs.virtuoso.server:down")(folder)
    typer.echo("stopped" if stopped else "no server was running")


@app.command("status")
def status(folder: FolderArgument, as_json: JsonOption = False) -> None:
    """Whether the server runs, where, and how many triples each graph holds."""
    told = load("graphwalker.graphs.virtuoso.load:describe")(folder)
    if as_json:
        typer.echo(load("graphwalker.files:dumps")(told))
    else:
        load("graphwalker.cli.console:facts")(str(folder), told)
