"""Opening a graph by one text: a folder, a file, an endpoint, a recording, or `module:factory`."""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphwalker.errors import GraphWalkerError, UserError
from graphwalker.files import is_address_file, read_address
from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.settings.named import failure, is_own, local_path, own

if TYPE_CHECKING:
    from graphwalker.graphs.sparql.graph import SparqlGraph

QUESTIONS = (".jsonl", ".json", ".parquet", ".jsonl.gz", ".json.gz")
"""Endings of files whose questions may bring their own graphs."""


def open_graph(
    spec: Any,
    *,
    cache_dir: Path | str = "",
    record: Path | str = "",
    wikidata: bool = False,
    **endpoint: Any,
) -> KnowledgeGraph:
    """Return the graph that `spec` names; every command, config and script opens its graph here.

    - an `http(s)://` address: a SPARQL endpoint. Several may stand side by side, separated by
      blanks or commas; `#IRI` at the end is the named graph that is asked.
    - a `.address` file: the endpoint whose address a server job wrote there; `#IRI` as above.
    - a file of questions that bring their own graphs (RoG's, say), or several, by commas.
    - a `.jsonl` file of graph calls: a recording (`record`), which it plays again.
    - `module:factory`: what that function of the user's own returns, a `KnowledgeGraph` or a
      networkx graph. The module may lie in the working directory.
    - a `neo4j://` or `bolt://` address: a Neo4j database; `#NAME` at the end is the database.
    - a folder with `graphs.jsonl`: a set of property graphs (`graph synthetic`, `graph mazes`).
    - a compiled graph, by its folder or the file inside.
    - a data set on the Hub that was downloaded, by its name `owner/name` (or `owner/name/file`).
    - any other file, or several by commas: compiled as `graph build` does, into a cache folder that
      the digest names; what it needs to know follows: `facts.csv?names=names.tsv&columns=s,p,o`.

    In Python `spec` may be a DataFrame, a networkx or rdflib graph, or a list of triples as well.

    An endpoint stands behind the cache of this process, which `cache_dir` keeps on disk as well;
    `wikidata` is its vocabulary, other options go to `SparqlGraph`. `record` is a file to which
    all calls are written. Raises `UserError` for what cannot be opened.
    """
    if not isinstance(spec, Path | str):
        return _open_object(spec)
    graph = _open(str(spec), cache_dir, wikidata, endpoint)
    if record:
        from graphwalker.graphs.views.sets import GraphSet

        if isinstance(graph, GraphSet):
            raise UserError(f"{spec}: the calls of a graph for each question cannot be recorded")
        from graphwalker.graphs.cache.recording import RecordedGraph

        return RecordedGraph(graph, record)
    return graph


def is_endpoint(spec: Path | str) -> bool:
    """Return whether `spec` is the address of a SPARQL endpoint, or the file that holds it."""
    return str(spec).startswith(("http://", "https://")) or is_address_file(spec)


def open_endpoint(spec: str, *, wikidata: bool = False, **options: Any) -> "SparqlGraph":
    """Return the endpoint itself, without a cache before it. Where no entity has a name by
    `type.object.name`, names are those of `rdfs:label`. Raises `UserError` where there are neither,
    `GraphError` for one that does not answer."""
    from graphwalker.graphs.sparql.graph import LABEL_VOCABULARY, SparqlGraph
    from graphwalker.graphs.views.wikidata import vocabulary

    file = spec.partition("#")[0] if is_address_file(spec) else ""
    addresses, _, named = (read_address(spec) if file else spec).partition("#")
    if named:
        options = {"default_graph": named, **options}
    if wikidata:
        options = {"vocabulary": vocabulary(), **options}
    addresses = addresses.replace(",http", " http")
    graph = SparqlGraph(addresses, **options)
    if "vocabulary" not in options and not graph.has_names():
        graph = SparqlGraph(addresses, LABEL_VOCABULARY, **options)
        if not graph.has_names():
            raise UserError(
                f"{spec}: no entity is named there, by type.object.name or rdfs:label: is a graph "
                "loaded, under the IRI after #? For names of another predicate give --graph "
                "MODULE:NAME, whose function returns SparqlGraph(ADDRESS, Vocabulary(name=IRI))"
            )
    if file:  # a server that a job starts again may run on another node: its runs resume
        graph.checksum = f"{Path(file).name}#{graph.client.default_graph}"
    return graph


def some_entities(graph: "SparqlGraph", count: int) -> list[Entity]:
    """Return some named entities of an endpoint, spread over the first ones that it gives."""
    name = graph.vocabulary.iri(graph.vocabulary.name)
    rows = graph.client.rows(f"SELECT ?s WHERE {{ ?s {name} ?n }} LIMIT {count * 20}")
    ids = list(dict.fromkeys(graph.vocabulary.node_id(row["s"]) for row in rows))
    chosen = ids[:: max(1, len(ids) // count)][:count]
    return [Entity(i, n) for i, n in zip(chosen, graph.names_many(chosen), strict=True)]


def _open(
    spec: str, cache_dir: Path | str, wikidata: bool, endpoint: dict[str, Any]
) -> KnowledgeGraph:
    if is_endpoint(spec):
        return _cached_endpoint(spec, cache_dir, wikidata, endpoint)
    if endpoint or cache_dir:
        given = ", ".join([*endpoint, *(["cache_dir"] if cache_dir else [])])
        raise UserError(f"{spec}: {given} is for endpoints (http://...) only")
    if spec.startswith(("neo4j", "bolt")) and "://" in spec:
        from graphwalker.graphs.adapters.neo4j import open_neo4j

        return open_neo4j(spec)
    if re.match(r"[\w.-]+:\d+(/|$)", spec) and not Path(spec).exists():
        raise UserError(f"{spec}: the address of an endpoint begins with http://")
    if not is_own(spec):
        made = "`graphwalker graph build FILE --out FOLDER` makes one"
        spec = str(local_path(spec, what=f"no such graph ({made})"))
    if spec.lower().endswith(QUESTIONS):
        from graphwalker.datasets.own_graphs import QuestionGraphs, files_with_graphs

        if files := files_with_graphs(spec):
            return QuestionGraphs(files)
    if spec.endswith(".jsonl"):
        from graphwalker.graphs.cache.recording import ReplayedGraph, is_recording

        if is_recording(spec):
            return ReplayedGraph(spec)
    if is_own(spec) and not Path(spec).exists():
        return _call_factory(spec)
    if (Path(spec) / "graphs.jsonl").is_file():
        from graphwalker.graphs.property.sets import PropertyGraphSet

        return PropertyGraphSet(Path(spec))
    from graphwalker.graphs.build.cached import compile_files, input_files
    from graphwalker.graphs.compiled.local import local_copy
    from graphwalker.graphs.compiled.properties import open_compiled

    if found := input_files(spec):
        return open_compiled(compile_files(*found))
    path = Path(spec)
    if (path / "graph").is_dir() and not (path / "graph.gwk").exists():
        path = path / "graph"  # the folder of `graph make`, and of a demo
    return open_compiled(local_copy(path))


def _open_object(given: Any) -> KnowledgeGraph:
    """Return the graph of an object in Python; one of rdflib as its N-Triples would be read."""
    if isinstance(given, KnowledgeGraph):
        return given
    if type(given).__module__.startswith("rdflib."):
        from tempfile import TemporaryDirectory

        with TemporaryDirectory() as place:
            path = Path(place) / "graph.nt"
            given.serialize(destination=str(path), format="nt", encoding="utf-8")
            return _open(str(path), "", False, {})
    from graphwalker.graphs.objects import from_object

    return from_object(given)


def _cached_endpoint(
    spec: str, cache_dir: Path | str, wikidata: bool, endpoint: dict[str, Any]
) -> KnowledgeGraph:
    from graphwalker.graphs.cache.disk import DiskTier
    from graphwalker.graphs.cache.graph import Cache, CachedGraph

    graph = open_endpoint(spec, wikidata=wikidata, **endpoint)
    cache = Cache(disk=DiskTier(cache_dir)) if cache_dir else None
    # Whatever changes the answers is part of the name; how they are fetched is not.
    name = f"{spec} {endpoint.get('default_graph', '')} {graph.vocabulary}"
    return CachedGraph(graph, name, cache)


def _call_factory(spec: str) -> KnowledgeGraph:
    """Return what the user's factory gives."""
    factory = own(spec, "graph")
    try:
        graph = factory() if callable(factory) else factory
    except GraphWalkerError:
        raise
    except Exception as error:
        raise UserError(f"graph {spec}: {failure(error)}") from error
    if isinstance(graph, KnowledgeGraph):
        return graph
    # Without networkx among the loaded modules nobody has made one of its graphs.
    if (networkx := sys.modules.get("networkx")) and isinstance(graph, networkx.Graph):
        from graphwalker.graphs.adapters.networkx import from_networkx

        return from_networkx(graph)
    raise UserError(
        f"graph {spec}: gave {type(graph).__name__}; return a KnowledgeGraph (a subclass of "
        "graphwalker.graphs.base.KnowledgeGraph) or a networkx graph"
    )
