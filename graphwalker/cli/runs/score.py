"""`graphwalker score`: every metric on anyone's predictions file."""

import json
from pathlib import Path
from typing import Annotated

import typer

from graphwalker.cli.shared import WorkersOption, load

app = typer.Typer()


@app.command()
def score(
    predictions: Annotated[
        Path,
        typer.Option("--predictions", help="JSONL or JSON; or the folder of an evaluation run."),
    ],
    metrics: Annotated[
        str, typer.Option("--metrics", help="Comma-separated names. Default: all that apply.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
    per_record: Annotated[
        Path | None, typer.Option("--per-record", help="Also write each record's scores (JSONL).")
    ] = None,
    layout: Annotated[
        str, typer.Option("--format", help="Whose file it is: ours, rog, tog or kg-r1.")
    ] = "ours",
    questions: Annotated[
        Path | None,
        typer.Option("--questions", help="Gold answers, for a file that has none (tog, kg-r1)."),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", help="Of the bootstrap: same seed, same intervals.")
    ] = 0,
    workers: WorkersOption = None,
) -> None:
    """Score a predictions file by our strict metrics and by every published one.

    A record: {"id": "q1", "predictions": ["Oslo"], "answers": ["Oslo"]}

    Example: graphwalker score --predictions preds.jsonl --metrics em,f1,rog_f1 --json
    """
    names = [name.strip() for name in metrics.split(",") if name.strip()]
    scored = load("eval.score.score:score_file")(
        predictions,
        names or None,
        layout=layout,
        questions=questions,
        per_record=per_record,
        seed=seed,
        workers=workers,
    )
    if as_json:
        typer.echo(json.dumps(scored.to_json()))
    else:
        load("graphwalker.cli.console:out").print(load("eval.score.score:scores_table")(scored))
