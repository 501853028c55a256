"""Agents at work: `demo`, `eval`, `ask`, `serve`, `agents`."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from typer import Argument, Option

from graphwalker.cli.shared import CommandOptions, JsonFlag, verb
from graphwalker.console import console
from graphwalker.console.endings import show_ending
from graphwalker.errors import GraphWalkerError, IncompleteError

if TYPE_CHECKING:
    from graphwalker.agents.environment import Environment
    from graphwalker.demo.models import AskConfig
    from graphwalker.policies.base import Policy
    from graphwalker.serve.sessions import Sessions
    from graphwalker.trajectory import Trajectory

app = typer.Typer()

RESUMES = "the same command resumes the run"
AGENT = (
    "graph!", "model!", "format", "api", "max_tokens", "force_environment", "force_base", "trust",
)  # fmt: skip


@verb(app, "graph", "out", "seed", out="run")
def demo(
    given: CommandOptions,
    full: Annotated[bool, Option("--full", help="More data and training.")] = False,
    quick: Annotated[bool, Option("--quick", help="The same as without it.")] = False,
) -> None:
    """Run the whole pipeline on a laptop: a world, its data, three training stages, a report.

    With --graph, on a graph of your own, with as many questions as it has.
    Default of --out: runs/demo. The same command resumes a run that was stopped.

    Examples: graphwalker demo --out runs/demo;
    graphwalker demo --graph my-graph --out runs/my-agent
    """
    from graphwalker.demo import DemoConfig, run_demo, shipped_config
    from graphwalker.demo.config import for_own_graph
    from graphwalker.demo.demo import best_model

    if quick:
        console.note("--quick: the demo is the quick one; --full is the long one")
    own = given.config is None and given.get("graph")
    chosen = replace(given, config=given.config or shipped_config(full))
    config = chosen.settings(DemoConfig)
    config = for_own_graph(config) if own else config
    model = best_model(config, run_demo(config))
    words = ("--graph", config.graph, "--model", model)
    show_ending(model, ("serve", *words), examples=False)


@verb(
    app, "graph!", "questions!", "model!", "format", "api", "out!", "count", "seed", "workers",
    "shard", "metrics", "force_environment", "trust", name="eval", count="limit",
)  # fmt: skip
def evaluate(given: CommandOptions) -> None:
    """Run an agent on questions, score its answers and write a report.

    Exit code: 0 when every question was scored, 3 when some are missing, 1 when none was scored.
    The same command resumes the run.

    Example: graphwalker eval --graph runs/graph --questions q.jsonl --model runs/sft/final
    --format inline --out runs/eval samples=8
    """
    from data_pipeline.exemplars import make_exemplars
    from eval.run.config import EvalConfig, run_eval, run_folder
    from eval.run.records import failure_reason, has_predictions
    from eval.score.tally import WantedMetrics
    from eval.tables import missing_note
    from graphwalker.cli.runs.results import write_report

    config, why = given.settings(EvalConfig), ""
    WantedMetrics.of(config.metrics)  # a wrong name is told before anything runs
    folder = run_folder(config)
    try:
        with console.progress("evaluate") as tick:
            run_eval(config, tick, make_exemplars)
    except IncompleteError as error:
        why = str(error)
    why = why or failure_reason(folder)
    if config.shard and not why:
        console.note(f"written: {folder}; without the shard, the same command joins all of them")
        return
    if not has_predictions(folder):
        raise GraphWalkerError(f"no question was scored: {why}; {RESUMES}")
    made = write_report([folder], folder, seed=config.seed, metrics=config.metrics)
    if lost := missing_note(made["stages"][0]):
        raise IncompleteError(f"{lost}: {why}; {RESUMES}")
    if why:
        raise IncompleteError(f"{why}; {RESUMES}")


@verb(app, *AGENT)
def ask(
    given: CommandOptions,
    question: Annotated[str, Argument(help="The question, in quotes.")],
    topic: Annotated[
        list[str] | None,
        Option(help="Topic entity (name or id); repeatable. [default: found in the question]"),
    ] = None,
) -> None:
    """Ask one question and watch the agent walk.

    `--model first-relation` is a rule that needs no model.

    Example: graphwalker ask "Who directed Hidden Meadow?" --graph runs/demo/world/graph
    --model runs/demo/grpo/final

    Example: graphwalker ask "Where does Ana live?" --graph people.csv --model smollm2-graphwalker
    """
    from graphwalker.serve.ask import ask as put

    config, environment, policy = _agent(given, question, topic or (), api_retries=1)
    trajectory = put(
        question,
        topic or (),
        environment,
        policy,
        max_tokens=config.max_tokens,
        show=console.show_turn,
        note=console.note,
    )
    console.show_answer(trajectory)
    if trajectory.stop.infrastructure_failure:
        raise GraphWalkerError(trajectory.provenance.get("error", trajectory.stop.value))


@verb(app, *AGENT)
def serve(
    given: CommandOptions,
    host: Annotated[str, Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="0 takes any free port.")] = 8765,
    allow_host: Annotated[
        list[str] | None, Option(help="Host name that browsers may use; repeatable.")
    ] = None,
    max_running: Annotated[int, Option(min=1, help="Questions answered at once; more wait.")] = 16,
    beside: Annotated[
        str, Option(help="A second model, which answers the same questions on the page.")
    ] = "",
) -> None:
    """Watch an agent walk on a local page, or ask it over an OpenAI-compatible API at /v1.

    Example: graphwalker serve --graph runs/demo/world/graph --model runs/demo/grpo/final
    """
    from data_pipeline.exemplars import make_examples
    from graphwalker.serve.asking import RequestLimits
    from graphwalker.serve.server import allowed_hosts, listen, run
    from graphwalker.serve.sessions import Sessions

    hosts = allowed_hosts(host, allow_host or [])
    listen(host, port).close()  # a port that is taken is said before a model is loaded
    config, environment, policy = _agent(given)
    limits = RequestLimits(max_tokens=config.max_tokens)
    name = _tail(config.policy.model) if beside else ""
    sessions = Sessions(environment, policy, max_running, name=name)
    examples = partial(make_examples, environment.graph, config.environment)
    others = [_beside(given, beside, max_running)] if beside else []
    run(sessions, limits, host, port, hosts, console.note, examples, others)


def _beside(given: CommandOptions, model: str, max_running: int) -> "Sessions":
    """Return the sessions of a second model on the same graph, in its own environment."""
    from graphwalker.serve.sessions import Sessions

    values = {**given.values, "policy.model": model}
    _, environment, policy = _agent(replace(given, values=values))
    return Sessions(environment, policy, max_running, name=_tail(model))


def _tail(model: str) -> str:
    """Return the end of a model's path, which tells it from another: `grpo/final`."""
    return "/".join(Path(model).parts[-2:])


def _agent(
    given: CommandOptions,
    question: str = "",
    topics: Sequence[str] = (),
    api_retries: int | None = None,
) -> "tuple[AskConfig, Environment, Policy]":
    """Return the agent that `ask` and `serve` run, as its model was trained where nothing else is
    set. An API is asked again as often as `api_retries` says. `topics`: what `question` is about,
    if it is not what it names."""
    from data_pipeline.exemplars import make_exemplars
    from graphwalker.agents.environment import Environment
    from graphwalker.agents.model_environment import with_model_settings
    from graphwalker.agents.policies import check_questions, load_policy
    from graphwalker.demo.models import AskConfig
    from graphwalker.graphs.open import open_graph
    from graphwalker.question import Question
    from graphwalker.serve.ask import find_topic, find_topics

    config = with_model_settings(given.settings(AskConfig))
    check_questions(config.policy, [Question("a question that is asked here", "", ())])
    api = config.policy.api
    if api and api_retries is not None and "retries" not in api.model_fields_set:
        api = api.model_copy(update={"retries": api_retries})
        policy = config.policy.model_copy(update={"api": api})
        config = config.model_copy(update={"policy": policy})
    graph = open_graph(config.graph, wikidata=config.environment.layers.wikidata)
    shown: list[Trajectory] = []
    if config.environment.exemplars:
        named = tuple(find_topic(graph, name) for name in topics) or find_topics(graph, question)
        shown = make_exemplars(graph, config.environment, 0, [Question("ask", question, named)])
    environment = Environment(graph, config.environment, exemplars=shown)
    return config, environment, load_policy(config.policy, environment=environment)


@app.command()
def agents(as_json: JsonFlag = False) -> None:
    """List the agents that can be named as environment.preset; module:NAME is one of your own.

    Each with its paper, the tools that it calls, the graphs that it needs, and whether an oracle
    can play it (policy.model=oracle).

    Example: graphwalker agents --json
    """
    from graphwalker.agents.presets import presets

    rows: list[dict[str, Any]] = [
        {
            "name": preset.name,
            "version": preset.version,
            "source": preset.source,
            "tools": list(preset.calls),
            "graphs": preset.graphs,
            "oracle": preset.speaker is not None or preset.oracle is not None,
        }
        for preset in presets().values()
    ]
    if as_json:
        typer.echo(json.dumps(rows, ensure_ascii=False, indent=1))
        return
    for row in rows:
        console.out.print(f"[bold]{row['name']}[/]  {escape(str(row['source']))}")
        tools = ", ".join(row["tools"]) or "none"
        oracle = "yes" if row["oracle"] else "no"
        about = f"tools: {tools}; graph: {row['graphs']}; oracle: {oracle}"
        console.out.print(f"    {escape(about)}")
