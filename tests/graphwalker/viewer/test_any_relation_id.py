"""A relation's id may hold anything: the oracle walks it, and the viewer draws its walk."""

import pytest

from graphwalker.agents.environment import Environment
from graphwalker.agents.rollout import rollout
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.oracle.oracle import OraclePolicy
from graphwalker.policies.base import Sampling
from graphwalker.query.query import Branch, Hop, Query
from graphwalker.question import Answer, Question
from graphwalker.scoring import score
from graphwalker.trajectory import Trajectory
from graphwalker.viewer.record import walk_record

IDS = (
    "http://example.org/property#bornIn",
    "http://www.wikidata.org/prop/direct/P19",
    "born: in, [about] the year",
    'the "other" name',
    "in",
    "to",
    "by",
    "Mitglied von",
)
ANN, OSLO, NORWAY = "http://x/Ann", "http://x/Oslo", "http://x/Norway"
NAMES = {ANN: "Ann", OSLO: "Oslo", NORWAY: "Norway"}


def played(query: Query, answer: str, *triples: tuple[str, str, str]) -> Trajectory:
    graph = MemoryGraph([*triples, (ANN, "ins", NORWAY)], NAMES)
    gold = (Answer(NAMES.get(answer, answer), answer if answer in NAMES else ""),)
    question = Question("q", "Which?", query.topics, gold, query=query)
    environment = Environment(graph)
    oracle = OraclePolicy(graph, environment.protocol, speaker=environment.preset.speaker)
    (done,) = rollout([question], environment, oracle, Sampling())
    return done


@pytest.mark.parametrize("relation", IDS)
@pytest.mark.parametrize("direction", Direction)
def test_a_question_without_phrases_is_played_and_drawn(
    relation: str, direction: Direction
) -> None:
    hops = (Hop(relation, direction), Hop("next"))
    first = (ANN, relation, OSLO) if direction is Direction.OUT else (OSLO, relation, ANN)
    query = Query((Branch(Entity(ANN, "Ann"), hops),))
    done = played(query, NORWAY, first, (OSLO, "next", NORWAY))
    assert score(done)["em"] == 1.0 and not any(turn.error for turn in done.turns)
    assert Trajectory.from_json(done.to_json()) == done
    record = walk_record(done)
    assert record["note"] == ""
    assert [(link[1], link[4]) for link in record["links"]] == [(relation, 1), ("next", 1)]
