"""`graphwalker graph`: make, compile, describe, check and search graphs."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option
from typer.core import TyperCommand

from graphwalker.cli.graphs import endpoint, synthetic
from graphwalker.cli.shared import JsonFlag, Out, Seed, show
from graphwalker.console import console
from graphwalker.console.endings import show_ending
from graphwalker.counts import number_of
from graphwalker.errors import GraphWalkerError, UserError

app = typer.Typer(help="Make, compile, describe and check graphs.", no_args_is_help=True)


class OfGraph(TyperCommand):
    """A command whose first argument is a graph, which `--graph` gives as well."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        for at, word in enumerate(args):
            if word == "--graph" and at + 1 < len(args):
                args = [args[at + 1], *args[:at], *args[at + 2 :]]
            elif word.startswith("--graph="):
                args = [word.removeprefix("--graph="), *args[:at], *args[at + 1 :]]
        return super().parse_args(ctx, args)


AnyGraph = Annotated[
    str, Argument(help="Folder, file, address, recording or module:FACTORY; also as --graph.")
]
Compiled = Annotated[Path, Argument(help="A compiled graph (`graph build`); also as --graph.")]
Files = list[Path] | None
Texts = list[str] | None
SHOWN = 20
"""Findings of `conformance` that are printed; the others are counted."""


@app.command()
def make(
    entities: Annotated[int, Option(min=1_000, max=10_000_000, help="Named entities.")],
    out: Out,
    seed: Seed = 0,
) -> None:
    """Generate a fictional, Freebase-shaped world (TSV, N-Triples and compiled).

    Example: graphwalker graph make --entities 3000 --out runs/world
    """
    from graphwalker.world.generate import make_world

    show(str(out), make_world(entities, seed, out, progress=console.note))
    _end(out / "graph")


@app.command()
def build(
    out: Out,
    files: Annotated[Files, Argument(help="Files of any format; also as --triples.")] = None,
    triples: Annotated[Files, Option(help="Files of any format; repeatable.")] = None,
    property: Annotated[Files, Option(help="Files of property graphs; repeatable.")] = None,
    names: Annotated[Files, Option(help="TSV: id, name; repeatable.")] = None,
    types: Annotated[Files, Option(help="TSV: id, type; repeatable.")] = None,
    columns: Annotated[
        str,
        Option(
            help="Columns of head, relation and tail in a table, as h,r,t or 1,2,3; or `table`."
        ),
    ] = "",
    header: Annotated[
        bool | None,
        Option(
            "--header/--no-header",
            help="The first row is a header. [default: if columns are names]",
        ),
    ] = None,
    split: Annotated[
        str | None, Option(help="Between several values in one field: |, ; or none.")
    ] = None,
    refers: Annotated[
        Texts, Option(help="Where a column points, as TABLE.COLUMN=TABLE (or none); repeatable.")
    ] = None,
    names_from_ids: Annotated[
        bool,
        Option(
            "--names-from-ids",
            help="Name entities without a name by their id: x.org/Anna_B is Anna B.",
        ),
    ] = False,
    join_names: Annotated[
        bool,
        Option("--join-names", help="Entities of several files with one name and type are one."),
    ] = False,
    freebase: Annotated[
        bool, Option("--freebase", help="Read a Freebase dump: ids, English.")
    ] = False,
    language: Annotated[Texts, Option(help="Keep texts of this language; repeatable.")] = None,
    predicates: Annotated[
        Path | None, Option(help="Keep only these relations: a JSON list.")
    ] = None,
    keep: Annotated[Texts, Option(help="Keep only relations like film.*; repeatable.")] = None,
    drop: Annotated[Texts, Option(help="Drop relations like user.*; repeatable.")] = None,
    namespace: Annotated[Texts, Option(help="Keep only IRIs that begin so; repeatable.")] = None,
    memory_limit: Annotated[str, Option(help="Memory of the build.")] = "2GB",
    disk_limit: Annotated[str | None, Option(help="Temporary files of the build.")] = None,
    workers: Annotated[
        int | None, Option(min=1, help="Processes that read. [default: one a core]")
    ] = None,
    max_malformed: Annotated[
        int | None, Option(min=0, help="Stop after this many malformed lines.")
    ] = None,
    rejects: Annotated[
        Path | None, Option(help="File for malformed lines. [default: OUT/rejects.tsv]")
    ] = None,
) -> None:
    """Compile triples into a memory-mapped graph that opens in milliseconds.

    A build that was killed leaves no graph: type the same command again.

    Example: graphwalker graph build --triples kb.tsv.gz --names names.tsv --out runs/graph

    Example: graphwalker graph build --freebase --triples freebase-rdf-latest.gz --out freebase
    """
    from graphwalker.graphs.build.build import build_graph
    from graphwalker.graphs.intake.columns import TableForm
    from graphwalker.graphs.intake.filters import MALFORMED, Filters, dump_filters
    from graphwalker.graphs.intake.rows import REJECT_LIMIT
    from graphwalker.graphs.views.freebase import load_predicates

    given: dict[str, Any] = {
        "relations": load_predicates(predicates) if predicates else None,
        "keep": tuple(keep or ()),
        "drop": tuple(drop or ()),
        "namespaces": tuple(namespace or ()),
        "languages": tuple(language or ()),
    }
    given = {key: value for key, value in given.items() if value}
    usual = MALFORMED if freebase else REJECT_LIMIT
    built = build_graph(
        [*(files or ()), *(triples or ())],
        out,
        property_files=property or [],
        names=names or None,
        types=types or None,
        memory_limit=memory_limit,
        disk_limit=disk_limit,
        filters=dump_filters(**given) if freebase else Filters(**given),
        max_malformed=usual if max_malformed is None else max_malformed,
        rejects=rejects,
        progress=console.note,
        workers=workers,
        names_from_ids=names_from_ids,
        form=TableForm.read(columns, header, split, refers or ()),
        join=join_names,
    )
    _show_built(out, built)


@app.command()
def grbench(
    file: Annotated[Path, Argument(help="A GRBench graph.json, plain or .gz.")],
    out: Out,
    memory_limit: Annotated[str, Option(help="Memory of the build.")] = "2GB",
) -> None:
    """Compile a graph of GRBench: node types, features, relationships; the file is streamed.

    Example: graphwalker graph grbench dblp/graph.json --out runs/dblp
    """
    from graphwalker.files import write_jsonl
    from graphwalker.graphs.build.build import build_graph
    from graphwalker.graphs.intake.grbench import GrbenchCounts, grbench_records

    counts = GrbenchCounts()
    records = out.with_name(f"{out.name}.records.jsonl")
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        write_jsonl(records, grbench_records(file, counts))
        built = build_graph(
            [], out, property_files=[records], memory_limit=memory_limit, progress=console.note
        )
    finally:
        records.unlink(missing_ok=True)
    kinds = ", ".join(f"{name}: {count:,}" for name, count in counts.nodes.items())
    more = {"node types": kinds, "relationships": counts.relationships}
    _show_built(out, {**built, **more})


@app.command(cls=OfGraph)
def info(graph: AnyGraph, as_json: JsonFlag = False) -> None:
    """Describe a graph: counts and checksum, and the size of a compiled one.

    Example: graphwalker graph info runs/graph
    """
    from graphwalker.graphs.open import open_graph

    show(graph, open_graph(graph).info(), as_json)


@app.command(cls=OfGraph)
def check(graph: Compiled, as_json: JsonFlag = False) -> None:
    """Check a compiled graph from end to end: checksums, order, counts, look-ups both ways.

    Example: graphwalker graph check runs/graph
    """
    from graphwalker.graphs.compiled.check import check_graph

    show("sound", check_graph(graph, progress=console.note), as_json)


@app.command(cls=OfGraph)
def index(
    graph: Compiled,
    aliases: Annotated[Path | None, Option(help="TSV: id, alias; besides the graph's own.")] = None,
) -> None:
    """Index the names and aliases of a graph, for `graph search` and for topics by alias.

    Example: graphwalker graph index runs/graph --aliases aliases.tsv
    """
    from graphwalker.files import read_columns
    from graphwalker.graphs.compiled.properties import open_compiled
    from graphwalker.graphs.views.name_index import build_index, name_rows
    from graphwalker.runs import locked_file

    opened = open_compiled(graph)
    path = _index_of(graph)
    rows = name_rows(opened, read_columns(aliases, "id", "alias") if aliases else ())
    with locked_file(path):
        build_index(rows, path, checksum=opened.checksum)
    console.note(f"{path}: {path.stat().st_size:,} bytes")


@app.command(cls=OfGraph)
def search(
    graph: AnyGraph,
    text: Annotated[str, Argument(help="A name, or something like it.")],
    limit: Annotated[int, Option(min=1, help="How many to show.")] = 10,
) -> None:
    """Find entities whose name or alias looks like a text.

    Example: graphwalker graph search runs/graph "barak obama"
    """
    from graphwalker.graphs.open import open_graph
    from graphwalker.graphs.views.name_index import build_index, name_rows, open_index

    opened = open_graph(graph)
    path = _index_of(opened.path) if opened.path else None
    if path is not None and path.is_file():
        names = open_index(path, opened.checksum)
    else:
        names = build_index(name_rows(opened))
    for hit in names.search(text, limit):
        alias = f"\talias: {hit.alias}" if hit.alias else ""
        console.echo(f"{hit.score:.2f}\t{hit.entity.id}\t{hit.entity.name}{alias}")


def _show_built(folder: Path, built: dict[str, Any]) -> None:
    """Print the counts of a build, three facts, and what may not be as it was meant."""
    from graphwalker.graphs.build.cached import sample_facts
    from graphwalker.graphs.compiled.properties import open_compiled

    warnings, read = built.pop("warnings", []), built.pop("read", [])
    show(str(folder), built)
    for line in read:
        console.echo(f"read: {line}")
    for fact in sample_facts(open_compiled(folder)):
        console.echo(f"fact: {fact}")
    for warning in warnings:
        console.echo(f"warning: {warning}")
    _end(folder)


def _end(folder: Path) -> None:
    words = ("synth", "--graph", folder, "--count", "1000", "--out", "runs/synth")
    show_ending(folder, words, examples=False)


def _index_of(graph: Path) -> Path:
    from graphwalker.graphs.views.name_index import FILE_NAME

    return (graph if graph.is_dir() else graph.parent) / FILE_NAME


@app.command(cls=OfGraph)
def conformance(
    graph: AnyGraph = "",
    endpoint: Annotated[str, Option(help="A SPARQL endpoint's address.")] = "",
    named_graph: Annotated[str, Option(help="The named graph to ask of the endpoint.")] = "",
    wikidata: Annotated[
        bool, Option("--wikidata", help="The endpoint uses Wikidata's vocabulary.")
    ] = False,
    reference: Annotated[
        Path | None, Option(help="A compiled graph of the same triples; answers must be equal.")
    ] = None,
    entity: Annotated[Texts, Option(help="Id of an entity to check; repeatable.")] = None,
    entities: Annotated[
        int, Option(min=1, help="Number of entities to check without --entity.")
    ] = 20,
    seed: Seed = 0,
) -> None:
    """Check a graph: order, counts, batches, names, flattened hops, hostile texts; and with
    --reference that an agent is shown the very same text. Read-only. Exit code 1 on a finding.

    Example: graphwalker graph conformance --endpoint http://localhost:8890/sparql
    --reference runs/graph
    """
    from graphwalker.graphs.compiled.properties import open_compiled
    from graphwalker.graphs.conformance import check_graph
    from graphwalker.tools.transcript import differences

    if bool(graph) == bool(endpoint):
        raise UserError("give a graph or --endpoint URL, one of the two")
    opened = _open(graph or endpoint, named_graph, wikidata)
    other = open_compiled(reference) if reference else None
    chosen = _entities(opened, other, entity or [], entities, seed)
    found = [(f.check, f.entity_id, f.detail) for f in check_graph(opened, chosen)]
    if other is not None:
        for topic, call, seen, expected in differences(opened, other, chosen):
            what = f"{call.tool}: {seen[:120]!r} is {expected[:120]!r} in the reference"
            found.append(("same text", topic.id, what))
    _report(found, len(chosen), other is not None)


def _report(found: list[tuple[str, str, str]], entities: int, compared: bool) -> None:
    from graphwalker.graphs.conformance import CHECKS

    for check in ["hostile texts", *CHECKS, *(["same text"] if compared else [])]:
        count = sum(name == check for name, _, _ in found)
        console.echo(f"{check:16} {f'findings: {count}' if count else 'ok'}")
    for check, entity_id, detail in found[:SHOWN]:
        console.echo(f"{check}: {entity_id}: {detail}" if entity_id else f"{check}: {detail}")
    if not entities:
        raise GraphWalkerError("no entity was found to check at: name some with --entity ID")
    if found:
        raise GraphWalkerError(f"findings: {len(found)} (entities: {entities})")
    console.echo(f"conforms at {number_of(entities, 'entity', 'entities')}")


def _open(spec: str, named_graph: str, wikidata: bool) -> Any:
    from graphwalker.graphs.open import is_endpoint, open_endpoint, open_graph

    if not is_endpoint(spec):
        return open_graph(spec)
    options = {"default_graph": named_graph} if named_graph else {}
    return open_endpoint(spec, wikidata=wikidata, **options)


def _entities(opened: Any, other: Any, ids: list[str], count: int, seed: int) -> list[Any]:
    """Return those asked for, else an even sample of the named ones that the graph can list."""
    from graphwalker.graphs.base import Entity
    from graphwalker.graphs.open import some_entities
    from graphwalker.graphs.sparql.graph import SparqlGraph
    from graphwalker.graphs.views.freebase import machine_id

    if ids:
        return [Entity(i, opened.name(i)) for i in map(machine_id, ids)]
    listed = other if other is not None else opened
    if not listed.size:
        if not isinstance(opened, SparqlGraph):
            raise UserError("this graph lists no entities: name some with --entity ID")
        return some_entities(opened, count)
    stride = max(1, listed.size // count)
    places = range(seed % stride, listed.size, stride)
    return [listed.entity_at(place) for place in places][:count]


app.registered_commands += synthetic.app.registered_commands
app.command(cls=OfGraph)(endpoint.serve)
