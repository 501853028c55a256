"""Finished walks that a link leads back to, the newest of them, in bounded memory."""

import uuid
from collections import OrderedDict
from typing import Any

from graphwalker.files import dumps

MOST_BYTES = 32 * 2**20


class KeptWalks:
    """Walks by ids that nobody can guess; the oldest make room."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._walks: OrderedDict[str, bytes] = OrderedDict()
        self._room = most_bytes

    def add(self, walk: dict[str, Any]) -> str:
        """Keep a walk; returns its id."""
        key, packed = uuid.uuid4().hex, dumps(walk).encode("utf-8", "replace")
        self._walks[key] = packed
        self._room -= len(packed)
        while self._room < 0:
            self._room += len(self._walks.popitem(last=False)[1])
        return key

    def find(self, key: str) -> bytes | None:
        """A walk as JSON; `None` for one that is not kept."""
        return self._walks.get(key)
