"""`graphwalker graph conformance`: does a graph or an endpoint keep the rules agents rely on?"""

from pathlib import Path
from typing import Annotated, Any

import typer

from graphwalker.cli.shared import SeedOption, load
from graphwalker.errors import GraphWalkerError, UserError

SHOWN = 20
"""Findings printed; the others are counted."""


def conformance(
    graph: Annotated[
        str | None, typer.Argument(help="Any graph: folder, recording, address, MODULE:FACTORY.")
    ] = None,
    endpoint: Annotated[str, typer.Option("--endpoint", help="A SPARQL endpoint instead.")] = "",
    named_graph: Annotated[
        str, typer.Option("--named-graph", help="The named graph to ask of the endpoint.")
    ] = "",
    wikidata: Annotated[
        bool, typer.Option("--wikidata", help="The endpoint has Wikidata's vocabulary.")
    ] = False,
    reference: Annotated[
        Path | None,
        typer.Option("--reference", help="A compiled graph of the same triples, to equal exactly."),
    ] = None,
    entity: Annotated[
        list[str] | None, typer.Option("--entity", help="Id to check at; repeatable.")
    ] = None,
    entities: Annotated[int, typer.Option("--entities", min=1, help="How many, if none.")] = 20,
    seed: SeedOption = 0,
) -> None:
    """Check a graph: order, counts, batches, names, flattened hops, hostile texts; and with
    --reference that an agent is shown the very same text. Read-only. Exit code 1 on a finding.

    Example: graphwalker graph conformance --endpoint http://localhost:8890/sparql
    --reference runs/graph
    """
    if (graph is None) == (not endpoint):
        raise UserError("give a graph or --endpoint URL, one of the two")
    if graph and load("graphwalker.graphs.open:is_endpoint")(graph):
        graph, endpoint = None, graph
    opened = _open(graph, endpoint, named_graph, wikidata)
    other = load("graphwalker.graphs.compiled.open:open_compiled")(reference) if reference else None
    chosen = _entities(opened, other, entity or [], entities, seed)
    found = [
        (finding.check, finding.entity_id, finding.detail)
        for finding in load("graphwalker.graphs.conformance:check_graph")(opened, chosen)
    ]
    if other is not None:
        for topic, call, seen, expected in load("graphwalker.tools.transcript:differences")(
            opened, other, chosen
        ):
            what = f"{call.tool}: {seen[:120]!r} is {expected[:120]!r} in the reference"
            found.append(("same text", topic.id, what))
    _report(found, len(chosen), other is not None)


def _report(found: list[tuple[str, str, str]], entities: int, compared: bool) -> None:
    checks = ["hostile texts", *load("graphwalker.graphs.conformance:CHECKS")]
    for check in [*checks, *(["same text"] if compared else [])]:
        count = sum(name == check for name, _, _ in found)
        typer.echo(f"{check:16} {'ok' if not count else f'{count} findings'}")
    for check, entity_id, detail in found[:SHOWN]:
        typer.echo(f"{check}: {entity_id}: {detail}" if entity_id else f"{check}: {detail}")
    if found:
        raise GraphWalkerError(f"{len(found)} findings at {entities} entities")
    typer.echo(f"conforms at {entities} entities")


def _open(graph: str | None, endpoint: str, named_graph: str, wikidata: bool) -> Any:
    if not endpoint:
        return load("graphwalker.graphs.open:open_graph")(graph)
    options = {"default_graph": named_graph} if named_graph else {}
    return load("graphwalker.graphs.open:open_endpoint")(endpoint, wikidata=wikidata, **options)


def _entities(opened: Any, other: Any, ids: list[str], count: int, seed: int) -> list[Any]:
    """Those asked for, else an even sample of the named ones that the graph can list."""
    entity = load("graphwalker.graphs.base:Entity")
    if ids:
        return [
            entity(i, opened.name(i))
            for i in map(load("graphwalker.graphs.views.freebase:machine_id"), ids)
        ]
    listed = other if other is not None else opened
    if not listed.size:
        if not isinstance(opened, load("graphwalker.graphs.sparql.graph:SparqlGraph")):
            raise UserError("this graph lists no entities: name some with --entity ID")
        return load("graphwalker.graphs.open:some_entities")(opened, count)
    stride = max(1, listed.size // count)
    places = range(seed % stride, listed.size, stride)
    return [listed.entity_at(place) for place in places][:count]
