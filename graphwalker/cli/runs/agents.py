"""Agents at work: `eval`, `report`, `analyse`, `compare`, `ask`, `demo`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from graphwalker.cli.shared import (
    ConfigOption,
    GraphOption,
    OutOption,
    Overrides,
    SeedOption,
    load,
    settings,
)
from graphwalker.errors import GraphWalkerError

app = typer.Typer()


@app.command("eval")
def evaluate(config: ConfigOption = None, overrides: Overrides = None) -> None:
    """Run an agent on questions and score it.

    Example: graphwalker eval graph=runs/graph questions=q.jsonl policy.model=runs/sft/final
    policy.format=inline output_dir=runs/eval samples=8
    """
    chosen = settings("eval", config, overrides)
    with load("graphwalker.cli.console:progress")("evaluate") as tick:
        folder = load("eval.run.config:run_eval")(chosen, tick)
    report([folder], folder, seed=chosen.seed)


@app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(help="Folders of evaluation runs, first to last.")],
    out: OutOption,
    title: Annotated[
        str, typer.Option("--title", help="Heading of the page.")
    ] = "GraphWalker report",
    seed: SeedOption = 0,
    published: Annotated[
        list[str] | None,
        typer.Option("--published", help="A paper's table beside the runs; repeatable."),
    ] = None,
) -> None:
    """Tables and one self-contained HTML page from evaluation runs.

    Example: graphwalker report runs/a runs/b --out runs/report --published graphwalker-table2
    """
    stages = load("eval.report.report:stages_of")(runs)
    made = load("eval.report.report:write_report")(
        out, stages, None, seed, title, published=published or ()
    )
    console = load("graphwalker.cli.console:out")
    console.print(load("eval.report.report:console_table")(made))
    console.print(f"Report: {(out / 'report.html').resolve()}", soft_wrap=True)


JsonOption = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]


@app.command()
def analyse(
    run: Annotated[Path, typer.Argument(help="An evaluation run.")],
    as_json: JsonOption = False,
    seed: SeedOption = 0,
) -> None:
    """Figures by structure, hops, type and number of answers; kinds of error; Pass@k; costs."""
    result = load("eval.analysis.analysis:analyse")(run, seed)
    if as_json:
        typer.echo(json.dumps(result, ensure_ascii=False, indent=1))
        return
    for table in load("eval.analysis.analysis:analysis_tables")(result):
        load("graphwalker.cli.console:out").print(table)


@app.command()
def compare(
    a: Annotated[Path, typer.Argument(help="An evaluation run.")],
    b: Annotated[Path, typer.Argument(help="Another one, on the same questions.")],
    most: Annotated[int, typer.Option("--list", min=0, help="Wins and losses to list.")] = 10,
    as_json: JsonOption = False,
    seed: SeedOption = 0,
) -> None:
    """The paired difference of two runs: bootstrap interval, McNemar's test, wins and losses."""
    result = load("eval.analysis.compare:compare")(a, b, seed)
    if as_json:
        typer.echo(json.dumps(result, ensure_ascii=False, indent=1))
        return
    console = load("graphwalker.cli.console:out")
    console.print(load("eval.analysis.compare:comparison_table")(result))
    for title in ("wins", "losses") if most else ():
        console.print(load("eval.analysis.compare:changes_table")(result[title], title, most))


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="The question, in quotes.")],
    topic: Annotated[
        list[str], typer.Option("--topic", help="Topic entity (name or id); repeatable.")
    ],
    graph: GraphOption,
    model: Annotated[Path, typer.Option("--model", help="A model folder, as training leaves it.")],
    config: ConfigOption = None,
    overrides: Overrides = None,
    layout: Annotated[
        str, typer.Option("--format", help="chatml, qwen2.5, qwen3, llama3, llama3.1, inline.")
    ] = "inline",
    max_tokens: Annotated[int, typer.Option(help="Completion tokens per turn.")] = 512,
) -> None:
    """Ask one question and watch the agent walk. --config and a.b=c set the environment.

    Example: graphwalker ask "Who directed Anna Brek?" --topic "Anna Brek"
    --graph runs/demo/world/graph --model runs/demo/grpo/final prompt=compact
    """
    environment = settings("environment", config, overrides)
    policy_config = load("graphwalker.config:parse_config")(
        load("graphwalker.policies.config:PolicyConfig"),
        {"model": str(model), "format": layout},
        "--model, --format",
    )
    opened = load("graphwalker.graphs.open:open_graph")(graph, wikidata=environment.layers.wikidata)
    trajectory = load("graphwalker.serve.ask:ask")(
        question,
        topic,
        load("graphwalker.agents.environment:Environment")(opened, environment),
        load("graphwalker.policies.load:load_policy")(policy_config),
        max_tokens=max_tokens,
        show=load("graphwalker.cli.console:show_turn"),
        note=load("graphwalker.cli.console:note"),
    )
    load("graphwalker.cli.console:show_answer")(trajectory)
    if trajectory.stop.ours:
        raise GraphWalkerError(trajectory.provenance.get("error", trajectory.stop.value))


@app.command()
def demo(
    out: OutOption = Path("runs/demo"),
    quick: Annotated[
        bool, typer.Option("--quick", help="Lower figures in under 4 minutes.")
    ] = False,
    config: ConfigOption = None,
    overrides: Overrides = None,
) -> None:
    """The whole road on a laptop: a world, its data, three training stages, a report."""
    path = config or load("graphwalker.pipeline:shipped_config")(quick)
    load("graphwalker.pipeline:run_demo")(out, path, overrides or [])
