"""What makes walks fast changes no walk: remembered steps, crossed hubs, gathered look-ups."""

import random
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_pipeline.config import SynthConfig
from data_pipeline.synthesize import make_walks
from data_pipeline.walks.endpoint import EndpointGraph, open_for_walks
from data_pipeline.walks.memory import RememberedGraph
from graphwalker.errors import GraphError, UserError
from graphwalker.graphs.base import Direction, Side
from graphwalker.graphs.compiled import hops
from graphwalker.graphs.compiled.graph import CompiledGraph
from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.tools.listing import Listing, lister
from graphwalker.tools.settings import WalkerSettings
from support.backends import compiled_tsv
from support.oxigraph import load_store
from support.sparql_endpoint import serve
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
    facts, names = hub_facts(), {HUB: "Hub", **{f"e{n}": f"E {n}" for n in range(90)}}
    return compiled_tsv(tmp_path_factory.mktemp("hub"), facts, names), MemoryGraph(facts, names)


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
    entities = (HUB, "cvt005", *(f"e{n}" for n in range(90)))
    sides = [Side(entity, way) for entity in entities for way in Direction]
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


@pytest.mark.long
def test_an_endpoint_gives_the_walks_of_the_compiled_graph(world, tmp_path):
    graph = open_compiled(world / "graph")
    ids = [graph.entity_at(index).id for index in range(0, graph.size, 7)]
    files = {"seeds_file": ids, "predicates_file": graph.relation_ids()}
    for name, lines in files.items():
        (tmp_path / name).write_text("\n".join(lines))
    named = {name: str(tmp_path / name) for name in files}
    config = SynthConfig(count=12, mix={"2-hop": 1, "2I": 1, "date": 1}, **named)
    make_walks(world / "graph", config, tmp_path / "compiled")
    with serve(load_store([world / "triples.nt.gz"])) as address:
        make_walks(address, config, tmp_path / "endpoint")
    for name in ("walks.jsonl", "dropped.jsonl"):
        ours, theirs = (tmp_path / place / name for place in ("compiled", "endpoint"))
        assert ours.read_bytes() == theirs.read_bytes()


def test_look_ups_of_many_threads_go_out_together():
    class Slow(MemoryGraph):
        calls = 0

        def names_many(self, entity_ids):
            self.calls += 1
            assert all_wait.wait(timeout=30)
            return super().names_many(entity_ids)

    graph, all_wait = Slow([], {f"e{n}": f"E {n}" for n in range(32)}), Event()
    gathered = EndpointGraph(graph, [])
    with ThreadPoolExecutor(32) as threads:
        names = [threads.submit(gathered.name, f"e{n}") for n in range(32)]
        time.sleep(0.5)
        all_wait.set()
        assert [name.result(timeout=30) for name in names] == [f"E {n}" for n in range(32)]
    assert graph.calls < 16


def test_a_failure_reaches_everyone_who_waited():
    class Failing(MemoryGraph):
        def names_many(self, entity_ids):
            raise GraphError("the endpoint is down")

    gathered = EndpointGraph(Failing([], {}), [])
    with ThreadPoolExecutor(8) as threads:
        for failed in [threads.submit(gathered.name, "a") for _ in range(16)]:
            with pytest.raises(GraphError, match="down"):
                failed.result(timeout=30)


def test_an_endpoint_without_seeds_is_told_what_it_needs():
    with pytest.raises(UserError, match="seeds_file=FILE and predicates_file=FILE"):
        open_for_walks("http://127.0.0.1:1/sparql", SynthConfig())
