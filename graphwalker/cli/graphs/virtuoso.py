"""`graphwalker virtuoso`: a Virtuoso server of one's own, for SPARQL over the same graph."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from graphwalker.cli.shared import JsonFlag, show
from graphwalker.console import console

app = typer.Typer(help="Start, load and stop a Virtuoso server of your own.", no_args_is_help=True)

Folder = Annotated[Path, Argument(help="The server's own folder.")]
Files = list[Path] | None


@app.command()
def up(
    folder: Folder,
    memory: Annotated[str, Option(help="Memory for its buffers, such as 8GB.")] = "1GB",
    host: Annotated[str, Option(help="Address that the endpoint listens on.")] = "127.0.0.1",
    port: Annotated[int, Option(help="Port of the endpoint; 0 takes a free one.")] = 0,
    max_rows: Annotated[int, Option(help="Cut answers at this many rows; 0 never cuts.")] = 0,
) -> None:
    """Start the server of a folder and print its endpoint's address; a new folder is made.

    Example: graphwalker virtuoso up runs/virtuoso --memory 4GB
    """
    from graphwalker.graphs.virtuoso.server import up as start

    console.echo(start(folder, memory, host, port, max_rows).endpoint)


@app.command("load")
def load_files(
    folder: Folder,
    triples: Annotated[list[Path], Option(help="N-Triples or TSV, plain or .gz; repeatable.")],
    names: Annotated[Files, Option(help="TSV: id, name.")] = None,
    types: Annotated[Files, Option(help="TSV: id, type.")] = None,
    graph: Annotated[str, Option(help="IRI of the named graph.")] = "http://rdf.freebase.com",
    as_is: Annotated[
        bool, Option("--as-is", help="Pass N-Triples on unread, with fewer checks.")
    ] = False,
) -> None:
    """Load files and verify the count inside the graph.

    Example: graphwalker virtuoso load runs/virtuoso --triples runs/world/triples.nt.gz
    """
    from graphwalker.graphs.virtuoso.load import load

    parts = names or (), types or ()
    show(str(folder), load(folder, triples, *parts, graph, as_is, progress=console.note))


@app.command()
def down(folder: Folder) -> None:
    """Shut the server down cleanly.

    Example: graphwalker virtuoso down runs/virtuoso
    """
    from graphwalker.graphs.virtuoso.server import down as stop

    console.echo("stopped" if stop(folder) else "no server was running")


@app.command()
def status(folder: Folder, as_json: JsonFlag = False) -> None:
    """Show whether the server runs, where, and how many triples each graph holds.

    Example: graphwalker virtuoso status runs/virtuoso
    """
    from graphwalker.graphs.virtuoso.load import describe

    show(str(folder), describe(folder), as_json)
