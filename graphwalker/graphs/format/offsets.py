"""Offsets: ascending numbers in a byte or two each, as steps from a base that several share."""

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from graphwalker.graphs.format.header import WIDTHS, damage_error
from graphwalker.graphs.format.layout import Arrays, LayoutWriter, SectionWriter, typecode

PLAIN_BELOW = 1 << 16
"""Offsets below this need two bytes as they are."""
FAR_SHARE = 1 / 64
"""Steps of one byte are taken where at most this share of them is too far: each such costs 16
bytes, and a search."""

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


def read_offsets(layout: Arrays, name: str) -> Offsets:
    """The offsets of that name, however they were written."""
    return _Plain(layout, name) if layout.has(name) else _Packed(layout, name)


class _Plain:
    def __init__(self, layout: Arrays, name: str) -> None:
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


@dataclass(frozen=True, slots=True)
class _Packing:
    """Steps of that type from a base that `1 << bits` offsets share. A step that is too far is
    `far`, and its offset stands in a list of its own."""

    code: str
    bits: int

    @property
    def far(self) -> int:
        return (1 << 8 * WIDTHS[self.code]) - 1


_PACKINGS = (_Packing("B", 6), _Packing("B", 4), _Packing("H", 4))
"""From the smallest one on. Up to format 3 without features, only the last one was used."""


class _Packed:
    def __init__(self, layout: Arrays, name: str) -> None:
        self._steps = layout.array(f"{name}_steps")
        self._bases = layout.array(f"{name}_bases")
        self._far = layout.array(f"{name}_far")
        self._far_values = layout.array(f"{name}_far_values")
        count, code = len(self._steps), self._steps.format
        # Where two packings have the same number of bases, there is one, and they read the same.
        packing = next(
            (p for p in _PACKINGS if p.code == code and len(self._bases) == -(-count >> p.bits)),
            None,
        )
        if packing is None:
            raise damage_error(
                layout.path, f"{name}_bases has another length than {name}_steps needs"
            )
        self._bits, self._mark = packing.bits, packing.far

    def __len__(self) -> int:
        return len(self._steps)

    def __getitem__(self, index: int) -> int:
        step = self._steps[index]
        return self._bases[index >> self._bits] + step if step != self._mark else self._at(index)

    def span(self, index: int) -> tuple[int, int]:
        last, steps, mark = index + 1, self._steps, self._mark
        start, end = steps[index], steps[last]
        if start == mark or end == mark:
            return self[index], self[last]
        bases, bits = self._bases, self._bits
        return bases[index >> bits] + start, bases[last >> bits] + end

    def between(self, first: int, last: int) -> list[int]:
        steps, bases, bits = self._steps[first:last].tolist(), self._bases, self._bits
        if self._mark in steps:
            return [self[index] for index in range(first, last)]
        block = first >> bits
        if block == (last - 1) >> bits:
            base = bases[block]
            return [base + step for step in steps]
        return [bases[i >> bits] + step for i, step in enumerate(steps, start=first)]

    def at(self, indices: Array) -> Array:
        steps = np.asarray(self._steps)[indices].astype(np.int64)
        values = np.asarray(self._bases)[indices >> self._bits].astype(np.int64) + steps
        far = steps == self._mark
        if far.any():
            places = np.searchsorted(np.asarray(self._far), indices[far].astype(np.uint64))
            values[far] = np.asarray(self._far_values)[places].astype(np.int64)
        return values

    def _at(self, index: int) -> int:
        return self._far_values[bisect_left(self._far, index)]


class OffsetsWriter:
    """Takes ascending offsets in pieces; `most` bounds the largest of them.

    How far apart they are is known at the end: each packing is written, and the smallest that
    suits them stays.
    """

    def __init__(self, writer: LayoutWriter, name: str, most: int) -> None:
        self._writer, self._name = writer, name
        self._plain = writer.section(name, typecode(most)) if most < PLAIN_BELOW else None
        packings = () if self._plain else _PACKINGS
        self._packed = [_Packer(writer, name, packing, typecode(most)) for packing in packings]

    def write(self, values: Array) -> None:
        if self._plain is not None:
            write_ints(self._plain, values)
        for packer in self._packed:
            packer.write(values.astype(np.int64))

    def close(self) -> None:
        """Keep the packing that suits the offsets."""
        for packer in self._packed:
            packer.flush()
        chosen = next((p for p in self._packed if p.suits), None) or (self._packed or [None])[-1]
        for packer in self._packed:
            packer.drop() if packer is not chosen else packer.keep()


class _Packer:
    """Writes offsets in one packing, in sections of its own."""

    PARTS = ("steps", "bases", "far", "far_values")

    def __init__(self, writer: LayoutWriter, name: str, packing: _Packing, widest: str) -> None:
        self._writer, self._name, self._packing = writer, name, packing
        self._own = f"{name}_{packing.code}{packing.bits}"
        codes = (packing.code, widest, "Q", "Q")
        self._parts = [
            writer.section(f"{self._own}_{part}", code)
            for part, code in zip(self.PARTS, codes, strict=True)
        ]
        self._rest: Array = np.zeros(0, dtype=np.int64)
        self._written = self._too_far = 0

    @property
    def suits(self) -> bool:
        return self._too_far <= self._written * FAR_SHARE

    def write(self, values: Array) -> None:
        waiting = np.concatenate([self._rest, values])
        whole = len(waiting) >> self._packing.bits << self._packing.bits
        self._pack(waiting[:whole])
        self._rest = waiting[whole:]

    def flush(self) -> None:
        """Write what is left of the last block."""
        self._pack(self._rest)
        self._rest = self._rest[:0]

    def keep(self) -> None:
        for part in self.PARTS:
            self._writer.rename(f"{self._own}_{part}", f"{self._name}_{part}")

    def drop(self) -> None:
        for part in self.PARTS:
            self._writer.drop(f"{self._own}_{part}")

    def _pack(self, values: Array) -> None:
        step, far_mark = 1 << self._packing.bits, self._packing.far
        bases = values[::step]
        steps = values - np.repeat(bases, step)[: len(values)]
        (far,) = np.nonzero(steps >= far_mark)
        steps[far] = far_mark
        parts = (steps, bases, far + self._written, values[far])
        for section, part in zip(self._parts, parts, strict=True):
            write_ints(section, part)
        self._written += len(values)
        self._too_far += len(far)


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
