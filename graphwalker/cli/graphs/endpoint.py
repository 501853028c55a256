"""`graphwalker graph serve`: a compiled graph as a SPARQL endpoint."""

import shlex
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from graphwalker.console import console
from graphwalker.errors import lacks_extra
from graphwalker.files import read_json


def serve(
    graph: Annotated[Path, Argument(help="A compiled graph (`graph build`); also as --graph.")],
    host: Annotated[str, Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="0: any that is free.")] = 8890,
    base: Annotated[
        str, Option(help="IRI before ids that are none. [default: Freebase's, or urn:graphwalker:]")
    ] = "",
    timeout_s: Annotated[float, Option(min=0.1, help="Longest time of one query.")] = 60.0,
    max_rows: Annotated[int, Option(min=1, help="Rows of an answer.")] = 1_000_000,
    memory_mb: Annotated[int, Option(min=64, help="Memory of one query.")] = 2048,
    workers: Annotated[int, Option(min=1, max=64, help="Queries at once.")] = 4,
    allow_host: Annotated[
        list[str] | None, Option(help="Name by which clients may call it; repeatable.")
    ] = None,
) -> None:
    """Serve SPARQL 1.1 (SELECT and ASK) over a compiled graph, in place of a Virtuoso.

    Example: graphwalker graph serve runs/world/graph --port 8890
    """
    from graphwalker.graphs.compiled.local import local_copy
    from graphwalker.graphs.compiled.properties import open_compiled

    try:
        from graphwalker.graphs.sparql_engine.store import ABOUT, find_store
        from graphwalker.sparql_server.app import serve_sparql
    except ImportError:
        raise lacks_extra("graph serve needs", "serve") from None
    from graphwalker.serve.server import allowed_hosts
    from graphwalker.sparql_server.workers import QueryWorkers, ServerLimits

    hosts = allowed_hosts(host, allow_host or [])
    folder = graph / "graph" if (graph / "graph").is_dir() else graph
    limits = ServerLimits(timeout_s, max_rows, memory_mb, workers)
    store = find_store(open_compiled(local_copy(folder)), base)
    opened = QueryWorkers(store, limits)

    def note(address: str) -> None:
        console.note(f"ids are IRIs behind {read_json(store / ABOUT)['base']}; Ctrl-C ends it")
        console.echo(f"serving: {address}")
        words = ("graph", "conformance", "--endpoint", address, "--reference", str(folder))
        console.hint(f"next: graphwalker {shlex.join(words)}")

    serve_sparql(opened, host, port, hosts, note)
