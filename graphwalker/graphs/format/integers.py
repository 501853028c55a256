"""Integers of any width: low bits in whole bytes, the few bits above them in an array beside it."""

from collections.abc import Sequence
from functools import cache
from typing import Any, Protocol

import numpy as np

from graphwalker.graphs.format.header import WIDTHS
from graphwalker.graphs.format.layout import Arrays, LayoutWriter, typecode
from graphwalker.graphs.format.offsets import write_ints

HIGH_BITS = (1, 2, 4, 8)
FEW, MANY = 10, 48
"""Integers from which on they are read through slices of the arrays, and from which on numpy puts
them together faster than a loop."""

Array = np.ndarray[Any, Any]


class Integers(Protocol):
    """Numbers by their place, however they were written."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> int: ...
    def between(self, first: int, last: int) -> list[int]:
        """The numbers from place `first` up to, but without, `last`."""
        ...

    def array(self, first: int, last: int) -> Array:
        """The same as `between`, for numpy."""
        ...

    def at(self, places: Array) -> Array:
        """The numbers at those places."""
        ...


def read_integers(layout: Arrays, name: str) -> Integers:
    """The integers of that name."""
    if layout.has(name):
        return PlainIntegers(layout.array(name))
    bits = next(bits for bits in HIGH_BITS if layout.has(f"{name}_high{bits}"))
    return SplitIntegers(layout.array(f"{name}_low"), layout.array(f"{name}_high{bits}"), bits)


class PlainIntegers:
    """Integers in one array."""

    def __init__(self, values: memoryview) -> None:
        self._values = values
        self._numpy = np.asarray(values)

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: int, /) -> int:
        return self._values[index]

    def between(self, first: int, last: int) -> list[int]:
        return self._values[first:last].tolist()

    def array(self, first: int, last: int) -> Array:
        return self._numpy[first:last].astype(np.int64)

    def at(self, places: Array) -> Array:
        return self._numpy[places].astype(np.int64)


class SplitIntegers:
    """Integers whose highest bits, 1 to 8 of them, stand in an array of their own."""

    def __init__(self, low: memoryview, high: memoryview, bits: int) -> None:
        self._low, self._high, self._bits = low, high, bits
        self._above = 8 * low.itemsize
        self._per = {1: 3, 2: 2, 4: 1, 8: 0}[bits]
        self._inside, self._mask = (1 << self._per) - 1, (1 << bits) - 1
        self._parts = _parts(bits, self._above)
        self._numpy = np.asarray(low), np.asarray(high)
        self._bytes = [part[0] for part in self._parts] if bits == 8 else None
        """The high parts where each is a byte of its own."""

    def __len__(self) -> int:
        return len(self._low)

    def __getitem__(self, index: int, /) -> int:
        return self._low[index] | self._parts[self._high[index >> self._per]][index & self._inside]

    def between(self, first: int, last: int) -> list[int]:
        low, high, per, parts = self._low, self._high, self._per, self._parts
        if last - first > MANY:
            return self.array(first, last).tolist()
        if self._bytes is not None:
            parts_of = self._bytes
            if last - first < FEW:
                return [low[n] | parts_of[high[n]] for n in range(first, last)]
            pairs = zip(low[first:last], high[first:last], strict=True)
            return [below | parts_of[above] for below, above in pairs]
        place = first >> per
        if last - first == 1:
            return [low[first] | parts[high[place]][first & self._inside]]
        above = parts[high[place]] if first < last else ()
        for byte in high[place + 1 : last + self._inside >> per]:
            above += parts[byte]
        return [a | b for a, b in zip(low[first:last], above[first & self._inside :], strict=False)]

    def array(self, first: int, last: int) -> Array:
        if self._bytes is None:
            return self.at(np.arange(first, last))
        low, high = self._numpy
        return low[first:last].astype(np.int64) | high[first:last].astype(np.int64) << self._above

    def at(self, places: Array) -> Array:
        low, high = self._numpy
        above = high[places >> self._per].astype(np.int64) >> (places & self._inside) * self._bits
        return low[places].astype(np.int64) | (above & self._mask) << self._above


class IntegersWriter:
    """Takes numbers in pieces; `most` bounds the largest of them."""

    def __init__(self, writer: LayoutWriter, name: str, most: int) -> None:
        width = max(1, int(most).bit_length())
        code, bits = _split(width)
        self._bits, self._rest = bits, np.zeros(0, dtype=np.int64)
        self._low = writer.section(f"{name}_low" if bits else name, code)
        self._high = writer.section(f"{name}_high{bits}", "B") if bits else None
        self._above = 8 * WIDTHS[code]

    def write(self, values: Array | Sequence[int]) -> None:
        numbers = np.asarray(values).astype(np.int64)
        if self._high is None:
            write_ints(self._low, numbers)
            return
        write_ints(self._low, numbers & (1 << self._above) - 1)
        waiting = np.concatenate([self._rest, numbers >> self._above])
        whole = len(waiting) // 8 * 8
        self._pack(waiting[:whole])
        self._rest = waiting[whole:]

    def close(self) -> None:
        if self._high is not None:
            self._pack(np.concatenate([self._rest, np.zeros(-len(self._rest) % 8, dtype=np.int64)]))

    def _pack(self, high: Array) -> None:
        assert self._high is not None
        per = 8 // self._bits
        shifts = np.arange(per) * self._bits
        write_ints(self._high, (high.reshape(-1, per) << shifts).sum(axis=1))


@cache
def _parts(bits: int, above: int) -> list[tuple[int, ...]]:
    """The high parts in each value of a byte, where they belong."""
    mask = (1 << bits) - 1
    return [tuple((byte >> at & mask) << above for at in range(0, 8, bits)) for byte in range(256)]


def _split(width: int) -> tuple[str, int]:
    """The type of the low parts, and the bits of the high ones, 0 for none."""
    for code, most in (("B", 4), ("H", 8)):
        low = 8 * WIDTHS[code]
        if low < width <= low + most:
            return code, next(bits for bits in HIGH_BITS if low + bits >= width)
    return typecode((1 << width) - 1), 0
