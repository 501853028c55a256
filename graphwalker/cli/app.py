"""The `graphwalker` command: the composition root, which names other packages only as strings."""

import logging
import sys
from collections.abc import Callable
from typing import Any

import typer

from graphwalker.cli import config
from graphwalker.cli.data import bench, contamination, data, export, merge, verify
from graphwalker.cli.data import dataset as benchmark
from graphwalker.cli.graphs import conformance, graph, names, virtuoso
from graphwalker.cli.runs import agents, score
from graphwalker.cli.serve import serve
from graphwalker.errors import GraphWalkerError, UserError

app = typer.Typer(
    help=(
        "Train and evaluate agents that answer questions by walking a knowledge graph.\n\n"
        "Start with `graphwalker demo`: the whole road on an embedded graph, on a laptop. Every "
        "command that makes files goes on where a killed one stopped: type it again."
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)

graph.app.command("conformance")(conformance.conformance)
graph.app.command("index")(names.index)
graph.app.command("search")(names.search)
app.add_typer(graph.app, name="graph")
app.add_typer(virtuoso.app, name="virtuoso")
for group in (
    data,
    merge,
    bench,
    export,
    contamination,
    verify,
    benchmark,
    agents,
    config,
    score,
    serve,
):
    app.add_typer(group.app)


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
        typer.echo("interrupted: the same command again goes on", err=True)
        return 130
    return 0


def main() -> None:
    """The console script."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    sys.exit(run(app))


if __name__ == "__main__":
    main()
