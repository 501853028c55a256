"""Doors for other programs: `mcp`."""

from enum import StrEnum
from typing import Annotated

import typer
from typer import Option

from graphwalker.cli import console
from graphwalker.cli.shared import CommandOptions, verb

app = typer.Typer()


class Transport(StrEnum):
    """How an MCP client reaches the server."""

    STDIO = "stdio"
    HTTP = "http"


@verb(app, "graph!", "trust")
def mcp(
    given: CommandOptions,
    transport: Annotated[
        Transport, Option(help="Over the standard streams, or HTTP on this machine alone.")
    ] = Transport.STDIO,
    port: Annotated[int, Option(min=1, max=65535, help="Of `--transport http`; path /mcp.")] = 8766,
) -> None:
    """Give chat clients the tools of an agent over a graph, by the Model Context Protocol.

    Read-only. Any preset: `environment.preset=search-on-graph`.

    Example: graphwalker mcp --graph runs/demo/world/graph
    """
    from graphwalker.api.environment import ScriptEnvironment
    from graphwalker.cli.models import McpConfig
    from graphwalker.graphs.open import open_graph
    from graphwalker.integrations.mcp_server import serve_mcp

    config = given.settings(McpConfig)
    graph = open_graph(config.graph, wikidata=config.environment.layers.wikidata)
    environment = ScriptEnvironment(graph, config.environment)
    if transport is Transport.HTTP:
        console.note(f"http://127.0.0.1:{port}/mcp; Ctrl-C ends it")
    serve_mcp(environment, transport.value, port)
