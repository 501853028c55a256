"""GRBench's graph.json and KQA Pro's kb.json become graphs; faults are named by their place."""

import json
import tracemalloc
from typing import Any

import pytest
from typer.testing import CliRunner

from graphwalker.cli.app import app
from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction
from graphwalker.graphs.intake import grbench
from graphwalker.graphs.intake.grbench import GrbenchCounts, grbench_records
from graphwalker.graphs.open import open_graph
from support.built import built as build
from support.built import put
from support.grbench_toy import academic

PAPER = {"features": {"title": 'A "quoted" ü'}, "neighbors": {"author": ["a1", "a1", 7]}}
AUTHOR = {"features": {}, "neighbors": {}}
SMALL = {"paper_nodes": {"p1": PAPER}, "author_nodes": {"a1": AUTHOR}}


def written(folder, value, **layout):
    path = folder / "graph.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value, **layout))
    return path


def test_nodes_features_and_neighbours(tmp_path):
    counts = GrbenchCounts()
    found = list(grbench_records(written(tmp_path, SMALL), counts))
    properties = {"title": 'A "quoted" ü', "name": 'A "quoted" ü'}
    assert found[0] == {"type": "node", "id": "p1", "labels": ["paper"], "properties": properties}
    assert [r["end"]["id"] for r in found if r["type"] == "relationship"] == ["a1", "7"]
    assert found[-1]["properties"] == {"name": "a1"}  # without a name the id is shown
    assert counts.nodes == {"paper": 1, "author": 1} and counts.relationships == 2


@pytest.mark.parametrize("chunk", [1, 2, 7, 64, 1 << 20])
@pytest.mark.parametrize("indent", [None, 2])
def test_the_pieces_in_which_it_is_read_do_not_matter(tmp_path, monkeypatch, chunk, indent):
    monkeypatch.setattr(grbench, "_CHUNK", chunk)
    graph = SMALL if chunk < 64 else academic()
    found = list(grbench_records(written(tmp_path, graph, indent=indent)))
    nodes = [record["id"] for record in found if record["type"] == "node"]
    assert nodes == [node for group in graph.values() for node in group]


@pytest.mark.parametrize(
    "text, why",
    [
        ("", 'character 1: expected "{"'),
        ("[]", 'character 1: expected "{"'),
        ('{"nodes": {}}', "field 'nodes' is no X_nodes"),
        ('{"a_nodes": []}', 'expected "{"'),
        ('{"a_nodes": {"1": {"features": {}', "a_nodes, node '1': not JSON"),
        ('{"a_nodes": {"1": 3}}', "a_nodes, node '1': must be a JSON object"),
        ('{"a_nodes": {"1": {"neighbors": {"b": "2"}}}}', "neighbors 'b': must be a list of ids"),
        ('{"a_nodes": {"1": {}} "b_nodes": {}}', 'character 23: expected "," or "}"'),
        ('{"a_nodes": {}} x', "expected the end of the file"),
        ('{"a_nodes": {"": {}}}', "a node without an id"),
    ],
)
def test_a_fault_is_named_by_its_place(tmp_path, text, why):
    with pytest.raises(UserError) as caught:
        list(grbench_records(written(tmp_path, text)))
    assert why in str(caught.value) and "graph.json" in str(caught.value)


@pytest.mark.long
def test_memory_does_not_grow_with_the_file(tmp_path):
    path = tmp_path / "graph.json"
    node = json.dumps({"features": {"title": "t" * 500}, "neighbors": {"r": ["1"]}})
    with path.open("w") as file:
        file.write('{"a_nodes": {"first": {}')
        for number in range(20_000):
            file.write(f', "{number}": {node}')
        file.write("}}")
    assert path.stat().st_size > 10_000_000
    tracemalloc.start()
    count = sum(1 for _ in grbench_records(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 40_001 and peak < 8_000_000


def test_a_missing_file_and_bytes_that_are_no_text_are_named(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        list(grbench_records(tmp_path / "none.json"))
    (tmp_path / "graph.json").write_bytes(b'{"a_nodes": {"\xff": {}}}')
    with pytest.raises(UserError, match="cannot be read"):
        list(grbench_records(tmp_path / "graph.json"))


def text(value):
    return {"type": "string", "value": value}


def number(value, unit="1"):
    return {"type": "quantity", "value": value, "unit": unit}


WED = {"start time": [{"type": "year", "value": 1990}], "place": [text("Kestia")]}


FORWARD = {"direction": "forward", "qualifiers": {}}
ANA = {
    "name": "Ana Ewers",
    "instanceOf": ["Q5"],
    "attributes": [
        {"key": "height", "value": number(165.0, "centimetre"), "qualifiers": {}},
        {"key": "date of birth", "value": {"type": "date", "value": "1961/08/04"},
         "qualifiers": {}},
        {"key": "followers", "value": number(1200), "qualifiers":
         {"point in time": [{"type": "year", "value": 2020}]}},
    ],
    "relations": [
        {**FORWARD, "predicate": "spouse", "object": "Q2", "qualifiers": WED},
        {**FORWARD, "predicate": "member of", "object": "Q3"},
    ],
}  # fmt: skip
BACK = {"predicate": "spouse", "object": "Q1", "direction": "backward", "qualifiers": WED}
BEN = {"name": "Ben Orlov", "instanceOf": ["Q5"], "attributes": [], "relations": [BACK]}
CHOIR = {"name": "Quiet Choir", "instanceOf": ["Q9"], "attributes": [], "relations": []}
KINDS = {"Q5": {"name": "human", "instanceOf": ["Q9"]}, "Q9": {"name": "being", "instanceOf": []}}
KB: dict[str, Any] = {"concepts": KINDS, "entities": {"Q1": ANA, "Q2": BEN, "Q3": CHOIR}}
"""Five records in the published form."""


def built(folder, kb, **layout):
    return build(folder / "g", *put(folder, kb__json=json.dumps(kb, **layout)))[1]


def ends(graph, entity, relation, direction=Direction.OUT):
    return [end.name for end in graph.step(entity, relation, direction)]


@pytest.mark.parametrize("layout", [{}, {"indent": 1}])
def test_relations_have_the_direction_of_their_mark_and_stand_once(tmp_path, layout):
    path = put(tmp_path, kb__json=json.dumps(KB, **layout))[0]
    typed = ["graph", "build", str(path), "--out", f"{tmp_path}/g"]
    assert CliRunner().invoke(app, typed).exit_code == 0  # the command takes it as it is
    graph = open_graph(tmp_path / "g")
    assert ends(graph, "Q1", "spouse") == ["Ben Orlov"] and ends(graph, "Q2", "spouse") == []
    assert ends(graph, "Q3", "member of", Direction.IN) == ["Ana Ewers"]
    assert graph.types("Q1") == ["entity", "human"]
    assert ends(graph, "Q5", "instance of") == ["being"]


def test_values_keep_their_units_and_dates(tmp_path):
    graph = built(tmp_path, KB)
    assert ends(graph, "Q1", "height") == ["165 centimetre"]
    assert ends(graph, "Q1", "date of birth") == ["1961-08-04"]
    assert ends(graph, "Q1", "followers") == ["1200"]


def test_qualifiers_are_hops_through_a_node_without_a_name(tmp_path):
    graph = built(tmp_path, KB)
    assert ends(graph, "Q1", "spouse..start time") == ["1990"]
    assert ends(graph, "Q1", "spouse..value") == ["Ben Orlov"]
    assert ends(graph, "Q1", "followers..point in time") == ["2020"]
    assert graph.resolve("statement/1") == []


def changed(**entity):
    return {**KB, "entities": {**KB["entities"], "Q4": {"name": "X", "instanceOf": [], **entity}}}


@pytest.mark.parametrize(
    ("kb", "fault"),
    [
        (changed(relations=[{"predicate": "knows", "object": "Q7", "direction": "forward"}]),
         r"kb\.json: entities, 'Q4', relations\[0\]: 'Q7' is no entity and no concept"),
        (changed(relations=[{"predicate": "knows", "object": "Q1", "direction": "up"}]),
         "direction must be forward or backward, not 'up'"),
        (changed(attributes=[{"key": "age", "value": {"type": "int", "value": 3}}]),
         r"attributes\[0\]: a value has a type of string, quantity, date, year"),
        (changed(name=7), "field 'name' must be a str"),
        ({**KB, "rules": {}}, "field 'rules' is not in KQA Pro's kb.json"),
    ],
)  # fmt: skip
def test_what_is_not_of_the_form_is_named_by_its_place(tmp_path, kb, fault):
    with pytest.raises(UserError, match=fault):
        built(tmp_path, kb)
    assert not (tmp_path / "g").exists()
