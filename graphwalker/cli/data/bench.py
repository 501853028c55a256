"""`graphwalker bench`: a benchmark of seen and unseen structures, made from any graph."""

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

CARD = ("count", "attempts", "structures", "unseen_structures", "shared_with_training", "dropped")


@app.command()
def bench(
    graph: GraphOption,
    out: OutOption,
    config: ConfigOption = None,
    overrides: Overrides = None,
    against: Annotated[
        list[Path] | None,
        typer.Option("--against", help="Training corpus: none of its questions; repeatable."),
    ] = None,
    count: Annotated[int | None, typer.Option("--count", min=1, help="Questions.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Same seed, same questions.")] = None,
    workers: WorkersOption = None,
) -> None:
    """GraphWalkerBench on any graph: certified questions in the mix of the paper's Table 7, of
    structures that training has and of some that it has not.

    Writes GWBench.json, which `graphwalker eval` and `graphwalker benchmark` read, and ours.

    Example: graphwalker bench --graph runs/graph --against runs/synth/graphsynth.jsonl
    --against runs/roll/graphroll.jsonl --out runs/bench
    """
    chosen = settings("bench", config, overrides, count=count, seed=seed, workers=workers)
    make = load("data_pipeline.graphwalkerbench:make_bench")
    with load("graphwalker.cli.console:progress")("bench") as tick:
        card: dict[str, Any] = make(graph, chosen, against or [], out, tick)
    shown = {key: card[key] for key in CARD if card.get(key)}
    load("graphwalker.cli.console:facts")("bench", {**shown, "written": str(out / "GWBench.json")})
