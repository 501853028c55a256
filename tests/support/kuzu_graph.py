"""A property graph in Kùzu, an embedded engine of another make that runs Cypher."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import kuzu

from graphwalker.answers.rows import Rows, row_texts
from graphwalker.datasets.base import load_questions
from graphwalker.graphs.open import open_graph
from graphwalker.graphs.property.memory import MemoryPropertyGraph
from graphwalker.graphs.property.sets import PropertyGraphSet
from graphwalker.question import Question
from graphwalker.synthetic.sets import QUESTIONS


class KuzuGraph:
    """The same nodes and relationships, one label a node."""

    def __init__(self, graph: MemoryPropertyGraph, folder: Path) -> None:
        self._db = kuzu.Database(str(folder / "kuzu"), buffer_pool_size=1 << 28)
        self._connection = kuzu.Connection(self._db, num_threads=1)
        for label in graph.schema().labels:
            keys = ", ".join(f"{key} {_kind(graph.values(label.name, key))}" for key in label.keys)
            self.run(f"CREATE NODE TABLE {label.name}({keys}, PRIMARY KEY(key))")
        for kind in sorted({edge.type for edge in graph.edges}):
            joined = [r for r in graph.schema().relationships if r.type == kind]
            pairs = ", ".join(f"FROM {r.start} TO {r.end}" for r in joined)
            keys = sorted({key for r in joined for key in r.keys})
            columns = [f"{key} {_kind(graph.relationship_values(kind, key))}" for key in keys]
            self.run(f"CREATE REL TABLE {kind}({', '.join([pairs, *columns])})")
        for node in graph.nodes.values():
            self.run(f"CREATE (:{node.labels[0]} {_map(node.properties)})")
        for edge in graph.edges:
            start, end = (
                f"({name}:{graph.nodes[i].labels[0]} {{key: {json.dumps(i)}}})"
                for name, i in (("a", edge.start), ("b", edge.end))
            )
            made = f"(a)-[:{edge.type} {_map(edge.properties)}]->(b)"
            self.run(f"MATCH {start}, {end} CREATE {made}")

    def run(self, cypher: str) -> list[dict[str, Any]]:
        result: Any = self._connection.execute(cypher)
        names = result.get_column_names()
        rows = []
        while result.has_next():
            rows.append(dict(zip(names, result.get_next(), strict=True)))
        return rows

    def close(self) -> None:
        self._connection.close()
        self._db.close()


def spelled_out(source: str, target: str, hops: int) -> str:
    """`(a)-[*1..hops]->(b)-->()` as patterns of fixed lengths: Kùzu's own let a way use a
    relationship twice, Cypher does not."""
    parts = []
    for length in range(1, hops + 1):
        names = [f"r{k}" for k in range(length + 1)]
        inner = "".join(f"-[{name}]->(n{k})" for k, name in enumerate(names[: length - 1]))
        way = f"(a:{source}){inner}-[{names[length - 1]}]->(b:{target})-[{names[length]}]->(z)"
        apart = [f"NOT id({x}) = id({y})" for x, y in product(names, names) if x < y]
        parts.append(
            f"MATCH {way} WHERE {' AND '.join(apart)} "
            "RETURN DISTINCT a.key AS source_node_key, b.key AS target_node_key"
        )
    return " UNION ".join(parts)


def _kind(values: Any) -> str:
    return "DOUBLE" if all(isinstance(value, float) for value, _ in values) else "STRING"


def _map(properties: Any) -> str:
    return "{" + ", ".join(f"{key}: {json.dumps(value)}" for key, value in properties.items()) + "}"


def executed(engine: Any, question: Question) -> list[dict[str, Any]]:
    """The rows that the engine gives for the question's own Cypher."""
    values = question.annotations["values"]
    if question.structure == "variable_hop":
        return engine.run(spelled_out(values["source"], values["target"], values["hops"]))
    rows = engine.run(question.annotations["cypher"])
    if question.structure == "relationship_by_property":
        whole = [row.pop("r") for row in rows]
        for row, r in zip(rows, whole, strict=True):
            row |= {k: v for k, v in r.items() if not k.startswith("_") and v is not None}
    return rows


def check(folder: Path, work: Path) -> int:
    """Every question of a set against the engine; how many there were. Raises `AssertionError`."""
    graphs = open_graph(folder)
    assert isinstance(graphs, PropertyGraphSet)
    checked = 0
    questions = load_questions(folder / QUESTIONS)
    for name in graphs.names():
        (work / name).mkdir()
        engine = KuzuGraph(graphs.member(name), work / name)
        for question in (q for q in questions if q.facets["graph"] == name):
            assert isinstance(question.gold, Rows)
            rows, wanted = executed(engine, question), question.gold
            if wanted.pick and question.structure == "most_relationships":
                assert wanted.compare(row_texts(rows))["em"] == 1.0
                continue
            if wanted.pick:  # any one is right: each of the engine's must be, and no other
                wanted = Rows(tuple(wanted.ties))
            scores = wanted.compare(row_texts(rows))
            assert scores["em"] == 1.0, (question.to_json(), rows)
            checked += 1
        engine.close()
    return checked
