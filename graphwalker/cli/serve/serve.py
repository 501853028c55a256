"""`graphwalker serve`: a page to ask an agent and watch it walk, and an OpenAI-compatible API."""

from typing import Annotated

import typer

from graphwalker.cli.shared import ConfigOption, GraphOption, Overrides, load, settings

app = typer.Typer()


@app.command()
def serve(
    graph: GraphOption,
    model: Annotated[str, typer.Option("--model", help="A model folder, or an API's model name.")],
    config: ConfigOption = None,
    overrides: Overrides = None,
    layout: Annotated[
        str, typer.Option("--format", help="chatml, qwen2.5, qwen3, llama3, llama3.1, inline.")
    ] = "inline",
    api: Annotated[str, typer.Option("--api", help="Base URL of the API that has the model.")] = "",
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8765,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="Name by which browsers may call it; repeatable.")
    ] = None,
    max_tokens: Annotated[int, typer.Option(min=1, help="Completion tokens per turn.")] = 512,
    max_running: Annotated[int, typer.Option(min=1, help="Questions under way at once.")] = 16,
) -> None:
    """Ask an agent on a local page, or over an OpenAI-compatible API at /v1.

    Example: graphwalker serve --graph runs/demo/world/graph --model runs/demo/grpo/final
    prompt=compact top_relations=10
    """
    hosts = load("graphwalker.serve.server:allowed_hosts")(host, allow_host or [])
    served = {"api": {"base_url": api}} if api else {"format": layout}
    policy_config = load("graphwalker.config:parse_config")(
        load("graphwalker.policies.config:PolicyConfig"),
        {"model": model, **served},
        "--model, --api",
    )
    chosen = settings("environment", config, overrides)
    opened = load("graphwalker.graphs.open:open_graph")(graph, wikidata=chosen.layers.wikidata)
    environment = load("graphwalker.agents.environment:Environment")(opened, chosen)
    policy = load("graphwalker.policies.load:load_policy")(policy_config)
    sessions = load("graphwalker.serve.sessions:Sessions")(environment, policy, max_running)
    limits = load("graphwalker.serve.asking:Limits")(max_tokens=max_tokens)
    load("graphwalker.serve.server:run")(
        sessions, limits, host, port, hosts, load("graphwalker.cli.console:note")
    )
