"""The data pipeline, by stage or whole."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from graphwalker.cli.shared import (
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
    with load("graphwalker.cli.console:progress")(title) as tick:
        card = run(tick)
    load("graphwalker.cli.console:facts")(title, {key: card[key] for key in CARD if key in card})


def _part(shard: str | None) -> Any:
    return load("data_pipeline.jobs.shards:Shard").parse(shard) if shard else None


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

    Over an endpoint they start from seeds_file=FILE and take what predicates_file=FILE names.

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
def stats(
    file: Annotated[Path, typer.Argument(help="Questions or trajectories (JSONL).")],
    out: OutOption,
    against: Annotated[
        list[Path] | None,
        typer.Option("--against", help="Test questions, for Table 5 and a map beside; repeatable."),
    ] = None,
    embedding: Annotated[
        str,
        typer.Option("--embedding", help="tfidf, or a sentence-transformers model by folder."),
    ] = "tfidf",
) -> None:
    """Describe a corpus: structures beside the paper's (Tables 6, 7), hops, turns, relations, a
    map; with --against how similar test questions are, too (Table 5, Figures 7, 8).

    Writes stats.json, stats.md and figures (SVG).

    Example: graphwalker stats runs/synth/graphsynth.jsonl --against WebQSP.test.json
    --out runs/stats
    """
    found = load("data_pipeline.stats.report:report")(file, out, against or [], embedding)
    shown = {key: found[key] for key in ("count", "structures", "paper") if found[key]}
    load("graphwalker.cli.console:facts")("stats", shown)
