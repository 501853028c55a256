"""Hops through CVT nodes, on the toy graph and on random ones."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.memory import MemoryGraph
from support.toy import BIRTH_DATE, MARRIAGE, toy_graph

NODES = ["a", "b", "c", "x", "y", "z"]  # x, y and z have no names
RELATIONS = ["r", "s", "r..s"]
FACTS = st.lists(st.tuples(*map(st.sampled_from, (NODES, RELATIONS, NODES))), max_size=20)


def ids(entities):
    return [entity.id for entity in entities]


def test_literals_and_named_entities_are_not_cvt_nodes():
    graph = toy_graph()
    assert graph.is_cvt(Entity(MARRIAGE)) and graph.is_cvt(Entity(MARRIAGE, "g.11b5m"))
    assert not graph.is_cvt(Entity("m.0ada")) and not graph.is_cvt(Entity(BIRTH_DATE))


def test_a_self_loop_through_a_cvt_node_is_left_out():
    graph = MemoryGraph([("a", "r", "x"), ("x", "s", "a")], {"a": "A"})
    assert graph.step("a", "r..s", Direction.OUT) == []
    assert graph.flat_relations("a", Direction.OUT) == []


def test_a_native_pair_wins_seen_from_its_end_too():
    facts = [("b", "r..s", "a"), ("x", "s", "a"), ("c", "r", "x"), ("d", "r", "x")]
    graph = MemoryGraph(facts, {"a": "A", "b": "B", "c": "C", "d": "D"})
    assert ids(graph.step("a", "r..s", Direction.IN)) == ["b"]
    assert graph.flat_relations("a", Direction.IN) == [("r..s", 1)]


def test_two_cvt_nodes_in_a_row_are_not_crossed():
    graph = MemoryGraph([("a", "r", "x"), ("x", "r", "y"), ("y", "s", "b")], {"a": "A", "b": "B"})
    assert graph.flat_relations("a", Direction.OUT) == []


@pytest.mark.long
@settings(max_examples=150, deadline=None)
@given(FACTS, st.sampled_from("abc"), st.sampled_from(list(Direction)))
def test_every_listed_relation_leads_to_as_many_entities_as_it_says(facts, here, direction):
    graph = MemoryGraph(facts, {"a": "A", "b": "B", "c": "C"})
    for relation, count in graph.flat_relations(here, direction):
        found = ids(graph.step(here, relation, direction))
        assert len(found) == count > 0 and found == sorted(set(found))
        assert not {"x", "y", "z"} & set(found)
        assert ids(graph.step(here, relation, direction, 1)) == found[:1]


@settings(max_examples=150, deadline=None)
@given(FACTS)
def test_a_flattened_hop_can_be_walked_back(facts):
    plain = [fact for fact in facts if fact[1] != "r..s"]
    graph = MemoryGraph(plain, {"a": "A", "b": "B", "c": "C"})
    for here in "abc":
        for there in graph.step(here, "r..s", Direction.OUT):
            assert here in ids(graph.step(there.id, "r..s", Direction.IN))
