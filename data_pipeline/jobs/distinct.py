"""Distinct questions: no two of one text or of one query, known by hashes alone."""

from array import array
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from graphwalker.query.query import Query, stored_query

SMALLEST = 1 << 10


class TextSet:
    """A set of texts that knows them by 8 bytes each, in one table (open addressing, linear
    probing). Of a million texts, two share a hash with a probability of 3e-8.

    >>> seen = TextSet()
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


class Distinct:
    """No two questions of one text or of one query; the first one stays."""

    def __init__(self) -> None:
        self._texts, self._queries = TextSet(), TextSet()
        self._latest: tuple[Query, str] | None = None
        """The query that was asked about last, which is the one that is added next, and its key."""

    def holds(self, record: Mapping[str, Any]) -> bool:
        """Whether the text or the query of the walk or question was added before."""
        return self.holds_text(record) or self.holds_query(query_of(record)[0])

    def holds_text(self, record: Mapping[str, Any]) -> bool:
        """Whether the text of the question was added before."""
        return _text(record) in self._texts

    def holds_query(self, query: Query) -> bool:
        """Whether the query was added before."""
        self._latest = query, query.key
        return self._latest[1] in self._queries

    def add(self, record: Mapping[str, Any], query: Query) -> None:
        """Add a walk or a question, whose query this is."""
        if text := _text(record):  # a bare walk has none
            self._texts.add(text)
        latest, key = self._latest or (None, "")
        self._queries.add(key if latest is query else query.key)


def query_of(record: Mapping[str, Any]) -> tuple[Query, tuple[str, ...]]:
    """The query of a walk or question made here, and its relation path as splits spell it."""
    found = stored_query(record)
    assert found is not None
    return found


def _text(record: Mapping[str, Any]) -> str:
    return str(record.get("question", "")).casefold()
