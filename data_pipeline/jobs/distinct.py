"""Distinct questions: no two of one text or of one query, known by hashes alone."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from graphwalker.query.query import Query, stored_query


class TextSet:
    """A set of texts that knows them by 8 bytes each. Of a million texts, two share a hash with a
    probability of 3e-8.

    >>> seen = TextSet()
    >>> seen.add("one"), seen.add("one"), "one" in seen, "two" in seen, len(seen)
    (True, False, True, False, 1)
    """

    def __init__(self) -> None:
        self._keys: set[bytes] = set()

    def add(self, text: str) -> bool:
        """Return whether the text is new."""
        before = len(self._keys)
        self._keys.add(_key(text))
        return len(self._keys) > before

    def __contains__(self, text: str) -> bool:
        return _key(text) in self._keys

    def __len__(self) -> int:
        return len(self._keys)


def _key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


class Distinct:
    """No two questions of one text or of one query; the first one stays."""

    def __init__(self) -> None:
        self._texts, self._queries = TextSet(), TextSet()
        self._latest: tuple[Query, str] | None = None
        """The query that was asked about last, which is the one that is added next, and its key."""

    def holds(self, record: Mapping[str, Any]) -> bool:
        """Return whether the text or the query of the walk or question was added before."""
        return self.holds_text(record) or self.holds_query(query_of(record)[0])

    def holds_text(self, record: Mapping[str, Any]) -> bool:
        """Return whether the text of the question was added before."""
        return _text(record) in self._texts

    def holds_query(self, query: Query) -> bool:
        """Return whether the query was added before."""
        self._latest = query, query.key
        return self._latest[1] in self._queries

    def add(self, record: Mapping[str, Any], query: Query) -> None:
        """Add a walk or a question, whose query this is."""
        if text := _text(record):  # a bare walk has none
            self._texts.add(text)
        latest, key = self._latest or (None, "")
        self._queries.add(key if latest is query else query.key)


def query_of(record: Mapping[str, Any]) -> tuple[Query, tuple[str, ...]]:
    """Get the query of a walk or question made here, and its relation path as splits spell it."""
    found = stored_query(record)
    assert found is not None
    return found


def _text(record: Mapping[str, Any]) -> str:
    return str(record.get("question", "")).casefold()
