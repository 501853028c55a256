"""The data pipeline by stage or whole: `synth`, `walk`, `questions`, `filter`, `experts`."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from graphwalker.commands.shared import (
    ConfigOption,
    GraphOption,
    OutOption,
    Overrides,
    WorkersOption,
    load,
    settings,
)

app = typer.Typer()

CARD = ("stage", "count", "attempts", "yield", "structures", "splits", "dropped")
"""What the terminal shows of a data card; the card itself lies in the folder."""


def _stage(title: str, run: Callable[[Any], dict[str, Any]]) -> None:
    with load("graphwalker.console:progress")(title) as tick:
        card = run(tick)
    load("graphwalker.console:facts")(title, {key: card[key] for key in CARD if key in card})


@app.command()
def synth(
    graph: GraphOption,
    out: OutOption,
    config: ConfigOption = None,
    overrides: Overrides = None,
    count: Annotated[int | None, typer.Option("--count", min=1, help="Trajectories.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Same seed, same records.")] = None,
    workers: WorkersOption = None,
) -> None:
    """GraphSynth in one go: walks, questions, filter, certificates, oracle trajectories.

    Example: graphwalker synth --graph runs/graph --count 5000 --seed 0 --out runs/synth
    """
    chosen = settings("synth", config, overrides, count=count, seed=seed, workers=workers)
    make = load("data_pipeline.synthesize:synthesize")
    _stage("synth", lambda tick: make(graph, chosen, out, tick))


@app.command()
def walk(
    graph: GraphOption,
    out: OutOption,
    config: ConfigOption = None,
    overrides: Overrides = None,
    count: Annotated[int | None, typer.Option("--count", min=1, help="Walks.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Same seed, same records.")] = None,
    workers: WorkersOption = None,
) -> None:
    """Step 1 of `synth`: constrained random walks with their executed answer sets.

    Example: graphwalker walk --graph runs/graph --count 1000 --out runs/walks
    """
    chosen = settings("synth", config, overrides, count=count, seed=seed, workers=workers)
    make = load("data_pipeline.synthesize:make_walks")
    _stage("walk", lambda tick: make(graph, chosen, out, tick))


@app.command()
def questions(
    graph: GraphOption,
    out: OutOption,
    walks: Annotated[
        Path | None, typer.Option("--walks", help="walks.jsonl of `graphwalker walk`.")
    ] = None,
    config: ConfigOption = None,
    overrides: Overrides = None,
    count: Annotated[
        int | None, typer.Option("--count", min=1, help="Certified questions, without --walks.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Same seed, same records.")] = None,
    workers: WorkersOption = None,
) -> None:
    """Step 2 of `synth`: walks become questions. Without --walks: a whole certified question set.

    A question set is for evaluation or RL; `split=test-entity` and `split=test-path` hold out.

    Example: graphwalker questions --graph runs/graph --walks runs/walks/walks.jsonl --out runs/q
    """
    chosen = settings("synth", config, overrides, count=count, seed=seed, workers=workers)
    if walks is None:
        make = load("data_pipeline.synthesize:make_questions")
        _stage("questions", lambda tick: make(graph, chosen, out, tick))
    else:
        word = load("data_pipeline.stages:word_questions")
        _stage("questions", lambda tick: word(graph, chosen, walks, out, tick))


@app.command("filter")
def filter_questions(
    graph: GraphOption,
    questions: Annotated[Path, typer.Option("--questions", help="questions.jsonl of step 2.")],
    out: OutOption,
    config: ConfigOption = None,
    overrides: Overrides = None,
    workers: WorkersOption = None,
) -> None:
    """Step 3 of `synth`: keep what passes the quality filter and every certificate.

    Example: graphwalker filter --graph runs/graph --questions runs/q/questions.jsonl --out runs/f
    """
    chosen = settings("synth", config, overrides, workers=workers)
    keep = load("data_pipeline.stages:filter_questions")
    _stage("filter", lambda tick: keep(graph, chosen, questions, out, tick))


@app.command()
def experts(
    graph: GraphOption,
    questions: Annotated[Path, typer.Option("--questions", help="Certified questions (JSONL).")],
    out: OutOption,
    config: ConfigOption = None,
    overrides: Overrides = None,
    count: Annotated[int | None, typer.Option("--count", min=1, help="Trajectories.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Same seed, same records.")] = None,
    workers: WorkersOption = None,
) -> None:
    """GraphRoll: an expert that errs and recovers, kept where it ends right and grounded.

    Example: graphwalker experts --graph runs/graph --questions runs/rl/questions.jsonl
    --out runs/roll
    """
    chosen = settings("experts", config, overrides, count=count, seed=seed, workers=workers)
    collect = load("data_pipeline.collect:collect_experts")
    _stage("experts", lambda tick: collect(graph, chosen, questions, out, tick))
