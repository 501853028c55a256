"""Opening a graph by one text: a compiled folder, a SPARQL endpoint, or a recording."""

from pathlib import Path
from typing import Any

from graphwalker.errors import UserError
from graphwalker.graphs.base import KnowledgeGraph


def open_any(
    spec: Path | str,
    *,
    cache_dir: Path | str = "",
    record: Path | str = "",
    **endpoint: Any,
) -> KnowledgeGraph:
    """The graph that `spec` names: an `http(s)://` address is a SPARQL endpoint, a `.jsonl` file
    a recording of graph calls, anything else a compiled graph.

    An endpoint stands behind the cache of this process, which `cache_dir` keeps on disk as well;
    `endpoint` goes to `SparqlGraph`. `record` is a file to which all calls are written.
    Raises `UserError` for what cannot be opened.
    """
    graph = _open(str(spec), cache_dir, endpoint)
    if record:
        from graphwalker.graphs.record import RecordedGraph

        return RecordedGraph(graph, record)
    return graph


def is_endpoint(spec: Path | str) -> bool:
    """True for the address of a SPARQL endpoint."""
    return str(spec).startswith(("http://", "https://"))


def _open(spec: str, cache_dir: Path | str, endpoint: dict[str, Any]) -> KnowledgeGraph:
    if is_endpoint(spec):
        return _cached_endpoint(spec, cache_dir, endpoint)
    if endpoint:
        raise UserError(f"{spec}: {', '.join(endpoint)} is for endpoints (http://...) only")
    if spec.endswith(".jsonl"):
        from graphwalker.graphs.replay import ReplayedGraph

        return ReplayedGraph(spec)
    from graphwalker.graphs.compiled import open_graph

    return open_graph(Path(spec))


def _cached_endpoint(spec: str, cache_dir: Path | str, endpoint: dict[str, Any]) -> KnowledgeGraph:
    from graphwalker.graphs.cache import Cache
    from graphwalker.graphs.cache_disk import DiskTier
    from graphwalker.graphs.cached import CachedGraph
    from graphwalker.graphs.sparql import SparqlGraph

    cache = Cache(disk=DiskTier(cache_dir)) if cache_dir else None
    options = ", ".join(f"{key}={endpoint[key]!r}" for key in sorted(endpoint))
    return CachedGraph(SparqlGraph(spec, **endpoint), f"{spec} {options}".strip(), cache)
