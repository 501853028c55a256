"""Stored listings: what a hub shows is what a walk over its CVT nodes finds."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from graphwalker.errors import GraphError
from graphwalker.graphs.base import Direction, Side, Step
from graphwalker.graphs.build.listings import LEAST_CROSSED, LEAST_CVTS
from graphwalker.graphs.compiled.check import check_graph
from graphwalker.graphs.compiled.graph import CompiledGraph
from graphwalker.graphs.compiled.hops import ENDS
from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.graphs.format.layout import FILE_NAME, Layout, LayoutWriter
from graphwalker.graphs.memory import MemoryGraph
from support.backends import compiled_tsv

Facts = list[tuple[str, str, str]]
LIMITS = (0, 1, 5, ENDS, ENDS + 1, None)


def facts_of_hubs() -> Iterator[tuple[str, str, str]]:
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
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled_tsv(tmp_path_factory.mktemp("hubs"), FACTS, NAMES).path


def assert_same(graph: CompiledGraph, memory: MemoryGraph) -> None:
    for node in NAMES:
        for way in Direction:
            listed = memory.flat_relations(node, way)
            assert graph.flat_relations_many([Side(node, way)]) == [listed]
            steps = [Step(node, r, way, limit) for r, _ in listed for limit in LIMITS]
            assert graph.step_many(steps) == memory.step_many(steps)
            unlisted = [Step(node, "a.b", way, limit) for limit in LIMITS]
            assert graph.step_many(unlisted) == memory.step_many(unlisted)


@pytest.mark.long
def test_stored_listings_and_first_entities_are_those_of_a_walk(built: Path) -> None:
    layout = Layout(built)
    graph = open_compiled(built)
    stored = {graph.node_at(node).id for node in layout.array("out_listed_nodes")}
    assert {"m.few", "m.hub", "m.some"} <= stored
    assert "m.less" not in stored
    assert len(layout.array("in_listed_nodes")) > 0
    assert len(layout.array("out_listed_ends")) > ENDS
    assert_same(graph, MemoryGraph(FACTS, NAMES))
    check_graph(built)


@pytest.mark.parametrize("section", ["near", "far", "counts", "nodes", "ends"])
def test_a_listing_that_says_something_else_is_found_by_the_check(
    built: Path, tmp_path: Path, section: str
) -> None:
    layout, writer = Layout(built), LayoutWriter(tmp_path)
    for name in layout.section_names():
        data = bytearray(layout.array(name))
        if name == f"out_listed_{section}":
            data[0] ^= 1
        writer.section(name, layout.section(name).typecode).write(data)
    writer.finish(tmp_path / FILE_NAME, layout.counts)
    with pytest.raises(GraphError, match="listing"):
        check_graph(tmp_path)
