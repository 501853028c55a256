"""Property graphs: Neo4j's files in, labels, keys and relationship properties out."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.compiled.check import check_graph
from graphwalker.graphs.compiled.properties import CompiledPropertyGraph, open_compiled
from graphwalker.graphs.conformance import check_graph as check_conformance
from graphwalker.graphs.intake.filters import Filters
from graphwalker.graphs.intake.property_files import CsvReader
from graphwalker.graphs.intake.rows import ReaderInput, Rejects, Relations, Source
from graphwalker.graphs.properties import PropertyGraph, Relationship
from graphwalker.graphs.property.memory import Edge, MemoryPropertyGraph, Node
from support.built import put

KEANU, CARRIE, MATRIX = "p1", "p2", "m1"
FILM = {"title": 'The "Matrix"', "released": 1999, "tags": ["sci-fi", "action"]}
NODES = [
    {"id": KEANU, "labels": ["Person", "Actor"], "properties": {"name": "Keanu", "born": 1964}},
    {"id": CARRIE, "labels": ["Person"], "properties": {"name": "Carrie-Anne", "born": 1967}},
    {"id": MATRIX, "labels": ["Movie"], "properties": FILM},
    {"id": "x", "labels": [], "properties": {"rating": 8.7, "open": True, "none": None, "o": {}}},
]
EDGES = [
    (KEANU, "ACTED_IN", MATRIX, {"roles": ["Neo"]}),
    (CARRIE, "ACTED_IN", MATRIX, {"roles": ["Trinity"]}),
    (KEANU, "KNOWS", CARRIE, {}),
    (KEANU, "KNOWS", CARRIE, {"since": 1998}),
    (KEANU, "KNOWS", CARRIE, {"since": 2003}),
]


def json_lines(path):
    records = [{"type": "node", **node} for node in NODES]
    records += [
        {"type": "relationship", "label": r, "start": {"id": s}, "end": {"id": e}, "properties": p}
        for s, r, e, p in EDGES
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


CSV = {
    "people.csv": ':ID,name,born:int,:LABEL\np1,Keanu,1964,Person;Actor\n'
    'p2,"Carrie-Anne",1967,Person\n',
    "movies.csv": ":ID,title,released:int,tags:string[],:LABEL\n"
    'm1,"The ""Matrix""",1999,sci-fi;action,Movie\n',
    "acted.csv": ":START_ID,roles:string[],:END_ID,:TYPE\np1,Neo,m1,ACTED_IN\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    folder = tmp_path_factory.mktemp("property")
    build_graph([], folder / "graph", property_files=[json_lines(folder / "export.json")])
    opened = open_compiled(folder / "graph")
    assert isinstance(opened, CompiledPropertyGraph)
    return opened


def test_relationships_without_their_nodes_ask_for_the_file_of_these(tmp_path):
    (tmp_path / "edges.csv").write_text(":START_ID,:END_ID,:TYPE\na,b,KNOWS\nb,c,KNOWS\n")
    with pytest.raises(UserError, match=r"edges\.csv: relationships alone; give the file of their"):
        build_graph([tmp_path / "edges.csv"], tmp_path / "graph")


def test_the_schema_says_what_joins_what(graph):
    assert check_graph(graph.path)["relationship_properties"] == 4
    schema = graph.schema()
    counts = [(label.name, label.nodes) for label in schema.labels]
    assert counts == [("Actor", 1), ("Movie", 1), ("Person", 2)]
    assert schema.labels[2].keys == {"born": 2, "name": 2}
    assert schema.relationships == (
        Relationship("Actor", "ACTED_IN", "Movie", 1, {"roles": 1}),
        Relationship("Actor", "KNOWS", "Person", 3, {"since": 2}),
        Relationship("Person", "ACTED_IN", "Movie", 2, {"roles": 2}),
        Relationship("Person", "KNOWS", "Person", 3, {"since": 2}),
    )


def test_the_graph_in_memory_says_the_same(graph):
    nodes = [Node(n["id"], tuple(n["labels"]), n["properties"]) for n in NODES]
    memory = MemoryPropertyGraph(nodes, [Edge(*edge) for edge in EDGES])
    assert isinstance(memory, PropertyGraph) and memory.schema() == graph.schema()
    for node in (KEANU, CARRIE, MATRIX, "x", "nobody"):
        assert memory.node_properties(node) == graph.node_properties(node)
        assert memory.properties(node) == graph.properties(node)
        assert memory.neighborhood(node, 2) == graph.neighborhood(node, 2)
    for label, key, value in [("Person", "born", 1964), ("", "open", True), ("Movie", "born", 1)]:
        assert memory.find(label, key, value) == graph.find(label, key, value)
        assert memory.values(label, key) == graph.values(label, key)
    for kind, key in [("KNOWS", "since"), ("ACTED_IN", "roles"), ("KNOWS", "no")]:
        assert memory.relationship_values(kind, key) == graph.relationship_values(kind, key)
    for start, kind, end in {edge[:3] for edge in EDGES} | {(CARRIE, "KNOWS", KEANU)}:
        between = memory.relationship_properties(start, kind, end)
        assert between == graph.relationship_properties(start, kind, end)
    entities = [Entity(i, memory.name(i)) for i in (KEANU, CARRIE, MATRIX, "x")]
    assert list(check_conformance(memory, entities)) == []


def test_a_graph_in_memory_refuses_what_is_no_graph():
    for nodes, edges, message in (
        ([Node("a", ()), Node("a", ())], [], "two nodes"),
        ([Node('"a', ())], [], "quotation"),
        ([Node("a", ())], [Edge("a", "R", "b")], "a R b has no node"),
    ):
        with pytest.raises(UserError, match=message):
            MemoryPropertyGraph(nodes, edges)


def test_csv_gives_the_same_nodes_as_json(tmp_path, graph):
    build_graph([], tmp_path / "graph", property_files=put(tmp_path, **CSV))
    found = open_compiled(tmp_path / "graph")
    assert isinstance(found, CompiledPropertyGraph)
    for node in (KEANU, CARRIE, MATRIX):
        told = found.properties(node)
        assert told == graph.properties(node)
        assert (found.name(node), found.types(node)) == (graph.name(node), graph.types(node))
    assert found.relationship_properties(KEANU, "ACTED_IN", MATRIX) == [{"roles": ["Neo"]}]
    known = graph.relationship_properties(KEANU, "KNOWS", CARRIE)
    assert known == [{"since": 1998}, {"since": 2003}, {}]


BAD_JSON = [
    "not json",
    "[1]",
    '{"type": "node", "labels": []}',
    '{"type": "node", "id": "\\"q"}',
    '{"type": "node", "id": "a", "properties": []}',
    '{"type": "relationship", "label": "", "start": {"id": "a"}, "end": {"id": "b"}}',
    '{"type": "relationship", "label": "R", "start": {"id": "a"}}',
    '{"type": "edge"}',
]


def test_malformed_records_are_rejected_one_by_one(tmp_path):
    path = json_lines(tmp_path / "export.jsonl")
    path.write_text("\n".join(BAD_JSON) + "\n" + path.read_text())
    info = build_graph([], tmp_path / "graph", property_files=[path])
    assert (info["malformed"], info["triples"]) == (len(BAD_JSON), 14)
    lines = (tmp_path / "graph" / "rejects.tsv").read_text().splitlines()[1:]
    assert [line.split("\t")[1] for line in lines] == [str(n) for n in range(1, 9)]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("people.csv", "id,name\np1,Ann\n", "header has neither"),
        ("people.csv", "", "header has neither"),
        ("people.xml", "<x/>", r"read from \.json, \.jsonl or \.csv"),
        ("people.json", "", "no triples"),
    ],
)
def test_a_file_of_no_known_form_is_named(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=rf"{name}.*{message}"):
        build_graph([], tmp_path / "graph", property_files=[tmp_path / name])
    assert not (tmp_path / "graph").exists()


def csv_graph(folder, nodes, edges):
    """A graph of two CSV files, its info, and what was rejected."""
    files = put(folder, edges__csv=edges, nodes__csv=nodes)
    info = build_graph([], folder / "graph", property_files=files)
    rejects = folder / "graph" / "rejects.tsv"
    return open_compiled(folder / "graph"), info, rejects.read_text() if rejects.exists() else ""


def test_a_relationship_whose_node_no_record_has_is_rejected_with_its_line(tmp_path):
    edges = ":START_ID,:END_ID,:TYPE\na,b,KNOWS\na,ghost,KNOWS\nghost,b,KNOWS\n"
    graph, info, rejects = csv_graph(tmp_path, ":ID,name\na,Ann\nb,Bob\n", edges)
    assert (info["malformed"], info["entities"], info["nodes"]) == (2, 2, 4)
    assert graph.neighbors("a", "KNOWS", Direction.OUT) == [Entity("b", "Bob")]
    assert "edges.csv\t3\tno record is the node ghost" in rejects
    assert "edges.csv\t4\tno record is the node ghost" in rejects


def test_a_field_may_hold_line_breaks(tmp_path):
    nodes = ':ID,name,about\r\na,Ann,"two\r\nlines, and ""more"""\r\n\r\nb,Bob,\r\n'
    edges = ':START_ID,:END_ID,:TYPE,note\na,b,KNOWS,"since\n\nlong"\n'
    graph, info, _ = csv_graph(tmp_path, nodes, edges)
    assert isinstance(graph, CompiledPropertyGraph) and info["malformed"] == 0
    assert graph.properties("a")["about"] == ['two\nlines, and "more"']
    assert graph.relationship_properties("a", "KNOWS", "b") == [{"note": "since\n\nlong"}]


def test_a_quotation_mark_that_is_not_closed_costs_its_own_line_only(tmp_path):
    nodes = ':ID,name\na,Ann\nb,"Bob\nc,Cid\nd,"Dan "the" man"\ne,"Eve"\nf,5" pipe\n'
    graph, info, rejects = csv_graph(tmp_path, nodes, ":START_ID,:END_ID,:TYPE\na,c,TO\n")
    assert (info["malformed"], info["entities"]) == (2, 4)
    assert [line.split("\t")[1] for line in rejects.splitlines()[1:]] == ["3", "5"]
    assert [graph.name(node) for node in "ace"] == ["Ann", "Cid", "Eve"]


PIECES = ['a,"x', 'y"', "b,c", '"', ",", 'd,"e ""f"""', "g,h,i", "", 'j,"k"l', "m,n"]


@given(st.lists(st.sampled_from(PIECES), max_size=14), st.integers(1, 30))
@settings(max_examples=60, deadline=None)
def test_blocks_change_nothing_of_what_is_read(tmp_path_factory, lines, block):
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    path.write_text("\n".join([":ID,name", *lines]))
    found: list[tuple[list[Any], int]] = []
    for size in (block, 1 << 20):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("graphwalker.graphs.intake.blocks.BLOCK_BYTES", size)
            rejects, filters = Rejects(limit=1000), Filters()
            source = Source(path, "property", 0)
            reader = CsvReader(ReaderInput(source, filters, rejects, Relations(filters)))
            rows = [row for _, some in reader.blocks() for row in some.names]
            found.append((rows, rejects.count))
    assert found[0] == found[1]


def test_too_many_relationships_without_nodes_stop_the_build(tmp_path):
    edges = ":START_ID,:END_ID,:TYPE\n" + "".join(f"a,g{n},KNOWS\n" for n in range(101))
    with pytest.raises(UserError, match=r"edges.csv:102: no record is the node g100; more than"):
        csv_graph(tmp_path, ":ID,name\na,Ann\n", edges)


def test_a_csv_record_that_does_not_fit_its_header_is_rejected(tmp_path):
    people = ':ID,name,born:int\np1,Ann,1964\np2,Bob\np3,Cid,soon\np4,"cut,1\np5,Eve,1970\n'
    _, info, _ = csv_graph(tmp_path, people, ":START_ID,:END_ID,:TYPE\np1,p5,KNOWS\n")
    assert (info["malformed"], info["entities"]) == (3, 2)
