"""The node index: which nodes of a graph a text means, by words, by letters or by embeddings."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, Protocol

from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph
from graphwalker.graphs.literals import is_literal, literal_name
from graphwalker.graphs.names import fold
from graphwalker.trust import RUNS, ByHand

log = logging.getLogger(__name__)

WORDS = ("bm25", "tfidf")
EMBEDDINGS = "embed:"
"""Before the name or folder of a sentence-transformers model."""
NodeIndexName = Annotated[str, ByHand(RUNS, lambda name: not str(name).startswith(EMBEDDINGS))]
"""A config field: what finds nodes. A sentence model's folder may bring code of its own."""
TEXT_CHARS = 2_000
"""Of a node's values at most so many characters are indexed."""
NAME_COUNTS = 3
"""A word of the name counts as so many of the values."""
_BATCH = 4_096
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class NodeHit:
    """A node that was found, and how well it fits; scores compare within one search alone."""

    entity: Entity
    score: float


class _Scorer(Protocol):
    def scores(self, text: str) -> tuple[Any, Any]: ...


class NodeIndex:
    """Finds nodes by a hint, such as a name, a part of one, or what their values say."""

    def __init__(self, graph: KnowledgeGraph, scorer: _Scorer, kind: str) -> None:
        self.kind = kind
        self._graph = graph
        self._scorer = scorer

    def search(self, text: str, label: str = "", limit: int = 10) -> list[NodeHit]:
        """Return the nodes that fit the text best, of one label where one is given.

        Nodes of that very name come first and alone. Equal scores are in id order.
        """
        exact = [e for e in self._graph.resolve(text) if e.name and self._has(e, label)]
        same = [e for e in exact if e.name == text] or [
            e for e in exact if fold(e.name) == fold(text)
        ]
        if same:
            return [NodeHit(entity, 1.0) for entity in same[:limit]]
        documents, scores = self._scorer.scores(text)
        # Rounded, so that a tie stays a tie whatever order of additions numpy chose.
        ranked = sorted(
            zip(documents.tolist(), scores.tolist(), strict=True),
            key=lambda row: (-round(row[1], 6), row[0]),
        )
        found: list[NodeHit] = []
        for number, score in ranked:
            if len(found) >= limit or score <= 0:
                break
            entity = self._graph.entity_at(number)
            if self._has(entity, label):
                found.append(NodeHit(entity, score))
        return found

    def nearest(self, text: str, label: str = "", limit: int = 5, share: float = 0.8) -> list[Any]:
        """Return the hits whose score is at least that share of the best one's: always the best."""
        hits = self.search(text, label, limit)
        return [hit for hit in hits if hit.score >= share * hits[0].score]

    def _has(self, entity: Entity, label: str) -> bool:
        return not label or label in self._graph.types(entity.id)


def open_node_index(
    graph: KnowledgeGraph, kind: str = "bm25", folder: Path | str | None = None
) -> NodeIndex:
    """Return the index of a graph's named nodes, from its file where it was made before.

    `kind`: `bm25` (words), `tfidf` (words and letter trigrams, hashed: finds misspelt names) or
    `embed:MODEL` (a sentence-transformers model, by name or folder). The file stands in `folder`,
    by default beside a compiled graph; a graph in memory has none. It is named after the graph's
    checksum, so that of a changed graph it is made anew. Raises `UserError` for an unknown kind
    and for a graph that cannot list its nodes.
    """
    if kind not in WORDS and not (kind.startswith(EMBEDDINGS) and kind != EMBEDDINGS):
        known = ", ".join((*WORDS, f"{EMBEDDINGS}MODEL"))
        raise UserError(f"node index {kind!r}: there is none; choose one of {known}")
    if not graph.size:
        raise UserError("a node index needs a graph that can list its nodes: compile it first")
    path = _file(graph, kind, folder)
    known = _read(path) if path is not None and path.is_file() else None
    if known is None:
        if graph.size > 1_000_000:
            log.warning("indexing %d nodes (%s); this is done once", graph.size, kind)
        known = _make(graph, kind)
        if path is not None:
            _write(path, known)
    return NodeIndex(graph, _scorer(known, kind), kind)


def node_texts(graph: KnowledgeGraph) -> Iterator[str]:
    """Yield what is indexed of each named node: its name, several times, and linked texts."""
    for number in range(graph.size):
        entity = graph.entity_at(number)
        relations = [relation for relation, _ in graph.relations(entity.id, Direction.OUT)]
        triples = graph.triples(entity.id, relations, Direction.OUT, 20)
        values = [literal_name(t.tail.id) for t in triples if is_literal(t.tail.id)]
        yield " ".join([*[entity.name] * NAME_COUNTS, " ".join(values)[:TEXT_CHARS]])


def _make(graph: KnowledgeGraph, kind: str) -> dict[str, Any]:
    if kind in WORDS:
        from graphwalker.ranking.nodes.scorers import Postings

        return Postings.of(node_texts(graph), kind).arrays()
    from graphwalker.ranking.nodes.scorers import Embeddings

    return Embeddings.of(_batches(node_texts(graph)), kind.removeprefix(EMBEDDINGS)).arrays()


def _batches(texts: Iterator[str]) -> Iterator[Sequence[str]]:
    batch: list[str] = []
    for text in texts:
        batch.append(text)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _scorer(arrays: dict[str, Any], kind: str) -> _Scorer:
    if kind in WORDS:
        from graphwalker.ranking.nodes.scorers import Postings

        return Postings(kind, **arrays)
    from graphwalker.ranking.nodes.scorers import Embeddings

    return Embeddings(kind.removeprefix(EMBEDDINGS), arrays["vectors"])


def _file(graph: KnowledgeGraph, kind: str, folder: Path | str | None) -> Path | None:
    place = Path(folder) if folder else None
    if place is None and graph.path is not None:
        place = graph.path if graph.path.is_dir() else graph.path.parent
    if place is None or not graph.checksum:
        return None
    what = f"{_FORMAT} {kind} {graph.checksum}"
    digest = blake2b(what.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return place / f"nodes-{kind.partition(':')[0]}-{digest}.npz"


def _read(path: Path) -> dict[str, Any] | None:
    import zipfile

    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as data:
            return {name: data[name] for name in data.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        log.warning("%s: cannot be read (%s); it is made again", path, error)
        return None


def _write(path: Path, arrays: dict[str, Any]) -> None:
    import os

    import numpy as np

    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            np.savez(file, **arrays)
        partial.replace(path)
    except OSError as error:  # a read-only place: the index is made anew each time
        partial.unlink(missing_ok=True)
        log.warning("%s: the node index cannot be kept there (%s)", path, error.strerror)
