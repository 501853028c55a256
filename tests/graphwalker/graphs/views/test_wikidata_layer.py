"""The layer over Wikidata: readable properties, statements and their qualifiers."""

from types import MappingProxyType

import pytest

from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.conformance import check_graph as check_conformance
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.graphs.views.settings import GraphLayers, with_layers
from graphwalker.graphs.views.wikidata import ENTITY, PROPERTIES, WikidataGraph
from support.counting import RawGraph

WDT, P, PS, PQ = (PROPERTIES[kind] for kind in ("wdt", "p", "ps", "pq"))
OUT, IN = Direction.OUT, Direction.IN
STATEMENT = f"{ENTITY}statement/Q42-1"


def wikidata(more_names=MappingProxyType({})):
    facts = [
        (f"{ENTITY}Q42", f"{WDT}P69", f"{ENTITY}Q691283"),
        (f"{ENTITY}Q42", f"{P}P69", STATEMENT),
        (STATEMENT, f"{PS}P69", f"{ENTITY}Q691283"),
        (STATEMENT, f"{PQ}P582", '"1974-01-01"'),
        (f"{ENTITY}Q42", f"{WDT}P31", f"{ENTITY}Q5"),
        (f"{ENTITY}Q42", "http://schema.org/version", '"1"'),
    ]
    names = {"Q42": "Douglas Adams", "Q691283": "St John's College", "Q5": "human"}
    names |= {"P69": "educated at", "P582": "end time"}
    return MemoryGraph(facts, {**{ENTITY + i: name for i, name in names.items()}, **more_names})


def test_wikidata_shows_qids_and_readable_properties():
    graph = WikidataGraph(wikidata())
    assert graph.flat_relations("Q42", OUT) == [
        ("p.P69.educated_at..pq.P582.end_time", 1),
        ("wdt.P31.instance_of", 1),
        ("wdt.P69.educated_at", 1),
    ]
    assert graph.step("Q42", "wdt.P69.educated_at", OUT) == [Entity("Q691283", "St John's College")]
    assert graph.types("Q42") == ["Q5"]
    assert graph.resolve("douglas adams") == [Entity("Q42", "Douglas Adams")]


def test_a_property_without_a_name_in_the_graph_has_its_usual_label():
    facts = [(f"{ENTITY}Q42", f"{WDT}P{number}", f"{ENTITY}Q5") for number in (31, 287, 99999)]
    graph = WikidataGraph(MemoryGraph(facts, {f"{ENTITY}P287": "plan of"}))
    assert graph.relation_ids() == ["wdt.P287.plan_of", "wdt.P31.instance_of", "wdt.P99999"]


def test_a_statement_with_a_name_is_a_mediator_all_the_same():
    named = wikidata({STATEMENT: "a label by mistake"})
    assert WikidataGraph(named).flat_relations("Q42", OUT)[0][0].startswith("p.P69")


def two_schools():
    """Wikidata with a second school, and a statement without a value."""
    other, empty = f"{ENTITY}statement/Q42-2", f"{ENTITY}statement/Q42-3"
    facts = [
        (f"{ENTITY}Q42", f"{P}P69", STATEMENT),
        (STATEMENT, f"{PS}P69", f"{ENTITY}Q691283"),
        (STATEMENT, f"{PQ}P582", '"1974-01-01"'),
        (f"{ENTITY}Q42", f"{P}P69", other),
        (other, f"{PS}P69", f"{ENTITY}Q1"),
        (other, f"{PQ}P582", '"1970-01-01"'),
        (f"{ENTITY}Q42", f"{P}P69", empty),
    ]
    names = {"Q42": "Douglas Adams", "Q691283": "St John's College", "Q1": "Brentwood"}
    names |= {"P69": "educated at", "P582": "end time"}
    return MemoryGraph(facts, {ENTITY + i: name for i, name in names.items()})


def test_a_statement_that_is_walked_to_keeps_its_qualifiers():
    graph = with_layers(two_schools(), GraphLayers(wikidata=True, statements=True))
    assert graph.flat_relations("Q42", OUT) == [("p.P69.educated_at", 3)]
    found = graph.step("Q42", "p.P69.educated_at", OUT)
    names = ["educated at: St John's College", "educated at: Brentwood", ""]
    assert [one.name for one in found] == names
    ends = [graph.step(one.id, "pq.P582.end_time", OUT) for one in found]
    assert [[end.name for end in of] for of in ends] == [["1974-01-01"], ["1970-01-01"], []]
    assert graph.step(found[1].id, "ps.P69.educated_at", OUT) == [Entity("Q1", "Brentwood")]
    assert graph.step(found[0].id, "p.P69.educated_at", IN) == [Entity("Q42", "Douglas Adams")]
    entities = [graph.entity_at(place) for place in range(graph.size)]
    assert list(check_conformance(graph, entities)) == []


def test_statements_are_named_in_a_bounded_number_of_calls():
    counted = RawGraph(two_schools())
    graph = WikidataGraph(counted, statements=True)
    graph.triples("Q42", ["p.P69.educated_at"], OUT)
    assert counted.trips <= 4


def test_statements_are_wikidatas_alone():
    with pytest.raises(UserError, match="wikidata=true"):
        with_layers(two_schools(), GraphLayers(statements=True))
