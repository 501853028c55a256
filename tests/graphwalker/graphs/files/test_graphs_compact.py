"""Compact arrays: numbers of any width, edges by bits, no rows for literals."""

import random
from pathlib import Path

import numpy as np
import pytest

from graphwalker.graphs.base import Direction, Side, Step
from graphwalker.graphs.build import numbering
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.compiled.check import check_graph
from graphwalker.graphs.compiled.graph import CompiledGraph
from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.graphs.format import sides
from graphwalker.graphs.format.integers import IntegersWriter, read_integers
from graphwalker.graphs.format.layout import FILE_NAME, Layout, LayoutWriter
from graphwalker.graphs.memory import MemoryGraph

Facts = list[tuple[str, str, str]]


@pytest.mark.parametrize("most", [1, 255, 256, 511, 1000, 4095, 4096, 65536, 200_000, 1 << 20,
                                  1 << 23, (1 << 32) - 1])  # fmt: skip
def test_integers_of_any_width_read_what_was_written(tmp_path: Path, most: int) -> None:
    values = np.random.default_rng(0).integers(0, most, 1001, endpoint=True, dtype=np.int64)
    writer = LayoutWriter(tmp_path)
    integers = IntegersWriter(writer, "x", most)
    for start in range(0, len(values), 77):
        integers.write(values[start : start + 77])
    integers.close()
    writer.finish(tmp_path / FILE_NAME, {})
    found, known = read_integers(Layout(tmp_path), "x"), values.tolist()
    assert [found[place] for place in range(len(found))] == known
    for first, last in ((0, 0), (5, 5), (3, 4), (7, 20), (0, 48), (13, 900), (990, 1001)):
        assert found.between(first, last) == known[first:last]
        assert found.array(first, last).tolist() == known[first:last]
    assert found.at(np.array([1000, 0, 500])).tolist() == [known[1000], known[0], known[500]]


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


def build(folder: Path, **settings: str) -> Path:
    (folder / "t.tsv").write_text("".join("\t".join(fact) + "\n" for fact in FACTS))
    (folder / "n.tsv").write_text("".join(f"{node}\t{name}\n" for node, name in NAMES.items()))
    (folder / "y.tsv").write_text("".join(f"{n}\t{t}\n" for n in TYPES for t in TYPES[n]))
    out = folder / "graph"
    build_graph([folder / "t.tsv"], out, folder / "n.tsv", folder / "y.tsv", **settings)
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
    first, end = layout.array("skipped")
    assert end - first == layout.counts["literals"] > 100 and first > 0
    assert_same(open_compiled(built))
    check_graph(built)


@pytest.mark.long
def test_the_groups_of_nodes_with_very_many_edges_are_written_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sides, "LARGE_NODE", 30)
    monkeypatch.setattr("graphwalker.graphs.build.listings.LARGE_NODE", 30)
    out = build(tmp_path)
    assert len(Layout(out).array("out_large")) > 1
    assert_same(open_compiled(out))
    check_graph(out)


def test_nodes_taken_in_ranges_of_ids_give_the_same_bytes(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numbering, "MENTION_BYTES", 1 << 20)
    assert Layout(build(tmp_path)).checksum == Layout(built).checksum
