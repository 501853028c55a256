"""The data pipeline, by stage or whole: its stages, and `merge` of a job array's shards."""

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

SeedSetting = Annotated[int | None, typer.Option("--seed", help="Same seed, same records.")]
ShardOption = Annotated[
    str | None,
    typer.Option("--shard", help="Part i of n, as 0/8: for job arrays; `graphwalker merge` joins."),
]
EngineOption = Annotated[
    str | None, typer.Option("--engine", help="Where workers run: `processes` (default) or `ray`.")
]

CARD = ("stage", "count", "attempts", "yield", "structures", "splits", "dropped")
"""What the terminal shows of a data card; the card itself lies in the folder."""


def _stage(title: str, run: Callable[[Any], dict[str, Any]]) -> None:
    with load("graphwalker.console:progress")(title) as tick:
        card = run(tick)
    load("graphwalker.console:facts")(title, {key: card[key] for key in CARD if key in card})


def _part(shard: str | None) -> Any:
    return load("data_pipeline.shards:Shard").parse(shard) if shard else None


@app.command()
def synth(
    graph: GraphOption,
    out: OutOption,
    config: ConfigOption = None,
    overrides: Overrides = None,
    count: Annotated[int | None, typer.Option("--count", min=1, help="Trajectories.")] = None,
    seed: SeedSetting = None,
    workers: WorkersOption = None,
    engine: EngineOption = None,
    shard: ShardOption = None,
) -> None:
    """GraphSynth in one go: walks, questions, filter, certificates, oracle trajectories.

    Example: graphwalker synth --graph runs/graph --count 5000 --seed 0 --out runs/synth
    """
    chosen = settings(
        "synth", config, overrides, count=count, seed=seed, workers=workers, engine=engine
    )
    make = load("data_pipeline.synthesize:synthesize")
    _stage("synth", lambda tick: make(graph, chosen, out, tick, _part(shard)))


@app.command()
def walk(
    graph: GraphOption,
    out: OutOption,
    config: ConfigOption = None,
    overrides: Overrides = None,
    count: Annotated[int | None, typer.Option("--count", min=1, help="Walks.")] = None,
    seed: SeedSetting = None,
    workers: WorkersOption = None,
    engine: EngineOption = None,
    shard: ShardOption = None,
) -> None:
    """Step 1 of `synth`: constrained random walks with their executed answer sets.

    Example: graphwalker walk --graph runs/graph --count 1000 --out runs/walks
    """
    chosen = settings(
        "synth", config, overrides, count=count, seed=seed, workers=workers, engine=engine
    )
    make = load("data_pipeline.synthesize:make_walks")
    _stage("walk", lambda tick: make(graph, chosen, out, tick, _part(shard)))


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
    seed: SeedSetting = None,
    workers: WorkersOption = None,
    engine: EngineOption = None,
    shard: ShardOption = None,
) -> None:
    """Step 2 of `synth`: walks become questions. Without --walks: a whole certified question set.

    A question set is for evaluation or RL; `split=test-entity` and `split=test-path` hold out.

    Example: graphwalker questions --graph runs/graph --walks runs/walks/walks.jsonl --out runs/q
    """
    chosen = settings(
        "synth", config, overrides, count=count, seed=seed, workers=workers, engine=engine
    )
    if walks is not None and shard:
        raise load("graphwalker.errors:UserError")(
            "--shard makes question sets: leave --walks away"
        )
    if walks is None:
        make = load("data_pipeline.synthesize:make_questions")
        _stage("questions", lambda tick: make(graph, chosen, out, tick, _part(shard)))
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
    seed: SeedSetting = None,
    workers: WorkersOption = None,
    engine: EngineOption = None,
    shard: ShardOption = None,
) -> None:
    """GraphRoll: an expert that errs and recovers, kept where it ends right and grounded.

    Example: graphwalker experts --graph runs/graph --questions runs/rl/questions.jsonl
    --out runs/roll
    """
    chosen = settings(
        "experts", config, overrides, count=count, seed=seed, workers=workers, engine=engine
    )
    collect = load("data_pipeline.collect:collect_experts")
    _stage("experts", lambda tick: collect(graph, chosen, questions, out, tick, _part(shard)))


@app.command()
def merge(
    graph: GraphOption,
    out: OutOption,
    questions: Annotated[
        Path | None, typer.Option("--questions", help="What `experts` was given, for its shards.")
    ] = None,
    workers: WorkersOption = None,
) -> None:
    """Join the shards below --out: the files of the run without shards, byte for byte.

    Shards that are missing or unfinished are named (exit code 2).

    Example: graphwalker merge --graph runs/graph --out runs/synth
    """
    join = load("data_pipeline.merge:merge")
    _stage("merge", lambda tick: join(graph, out, questions, workers or 1, tick))


@app.command()
def stats(
    file: Annotated[Path, typer.Argument(help="Questions or trajectories (JSONL).")],
    out: OutOption,
) -> None:
    """Describe a corpus: structures beside the paper's, hops, turns, relations, a map.

    Writes stats.json, stats.md and four figures (SVG).

    Example: graphwalker stats runs/synth/graphsynth.jsonl --out runs/stats
    """
    found = load("data_pipeline.stats_report:report")(file, out)
    shown = {key: found[key] for key in ("count", "structures", "paper") if found[key]}
    load("graphwalker.console:facts")("stats", shown)
