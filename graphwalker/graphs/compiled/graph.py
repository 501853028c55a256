"""The compiled graph: memory-mapped arrays that answer in microseconds, whatever the degree."""

import functools
import inspect
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeVar

from graphwalker.errors import GraphError, GraphWalkerError
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Side, Step
from graphwalker.graphs.compiled.hops import Hops, Listings
from graphwalker.graphs.format.layout import Layout
from graphwalker.graphs.format.nodes import HashTable, Nodes
from graphwalker.graphs.format.sides import EdgeSide
from graphwalker.graphs.format.texts import read_words
from graphwalker.graphs.literals import is_literal, literal_name
from graphwalker.graphs.names import fold
from graphwalker.graphs.triples import ByDirection

F = TypeVar("F", bound=Callable[..., Any])

NONSENSE = (ArithmeticError, LookupError, MemoryError, TypeError, ValueError)
"""What comes of numbers and texts that are not what was written."""


def decoding(method: F) -> F:
    """Return a method of a graph with a `path`: what it raises over nonsense is a `GraphError`.

    A file is checked before it is read; this is for what happens to it later. Wrong arguments stay
    a `TypeError`.
    """

    @functools.wraps(method)
    def call_method(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except GraphWalkerError:
            raise
        except (AttributeError, *NONSENSE) as error:
            refuse_arguments(method, self, *args, **kwargs)
            if isinstance(error, AttributeError):
                raise
            why = f"{type(error).__name__}: {error}"[:200]
            raise GraphError(
                f"{self.path}: damaged graph file, or changed since it was opened ({why}); "
                "see `graphwalker graph check`"
            ) from error

    return call_method  # type: ignore[return-value]


def refuse_arguments(method: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Raise `TypeError` for arguments that the method does not take."""
    signature = inspect.signature(method)
    for name, value in signature.bind(*args, **kwargs).arguments.items():
        if signature.parameters[name].annotation is str and not isinstance(value, str):
            raise TypeError(f"{method.__qualname__}: {name} is a string, got {value!r}")


RECENT = 1 << 14
"""Entities, and numbers of ids, that are remembered: who was shown is asked about next."""


class CompiledGraph(KnowledgeGraph):
    """A `KnowledgeGraph` over one read-only file; safe to share among threads and processes.

    Nodes are integers in the order of their ids as UTF-8 bytes. For each direction a node has a
    run of edges in the order of relation and other node, so a hub costs what a leaf does. Python
    reads the arrays through memory views: a single number costs less there than through numpy.
    """

    @decoding
    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.path = layout.path
        self.checksum = layout.checksum
        self.size = layout.counts["entities"]
        self._nodes = Nodes(layout)
        self._id, self._name = self._nodes.id, self._nodes.name
        self._literals = range(self._nodes.rows.first, self._nodes.rows.end)
        """Those found by their order; no table has them."""
        self._by_id = HashTable(layout, "id")
        self._by_name = HashTable(layout, "name")
        self._entities = layout.array("entities")
        self._is_cvt = layout.array("is_cvt")
        self._type_ids = read_words(layout, "type_ids")
        self._relation_ids = read_words(layout, "relation_ids")
        self._relation_at = {r: i for i, r in enumerate(self._relation_ids)}
        self._sides = ByDirection({d: EdgeSide(layout, d.value) for d in Direction})
        listings = ByDirection({d: Listings(layout, d) for d in Direction})
        self._hops = Hops(
            self._sides, self._is_cvt, self._relation_ids, self._relation_at, listings
        )
        self._numbers: dict[str, int] = {}
        self._known: dict[int, Entity] = {}

    def __reduce__(self) -> tuple[type["CompiledGraph"], tuple[Layout]]:
        """Let another process open the same file."""
        return type(self), (self._layout,)

    def info(self) -> dict[str, int | str]:
        """Counts, bytes, checksum and format version, for people and for provenance."""
        return self._layout.info()

    def verify(self) -> None:
        """Read every byte and check it. Raises `GraphError` naming what is damaged."""
        self._layout.verify()

    def entity_at(self, index: int) -> Entity:
        """Return the named entity at that place in id order, `0 <= index < size`."""
        if not 0 <= index < self.size:
            raise IndexError(index)
        number = self._entities[index]
        return self._known.get(number) or self.node_at(number)

    @decoding
    def node_at(self, number: int) -> Entity:
        """Return any node, literals and CVT nodes included, by its place in id order."""
        return self._entity(number)

    @decoding
    def node_number(self, entity_id: str) -> int:
        """Get the place of a node in id order, -1 for one that is not there; read from the file."""
        return self._look_up(entity_id)

    @decoding
    def is_linked(self, entity_id: str, relation: str, other_id: str, direction: Direction) -> bool:
        """Return whether the other node is among the entity's neighbors there, of any number."""
        start, end = self._run(self._find(entity_id), relation, direction)
        other, nodes = self._find(other_id), self._sides[direction].nodes
        at = bisect_left(nodes, other, start, end)
        return at < end and nodes[at] == other

    def relation_ids(self) -> list[str]:
        """Return every relation of the graph, sorted."""
        return list(self._relation_ids)

    def relation_number(self, relation: str) -> int:
        """Return the place of a relation among the sorted ones, -1 for one that is not there."""
        return self._relation_at.get(relation, -1)

    @decoding
    def leads_to_cvts(self, relation: str, direction: Direction) -> bool:
        """True where a triple of that relation has a CVT node on its other end."""
        number = self._relation_at.get(relation)
        return number is not None and self._sides[direction].to_cvts[number] == 1

    @decoding
    def resolve(self, name: str) -> list[Entity]:
        """Return all entities of that name; literals have no names to be found by."""
        folded = fold(name)
        exact: list[Entity] = []
        others: list[Entity] = []
        for node in self._by_name.find(_bytes(folded)) if name else ():
            entity_id, found = self._nodes.id_and_name(node)
            if found == name:
                exact.append(Entity(entity_id, found))
            elif fold(found) == folded:
                others.append(Entity(entity_id, found))
        return exact + others

    @decoding
    def name(self, entity_id: str) -> str:
        if is_literal(entity_id):
            return literal_name(entity_id)
        node = self._find(entity_id)
        return self._name(node) if node >= 0 else ""

    @decoding
    def relations(self, entity_id: str, direction: Direction) -> list[tuple[str, int]]:
        node = self._find(entity_id)
        if node < 0:
            return []
        known = self._relation_ids
        numbers, starts = self._sides[direction].around(node)
        runs = zip(numbers, pairwise(starts), strict=True)
        return [(known[number], end - start) for number, (start, end) in runs]

    @decoding
    def count(self, entity_id: str, relation: str, direction: Direction) -> int:
        start, end = self._run(self._find(entity_id), relation, direction)
        return end - start

    @decoding
    def neighbors(
        self, entity_id: str, relation: str, direction: Direction, limit: int | None = None
    ) -> list[Entity]:
        start, end = self._run(self._find(entity_id), relation, direction)
        if limit is not None:
            end = min(end, start + limit)
        return [self._entity(n) for n in self._sides[direction].nodes[start:end]]

    @decoding
    def types(self, entity_id: str) -> list[str]:
        node = self._find(entity_id)
        return [self._type_ids[t] for t in self._nodes.types(node)] if node >= 0 else []

    @decoding
    def flat_relations_many(self, sides: Sequence[Side]) -> list[list[tuple[str, int]]]:
        numbers = [(self._find(entity_id), direction) for entity_id, direction in sides]
        return [self._hops.list_relations(*one) if one[0] >= 0 else [] for one in numbers]

    @decoding
    def listing_is_sound(self, node: int, direction: Direction) -> bool:
        """Return whether what is stored of a node's listing is what its edges say."""
        return self._hops.is_sound(node, direction)

    @decoding
    def step(
        self, entity_id: str, relation: str, direction: Direction, limit: int | None = None
    ) -> list[Entity]:
        node = self._numbers.get(entity_id)
        node = self._find(entity_id) if node is None else node
        if node < 0:
            return []
        known, entity = self._known.get, self._entity
        ends = self._hops.step(node, relation, direction, limit)
        return [known(end) or entity(end) for end in ends]

    @decoding
    def step_many(self, steps: Sequence[Step]) -> list[list[Entity]]:
        # What every tool call waits for: what is remembered is looked up without a call.
        known, entity, hop = self._known.get, self._entity, self._hops.step
        number, found = self._numbers.get, list[list[Entity]]()
        for entity_id, relation, direction, limit in steps:
            node = number(entity_id)
            node = self._find(entity_id) if node is None else node
            ends = hop(node, relation, direction, limit) if node >= 0 else ()
            found.append([known(end) or entity(end) for end in ends])
        return found

    def _find(self, entity_id: str) -> int:
        node = self._numbers.get(entity_id)
        if node is None:
            node = self._look_up(entity_id)
            if node >= 0:
                self._remember(entity_id, node)
        return node

    def _remember(self, entity_id: str, node: int) -> None:
        if len(self._numbers) >= RECENT:
            self._forget()
        self._numbers[entity_id] = node

    def _forget(self) -> None:
        self._known.clear()
        self._numbers.clear()

    def _look_up(self, entity_id: str) -> int:
        if is_literal(entity_id):
            # Code points have the order of UTF-8 bytes, which is that of the file.
            at = bisect_left(self._literals, entity_id, key=self._id)
            found = self._literals[at : at + 1]
        else:
            found = self._by_id.find(_bytes(entity_id))
        return next((node for node in found if self._id(node) == entity_id), -1)

    def _run(self, node: int, relation: str, direction: Direction) -> tuple[int, int]:
        """Return where the destinations of that group stand; an empty run when there are none."""
        number = self._relation_at.get(relation)
        if node < 0 or number is None:
            return 0, 0
        return self._sides[direction].run(node, number)

    def _entity(self, node: int) -> Entity:
        known = self._known.get(node)
        if known is not None:
            return known
        entity_id, name = self._nodes.id_and_name(node)
        entity = Entity(entity_id, name or _literal_or_nothing(entity_id))
        if len(self._numbers) >= RECENT:
            self._forget()
        self._numbers[entity_id] = node
        self._known[node] = entity
        return entity


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _literal_or_nothing(entity_id: str) -> str:
    return literal_name(entity_id) if is_literal(entity_id) else ""
