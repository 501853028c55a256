"""The store of a graph: its triples as Oxigraph keeps them on disk, made once, then only read."""

import contextlib
import logging
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from pathlib import Path

from pyoxigraph import RdfFormat, Store

from graphwalker.errors import UserError
from graphwalker.files import cache_folder, hold_file, write_json
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.graphs.compiled.graph import CompiledGraph
from graphwalker.graphs.format.layout import STORE_FOLDER, Layout
from graphwalker.graphs.format.nodes import Nodes
from graphwalker.graphs.format.sides import EdgeSide
from graphwalker.graphs.format.texts import read_words
from graphwalker.graphs.literals import is_literal, literal_id
from graphwalker.graphs.ntriples import FREEBASE
from graphwalker.graphs.sparql.terms import RDF_TYPE, RDFS_LABEL, Vocabulary
from graphwalker.graphs.sparql_engine.ids import StoreIds, is_iri, literal_id_of, usual_base
from graphwalker.graphs.sparql_engine.worker import ABOUT, DATA

log = logging.getLogger(__name__)

VERSION = 1
_AT_ONCE = 1 << 20
"""Characters that are handed over in one piece."""
_KEPT = re.compile(
    r'".*"(?:@[a-z-]+)?|"-?(?:0|[1-9]\d{0,17})"\^\^<http://www\.w3\.org/2001/XMLSchema#integer>'
    r'|"\d{4}(?:-\d\d(?:-\d\d)?)?"\^\^<.*#(?:date|gYear|gYearMonth)>',
    re.DOTALL,
)
"""Literals that Oxigraph surely gives back as they were; it writes numbers in a spelling of its
own, and whole numbers of any type as integers."""
NodeRecord = tuple[str, str, Iterable[str], Iterable[tuple[str, str]]]
"""A node: its id, its name, its types, and its triples as relation and other node."""


def find_store(graph: CompiledGraph, base: str = "") -> Path:
    """Return the folder of a graph's store, made where there is none yet. `base` stands before ids
    that are no IRIs. Raises `UserError` where it cannot be made."""
    assert isinstance(graph.path, Path)
    if base and not is_iri(f"{base}x"):
        raise UserError(f"--base {base}: no IRI can begin so; give one such as http://x.org/")
    made_of = f"{VERSION} {graph.checksum} {base}"
    name = blake2b(made_of.encode(), digest_size=8).hexdigest()
    places = (graph.path.parent / STORE_FOLDER, cache_folder() / STORE_FOLDER)
    for place in places:
        if (place / name / ABOUT).is_file():
            return place / name
    place = _find_writable(places)
    try:
        return _make(graph, place / name, base)
    except OSError as error:
        raise UserError(
            f"{place}: no SPARQL store can be made ({error.strerror or error})"
        ) from None


def _find_writable(places: Iterable[Path]) -> Path:
    for place in places:
        with contextlib.suppress(OSError):
            place.mkdir(parents=True, exist_ok=True)
            if os.access(place, os.W_OK):
                return place
    raise UserError(f"{' and '.join(map(str, places))}: no SPARQL store can be written there")


def _make(graph: CompiledGraph, folder: Path, base: str) -> Path:
    """Make the store under a lock, and move it into place when it is whole."""
    with hold_file(folder.with_name(".lock")):
        if (folder / ABOUT).is_file():
            return folder  # another process has made it meanwhile
        started, partial = time.perf_counter(), folder.with_name(f"{folder.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        log.warning("making the SPARQL store of %s, once", graph.path)
        try:
            about = write_store(graph, partial, base)
            shutil.rmtree(folder, ignore_errors=True)
            partial.rename(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    size = sum(file.stat().st_size for file in (folder / DATA).iterdir())
    seconds = time.perf_counter() - started
    log.warning(
        "made %s: %s triples, %.1f MB, %.1f s", folder, f"{about['triples']:,}", size / 1e6, seconds
    )
    return folder


def write_store(graph: KnowledgeGraph, folder: Path, base: str) -> dict[str, object]:
    """Write a graph's triples, names and types into a store; returns what its readers need."""
    written = _Lines(StoreIds(base or usual_base(_some_ids(graph))))
    folder.mkdir(exist_ok=True)
    store = Store(str(folder / DATA))
    try:
        lines = _Pieces(written.lines(_records(graph)))
        store.bulk_load(lines, format=RdfFormat.N_TRIPLES, lenient=True)  # pyright: ignore
        store.optimize()
    except SyntaxError as error:
        raise UserError(f"{graph.path}: its triples are no RDF: {str(error)[:200]}") from None
    about: dict[str, object] = {
        "base": written.ids.base,
        "triples": len(store),
        "escaped": written.escaped,
        "spelled": _respelled(written.doubtful),
    }
    store.flush()
    write_json(folder / ABOUT, about, indent=None)
    return about


class _Lines:
    """Records as lines of N-Triples."""

    def __init__(self, ids: StoreIds) -> None:
        self.ids, self.escaped, self.doubtful = ids, 0, set[str]()
        self._term = lru_cache(1 << 16)(self._write)
        own = ids.base == FREEBASE
        words = Vocabulary()
        names, kinds = (RDFS_LABEL, words.name), (RDF_TYPE, words.type)
        self._names = [self._term(one) for one in names[: 1 + own]]
        self._kinds = [self._term(one) for one in kinds[: 1 + own]]

    def lines(self, records: Iterable[NodeRecord]) -> Iterator[str]:
        """Yield the lines of each node."""
        term = self._term
        for node_id, name, types, triples in records:
            here = term(node_id)
            lines = [f"{here} {term(r)} {term(end)} .\n" for r, end in triples]
            if name:
                label = literal_id(name, "@en")
                lines += [f"{here} {one} {label} .\n" for one in self._names]
            for kind in types:
                lines += [f"{here} {one} {term(kind)} .\n" for one in self._kinds]
            yield "".join(lines)

    def _write(self, node_id: str) -> str:
        if is_literal(node_id):
            if not _KEPT.fullmatch(node_id):
                self.doubtful.add(node_id)
            return node_id
        iri = self.ids.iri(node_id)
        self.escaped += "%" in iri
        return f"<{iri}>"


class _Pieces:
    """Lines as a file that Oxigraph reads."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines, self._piece, self._at = lines, b"", 0

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, at most `size` where that is not negative."""
        if self._at >= len(self._piece):
            parts, length = list[str](), 0
            for part in self._lines:
                parts.append(part)
                length += len(part)
                if length > _AT_ONCE:
                    break
            self._piece, self._at = "".join(parts).encode("utf-8", "surrogatepass"), 0
        end = len(self._piece) if size < 0 else self._at + size
        piece, self._at = self._piece[self._at : end], end
        return piece


def _records(graph: KnowledgeGraph) -> Iterator[NodeRecord]:
    if isinstance(graph, CompiledGraph):
        yield from _stored_records(graph)
        return
    met: set[str] = set()
    for fact in graph:
        yield fact.head.id, "", (), ((fact.relation, fact.tail.id),)
        met |= {fact.head.id, fact.tail.id}
    for one in sorted(met):
        if not is_literal(one):
            yield one, graph.name(one), graph.types(one), ()


def _stored_records(graph: CompiledGraph) -> Iterator[NodeRecord]:
    """Yield every node of a compiled graph that is no literal, from its arrays."""
    assert isinstance(graph.path, Path)
    layout = Layout(graph.path)
    nodes, out = Nodes(layout), EdgeSide(layout, "out")
    relations, kinds = graph.relation_ids(), read_words(layout, "type_ids")
    read = lru_cache(1 << 16)(nodes.id)
    rows, count = nodes.rows, layout.counts["nodes"]
    for node in chain(range(rows.first), range(rows.end, count)):
        start, end = out.span(node)
        pairs = zip(out.relations[start:end].tolist(), out.nodes[start:end].tolist(), strict=True)
        triples = [(relations[relation], read(other)) for relation, other in pairs]
        node_id, name = nodes.id_and_name(node)
        yield node_id, name, [kinds[kind] for kind in nodes.types(node)], triples


def _some_ids(graph: KnowledgeGraph) -> list[str]:
    """Return some 200 ids, evenly spread."""
    if isinstance(graph, CompiledGraph):
        count, node_at = int(graph.info()["nodes"]), graph.node_at
    else:
        count, node_at = graph.size, graph.entity_at
    return [node_at(place).id for place in range(0, count, max(1, count // 200))]


def _respelled(doubtful: set[str]) -> dict[str, str]:
    """Return the literals that Oxigraph writes in another way: its spelling, and ours. Where it
    takes several for one, the least of ours is shown, its own first."""
    ordered, store, found = sorted(doubtful), Store(), dict[str, str]()
    lines = (f"<urn:{at}> <urn:is> {one} .\n" for at, one in enumerate(ordered))
    store.bulk_load("".join(lines).encode(), format=RdfFormat.N_TRIPLES, lenient=True)
    for quad in store:
        ours, its = ordered[int(str(quad.subject)[5:-1])], literal_id_of(quad.object)
        found[its] = min(found.get(its, ours), ours, key=lambda one: (one != its, one))
    return {its: ours for its, ours in sorted(found.items()) if its != ours}
