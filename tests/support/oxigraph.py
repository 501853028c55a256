"""A graph in an embedded Oxigraph store: an independent opinion on small RDF files."""

import gzip
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Triple
from graphwalker.graphs.intake.readers import NAME_RELATIONS, TYPE_RELATIONS
from graphwalker.graphs.literals import is_literal, literal_id, literal_name
from graphwalker.graphs.names import fold, names_nothing
from graphwalker.graphs.ntriples import FREEBASE, XSD_STRING

if TYPE_CHECKING:
    from pyoxigraph import Store

_LANGUAGE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"


def load_store(paths: Iterable[Path | str]) -> "Store":
    """A store in memory with N-Triples files, plain or .gz. Raises `UserError` naming the file."""
    try:
        from pyoxigraph import RdfFormat, Store
    except ImportError:
        raise UserError("Oxigraph needs pyoxigraph: pip install pyoxigraph") from None
    store = Store()
    for path in map(Path, paths):
        if not path.is_file():
            raise UserError(f"{path}: no such file")
        raw = path.read_bytes()
        try:
            plain = gzip.decompress(raw) if path.suffix == ".gz" else raw
            store.load(plain, format=RdfFormat.N_TRIPLES)
        except (SyntaxError, OSError, EOFError) as error:
            raise UserError(f"{path}: not N-Triples ({error})") from None
    return store


class OxigraphGraph(KnowledgeGraph):
    """A `KnowledgeGraph` that asks a store triple by triple, and makes no use of SPARQL.

    Ids, names and types are read as `build_graph` reads N-Triples. For small graphs: lists are
    sorted when they are asked for.
    """

    def __init__(self, store: "Store") -> None:
        self._store = store

    @property
    def size(self) -> int:
        """How many named entities there are."""
        return len(self._named)

    def entity_at(self, index: int) -> Entity:
        """The named entity at that place in id order, `0 <= index < size`."""
        if not 0 <= index < self.size:
            raise IndexError(index)
        return self._entity(self._named[index])

    def resolve(self, name: str) -> list[Entity]:
        found = self._folded.get(fold(name), []) if name else []
        best_first = sorted(
            found, key=lambda i: (self._names[i] != name, -len(self.types(i)), i.encode())
        )
        return [self._entity(i) for i in best_first]

    def name(self, entity_id: str) -> str:
        return literal_name(entity_id) if is_literal(entity_id) else self._names.get(entity_id, "")

    def relations(self, entity_id: str, direction: Direction) -> list[tuple[str, int]]:
        groups = self._groups(entity_id, None, direction)
        return sorted((relation, len(ends)) for relation, ends in groups.items())

    def count(self, entity_id: str, relation: str, direction: Direction) -> int:
        return len(self._groups(entity_id, relation, direction).get(relation, ()))

    def neighbors(
        self, entity_id: str, relation: str, direction: Direction, limit: int | None = None
    ) -> list[Entity]:
        ends = self._groups(entity_id, relation, direction).get(relation, set())
        return [self._entity(i) for i in sorted(ends, key=_bytes)[:limit]]

    def triples(
        self,
        entity_id: str,
        relations: Sequence[str],
        direction: Direction,
        limit: int | None = None,
    ) -> list[Triple]:
        here = self._entity(entity_id)
        return [
            Triple(here, r, other) if direction is Direction.OUT else Triple(other, r, here)
            for r in relations
            for other in self.neighbors(entity_id, r, direction, limit)
        ]

    def types(self, entity_id: str) -> list[str]:
        node = _node(entity_id)
        if node is None:
            return []
        found = {
            node_id(quad.object)
            for relation in TYPE_RELATIONS
            for quad in self._store.quads_for_pattern(node, _named_node(relation), None)
        }
        return sorted(one for one in found if not is_literal(one))

    @cached_property
    def _names(self) -> dict[str, str]:
        best: dict[str, tuple[int, str]] = {}
        for relation, later in NAME_RELATIONS.items():
            for quad in self._store.quads_for_pattern(None, _named_node(relation), None):
                name: Any = quad.object
                if _is_name(name):
                    rank = (_preference(name.language or "") + later, str(name.value))
                    entity_id = node_id(quad.subject)
                    best[entity_id] = min(best.get(entity_id, rank), rank)
        return {entity_id: name for entity_id, (_, name) in best.items() if name}

    @cached_property
    def _named(self) -> list[str]:
        return sorted((i for i, n in self._names.items() if not names_nothing(n)), key=_bytes)

    @cached_property
    def _folded(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for entity_id, name in self._names.items():
            found.setdefault(fold(name), []).append(entity_id)
        return found

    def _groups(
        self, entity_id: str, relation: str | None, direction: Direction
    ) -> dict[str, set[str]]:
        """Ids at the far ends by relation; names and types are no relations."""
        groups: dict[str, set[str]] = {}
        for quad in self._quads(entity_id, relation, direction):
            over = node_id(quad.predicate)
            if not (over in NAME_RELATIONS and _is_name(quad.object)) and not (
                over in TYPE_RELATIONS and not is_literal(node_id(quad.object))
            ):
                far = quad.object if direction is Direction.OUT else quad.subject
                groups.setdefault(over, set()).add(node_id(far))
        return groups

    def _quads(self, entity_id: str, relation: str | None, direction: Direction) -> Iterator[Any]:
        node = _node(entity_id)
        predicate = None if relation is None else _named_node(relation)
        if node is None or (relation is not None and predicate is None):
            return iter(())
        if direction is Direction.OUT:
            return self._store.quads_for_pattern(node, predicate, None)
        return self._store.quads_for_pattern(None, predicate, node)

    def _entity(self, entity_id: str) -> Entity:
        return Entity(entity_id, self.name(entity_id))


def node_id(term: Any) -> str:
    """The id of a term of the store."""
    from pyoxigraph import BlankNode, NamedNode

    if isinstance(term, NamedNode):
        return term.value.removeprefix(FREEBASE) or term.value
    if isinstance(term, BlankNode):
        return f"_:{term.value}"
    if term.language:
        return literal_id(term.value, f"@{term.language}")
    datatype = term.datatype.value
    return literal_id(term.value, "" if datatype == XSD_STRING else f"^^<{datatype}>")


def _node(entity_id: str) -> Any:
    from pyoxigraph import BlankNode

    if not entity_id or is_literal(entity_id):
        return None
    try:
        return BlankNode(entity_id[2:]) if entity_id.startswith("_:") else _named_node(entity_id)
    except ValueError:
        return None


def _named_node(name: str) -> Any:
    from pyoxigraph import NamedNode

    for iri in (name, FREEBASE + name):
        try:
            return NamedNode(iri)
        except ValueError:
            continue
    return None


def _is_name(term: Any) -> bool:
    from pyoxigraph import Literal

    return isinstance(term, Literal) and term.datatype.value in (XSD_STRING, _LANGUAGE)


def _preference(tag: str) -> int:
    """English, then its dialects, then no language, then the others; as `build_graph` has it."""
    if tag == "en":
        return 2
    if tag.startswith("en-"):
        return 4
    return 8 if tag else 6


def _bytes(entity_id: str) -> bytes:
    return entity_id.encode("utf-8", "surrogatepass")
