"""`graphwalker export`: corpora in the forms of other training libraries."""

from pathlib import Path
from typing import Annotated, Any

import typer

from graphwalker.cli.shared import ConfigOption, OutOption, Overrides, load, settings

app = typer.Typer()


@app.command()
def export(
    file: Annotated[Path, typer.Argument(help="Trajectories or questions (JSONL, .gz too).")],
    to: Annotated[str, typer.Option("--to", help="sharegpt (LLaMA-Factory), trl or verl.")],
    out: OutOption,
    graph: Annotated[
        str | None, typer.Option("--graph", help="For questions: their prompts are made on it.")
    ] = None,
    config: ConfigOption = None,
    overrides: Overrides = None,
) -> None:
    """Write a corpus for LLaMA-Factory, TRL or verl.

    Trajectories become rows to imitate. Questions become prompts of RL with their answers; the
    environment's settings (--config, a.b=c) say how a prompt reads.

    Example: graphwalker export runs/synth/graphsynth.jsonl --to sharegpt --out runs/sharegpt
    """
    chosen = settings("environment", config, overrides)
    environment: Any = None
    if graph is not None:
        opened = load("graphwalker.graphs.open:open_graph")(graph, wikidata=chosen.layers.wikidata)
        environment = load("graphwalker.agents.environment:Environment")(opened, chosen)
    done = load("data_pipeline.export:export")(file, to, out, environment)
    shown = {"file": str(done.file), "rows": done.rows, "left_out": done.left_out}
    load("graphwalker.cli.console:facts")("export", shown)
