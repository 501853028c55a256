"""What makes walks fast changes no walk: remembered steps, hubs crossed by numpy, bare names."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_pipeline.walks.memory import RememberedGraph
from graphwalker.graphs.base import Direction, Side
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.compiled import hops
from graphwalker.graphs.compiled.graph import CompiledGraph
from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.tools.listing import Listing, lister
from graphwalker.tools.settings import WalkerSettings
from support.toy import TOY_TRIPLES, toy_graph

HUB, CVTS = "hub", 300
LIMITS = (None, 1, 6, 201)


def hub_facts() -> list[tuple[str, str, str]]:
    """A hub with 300 CVT nodes, some of them shared, chained, led back to it or left alone."""
    rng, facts = random.Random(0), set()
    for n in range(CVTS):
        cvt = f"cvt{n:03d}"
        facts |= {(HUB, "made", cvt), (cvt, "by", HUB), (cvt, "who", f"e{rng.randrange(40)}")}
        facts.add((HUB, "made", f"e{rng.randrange(90)}"))
        for _ in range(rng.randrange(3)):
            facts.add((cvt, "who", f"e{rng.randrange(90)}"))
        if n % 5 == 0:
            facts |= {(cvt, "then", f"cvt{rng.randrange(CVTS):03d}"), (cvt, "on", f'"{n}"')}
    return sorted(facts)


@pytest.fixture(scope="module")
def both(tmp_path_factory) -> tuple[CompiledGraph, MemoryGraph]:
    folder: Path = tmp_path_factory.mktemp("hub")
    facts, names = hub_facts(), {HUB: "Hub", **{f"e{n}": f"E {n}" for n in range(90)}}
    (folder / "t.tsv").write_text("".join("\t".join(fact) + "\n" for fact in facts))
    (folder / "n.tsv").write_text("".join(f"{i}\t{name}\n" for i, name in names.items()))
    build_graph([folder / "t.tsv"], folder / "graph", folder / "n.tsv")
    return open_compiled(folder / "graph"), MemoryGraph(facts, names)


@pytest.mark.parametrize("at_once", [7, 1 << 16])
def test_a_hub_is_crossed_to_the_same_entities(both, monkeypatch, at_once):
    monkeypatch.setattr(hops, "AT_ONCE", at_once)
    compiled, memory = both
    for direction in Direction:
        for relation in ("made", "by", "who", "made..who", "made..by", "made..on", "by..who"):
            for limit in LIMITS:
                expected = memory.step(HUB, relation, direction, limit)
                assert compiled.step(HUB, relation, direction, limit) == expected
    assert len(compiled.step(HUB, "made..who", Direction.OUT)) > 60


def test_a_hub_lists_what_the_plain_look_ups_give(both):
    compiled, memory = both
    sides = [
        Side(entity, way)
        for entity in (HUB, "cvt005", *(f"e{n}" for n in range(90)))
        for way in Direction
    ]
    assert compiled.flat_relations_many(sides) == memory.flat_relations_many(sides)


def test_hidden_inverse_relations_are_not_listed():
    class Inverses(MemoryGraph):
        def inverse_of(self, relation: str) -> str:
            return {"parents": "children", "children": "parents"}.get(relation, "")

    graph = Inverses([("a", "children", "b"), ("b", "parents", "a")], {"a": "A", "b": "B"})
    settings = WalkerSettings(hide_inverse=True)
    assert lister(graph, settings)("a") == Listing({"children": 1}, {})
    # As many, but others: nothing is said twice.
    facts = [("a", "children", "b"), ("c", "parents", "a")]
    graph = Inverses(facts, {"a": "A", "b": "B", "c": "C"})
    assert lister(graph, settings)("a") == Listing({"children": 1}, {"parents": 1})


STEPS = st.lists(
    st.tuples(
        st.sampled_from([one for head, relation, tail in TOY_TRIPLES for one in (head, tail)]),
        st.sampled_from(sorted({relation for _, relation, _ in TOY_TRIPLES})),
        st.sampled_from(Direction),
        st.sampled_from((None, 0, 1, 2, 3, 100)),
    ),
    max_size=40,
)


@given(STEPS, st.integers(1, 3))
@settings(deadline=None)
def test_a_remembered_step_is_the_step(steps, room):
    graph = toy_graph()
    remembered = RememberedGraph(graph, room)
    for one in [*steps, *reversed(steps)]:
        assert remembered.step(*one) == graph.step(*one)
