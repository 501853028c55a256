"""What a compiled property graph has besides: an index of values, its schema, edge properties."""

import json
from typing import Any

import numpy as np

from graphwalker.graphs.build.nodes import write_table
from graphwalker.graphs.build.numbering import numbers
from graphwalker.graphs.format.layout import LayoutWriter, typecode
from graphwalker.graphs.format.nodes import Rows
from graphwalker.graphs.format.texts import TextBlockWriter
from graphwalker.graphs.intake.sorter import STRING_ROWS, Sorter
from graphwalker.graphs.properties import facts_of, value_key


def write_properties(
    sorter: Sorter, writer: LayoutWriter, literals: Rows, relations: int
) -> dict[str, int]:
    """Write the sections from the tables of `Numbering` and `edge_property`."""
    literal = f"t >= {literals.first} AND t < {literals.end}"
    values = _write_values(sorter, writer, literal)
    sorter.run("CREATE VIEW kind AS SELECT n, type FROM typed JOIN type_number USING (k)")
    _number_edges(sorter)
    _write_schema(sorter, writer, literal)
    edges = _write_edges(sorter, writer, relations)
    return {"property_values": values, "relationship_properties": edges}


def _write_values(sorter: Sorter, writer: LayoutWriter, literal: str) -> int:
    keys = sorter.table("value_key", key="UINTEGER", node="UINTEGER")
    sorter.run(
        "CREATE TABLE value AS SELECT DISTINCT h, relation.r r, node.id v FROM edge"
        f" JOIN relation ON edge.r = relation.n JOIN node ON edge.t = node.rowid WHERE {literal}"
    )
    for heads, names, values in sorter.chunks("value", ["h", "r", "v"], STRING_ROWS):
        hashed = [value_key(*pair) for pair in zip(names, values, strict=True)]
        keys.extend([np.array(hashed, dtype=np.uint32), heads.astype(np.uint32)])
    count = sorter.rows("value")
    sorter.run("DROP TABLE value")
    write_table(sorter, writer, "value", "key, node")
    return count


def _number_edges(sorter: Sorter) -> None:
    """Table `edge_text`: the relationships that have properties, and parallel ones, which are one
    triple."""
    sorter.run(
        "CREATE TABLE edge_text AS SELECT h, n r, t, json FROM"
        f" (SELECT head.n h, r k, tail.n t, json FROM edge_property POSITIONAL JOIN"
        f" {numbers('edge_property', 'h', 'head')} POSITIONAL JOIN"
        f" {numbers('edge_property', 't', 'tail')}) JOIN relation USING (k)"
        " QUALIFY json <> '{}' OR count(*) OVER (PARTITION BY h, r, t) > 1 ORDER BY h, r, t, json"
    )


def _write_schema(sorter: Sorter, writer: LayoutWriter, literal: str) -> None:
    labels = sorter.records("SELECT type, count(*) FROM kind GROUP BY type ORDER BY type")
    keys = sorter.records(
        "SELECT type, relation.r, count(DISTINCT h) FROM edge JOIN kind ON h = kind.n"
        f" JOIN relation ON edge.r = relation.n WHERE {literal} GROUP BY ALL ORDER BY ALL"
    )
    relationships = sorter.records(
        "SELECT a.type, relation.r, b.type, sum(times)::BIGINT FROM ("
        f"SELECT r, h, t, 1 times FROM (SELECT DISTINCT r, h, t FROM edge WHERE NOT ({literal}))"
        " UNION ALL SELECT r, h, t, count(*) - 1 FROM edge_text GROUP BY r, h, t) edge"
        " JOIN kind a ON h = a.n JOIN kind b ON t = b.n JOIN relation ON edge.r = relation.n"
        " GROUP BY ALL ORDER BY ALL"
    )
    schema = {"labels": labels, "keys": keys, "relationships": relationships}
    writer.section("schema", "B").write(json.dumps(schema, ensure_ascii=False).encode())


def _write_edges(sorter: Sorter, writer: LayoutWriter, relations: int) -> int:
    columns = {
        "h": writer.section("edge_property_heads", "I"),
        "r": writer.section("edge_property_relations", typecode(relations)),
        "t": writer.section("edge_property_tails", "I"),
    }
    texts = TextBlockWriter(writer, "edge_property")
    known: dict[str, int] = {}
    keys = sorter.table("edge_key", h="UINTEGER", r="UINTEGER", t="UINTEGER", k="UINTEGER")
    for *places, text in sorter.chunks("edge_text", [*columns, "json"], STRING_ROWS):
        keys.extend(_keys(places, text, known))
        for section, values in zip(columns.values(), places, strict=True):
            section.write_ints(np.asarray(values, dtype=np.int64))
        texts.write([str(one).encode() for one in text])
    texts.close()
    _write_keys(sorter, writer, list(known))
    count = sorter.scalar("SELECT count(*) FROM edge_text WHERE json <> '{}'")
    for done in ("edge_text", "edge_key"):
        sorter.run(f"DROP TABLE {done}")
    return count


def _keys(numbers: list[Any], texts: Any, known: dict[str, int]) -> list[Any]:
    """Return a row of numbers for each key of each relationship; `known` numbers the keys."""
    rows = [
        (place, known.setdefault(key, len(known)))
        for place, text in enumerate(texts)
        for key in dict.fromkeys(key for key, _ in facts_of(json.loads(str(text))))
    ]
    places = np.array([place for place, _ in rows], dtype=np.int64)
    columns = [np.asarray(values)[places].astype(np.uint32) for values in numbers]
    return [*columns, np.array([key for _, key in rows], dtype=np.uint32)]


def _write_keys(sorter: Sorter, writer: LayoutWriter, names: list[str]) -> None:
    counted = sorter.records(
        "SELECT a.type, relation.r, b.type, e.k, count(*) FROM edge_key e JOIN kind a ON e.h = a.n"
        " JOIN kind b ON e.t = b.n JOIN relation ON e.r = relation.n GROUP BY ALL"
    )
    rows: list[list[Any]] = sorted([*ends, names[key], n] for *ends, key, n in counted)
    section = writer.section("relationship_keys", "B")
    section.write(json.dumps(rows, ensure_ascii=False).encode())
