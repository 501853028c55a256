"""The compiled graph: memory-mapped arrays that answer in microseconds, whatever the degree."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from pathlib import Path
from zlib import crc32

from graphwalker.graphs.base import Direction, Entity, Triple
from graphwalker.graphs.layout import FORMAT_VERSION, Layout
from graphwalker.graphs.literals import is_literal, literal_name
from graphwalker.graphs.names import fold


def open_graph(path: Path | str) -> "CompiledGraph":
    """Open what `build_graph` wrote; `path` is its folder or the file inside."""
    return CompiledGraph(Layout(path))


class CompiledGraph:
    """A `KnowledgeGraph` over one read-only file; safe to share among threads and processes.

    Nodes are integers in the order of their ids as UTF-8 bytes. For each direction a node has a
    run of groups (relation, start) and each group a run of destinations, so a hub costs what a
    leaf does. Python reads the arrays through memory views: a single number costs less there
    than through numpy.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.path = layout.path
        self.checksum = layout.checksum
        self.size = layout.counts["entities"]
        self._id = _strings(layout, "id")
        self._name = _strings(layout, "name")
        self._raw_id = _raw_strings(layout, "id")
        self._by_id = _Buckets(layout, "id")
        self._by_name = _Buckets(layout, "name")
        self._entities = layout.array("entities")
        self._types = _Lists(layout, "type")
        self._type_ids = _all_strings(layout, "type_id", layout.counts["types"])
        self._relation_ids = _all_strings(layout, "relation_id", layout.counts["relations"])
        self._relation_at = {r: i for i, r in enumerate(self._relation_ids)}
        self._relation_counts = layout.array("relation_counts")
        self._sides = {d: _Side(layout, d.value) for d in Direction}

    @classmethod
    def open(cls, path: Path | str) -> "CompiledGraph":
        """Same as `open_graph`."""
        return cls(Layout(path))

    def info(self) -> dict[str, int | str]:
        """Counts, bytes, checksum and format version, for people and for provenance."""
        return {
            **self._layout.counts,
            "bytes": len(self._layout.map),
            "format_version": FORMAT_VERSION,
            "checksum": self.checksum,
        }

    def verify(self) -> None:
        """Read every byte and check it. Raises `GraphError` naming what is damaged."""
        self._layout.verify()

    def entity_at(self, index: int) -> Entity:
        """The named entity at that place in id order, `0 <= index < size`."""
        if not 0 <= index < self.size:
            raise IndexError(index)
        return self._entity(self._entities[index])

    def relation_ids(self) -> list[str]:
        """Every relation of the graph, sorted."""
        return list(self._relation_ids)

    def relation_count(self, relation: str) -> int:
        """How many triples have that relation."""
        number = self._relation_at.get(relation)
        return 0 if number is None else self._relation_counts[number]

    def leads_to_cvts(self, relation: str, direction: Direction) -> bool:
        """True where a triple of that relation has a CVT node on its other end."""
        number = self._relation_at.get(relation)
        return number is not None and self._sides[direction].to_cvts[number] == 1

    def resolve(self, name: str) -> list[Entity]:
        """All entities of that name; literals have no names to be found by."""
        folded = fold(name)
        exact: list[Entity] = []
        others: list[Entity] = []
        for node in self._by_name.find(_bytes(folded)) if name else ():
            found = self._name(node)
            if found == name:
                exact.append(Entity(self._id(node), found))
            elif fold(found) == folded:
                others.append(Entity(self._id(node), found))
        return exact + others

    def name(self, entity_id: str) -> str:
        if is_literal(entity_id):
            return literal_name(entity_id)
        node = self._find(entity_id)
        return self._name(node) if node >= 0 else ""

    def relations(self, entity_id: str, direction: Direction) -> list[tuple[str, int]]:
        node = self._find(entity_id)
        if node < 0:
            return []
        side, ids = self._sides[direction], self._relation_ids
        first, end = side.groups[node], side.groups[node + 1]
        starts = side.starts[first : end + 1].tolist()
        return [
            (ids[relation], starts[i + 1] - starts[i])
            for i, relation in enumerate(side.relations[first:end])
        ]

    def count(self, entity_id: str, relation: str, direction: Direction) -> int:
        start, end = self._run(self._find(entity_id), relation, direction)
        return end - start

    def neighbors(
        self, entity_id: str, relation: str, direction: Direction, limit: int | None = None
    ) -> list[Entity]:
        return self._ends(self._find(entity_id), relation, direction, limit)

    def triples(
        self,
        entity_id: str,
        relations: Sequence[str],
        direction: Direction,
        limit: int | None = None,
    ) -> list[Triple]:
        node = self._find(entity_id)
        here = Entity(entity_id, self.name(entity_id))
        return [
            Triple(here, r, other) if direction is Direction.OUT else Triple(other, r, here)
            for r in relations
            for other in self._ends(node, r, direction, limit)
        ]

    def types(self, entity_id: str) -> list[str]:
        node = self._find(entity_id)
        return [self._type_ids[t] for t in self._types.get(node)] if node >= 0 else []

    def _find(self, entity_id: str) -> int:
        raw = _bytes(entity_id)
        for node in self._by_id.find(raw):
            if self._raw_id(node) == raw:
                return node
        return -1

    def _run(self, node: int, relation: str, direction: Direction) -> tuple[int, int]:
        """Where the destinations of that group stand; an empty run when there are none."""
        number = self._relation_at.get(relation)
        if node < 0 or number is None:
            return 0, 0
        side = self._sides[direction]
        end = side.groups[node + 1]
        group = bisect_left(side.relations, number, side.groups[node], end)
        if group == end or side.relations[group] != number:
            return 0, 0
        return side.starts[group], side.starts[group + 1]

    def _ends(
        self, node: int, relation: str, direction: Direction, limit: int | None
    ) -> list[Entity]:
        start, end = self._run(node, relation, direction)
        if limit is not None:
            end = min(end, start + limit)
        return [self._entity(n) for n in self._sides[direction].nodes[start:end]]

    def _entity(self, node: int) -> Entity:
        entity_id = self._id(node)
        return Entity(entity_id, self._name(node) or _literal_or_nothing(entity_id))


class _Side:
    """The edges as seen from one end: node -> groups -> destinations."""

    def __init__(self, layout: Layout, side: str) -> None:
        self.groups = layout.array(f"{side}_groups")
        self.relations = layout.array(f"{side}_relations")
        self.starts = layout.array(f"{side}_starts")
        self.nodes = layout.array(f"{side}_nodes")
        self.to_cvts = layout.array(f"{side}_to_cvts")


class _Lists:
    """A list of numbers for each node."""

    def __init__(self, layout: Layout, name: str) -> None:
        self._starts = layout.array(f"{name}_starts")
        self._items = layout.array(f"{name}_items")

    def get(self, index: int) -> memoryview:
        return self._items[self._starts[index] : self._starts[index + 1]]


class _Buckets(_Lists):
    """Nodes by the leading bits of a hash; the caller compares the strings themselves."""

    def __init__(self, layout: Layout, name: str) -> None:
        super().__init__(layout, f"{name}_bucket")
        self._shift = bucket_shift(len(self._starts) - 1)

    def find(self, key: bytes) -> memoryview:
        return self.get(crc32(key) >> self._shift)


def bucket_shift(buckets: int) -> int:
    """How far a 32-bit hash is shifted to number that many buckets, a power of two."""
    return 33 - buckets.bit_length()


def _raw_strings(layout: Layout, name: str) -> Callable[[int], bytes]:
    ends, base, data = layout.array(f"{name}_ends"), layout.section(name).offset, layout.map
    return lambda i: data[base + ends[i] : base + ends[i + 1]]


def _strings(layout: Layout, name: str) -> Callable[[int], str]:
    ends, base, data = layout.array(f"{name}_ends"), layout.section(name).offset, layout.map
    return lambda i: data[base + ends[i] : base + ends[i + 1]].decode()


def _all_strings(layout: Layout, name: str, count: int) -> list[str]:
    return [_strings(layout, name)(i) for i in range(count)]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _literal_or_nothing(entity_id: str) -> str:
    return literal_name(entity_id) if is_literal(entity_id) else ""
