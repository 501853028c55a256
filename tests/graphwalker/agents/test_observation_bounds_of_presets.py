"""No preset shows more than `max_observation_chars`, nor by default less than its own limits."""

import pytest

from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.policies import load_policy
from graphwalker.agents.presets import presets
from graphwalker.agents.rollout import rollout
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.policies.config import PolicyConfig
from graphwalker.query.query import Branch, Hop, Query
from graphwalker.question import Answer, Question
from graphwalker.trajectory import Trajectory

STREETS = [f"m.{number}" for number in range(10, 60)]
TRIPLES = [
    ("m.1", "town.abstract", '"' + "A long abstract. " * 3000 + '"'),
    ("m.1", "town.mayor", "m.2"),
    *(("m.1", "town.street", street) for street in STREETS),
]
SHORT = {"m.1": "Almera", "m.2": "Ana", **{street: f"Street {street}" for street in STREETS}}
LONG = {**SHORT, **{street: f"Street {street} " + "very long " * 300 for street in STREETS}}
WALKING = sorted(presets().keys() - {"graphwalk", "graphwalk-maze"})
"""The other two walk property graphs; their own results are bounded by the same setting."""


def play(preset: str, names: dict[str, str], relation: str, limit: int | None) -> Trajectory:
    graph = MemoryGraph(TRIPLES[relation == "town.street" and names is SHORT :], names)
    topic = Entity("m.1", "Almera")
    ends = graph.neighbors("m.1", relation, Direction.OUT)
    query = Query((Branch(topic, (Hop(relation, Direction.OUT),)),))
    gold = tuple(Answer(end.name, end.id) for end in ends)
    question = Question("q", f"What is the {relation}?", (topic,), gold, query=query)
    config = EnvironmentConfig.model_validate({"preset": preset, "max_observation_chars": limit})
    environment = Environment(graph, config)
    policy = load_policy(PolicyConfig(model="oracle"), environment=environment)
    (done,) = rollout([question], environment, policy)
    return done


@pytest.mark.parametrize("preset", WALKING)
def test_no_observation_is_longer_than_the_bound(preset: str) -> None:
    for relation in ("town.street", "town.abstract"):
        for limit in (400, 2000):
            done = play(preset, LONG, relation, limit)
            for turn in done.turns:
                assert len(turn.observation) <= limit, (relation, turn.observation[:90])


@pytest.mark.parametrize("preset", WALKING)
def test_by_default_a_usual_graph_is_shown_as_without_a_bound(preset: str) -> None:
    if preset == "kg-r1":  # its paper has a bound of its own
        return
    shown = [
        [turn.observation for turn in play(preset, SHORT, "town.street", limit).turns]
        for limit in (None, 0)
    ]
    assert shown[0] == shown[1]


def test_the_default_bound_grows_with_the_limits() -> None:
    bounds: list[int | None] = []
    for most in (5, 50):
        config = EnvironmentConfig(triples_per_relation=most)
        bounds.append(presets()["graphwalker"].bound_observations(config).max_observation_chars)
    assert bounds == [12_000, 120_000]
