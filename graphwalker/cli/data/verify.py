"""Certificates and seeds: `graphwalker verify` and `graphwalker seeds`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from graphwalker.cli.shared import GraphOption, OutOption, load
from graphwalker.errors import GraphError, GraphWalkerError, UserError

app = typer.Typer()


@app.command()
def verify(
    file: Annotated[Path, typer.Argument(help="Walks, questions or trajectories (JSONL).")],
    graph: GraphOption,
    max_answers: Annotated[
        int | None, typer.Option("--max-answers", min=1, help="Uniqueness bound. Default: none.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Execute every record of a data file again: topic entities, relations, the full answer set,
    shortcuts, answers in questions, readings; that trajectories end with the answers. Exit code 1
    with the first ten that do not hold.

    Example: graphwalker verify runs/synth/graphsynth.jsonl --graph runs/graph
    """
    opened = load("graphwalker.graphs.open:open_graph")(graph)
    try:
        with load("graphwalker.cli.console:progress")("verify") as tick:
            verdict = load("data_pipeline.verify:verify_file")(opened, file, max_answers, tick)
    except GraphError as error:  # exit code 1 is a verdict on the records: there is none
        raise UserError(f"{error}; nothing was verified, give a --graph that answers") from None
    if as_json:
        typer.echo(json.dumps({"file": str(file), "graph": graph, **verdict.to_json()}))
    else:
        for failure in verdict.first:
            typer.echo(str(failure))
    if verdict.failed:
        reasons = ", ".join(f"{n} {reason}" for reason, n in sorted(verdict.reasons.items()))
        raise GraphWalkerError(
            f"{file}: {verdict.failed:,} of {verdict.records:,} records do not hold ({reasons})"
        )
    if not as_json:
        typer.echo(f"{file}: all {verdict.records:,} records hold")


@app.command()
def seeds(
    out: OutOption,
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Training files with SPARQL, or whitelists (ids or IRIs)."),
    ] = None,
    graph: Annotated[
        str | None,
        typer.Option("--graph", help="Keep what this graph has; alone: its schema."),
    ] = None,
    entities: Annotated[
        int | None,
        typer.Option("--entities", min=1, help="Of a graph's schema: at most so many entities."),
    ] = None,
) -> None:
    """Predicates and seed entities for walks: from the SPARQL of CWQ, WebQSP and GrailQA training
    files, from whitelists, or from a graph's schema. Writes predicates.txt and seeds.txt.

    Example: graphwalker seeds WebQSP.train.json --graph runs/graph --out runs/seeds, then
    graphwalker synth --graph runs/graph --out runs/synth predicates_file=runs/seeds/predicates.txt
    seeds_file=runs/seeds/seeds.txt
    """
    if not files and graph is None:
        raise UserError("give training files, whitelists, or --graph for a graph's schema")
    if entities is not None and files:
        raise UserError("--entities is for a graph's schema: leave the files out")
    opened = load("graphwalker.graphs.open:open_graph")(graph) if graph else None
    left_out: dict[str, int] = {}
    if files:
        with load("graphwalker.cli.console:progress")("seeds") as tick:
            found = load("data_pipeline.seeds.files:read_seeds")(files, tick)
        if opened is not None:
            found, left_out = load("data_pipeline.seeds.files:known_to")(opened, found)
    else:
        found = load("data_pipeline.seeds.files:schema_seeds")(opened, entities)
    card = load("data_pipeline.seeds.files:write_seeds")(out, found, left_out)
    told = {key: value for key, value in card.items() if isinstance(value, int)}
    load("graphwalker.cli.console:facts")("seeds", told)
