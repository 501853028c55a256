"""Distinct questions: no two of one text or of one query."""

from collections.abc import Mapping
from typing import Any

from data_pipeline.jobs.seen import Seen
from graphwalker.query.query import Query, stored_query


class Distinct:
    """No two questions of one text or of one query; the first one stays."""

    def __init__(self) -> None:
        self._texts, self._queries = Seen(), Seen()
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
