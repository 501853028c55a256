"""Texts that were seen: their hashes alone, so that a million of them take 16 MB."""

from array import array
from hashlib import blake2b

SMALLEST = 1 << 10


class Seen:
    """A set of texts that knows them by 8 bytes each, in one table (open addressing, linear
    probing). Of a million texts, two share a hash with a probability of 3e-8.

    >>> seen = Seen()
    >>> seen.add("one"), seen.add("one"), "one" in seen, "two" in seen, len(seen)
    (True, False, True, False, 1)
    """

    def __init__(self) -> None:
        self._table = array("Q", bytes(8 * SMALLEST))
        self._count = 0

    def add(self, text: str) -> bool:
        """Whether the text is new."""
        if 3 * self._count >= 2 * len(self._table):
            self._grow()
        key = _key(text)
        place = self._find(key)
        if self._table[place]:
            return False
        self._table[place] = key
        self._count += 1
        return True

    def __contains__(self, text: str) -> bool:
        return self._table[self._find(_key(text))] != 0

    def __len__(self) -> int:
        return self._count

    def _find(self, key: int) -> int:
        """Where the key stands, or would: a place that holds 0."""
        table = self._table
        last = len(table) - 1
        place = key & last
        while table[place] and table[place] != key:
            place = (place + 1) & last
        return place

    def _grow(self) -> None:
        old, self._table = self._table, array("Q", bytes(16 * len(self._table)))
        for key in old:
            if key:
                self._table[self._find(key)] = key


def _key(text: str) -> int:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) or 1
