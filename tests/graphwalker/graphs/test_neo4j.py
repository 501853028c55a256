"""Neo4j up to its door: the real driver where no server answers, and its records where one would.

No server can be installed here. The stand-in below answers each query of the adapter from a graph
in memory, in the driver's own records: it shows what is asked and how answers are read, not that a
server understands the queries.
"""

import re
from collections import Counter
from contextlib import contextmanager
from typing import Any

import neo4j
import pytest

from graphwalker.errors import GraphError, UserError
from graphwalker.graphs.adapters import neo4j as adapter
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.conformance import check_graph
from graphwalker.graphs.open import open_graph
from graphwalker.graphs.properties import PropertyGraph, facts_of
from graphwalker.graphs.property.memory import Edge, MemoryPropertyGraph, Node

NODES = [
    Node("4:x:1", ("Person", "Actor"), {"name": "Keanu", "born": 1964, "tags": ["a", "b"]}),
    Node("4:x:2", ("Person",), {"name": "Carrie", "born": 1967}),
    Node("4:x:3", ("Odd `label`",), {"title": "x", "high": 1.5, "open": True}),
]
EDGES = [
    Edge("4:x:1", "KNOWS", "4:x:2", {"since": 1998}),
    Edge("4:x:1", "KNOWS", "4:x:2", {"since": 2003}),
    Edge("4:x:2", "IN", "4:x:3"),
]
MEMORY = MemoryPropertyGraph(NODES, EDGES)


class StandIn:
    """In the place of `neo4j.Driver`: sessions that answer from `MEMORY`, and remember."""

    def __init__(self):
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.modes: set[str] = set()

    @contextmanager
    def session(self, database, default_access_mode):
        self.modes.add(default_access_mode)
        yield self

    def execute_read(self, work):
        return work(self)

    def run(self, query, parameters):
        self.asked.append((query, parameters))
        return [neo4j.Record(row) for row in answered(query, parameters)]


def answered(query, given):
    """The rows of a query of the adapter, which is known by its text."""
    names = {getattr(adapter, name): name for name in dir(adapter) if name.isupper()}
    kind = names.get(query) or ("FOUND" if "$value" in query else "VALUES")
    quoted = [name.replace("``", "`") for name in re.findall(r"`((?:[^`]|``)*)`", query)]
    nodes, here, schema = MEMORY.nodes, MEMORY.nodes.get(given.get("id", "")), MEMORY.schema()
    if query.startswith("MATCH ()"):
        return counted(facts_of_all(e.properties for e in EDGES if e.type == quoted[0]), quoted[1])
    if kind in ("FOUND", "VALUES"):
        label, key = quoted if len(quoted) == 2 else ("", quoted[0])
        labelled = [n for n in NODES if not label or label in n.labels]
        if kind == "VALUES":
            return counted(facts_of_all(n.properties for n in labelled), key)
        wanted = (key, given["value"])
        same = sorted(n.id for n in labelled if wanted in facts_of(n.properties))
        return [{"id": i} for i in same]
    if kind == "NODE":
        return [{"labels": list(here.labels), "properties": dict(here.properties)}] if here else []
    if kind == "SIZE":
        return [{"count": len(nodes)}]
    if kind == "NODE_AT":
        return [{"id": sorted(nodes)[given["place"]]}]
    if kind == "NAMED":
        return [{"id": i} for i in nodes if MEMORY.name(i).lower() == given["name"].lower()]
    if kind == "BETWEEN":
        wanted = (given["start"], given["type"], given["end"])
        same = [e for e in EDGES if (e.start, e.type, e.end) == wanted]
        return [{"properties": dict(e.properties)} for e in same]
    if kind.startswith(("TYPES", "ENDS")):
        sides = [(e.start, e.type, e.end) for e in EDGES]
        sides = sides if kind.endswith("OUT") else [(t, r, h) for h, r, t in sides]
        ends = {(r, there) for at, r, there in sides if at == given["id"]}
        if kind.startswith("TYPES"):
            return [{"type": t, "count": n} for t, n in Counter(r for r, _ in ends).items()]
        found = sorted(end for one, end in ends if one == given["type"])
        return [{"id": end} for end in found[: given["limit"]]]
    if kind == "LABELS":
        return [{"label": one.name, "count": one.nodes} for one in schema.labels]
    if kind == "KEYS":
        keys = [(one.name, k, n) for one in schema.labels for k, n in one.keys.items()]
        return [{"label": name, "key": k, "count": n} for name, k, n in keys]
    rows = [(r, {"start": r.start, "type": r.type, "end": r.end}) for r in schema.relationships]
    if kind == "PATTERNS":
        return [{**row, "count": r.count} for r, row in rows]
    return [{**row, "key": k, "count": n} for r, row in rows for k, n in r.keys.items()]


def facts_of_all(properties):
    return [fact for one in properties for fact in facts_of(one)]


def counted(facts, key):
    counts = Counter(value for k, value in facts if k == key)
    return [{"value": value, "count": n} for value, n in counts.items()]


@pytest.fixture
def driver():
    return StandIn()


def test_it_is_the_property_graph_that_its_records_say(driver):
    graph = adapter.Neo4jGraph(driver)
    assert isinstance(graph, PropertyGraph)
    assert graph.schema() == MEMORY.schema() and graph.size == 3
    for node in ("4:x:1", "4:x:2", "4:x:3", "nobody", '"literal"'):
        assert graph.node_properties(node) == MEMORY.node_properties(node)
        assert (graph.name(node), graph.types(node)) == (MEMORY.name(node), MEMORY.types(node))
        for side in Direction:
            assert graph.relations(node, side) == MEMORY.relations(node, side)
            for relation, _ in graph.relations(node, side):
                for limit in (None, 1):
                    ends = graph.neighbors(node, relation, side, limit)
                    assert ends == MEMORY.neighbors(node, relation, side, limit)
        assert graph.neighborhood(node, 2) == MEMORY.neighborhood(node, 2)
    for label, key, value in (
        ("Person", "born", 1964),
        ("", "tags", "b"),
        ("Odd `label`", "open", True),
        ("Odd `label`", "born", 1964),
    ):
        assert graph.find(label, key, value) == MEMORY.find(label, key, value)
        assert graph.values(label, key) == MEMORY.values(label, key)
    assert graph.relationship_values("KNOWS", "since") == [(1998, 1), (2003, 1)]
    between = graph.relationship_properties("4:x:1", "KNOWS", "4:x:2")
    assert between == [{"since": 1998}, {"since": 2003}]
    assert graph.resolve("keanu") == [Entity("4:x:1", "Keanu")]
    assert graph.relation_ids() == MEMORY.relation_ids()
    assert [graph.entity_at(k) for k in range(3)] == [MEMORY.entity_at(k) for k in range(3)]
    entities = [Entity(i, MEMORY.name(i)) for i in MEMORY.nodes]
    assert list(check_graph(graph, entities)) == []


HOSTILE = "x`) DETACH DELETE n //"


def test_nothing_that_is_given_becomes_part_of_a_query(driver):
    graph = adapter.Neo4jGraph(driver)
    for text in (HOSTILE, "' OR 1=1 --", "$value", "}) RETURN n //"):
        assert graph.find(text, text, text) == graph.values(text, text) == []
        assert graph.relationship_values(text, text) == graph.resolve(text) == []
        assert graph.relations(text, Direction.OUT) == graph.neighbors(text, text, Direction.IN)
        assert graph.relationship_properties(text, text, text) == []
        assert graph.find("Person", "name", text) == []
        assert all(text not in query for query, _ in driver.asked if text != "$value")
    assert driver.modes == {neo4j.READ_ACCESS}
    writing = re.compile(r"\b(CREATE|MERGE|SET|DELETE|REMOVE|DROP|CALL)\b")
    assert not any(writing.search(query) for query, _ in driver.asked)
    assert adapter.quote_name(HOSTILE) == "`x``) DETACH DELETE n //`"
    with pytest.raises(GraphError, match="backslash"):
        adapter.quote_name("a\\u0060")


def test_a_server_that_does_not_answer_is_a_graph_error_with_the_next_step():
    with pytest.raises(GraphError, match=r"bolt://127\.0\.0\.1:1: .*is Neo4j running there"):
        open_graph("bolt://127.0.0.1:1")


@pytest.mark.parametrize("spec", ["neo4j://", "neo4j://ann:secret@host:7687", "bolts://host"])
def test_an_odd_address_is_refused(spec):
    with pytest.raises(UserError, match=r"neo4j://HOST:7687|NEO4J_PASSWORD") as caught:
        open_graph(spec)
    assert "secret" not in str(caught.value)
