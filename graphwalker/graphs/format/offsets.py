"""Offsets: ascending numbers in two bytes each, as steps from a base that 16 of them share."""

from bisect import bisect_left
from typing import Any, Protocol

import numpy as np

from graphwalker.graphs.format.layout import Layout, LayoutWriter, SectionWriter, typecode

BLOCK_BITS = 4
FAR = 0xFFFF
"""The step of an offset that is too far from its base: it stands in a list of its own."""
PLAIN_BELOW = 1 << 16
"""Offsets below this need two bytes as they are."""

Array = np.ndarray[Any, Any]


class Offsets(Protocol):
    """Where things end that stand end to end: thing `i` reaches from `self[i]` to `self[i + 1]`."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> int: ...
    def span(self, index: int) -> tuple[int, int]:
        """Where thing `index` starts and ends."""
        ...

    def between(self, first: int, last: int) -> list[int]:
        """The offsets from `first` up to, but without, `last`."""
        ...

    def at(self, indices: Array) -> Array:
        """The offsets of those indices."""
        ...


def read_offsets(layout: Layout, name: str) -> Offsets:
    """The offsets of that name, however they were written."""
    return _Plain(layout, name) if layout.has(name) else _Packed(layout, name)


class _Plain:
    def __init__(self, layout: Layout, name: str) -> None:
        self._values = layout.array(name)

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: int) -> int:
        return self._values[index]

    def span(self, index: int) -> tuple[int, int]:
        return self._values[index], self._values[index + 1]

    def between(self, first: int, last: int) -> list[int]:
        return self._values[first:last].tolist()

    def at(self, indices: Array) -> Array:
        return np.asarray(self._values)[indices].astype(np.int64)


class _Packed:
    def __init__(self, layout: Layout, name: str) -> None:
        self._steps = layout.array(f"{name}_steps")
        self._bases = layout.array(f"{name}_bases")
        self._far = layout.array(f"{name}_far")
        self._far_values = layout.array(f"{name}_far_values")

    def __len__(self) -> int:
        return len(self._steps)

    def __getitem__(self, index: int) -> int:
        step = self._steps[index]
        return self._bases[index >> BLOCK_BITS] + step if step != FAR else self._at_far(index)

    def span(self, index: int) -> tuple[int, int]:
        last = index + 1
        start, end = self._steps[index], self._steps[last]
        if start == FAR or end == FAR:
            return self[index], self[last]
        bases = self._bases
        return bases[index >> BLOCK_BITS] + start, bases[last >> BLOCK_BITS] + end

    def between(self, first: int, last: int) -> list[int]:
        steps, bases = self._steps[first:last].tolist(), self._bases
        if FAR in steps:
            return [self[index] for index in range(first, last)]
        block = first >> BLOCK_BITS
        if block == (last - 1) >> BLOCK_BITS:
            base = bases[block]
            return [base + step for step in steps]
        return [bases[i >> BLOCK_BITS] + step for i, step in enumerate(steps, start=first)]

    def at(self, indices: Array) -> Array:
        steps = np.asarray(self._steps)[indices].astype(np.int64)
        values = np.asarray(self._bases)[indices >> BLOCK_BITS].astype(np.int64) + steps
        far = steps == FAR
        if far.any():
            places = np.searchsorted(np.asarray(self._far), indices[far].astype(np.uint64))
            values[far] = np.asarray(self._far_values)[places].astype(np.int64)
        return values

    def _at_far(self, index: int) -> int:
        return self._far_values[bisect_left(self._far, index)]


class OffsetsWriter:
    """Takes ascending offsets in pieces; `most` bounds the largest of them."""

    def __init__(self, writer: LayoutWriter, name: str, most: int) -> None:
        self._plain = writer.section(name, typecode(most)) if most < PLAIN_BELOW else None
        if self._plain is None:
            self._steps = writer.section(f"{name}_steps", "H")
            self._bases = writer.section(f"{name}_bases", typecode(most))
            self._far = writer.section(f"{name}_far", "Q")
            self._far_values = writer.section(f"{name}_far_values", "Q")
        self._rest: Array = np.zeros(0, dtype=np.int64)
        self._written = 0

    def write(self, values: Array) -> None:
        if self._plain is not None:
            write_ints(self._plain, values)
            return
        waiting = np.concatenate([self._rest, values.astype(np.int64)])
        whole = len(waiting) >> BLOCK_BITS << BLOCK_BITS
        self._pack(waiting[:whole])
        self._rest = waiting[whole:]

    def close(self) -> None:
        """Write what is left of the last block."""
        if self._plain is None:
            self._pack(self._rest)
            self._rest = self._rest[:0]

    def _pack(self, values: Array) -> None:
        bases = values[:: 1 << BLOCK_BITS]
        steps = values - np.repeat(bases, 1 << BLOCK_BITS)[: len(values)]
        (far,) = np.nonzero(steps >= FAR)
        steps[far] = FAR
        write_ints(self._bases, bases)
        write_ints(self._steps, steps)
        write_ints(self._far, far + self._written)
        write_ints(self._far_values, values[far])
        self._written += len(values)


class StartsWriter:
    """Offsets of runs: item keys come in ascending order, out goes where each key's items start."""

    def __init__(self, writer: LayoutWriter, name: str, keys: int, most: int) -> None:
        self._offsets = OffsetsWriter(writer, name, most)
        self._keys, self._next, self._items = keys, 0, 0

    def add(self, keys: Array) -> None:
        """The keys of further items, each below the number of keys."""
        if len(keys):
            self._write_until(int(keys[-1]) + 1, keys)
            self._items += len(keys)

    def close(self) -> None:
        self._write_until(self._keys + 1, np.zeros(0, dtype=np.int64))
        self._offsets.close()

    def _write_until(self, end: int, keys: Array) -> None:
        for first in range(self._next, end, _KEYS_AT_ONCE):
            wanted = np.arange(first, min(end, first + _KEYS_AT_ONCE), dtype=np.int64)
            self._offsets.write(self._items + np.searchsorted(keys, wanted, side="left"))
        self._next = max(self._next, end)


_KEYS_AT_ONCE = 1 << 20


def write_ints(section: SectionWriter, values: Array) -> None:
    """Append integers in the section's type, little-endian."""
    width = {"B": "u1", "H": "<u2", "I": "<u4", "Q": "<u8"}[section.typecode]
    section.write(values.astype(width).tobytes())
