"""`max_observation_chars` bounds every observation, whatever the graph holds."""

import pytest

from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.graphs.base import Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.question import Question
from graphwalker.tools.base import Call

ABSTRACT = '"' + "A long abstract. " * 3000 + '"'
TRIPLES = [
    ("m.1", "town.abstract", ABSTRACT),
    *(("m.1", "town.street", f"m.{n}") for n in range(2, 40)),
    *((f"m.{n}", "street.town", "m.1") for n in range(2, 40)),
    *(("m.1", f"town.z{n}.{'x' * n}", "m.3") for n in range(200)),
]
NAMES = {"m.1": "Almera", **{f"m.{n}": f"Street {n} " + "long " * n for n in range(2, 40)}}
CALLS = [
    Call("get_relations", {"entity": "Almera"}),
    Call("get_triples", {"entity": "Almera", "relations": ["town.abstract", "town.street"]}),
    Call("get_triples", {"entity": "x" * 5000, "relations": ["y" * 5000]}),
    Call("z" * 5000, {}),
    Call("get_tail_relations", {"entity": "Almera"}),
    Call("get_tail_entities", {"entity": "Almera", "relation": "town.abstract"}),
    Call("get_tail_entities", {"entity": "Almera", "relation": "town.street"}),
    Call("get_head_entities", {"entity": "Almera", "relation": "street.town"}),
]
QUESTION = Question("q", "Which street and abstract has Almera?", (Entity("m.1", "Almera"),))


def observations(preset: str, limit: int):
    graph = MemoryGraph(TRIPLES, NAMES)
    config = EnvironmentConfig(preset=preset, max_observation_chars=limit, top_relations=200)
    box = Environment(graph, config).toolbox(QUESTION)
    return [box.call(call) for call in CALLS]


@pytest.mark.parametrize("preset", ["graphwalker", "graphwalker-wide", "kg-r1"])
def test_no_observation_is_longer_than_the_limit(preset: str):
    for limit in (60, 200, 500, 2000):
        for seen in observations(preset, limit):
            assert len(seen.text) <= limit, (limit, seen.text[:80])
            assert all(entity.name in seen.text for entity in seen.shown)


def test_a_long_literal_is_cut_with_its_length_and_leaves_room_for_facts():
    seen = observations("graphwalker", 4000)[1]
    assert "... (51,000 characters)" in seen.text
    assert seen.text.count("town.street, ") == 5


def test_without_a_limit_nothing_is_cut():
    assert len(observations("graphwalker", 0)[1].text) > 50_000
