"""`graphwalker merge`: parts made whole: a LoRA adapter with its base, or a job array's shards."""

from pathlib import Path
from typing import Annotated

import typer

from graphwalker.cli.data.data import CARD
from graphwalker.cli.shared import OutOption, WorkersOption, load
from graphwalker.errors import UserError

app = typer.Typer()


@app.command()
def merge(
    out: OutOption,
    run: Annotated[
        Path | None, typer.Argument(help="A LoRA run (or adapter): its whole model goes to --out.")
    ] = None,
    graph: Annotated[
        str | None, typer.Option("--graph", help="The graph of the shards that lie below --out.")
    ] = None,
    questions: Annotated[
        Path | None, typer.Option("--questions", help="What `experts` was given, for its shards.")
    ] = None,
    workers: WorkersOption = None,
) -> None:
    """Make one whole of parts: a LoRA adapter and its base model (RUN), or the shards of a job
    array (--graph): the files of the run without shards, byte for byte.

    Shards that are missing or unfinished are named (exit code 2).

    Examples: graphwalker merge runs/sft-lora --out runs/sft-merged;
    graphwalker merge --graph runs/graph --out runs/synth
    """
    if (run is None) == (graph is None):
        raise UserError("give a LoRA run, or the --graph of the shards below --out")
    if run is not None:
        typer.echo(load("training.models.merge:merge_adapter")(run, out))
        return
    join = load("data_pipeline.merge:merge")
    with load("graphwalker.cli.console:progress")("merge") as tick:
        card = join(graph, out, questions, workers or 1, tick)
    load("graphwalker.cli.console:facts")("merge", {key: card[key] for key in CARD if key in card})
