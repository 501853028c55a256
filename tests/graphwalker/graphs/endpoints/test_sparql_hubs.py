"""Hubs over SPARQL: what is bounded is said, what is not reads as from the compiled graph."""

import pytest

from graphwalker.graphs.base import FLATTENED, AtLeast, Direction, Entity, Side, Step
from graphwalker.graphs.sparql import listing
from graphwalker.graphs.sparql.graph import SparqlGraph
from graphwalker.question import Question
from graphwalker.tools.base import Call
from graphwalker.tools.walker import WalkerTools
from support.backends import in_memory, write
from support.faulty_endpoint import faulty
from support.oxigraph import load_store

HUB, PLAIN, NEAR, FAR, DATE = "m.0hub", "a.b.of", "a.b.events", "c.d.place", "c.d.from"
NAMES = {HUB: "Hub", "m.0town": "Town"} | {f"m.0p{n}": f"Person {n}" for n in range(12)}
FACTS = [(f"m.0p{n}", PLAIN, HUB) for n in range(12)]
for n in range(5):
    FACTS += [(HUB, NEAR, f"m.1cvt{n}"), (f"m.1cvt{n}", FAR, f"m.0p{n % 3}")]
    FACTS += [(f"m.1cvt{n}", DATE, f'"19{n}0"'), (f"m.1cvt{n}", "c.d.nothing", "m.1cvt0")]
FACTS += [(HUB, "a.b.mixed", "m.1cvt0"), (HUB, "a.b.mixed", "m.0town")]
SIDES = [Side(HUB, direction) for direction in Direction]


@pytest.fixture(scope="module")
def reference():
    return in_memory(FACTS, NAMES, {})


def stored(folder, facts):
    return load_store([write(folder, facts, NAMES, {})])


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return stored(tmp_path_factory.mktemp("hub"), FACTS)


@pytest.fixture(scope="module")
def less_store(tmp_path_factory):
    return stored(tmp_path_factory.mktemp("less"), [f for f in FACTS if f[1] != DATE])


@pytest.fixture
def endpoint(store):
    with faulty(store) as server:
        yield server


def graph_at(endpoint, **options):
    return SparqlGraph(endpoint.address, first_pause_s=0.001, **options)


def test_what_the_relations_of_hubs_lead_to_is_asked_once(endpoint):
    graph = graph_at(endpoint, listed_edges=3)
    graph.flat_relations_many(SIDES)
    first = graph.client.counts["requests"]
    graph.flat_relations_many(SIDES)
    again = graph.client.counts["requests"] - first
    assert again < first - 2  # no proof, and no probe of either side


def test_a_known_hub_is_counted_again_and_listed_anew_where_it_changed(
    store, less_store, reference
):
    """Which relations it has is remembered, its counts are not: a graph may be loaded again."""
    with faulty(store) as server:
        graph = graph_at(server, listed_edges=3)
        first, again = graph.flat_relations_many(SIDES), graph.flat_relations_many(SIDES)
        assert first == again == reference.flat_relations_many(SIDES)
        server.store = less_store
        less = graph.flat_relations(HUB, Direction.OUT)
    assert less == [one for one in first[0] if DATE not in one[0]]


def test_of_a_hub_with_many_relations_a_portion_is_counted_again(
    store, less_store, reference, monkeypatch
):
    """The next one at each listing, so that a change is seen once all have had their turn."""
    monkeypatch.setattr(listing, "PORTION", 1)
    monkeypatch.setattr(listing, "FEW", 2)
    expected = reference.flat_relations(HUB, Direction.OUT)
    with faulty(store) as server:
        graph = graph_at(server, listed_edges=3)
        assert [graph.flat_relations(HUB, Direction.OUT) for _ in range(8)] == [expected] * 8
        server.store = less_store
        again = [graph.flat_relations(HUB, Direction.OUT) for _ in range(8)]
    assert again[-1] == [one for one in expected if DATE not in one[0]]


def test_a_count_past_the_bound_is_a_lower_bound_and_said(endpoint, monkeypatch):
    monkeypatch.setattr(listing, "COUNTED", 4)
    monkeypatch.setattr(listing, "COUNTED_EACH", 9)
    graph = graph_at(endpoint, listed_edges=3, ordered_ends=3)
    ((plain, count),) = graph.flat_relations(HUB, Direction.IN)
    assert (plain, count) == (PLAIN, 9) and isinstance(count, AtLeast)
    tools = WalkerTools(graph, Question("q", "Who?", (Entity(HUB, "Hub"),)))
    tools.call(Call("get_relations", {"entity": "Hub"}))
    seen = tools.call(Call("get_triples", {"entity": "Hub", "relations": [PLAIN]}))
    assert seen.text.endswith("(+4 or more)")


def test_a_flattened_hop_of_a_hub_gives_the_first_ends_behind_any_thousand(
    endpoint, reference, monkeypatch
):
    monkeypatch.setattr(listing, "CVTS_LOOKED_AT", 2)
    graph = graph_at(endpoint, listed_edges=3)
    pair = f"{NEAR}{FLATTENED}{FAR}"
    count = dict(graph.flat_relations(HUB, Direction.OUT))[pair]
    assert isinstance(count, AtLeast)
    for limit in (1, 3, 5):
        step = Step(HUB, pair, Direction.OUT, limit)
        assert graph.step_many([step]) == reference.step_many([step])


def test_ends_that_do_not_fit_after_all_are_put_into_order(endpoint, reference):
    """CVT nodes take the place of entities: the counted one end may be behind any of them."""
    graph = graph_at(endpoint)
    graph.flat_relations_many(SIDES)
    for relation in ("a.b.mixed", NEAR, f"{NEAR}{FLATTENED}{DATE}"):
        step = Step(HUB, relation, Direction.OUT, 2)
        assert graph.step_many([step]) == reference.step_many([step])


def test_a_text_is_planned_once_for_all_entities(store):
    """Two steps of one kind differ in their parameters, not in their text."""
    server = {"Server": "Virtuoso/07.20.3229 (Linux)"}
    with faulty(store, headers=server) as endpoint:
        graph = graph_at(endpoint)
        graph.name(HUB)
        asked = []
        for entity in ("m.0p1", "m.0p2"):
            del endpoint.forms[:]
            endpoint.faults.append((400, server, b"Virtuoso alone reads this"))
            with pytest.raises(Exception, match="Virtuoso alone"):
                graph.step_many([Step(entity, PLAIN, Direction.OUT, 3)])
            asked.append(endpoint.forms[0])
        assert asked[0]["query"] == asked[1]["query"] and asked[0] != asked[1]
