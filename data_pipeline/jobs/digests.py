"""A digest at the end of each record, made with it: what was changed later is found by it."""

import re
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from graphwalker.files import dumps, dumps_bytes

FIELD = "digest"
_SEAL = re.compile(rb',"digest":"([0-9a-f]{16})"\}$')


def seal(record: Mapping[str, Any]) -> str:
    """The record as a line, its digest the last field; one that it had is made again.

    >>> seal({"id": "2I/3"})
    '{"id":"2I/3","digest":"1a0fc414fe8c259b"}'
    """
    return seal_bytes(record).decode()


def seal_bytes(record: Mapping[str, Any]) -> bytes:
    """The same as it is written to a file: records are long, and encoded once."""
    if FIELD in record:
        record = {key: value for key, value in record.items() if key != FIELD}
    line = dumps_bytes(record)
    return b'%b,"%b":"%b"}' % (line[:-1], FIELD.encode(), _digest(line).encode())


def is_intact(line: bytes, record: Mapping[str, Any]) -> bool | None:
    """Whether a line is as it was written; `None` for one without a digest. `record` is what it
    holds: a line that another program wrote again, with other blanks, is compared by that."""
    if found := _SEAL.search(line):
        if _digest(line[: found.start()] + b"}") == found[1].decode():
            return True
    elif FIELD not in record:
        return None
    return seal(record) == dumps(record)


def _digest(line: bytes) -> str:
    return blake2b(line, digest_size=8).hexdigest()
