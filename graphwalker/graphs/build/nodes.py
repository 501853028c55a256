"""The nodes of a compiled graph: ids, names, what finds them by either, and which are CVTs."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np

from graphwalker.errors import GraphError
from graphwalker.graphs.format.arrays import SAMPLE_BYTES, TextBlockWriter, bucket_shift
from graphwalker.graphs.format.integers import IntegersWriter
from graphwalker.graphs.format.layout import LayoutWriter
from graphwalker.graphs.format.offsets import OffsetsWriter, StartsWriter, write_ints
from graphwalker.graphs.intake.sorter import STRING_ROWS, Sorter
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.names import fold, names_nothing

PACKED_BYTES = 1 << 18
"""Literals of less are not compressed."""
SAMPLED = 64
"""Literals in the sample that their compression begins with."""

TEXT_COPIES = 16
"""Of the sorter's memory for the texts of a chunk, one part: it has them as objects, as bytes and
end to end."""
LEAST_ROWS = 1000


@dataclass(slots=True)
class Nodes:
    """What is known of the nodes once they are written. Literals stand side by side in id order."""

    is_cvt: Any
    named: int = 0
    literals: int = 0
    first_literal: int = 0


@dataclass(slots=True)
class _Chunk:
    """What one chunk of nodes adds to each array."""

    ids: list[bytes] = field(default_factory=list[bytes])
    nodes: list[int] = field(default_factory=list[int])
    """Those that are no literals; `keyed` are their ids, `names` their names."""
    keyed: list[bytes] = field(default_factory=list[bytes])
    names: list[bytes] = field(default_factory=list[bytes])
    entities: list[int] = field(default_factory=list[int])
    name_keys: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])


class Strings:
    """Strings end to end, with the place where each of them ends."""

    def __init__(self, writer: LayoutWriter, name: str, most_bytes: int) -> None:
        self._data = writer.section(name, "B")
        self._ends = OffsetsWriter(writer, f"{name}_ends", most_bytes)
        self._end = 0
        self._ends.write(np.zeros(1, dtype=np.int64))

    def write(self, strings: list[bytes]) -> None:
        ends = self._end + np.cumsum([len(s) for s in strings], dtype=np.int64)
        if strings:
            self._end = int(ends[-1])
        self._data.write(b"".join(strings))
        self._ends.write(ends)

    def close(self) -> None:
        self._ends.close()


class _Ids:
    """The ids of the nodes; those of literals in compressed blocks, where they are long enough
    altogether."""

    def __init__(self, sorter: Sorter, writer: LayoutWriter, most_bytes: int) -> None:
        literals = sorter.scalar(f"SELECT sum(strlen(id)) FROM {_LITERALS}")
        packs = literals >= PACKED_BYTES
        self._plain = Strings(writer, "id", most_bytes - literals if packs else most_bytes)
        self._packed = TextBlockWriter(writer, "literal", _sample(sorter)) if packs else None
        self._writer = writer

    def write(self, ids: list[bytes]) -> None:
        if self._packed is not None:
            self._packed.write([one for one in ids if one.startswith(b'"')])
            ids = [one for one in ids if not one.startswith(b'"')]
        self._plain.write(ids)

    def close(self, first_literal: int) -> None:
        self._plain.close()
        if self._packed is not None:
            self._packed.close()
            write_ints(self._writer.section("literal_start", "Q"), np.array([first_literal]))


_LITERALS = "label WHERE id[1] = '\"'"


def _sample(sorter: Sorter) -> bytes:
    """Literals from all over, as much of each as one has room for."""
    step = 1 + sorter.rows(_LITERALS) // SAMPLED
    found = sorter.strings(
        f"SELECT id[:{SAMPLE_BYTES // SAMPLED}] FROM {_LITERALS} AND rowid % {step} = 0"
        " ORDER BY rowid"
    )
    return "".join(found).encode()


def write_nodes(sorter: Sorter, writer: LayoutWriter, unnamed: Callable[[str], str]) -> Nodes:
    """Write the rows of table `label` (id, name, types), which are in id order. `unnamed` says what
    an entity without a name is called, by its id."""
    id_bytes = sorter.scalar("SELECT sum(strlen(id)) FROM label")
    name_bytes = sorter.scalar("SELECT sum(strlen(name)) FROM label")
    ids = _Ids(sorter, writer, id_bytes)
    names = Strings(writer, "name", id_bytes + name_bytes)
    count = sorter.rows("label")
    entities = IntegersWriter(writer, "entities", count)
    id_keys = sorter.table("id_key", key="UINTEGER", node="UINTEGER")
    name_keys = sorter.table("name_key", key="UINTEGER", types="UINTEGER", node="UINTEGER")
    nodes = Nodes(np.zeros(count, dtype=bool))
    first, last = 0, b""
    rows = _rows_at_once(sorter, count, id_bytes + name_bytes)
    for columns in sorter.chunks("label", ["id", "name", "types"], rows):
        chunk = _read_chunk(columns, first, unnamed, nodes)
        last = _assert_ascending(last, chunk.ids)
        ids.write(chunk.ids)
        names.write(chunk.names)
        entities.write(chunk.entities)
        id_keys.extend([_keys(chunk.keyed), np.array(chunk.nodes, dtype=np.uint32)])
        if chunk.name_keys:
            name_keys.extend(list(np.array(chunk.name_keys, dtype=np.uint32).T.copy()))
        first += len(chunk.ids)
    ids.close(nodes.first_literal)
    names.close()
    entities.close()
    skipped = [nodes.first_literal, nodes.first_literal + nodes.literals]
    write_ints(writer.section("skipped", "Q"), np.array(skipped))
    writer.section("is_cvt", "B").write(nodes.is_cvt.tobytes())
    write_buckets(sorter, writer, "id", "key, node", count)
    write_buckets(sorter, writer, "name", "key, types DESC, node", count)
    return nodes


def _rows_at_once(sorter: Sorter, rows: int, text_bytes: int) -> int:
    """Rows of which a chunk is to have: fewer where texts are long and memory is short."""
    mean = 1 + text_bytes // max(1, rows)
    return max(LEAST_ROWS, min(STRING_ROWS, sorter.memory // TEXT_COPIES // mean))


def _read_chunk(
    columns: list[Any], first: int, unnamed: Callable[[str], str], nodes: Nodes
) -> _Chunk:
    chunk = _Chunk()
    rows = zip(*columns, strict=True)
    for node, (entity_id, name, types) in enumerate(rows, start=first):
        chunk.ids.append(entity_id.encode())
        if is_literal(entity_id):
            nodes.first_literal = nodes.first_literal if nodes.literals else node
            nodes.literals += 1
            continue
        chunk.nodes.append(node)
        chunk.keyed.append(chunk.ids[-1])
        name = name or unnamed(entity_id)
        chunk.names.append(name.encode())
        if name:
            chunk.name_keys.append((crc32(fold(name).encode()), int(types), node))
        if names_nothing(name):
            nodes.is_cvt[node] = True
        else:
            chunk.entities.append(node)
    nodes.named += len(chunk.entities)
    return chunk


def write_buckets(sorter: Sorter, writer: LayoutWriter, name: str, order: str, nodes: int) -> None:
    """Nodes by hash: about as many buckets as rows, those of one bucket side by side. `nodes`
    bounds their numbers."""
    table, rows = f"{name}_sorted", sorter.rows(f"{name}_key")
    sorter.run(
        f"CREATE OR REPLACE TABLE {table} AS SELECT key, node FROM {name}_key ORDER BY {order}"
    )
    buckets = 1 << min(32, max(0, rows - 1).bit_length())
    shift = bucket_shift(buckets)
    starts = StartsWriter(writer, f"{name}_bucket_starts", buckets, rows)
    items = IntegersWriter(writer, f"{name}_bucket_items", nodes)
    last = 0
    for key, node in sorter.chunks(table, ["key", "node"]):
        if key[0] < last or (np.diff(key.astype(np.int64)) < 0).any():
            raise GraphError("the sorter gave rows out of order")
        last = key[-1]
        starts.add(key.astype(np.int64) >> shift)
        items.write(node)
    starts.close()
    items.close()
    for done in (table, f"{name}_key"):
        sorter.run(f"DROP TABLE {done}")


def _assert_ascending(last: bytes, ids: list[bytes]) -> bytes:
    for one in ids:
        if one <= last:
            raise GraphError("the sorter gave rows out of order")
        last = one
    return last


def _keys(strings: list[bytes]) -> Any:
    return np.fromiter(map(crc32, strings), dtype=np.uint32, count=len(strings))
