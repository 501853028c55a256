"""BM25 over relation ids: its order, for few relations too, and on every kind of graph."""

import random

import pytest
from rank_bm25 import BM25Plus

from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.policies import load_policy
from graphwalker.agents.rollout import rollout
from graphwalker.graphs.base import Entity
from graphwalker.graphs.open import open_graph
from graphwalker.policies.config import PolicyConfig
from graphwalker.question import Answer, Question
from graphwalker.ranking.bm25 import rank_relations
from graphwalker.ranking.load import RANKERS
from graphwalker.scoring import score
from support.backends import compiled, write
from support.oxigraph import load_store
from support.sparql_endpoint import serve


def test_the_order_is_that_of_rank_bm25():
    rng = random.Random(0)
    known = [f"word{i}" for i in range(40)]
    for _ in range(60):
        names = {".".join(rng.choices(known, k=rng.randrange(1, 9))) for _ in range(30)}
        relations, query = tuple(sorted(names)), rng.choices(known, k=8)
        scores = BM25Plus([name.split(".") for name in relations]).get_scores(query)
        scores = [round(float(score), 9) for score in scores]
        order = sorted(range(len(relations)), key=lambda i: (-scores[i], relations[i]))
        assert rank_relations(" ".join(query), relations) == tuple(relations[i] for i in order)


def test_equal_scores_stand_in_the_order_of_their_ids_however_they_came():
    relations = ("c.ends", "a.born", "b.ends")
    for given in (relations, relations[::-1]):
        assert rank_relations("who was born", given) == ("a.born", "b.ends", "c.ends")


@pytest.mark.parametrize("name", RANKERS)
def test_a_word_that_half_of_the_relations_have_still_counts(name):
    for listed in (
        "gauge sluice",
        "canal.gauge canal.sluice",
        "a.gauge keeper sluice sluice.depth",
    ):
        relations = tuple(listed.split())
        first = RANKERS[name]("which sluice drains Orvel?", "Orvel", relations)[0]
        assert first.rpartition(".")[2] == "sluice"


BRENN = Answer("Brenn", "m.brenn")


def canals():
    """Facts, names and types of two places that have two relations each."""
    facts = [("m.orvel", "canal.gauge", "m.low"), ("m.orvel", "canal.sluice", "m.brenn")]
    facts += [("m.tarse", "canal.gauge", "m.high"), ("m.tarse", "canal.sluice", "m.brenn")]
    names = {node: node[2:].title() for fact in facts for node in (fact[0], fact[2])}
    return facts, names, {}


def test_first_relation_is_right_on_a_compiled_graph_and_on_an_endpoint(tmp_path):
    path = write(tmp_path, *canals())
    places, gold = (Entity("m.orvel", "Orvel"), Entity("m.tarse", "Tarse")), (BRENN,)
    text = "which sluice drains {}?"
    questions = [Question(one.id, text.format(one.name), (one,), gold) for one in places]
    with serve(load_store([path])) as address:
        for graph in (compiled(path), open_graph(address)):
            environment = Environment(graph, EnvironmentConfig())
            policy = load_policy(PolicyConfig(model="first-relation"), environment=environment)
            assert [score(done)["em"] for done in rollout(questions, environment, policy)] == [1, 1]
