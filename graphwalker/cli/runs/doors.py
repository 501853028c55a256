"""Doors for other programs: `mcp`, `env` and `publish`."""

import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from graphwalker.cli.shared import CommandOptions, show, verb
from graphwalker.console import console
from graphwalker.errors import lacks_extra

app = typer.Typer()
environments = typer.Typer(help="Serve episodes to other trainers.", no_args_is_help=True)


class Transport(StrEnum):
    """How an MCP client reaches the server."""

    STDIO = "stdio"
    HTTP = "http"


@verb(app, "graph!", "trust")
def mcp(
    given: CommandOptions,
    transport: Annotated[
        Transport, Option(help="stdio (standard streams) or http (this machine only).")
    ] = Transport.STDIO,
    port: Annotated[int, Option(min=1, max=65535, help="Of `--transport http`; path /mcp.")] = 8766,
) -> None:
    """Give chat clients the tools of an agent over a graph, by the Model Context Protocol.

    Read-only. Any preset: `environment.preset=search-on-graph`.

    Example: graphwalker mcp --graph runs/demo/world/graph
    """
    from graphwalker.api.environment import ScriptEnvironment
    from graphwalker.demo.models import McpConfig
    from graphwalker.graphs.open import open_graph
    from graphwalker.integrations.mcp_server import serve_mcp

    config = given.settings(McpConfig)
    graph = open_graph(config.graph, wikidata=config.environment.layers.wikidata)
    environment = ScriptEnvironment(graph, config.environment)
    if transport is Transport.HTTP:
        console.note(f"http://127.0.0.1:{port}/mcp; Ctrl-C ends it")
    serve_mcp(environment, transport.value, port)


@verb(environments, "graph!", "questions!", "trust")
def serve(
    given: CommandOptions,
    host: Annotated[str, Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="0 takes any free port.")] = 8767,
    allow_host: Annotated[
        list[str] | None, Option(help="Host name that clients may use; repeatable.")
    ] = None,
    reward: Annotated[str, Option(help="The metric of the reward: em, f1, hits1, ...")] = "em",
    max_sessions: Annotated[int, Option(min=1, help="Sessions at once.")] = 64,
    idle_s: Annotated[
        float, Option(min=1, help="Seconds without a step after which a session ends.")
    ] = (600.0),
) -> None:
    """Serve episodes to any OpenEnv client, and to trainers that have one (verifiers, prime-rl).

    A step is {"text": what the model wrote}. Any preset: `environment.preset=kg-r1`.

    Example: graphwalker env serve --graph runs/demo/world/graph
    --questions runs/demo/rl/questions.jsonl
    """
    from graphwalker.api.environment import ScriptEnvironment
    from graphwalker.datasets.base import load_questions
    from graphwalker.datasets.grounding import ground, refuse_unknown_topics
    from graphwalker.demo.models import EnvConfig
    from graphwalker.graphs.open import open_graph

    try:
        import websockets  # noqa: F401 # pyright: ignore[reportUnusedImport]

        from graphwalker.integrations.openenv_server import serve_environment
    except ImportError:
        raise lacks_extra("env serve needs", "openenv") from None
    from graphwalker.integrations.openenv_sessions import EpisodeSessions, SessionLimits
    from graphwalker.serve.server import allowed_hosts

    hosts = allowed_hosts(host, allow_host or [])
    config = given.settings(EnvConfig)
    graph = open_graph(config.graph, wikidata=config.environment.layers.wikidata)
    questions = ground(load_questions(config.questions), graph)
    refuse_unknown_topics(questions, graph, config.questions)
    environment = ScriptEnvironment(graph, config.environment)
    limits = SessionLimits(max_sessions, idle_s)
    sessions = EpisodeSessions(environment, questions, reward, limits)
    serve_environment(sessions, host, port, hosts, console.note)


@app.command()
def publish(
    folder: Annotated[Path, Argument(help="Of a model (or its run), of data, or of a graph.")],
    name: Annotated[str, Argument(help="Its name on the Hub: owner/name.")],
    send: Annotated[bool, Option("--push", help="Send it; else it is only shown.")] = False,
    public: Annotated[bool, Option("--public", help="For everybody; else it is private.")] = False,
) -> None:
    """Show what a folder would be on the Hugging Face Hub, and with `--push` send it there.

    The card is the folder's README.md, else one is written. Secrets, pickles and trainers' states
    are refused. The token is that of HF_TOKEN.

    Example: graphwalker publish runs/demo/grpo me/my-agent
    """
    from graphwalker.hub.publish import plan_publication, push

    plan = plan_publication(folder, name)
    seen = "public" if public else "private"
    rows = {path: f"{size:,} bytes" for path, size in plan.files}
    show(
        f"{plan.folder} as {plan.kind} ({seen})",
        {**rows, "README.md": f"{len(plan.card.encode()):,} bytes", "all": f"{plan.size:,} bytes"},
    )
    for path, kind in plan.unread.items():
        console.note(f"{path} was not searched for secrets: {kind}")
    if send:
        console.echo(push(plan, public))
        return
    console.echo(f"\n{plan.card}")
    console.note("nothing was sent; this sends it:")
    words = ("publish", str(folder), name, "--push", *(["--public"] if public else []))
    console.hint(f"graphwalker {shlex.join(words)}")
