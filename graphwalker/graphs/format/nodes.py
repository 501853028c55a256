"""The nodes of a graph file: their ids, names and types, and the tables that find them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from graphwalker.graphs.format.layout import Array, Arrays, Layout, LayoutWriter, typecode
from graphwalker.graphs.format.texts import TextBlocks

MARK = b"\xff"
"""Between the id, the name and the types of a node; no text in UTF-8 has such a byte."""
EMPTY = (1 << 32) - 1
"""A slot of a hash table without a node."""
SLOTS = 2
"""Slots for each node of a hash table."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The nodes from `first` up to `end` are literals: they have no edges of their own, no names
    and no types, and so no rows in the arrays that hold those."""

    first: int
    end: int

    @property
    def gap(self) -> int:
        return self.end - self.first

    def of(self, nodes: Array) -> Array:
        """Return their rows; a literal has that of the next node with one."""
        return np.where(nodes < self.first, nodes, np.maximum(nodes - self.gap, self.first))


def read_rows(layout: Arrays) -> Rows:
    return Rows(*layout.array("literals"))


class Nodes:
    """What is stored of each node: `id<MARK>name<MARK>types` of an entity, the id of a literal."""

    def __init__(self, layout: Layout) -> None:
        self.rows = rows = read_rows(layout)
        self._first, self._end, self._gap = rows.first, rows.end, rows.gap
        self._starts = layout.array("record_starts")
        self._base, self._map = layout.section("records").offset, layout.map
        self._literals = TextBlocks(layout, "literal")
        self._type_code = typecode(layout.counts["types"])

    def id(self, node: int) -> str:
        if self._first <= node < self._end:
            return self._literals[node - self._first].decode()
        return self._record(node)[0].decode()

    def name(self, node: int) -> str:
        """`""` for a literal, as for any node without one."""
        if self._first <= node < self._end:
            return ""
        return self._record(node)[1].decode()

    def id_and_name(self, node: int) -> tuple[str, str]:
        if self._first <= node < self._end:
            return self._literals[node - self._first].decode(), ""
        entity_id, name, _ = self._record(node)
        return entity_id.decode(), name.decode()

    def types(self, node: int) -> Sequence[int]:
        """Return the numbers of its types, ascending."""
        if self._first <= node < self._end:
            return ()
        return memoryview(self._record(node)[2]).cast(self._type_code)  # type: ignore[call-overload]

    def _record(self, node: int) -> list[bytes]:
        row = node if node < self._first else node - self._gap
        starts, base = self._starts, self._base
        return self._map[base + starts[row] : base + starts[row + 1]].split(MARK, 2)


class HashTable:
    """Nodes by the hash of a text; the caller compares the texts themselves.

    The first number of the array says how many slots there are. A node stands in the slot of its
    hash or behind it, before the next empty one.
    """

    def __init__(self, layout: Layout, name: str) -> None:
        self._slots = layout.array(f"{name}_table")
        self._size = self._slots[0]

    def find(self, key: bytes) -> Iterator[int]:
        return self.find_hash(crc32(key))

    def find_hash(self, hashed: int) -> Iterator[int]:
        """Yield those under a hash of 32 bits that the caller made."""
        slots, at = self._slots, 1 + (hashed * self._size >> 32)
        while (node := slots[at]) != EMPTY:
            yield node
            at += 1


class HashTableWriter:
    """Takes the hashes of `count` nodes in ascending order; those of one hash stay in theirs."""

    def __init__(self, writer: LayoutWriter, name: str, count: int) -> None:
        self._section = writer.section(f"{name}_table", "I")
        self._size = SLOTS * count
        self._section.write_ints(np.array([self._size]))
        self._next = 0

    def write(self, hashes: Array, nodes: Array) -> None:
        wanted = hashes.astype(np.uint64) * np.uint64(self._size) >> np.uint64(32)
        numbers = np.arange(len(wanted))
        # Each stands in its slot, or behind the one before it.
        behind = np.maximum.accumulate(wanted.astype(np.int64) - numbers)
        places = np.maximum(behind, self._next) + numbers
        slots = np.full(int(places[-1]) + 1 - self._next, EMPTY, dtype=np.int64)
        slots[places - self._next] = nodes
        self._section.write_ints(slots)
        self._next = int(places[-1]) + 1

    def close(self) -> None:
        """Fill every slot that a hash may have, and an empty one behind."""
        rest = max(self._size - self._next, 0) + 1
        self._section.write_ints(np.full(rest, EMPTY, dtype=np.int64))
