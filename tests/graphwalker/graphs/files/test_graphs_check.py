"""The check of a compiled graph, and its stored listings: what a walk over CVT nodes finds."""

import numpy as np
import pytest

from graphwalker.errors import GraphError
from graphwalker.graphs.base import Direction, Side, Step
from graphwalker.graphs.build.edges import LEAST_CROSSED, LEAST_CVTS
from graphwalker.graphs.compiled.check import check_graph
from graphwalker.graphs.compiled.hops import ENDS
from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.graphs.format.layout import FILE_NAME, Layout, LayoutWriter
from graphwalker.graphs.format.nodes import EMPTY, HashTable, HashTableWriter
from graphwalker.graphs.memory import MemoryGraph
from support.backends import compiled_tsv
from support.toy import TOY_TRIPLES


@pytest.fixture(scope="module")
def sound(toy_folder):
    return toy_folder / FILE_NAME


def test_a_sound_graph_passes_and_says_what_was_checked(sound):
    said: list[str] = []
    found = check_graph(sound, said.append)
    assert (found["triples"], found["looked_up"]) == (len(TOY_TRIPLES), found["nodes"])
    assert said == ["checksums", "names and ids", "edges, out", "edges, in", "look-ups"]


def rewritten(sound, folder, section, change):
    """The same graph with one section changed and every checksum right: only its order is wrong."""
    from_layout, writer = Layout(sound), LayoutWriter(folder)
    for name in from_layout.section_names():
        found = from_layout.section(name)
        data = bytearray(from_layout.map[found.offset : found.offset + found.bytes])
        if name == section:
            change(data)
        writer.section(name, found.typecode).write(data)
    writer.finish(folder / FILE_NAME, from_layout.counts)
    return folder


def clear_starts(data):
    data[1:9] = bytes(8)


def swap_ends(data):
    data[0], data[-1] = data[-1], data[0]


def shift_slots(data):
    data[4:-4] = data[8:-4] + data[4:8]


@pytest.mark.parametrize(
    ("section", "change", "told"),
    [
        ("records", lambda data: data.__setitem__(slice(0, 3), b"zzz"), "id 4 out of order"),
        ("record_starts", swap_ends, "record_starts out of order"),
        ("out_relations", lambda data: data.__setitem__(0, 255), "out edges out of range"),
        ("in_starts", clear_starts, "in edges out of order"),
        ("relation_counts", lambda data: data.__setitem__(0, 200), "triples of the relations"),
        ("id_table", lambda data: data.__setitem__(4, 200), "id_table out of range"),
        ("id_table", shift_slots, "is not found by its id"),
        ("name_table", shift_slots, "is not found by its name"),
        ("entities", lambda data: data.reverse(), "entities out of order"),
    ],
)
def test_damage_that_checksums_cannot_see_is_named(sound, tmp_path, section, change, told):
    with pytest.raises(GraphError, match=f"{FILE_NAME}: damaged graph file: .*{told}"):
        check_graph(rewritten(sound, tmp_path, section, change))


@pytest.mark.parametrize("count", [0, 3_000])
def test_a_hash_table_finds_what_was_written_in_its_order(tmp_path, count):
    hashes = np.sort(np.random.default_rng(0).integers(0, 1 << 32, count, dtype=np.int64))
    hashes[count // 2 :] = hashes[count // 2 :] >> 3 << 3  # some come more than once
    hashes[count - 2 :] = EMPTY
    writer = LayoutWriter(tmp_path)
    table = HashTableWriter(writer, "x", count)
    for start in range(0, count, 777):
        piece = hashes[start : start + 777]
        table.write(piece, np.arange(start, start + len(piece)))
    table.close()
    writer.finish(tmp_path / FILE_NAME, {})
    found = HashTable(Layout(tmp_path), "x")
    for one in {*hashes.tolist(), 0, 5}:
        wanted = np.flatnonzero(hashes == one).tolist()
        assert [node for node in found.find_hash(one) if hashes[node] == one] == wanted


Facts = list[tuple[str, str, str]]


LIMITS = (0, 1, 5, ENDS, ENDS + 1, None)


def facts_of_hubs():
    """Hubs with more CVT nodes than are looked at, and with as many as make a listing, and fewer;
    a relation that leads to CVT nodes and to entities; a loop; a stored flattened relation."""
    for hub, count in (
        ("m.hub", 1200),
        ("m.some", LEAST_CROSSED),
        ("m.few", LEAST_CVTS),
        ("m.less", LEAST_CVTS - 1),
    ):
        for number in range(count):
            cvt = f"m.{hub[2:]}{number:04}"
            yield hub, "a.b", cvt
            yield cvt, "c.d", f"m.e{number * 7 % 40:02}"
            yield cvt, "c.from", f'"{number % 3}"'
            yield cvt, "c.note", f'"note {number}"'
            yield f"m.e{number % 25:02}", "e.f", cvt
            if number % 5 == 0:
                yield cvt, "c.self", hub
                yield cvt, "c.other", f"m.x{number}"  # nobody has named it
    yield "m.hub", "a.b", "m.e01"
    yield "m.some", "a.plain", "m.e02"
    yield "m.some", "a.b..c.d", "m.e03"


FACTS: Facts = list(facts_of_hubs())


NAMES = {node: node.upper() for node in ("m.hub", "m.some", "m.few", "m.less")} | {
    f"m.e{number:02}": f"E {number}" for number in range(40)
}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return compiled_tsv(tmp_path_factory.mktemp("hubs"), FACTS, NAMES).path


def assert_same(graph, memory):
    for node in NAMES:
        for way in Direction:
            listed = memory.flat_relations(node, way)
            assert graph.flat_relations_many([Side(node, way)]) == [listed]
            steps = [Step(node, r, way, limit) for r, _ in listed for limit in LIMITS]
            assert graph.step_many(steps) == memory.step_many(steps)
            unlisted = [Step(node, "a.b", way, limit) for limit in LIMITS]
            assert graph.step_many(unlisted) == memory.step_many(unlisted)


@pytest.mark.long
def test_stored_listings_and_first_entities_are_those_of_a_walk(built):
    layout = Layout(built)
    graph = open_compiled(built)
    stored = {graph.node_at(node).id for node in layout.array("out_listed_nodes")}
    assert {"m.few", "m.hub", "m.some"} <= stored and "m.less" not in stored
    assert len(layout.array("in_listed_nodes")) > 0
    assert len(layout.array("out_listed_ends")) > ENDS
    assert_same(graph, MemoryGraph(FACTS, NAMES))
    check_graph(built)


@pytest.mark.parametrize("section", ["near", "far", "counts", "nodes", "ends"])
def test_a_listing_that_says_something_else_is_found_by_the_check(built, tmp_path, section):
    def flip(data):
        data[0] ^= 1

    with pytest.raises(GraphError, match="listing"):
        check_graph(rewritten(built, tmp_path, f"out_listed_{section}", flip))
