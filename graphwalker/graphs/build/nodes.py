"""The nodes of a compiled graph: ids, names, types, what finds them, and which are CVTs."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np

from graphwalker.errors import GraphError
from graphwalker.graphs.build.review import LONG_TEXT
from graphwalker.graphs.format.layout import LayoutWriter, typecode
from graphwalker.graphs.format.nodes import MARK, HashTableWriter, Rows
from graphwalker.graphs.format.texts import SAMPLE_BYTES, TextBlockWriter
from graphwalker.graphs.intake.sorter import STRING_ROWS, Sorter
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.names import fold, names_nothing

SAMPLED = 64
"""Literals in the sample that their compression begins with."""
TEXT_COPIES = 16
"""Of the sorter's memory for the texts of a chunk, one part: it has them as objects, as bytes and
end to end."""
LEAST_ROWS = 1000
_LITERALS = "node WHERE id[1] = '\"'"
_BYTES = {"B": "u1", "H": "<u2", "I": "<u4"}


@dataclass(slots=True)
class NodeFacts:
    """What is known of the nodes once they are written. Literals stand side by side in id order."""

    is_cvt: Any
    named: int = 0
    literals: int = 0
    first_literal: int = 0
    long_texts: int = 0

    @property
    def rows(self) -> Rows:
        return Rows(self.first_literal, self.first_literal + self.literals)


def write_nodes(
    sorter: Sorter, writer: LayoutWriter, unnamed: Callable[[str], str], types: int
) -> NodeFacts:
    """Write the nodes of table `node` with their names and types. `unnamed` says what an entity
    without a name is called, by its id."""
    text_bytes = sorter.scalar("SELECT sum(strlen(id)) FROM node")
    text_bytes += sorter.scalar("SELECT sum(strlen(name)) FROM named")
    most = 2 * text_bytes + 4 * sorter.rows("typed") + 2 * sorter.rows("node")
    run = _Run(sorter, writer, typecode(most), _BYTES[typecode(types)])
    first, last = 0, ""
    mean = 1 + text_bytes // max(1, sorter.rows("node"))
    rows = max(LEAST_ROWS, min(STRING_ROWS, sorter.memory // TEXT_COPIES // mean))
    for (ids,) in sorter.chunks("node", ["id"], rows):
        if not last < ids[0] or any(a >= b for a, b in pairwise(ids)):
            raise GraphError("the sorter gave rows out of order")
        run.add(first, ids, unnamed)
        first, last = first + len(ids), ids[-1]
    return run.finish()


class _Run:
    def __init__(self, sorter: Sorter, writer: LayoutWriter, starts: str, types: str) -> None:
        self._sorter, self._writer, self._type_bytes = sorter, writer, types
        self._records = writer.section("records", "B")
        self._starts = writer.section("record_starts", starts)
        self._literals = TextBlockWriter(writer, "literal", _sample(sorter))
        self._entities = writer.section("entities", "I")
        self._id_keys = sorter.table("id_key", key="UINTEGER", node="UINTEGER")
        self._name_keys = sorter.table(
            "name_key", key="UINTEGER", types="UINTEGER", node="UINTEGER"
        )
        self._facts = NodeFacts(np.zeros(sorter.rows("node"), dtype=bool))
        self._end = 0

    def add(self, first: int, ids: Any, unnamed: Callable[[str], str]) -> None:
        """Write the nodes from number `first` on."""
        facts, names, types = self._facts, *self._names_and_types(first, first + len(ids))
        literals, records = list[bytes](), list[bytes]()
        keyed, name_keys, entities = (
            list[tuple[int, int]](),
            list[tuple[int, int, int]](),
            list[int](),
        )
        for node, entity_id in enumerate(ids, start=first):
            encoded = entity_id.encode()
            if is_literal(entity_id):
                facts.first_literal = facts.first_literal if facts.literals else node
                facts.literals += 1
                facts.long_texts += len(entity_id) > LONG_TEXT
                literals.append(encoded)
                continue
            name, own = names.get(node) or unnamed(entity_id), types.get(node, b"")
            records.append(MARK.join((encoded, name.encode(), own)))
            keyed.append((crc32(encoded), node))
            if name:
                name_keys.append((crc32(fold(name).encode()), len(own), node))
            if names_nothing(name):
                facts.is_cvt[node] = True
            else:
                entities.append(node)
        facts.named += len(entities)
        self._literals.write(literals)
        self._records.write(b"".join(records))
        ends = self._end + np.cumsum([0, *map(len, records)])
        self._starts.write_ints(ends[:-1])
        self._end = int(ends[-1])
        self._entities.write_ints(np.array(entities, dtype=np.int64))
        for table, rows in ((self._id_keys, keyed), (self._name_keys, name_keys)):
            if rows:
                table.extend(list(np.array(rows, dtype=np.uint32).T.copy()))

    def finish(self) -> NodeFacts:
        facts, writer = self._facts, self._writer
        self._starts.write_ints(np.array([self._end]))
        self._literals.close()
        writer.write("literals", "Q", np.array([facts.rows.first, facts.rows.end]))
        writer.write("is_cvt", "B", facts.is_cvt)
        write_table(self._sorter, writer, "id", "key, node")
        write_table(self._sorter, writer, "name", "key, types DESC, node")
        return facts

    def _names_and_types(self, first: int, last: int) -> tuple[dict[int, str], dict[int, bytes]]:
        """Return the names of these nodes, and the numbers of their types as they are stored."""
        within = f"WHERE n >= {first} AND n < {last}"
        names = dict(self._sorter.records(f"SELECT n, name FROM named {within}"))
        nodes, kinds = self._sorter.columns(f"SELECT n, k FROM typed {within}", "n", "k")
        starts = np.flatnonzero(np.diff(nodes, prepend=-1))
        runs = np.split(kinds.astype(self._type_bytes), starts[1:])
        return names, {
            int(node): run.tobytes() for node, run in zip(nodes[starts], runs, strict=False)
        }


def write_table(sorter: Sorter, writer: LayoutWriter, name: str, order: str) -> None:
    """Write the hash table of the nodes in table `NAME_key`, those of one hash in that order."""
    source = f"{name}_key"
    sorter.run(f"CREATE TABLE {name}_sorted AS SELECT key, node FROM {source} ORDER BY {order}")
    table = HashTableWriter(writer, name, sorter.rows(source))
    last = 0
    for key, node in sorter.chunks(f"{name}_sorted", ["key", "node"]):
        if key[0] < last or (np.diff(key.astype(np.int64)) < 0).any():
            raise GraphError("the sorter gave rows out of order")
        last = key[-1]
        table.write(key, node)
    table.close()
    for done in (f"{name}_sorted", source):
        sorter.run(f"DROP TABLE {done}")


def _sample(sorter: Sorter) -> bytes:
    """Literals from all over, as much of each as one has room for."""
    step = 1 + sorter.rows(_LITERALS) // SAMPLED
    found = sorter.strings(
        f"SELECT id[:{SAMPLE_BYTES // SAMPLED}] FROM {_LITERALS} AND rowid % {step} = 0"
        " ORDER BY rowid"
    )
    return "".join(found).encode()
