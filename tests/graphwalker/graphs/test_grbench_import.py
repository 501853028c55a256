"""GRBench's graph.json as a property graph: read piece by piece, faults named by their place."""

import json
import tracemalloc
from pathlib import Path

import pytest

from graphwalker.errors import UserError
from graphwalker.graphs.intake import grbench
from graphwalker.graphs.intake.grbench import GrbenchCounts, grbench_records
from support.grbench_toy import academic

SMALL = {
    "paper_nodes": {
        "p1": {"features": {"title": 'A "quoted" ü'}, "neighbors": {"author": ["a1", "a1", 7]}}
    },
    "author_nodes": {"a1": {"features": {}, "neighbors": {}}},
}


def written(folder: Path, value: object, **layout) -> Path:
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
