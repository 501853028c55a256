"""The arrays of edges: no rows for literals, relations searched for around a hub."""

import random
from pathlib import Path

import pytest

from graphwalker.graphs.base import Direction, Side, Step
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.compiled.check import check_graph
from graphwalker.graphs.compiled.graph import CompiledGraph
from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.graphs.format import sides
from graphwalker.graphs.format.layout import Layout
from graphwalker.graphs.memory import MemoryGraph

Facts = list[tuple[str, str, str]]


def world() -> tuple[Facts, dict[str, str], dict[str, list[str]]]:
    """Named entities on both sides of the literals in id order, CVT nodes, a hub, loops."""
    rng = random.Random(0)
    named = [f"!{number}" for number in range(9)] + [f"m.{number:03}" for number in range(60)]
    cvts = [f"m.c{number:03}" for number in range(90)]
    texts = [f'"text {number}"' for number in range(400)]
    facts = [
        (rng.choice(named + cvts), f"r.{rng.randrange(300):03}", rng.choice(named + cvts + texts))
        for _ in range(3000)
    ]
    facts += [("m.000", "r.hub", rng.choice(named + texts)) for _ in range(300)]
    types = {node: [f"t.{rng.randrange(5)}"] for node in named}
    return sorted(set(facts)), {node: f"Name {node}" for node in named}, types


FACTS, NAMES, TYPES = world()


def build(folder: Path) -> Path:
    (folder / "t.tsv").write_text("".join("\t".join(fact) + "\n" for fact in FACTS))
    (folder / "n.tsv").write_text("".join(f"{node}\t{name}\n" for node, name in NAMES.items()))
    (folder / "y.tsv").write_text("".join(f"{n}\t{t}\n" for n in TYPES for t in TYPES[n]))
    out = folder / "graph"
    build_graph([folder / "t.tsv"], out, folder / "n.tsv", folder / "y.tsv")
    return out


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("world"))


def assert_same(graph: CompiledGraph) -> None:
    memory = MemoryGraph(FACTS, NAMES, TYPES)
    for node in {node for head, _, tail in FACTS for node in (head, tail)}:
        assert graph.name(node) == memory.name(node)
        assert graph.types(node) == memory.types(node)
        assert graph.node_at(graph.node_number(node)).id == node
        for way in Direction:
            assert graph.relations(node, way) == memory.relations(node, way)
            listed = memory.flat_relations(node, way)
            assert graph.flat_relations_many([Side(node, way)]) == [listed]
            steps = [Step(node, r, way, limit) for r, _ in listed for limit in (2, None)]
            assert graph.step_many(steps) == memory.step_many(steps)
    assert graph.node_number('"text none"') == -1


def test_literals_have_no_rows_and_nothing_is_lost(built: Path) -> None:
    layout = Layout(built)
    first, end = layout.array("literals")
    assert end - first == layout.counts["literals"] > 100 and first > 0
    assert_same(open_compiled(built))
    check_graph(built)


def test_the_relations_of_a_node_with_many_edges_are_searched_for(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sides, "FEW", 4)
    assert_same(open_compiled(built))
