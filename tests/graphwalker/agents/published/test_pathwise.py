"""ToG, RoG, GoG, Graph-CoT, GraphRunner and two kinds of retrieval: what each asks and loses."""

import json

import pytest

from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.policies import load_policy
from graphwalker.agents.published.rog import query_paths
from graphwalker.agents.rollout import rollout
from graphwalker.graphs.base import Entity
from graphwalker.policies.config import PolicyConfig
from graphwalker.policies.scripted import ScriptedPolicy
from graphwalker.query.query import Branch, Query, parse_hop
from graphwalker.question import Answer, Question
from graphwalker.scoring import score
from graphwalker.trajectory import StopReason
from support.toy import TOY_NAMES, toy_graph

GRAPH = toy_graph()


def asked(answers, *branches, tail=()):
    """A question by its branches, each a topic and its hops."""
    made = [(Entity(t, TOY_NAMES[t]), tuple(map(parse_hop, hops))) for t, *hops in branches]
    query = Query(tuple(Branch(*one) for one in made), tuple(map(parse_hop, tail)))
    gold = tuple(Answer(TOY_NAMES[one], one) for one in answers)
    return Question("q", "Which ones?", query.topics, gold, query=query)


CHAIN = asked(["m.0genre1", "m.0genre2"], ["m.0ada", "film.director.film", "film.film.genre"])
INCOMING = asked(["m.0ada", "m.0tom"], ["m.0eve", "~people.person.children"])
WAYS = ["m.0ada", "film.director.film"], ["m.0genre2", "~film.film.genre"]
BOTH = asked(["m.0film2"], *WAYS)
TAIL = asked(["m.0lang"], *WAYS, tail=["film.film.language"])
CITIZENS = [f"m.0p{i:02d}" for i in range(20)] + ["m.0ada", "m.0tom", "m.0eve", "m.0bob"]
HUB = asked(CITIZENS, ["m.0land", "~people.person.nationality"])


def environment(preset, **settings):
    return Environment(GRAPH, EnvironmentConfig(preset=preset, **settings))


def by_oracle(preset, question, **settings):
    env = environment(preset, **settings)
    (done,) = rollout([question], env, load_policy(PolicyConfig(model="oracle"), environment=env))
    return done


def play(preset, *lines, question=CHAIN, **settings):
    (done,) = rollout([question], environment(preset, **settings), ScriptedPolicy({"q": lines}))
    return done


@pytest.mark.parametrize("preset", ["tog", "rog", "gog", "graph-cot", "graphrunner"])
def test_the_oracle_wins_what_the_method_can_follow(preset):
    for question in (CHAIN, INCOMING, BOTH, TAIL):
        done = by_oracle(preset, question)
        assert score(done)["em"] == 1.0, done.answer
        assert done.stop is StopReason.ANSWERED and done.agent == preset


def test_a_beam_of_three_loses_more_than_three_answers():
    assert score(by_oracle("tog", HUB))["em"] == 0.0
    assert len(by_oracle("tog", HUB).answer or ()) == 3
    wide = by_oracle("tog", HUB, options={"width": 24})
    assert score(wide)["em"] == 1.0


def test_togs_oracle_fills_in_the_form_that_is_asked_for_whatever_it_was_shown():
    done = by_oracle("tog", HUB, max_observation_chars=120)
    assert done.stop is StopReason.ANSWERED and not any(turn.error for turn in done.turns)


def test_tog_refuses_relations_that_were_not_listed_and_scores_that_are_none():
    line = {"relations": [{"relation": "no.such", "score": 1}]}
    done = play("tog", json.dumps(line), '{"answer": []}')
    assert done.turns[0].error == "unknown_relation"
    film = {"relations": [{"relation": "film.director.film", "score": "high"}]}
    ends = {"entities": [{"entity": "The Glass Harbor", "score": float("nan")}]}
    done = play("tog", json.dumps(film), json.dumps(ends), '{"answer": ["x"]}')
    assert done.answer == ("x",) and len(done.turns) == 3


def test_rog_writes_a_malformed_plan_again_and_reads_what_was_retrieved():
    plan = '{"paths": [["film.director.film", "film.film.genre"], ["no.such"]]}'
    done = play("rog", '{"paths": "x"}', plan, '{"answer": ["Drama"]}')
    assert [turn.error for turn in done.turns] == ["malformed", "", ""]
    assert "film.film.genre, Science Fiction" in done.turns[2].context[-1].content
    done = play("rog", '{"paths": [["no.such"]]}', '{"answer": []}')
    assert done.turns[0].error == "no_triples"


def test_the_paths_of_rogs_plans_are_the_certified_ones():
    assert query_paths(TAIL.query) == [
        ["film.director.film", "film.film.language"],
        ["~film.film.genre", "film.film.language"],
    ]


def test_gog_says_what_was_generated_and_the_answer_is_ungrounded():
    gone = asked(["m.0lang"], ["m.0film3", "film.film.language"])
    done = by_oracle("gog", gone)
    assert done.answer == ("Verrian",) and score(done)["grounded"] == 0.0
    assert done.turns[1].observation.startswith("Generated, not in the graph:\n(Springfield")
    wild = '{"generate": [["Atlantis", "r", "Utopia"]]}'
    done = play("gog", wild, '{"generate": [["a", "b"]]}', '{"answer": ["x"]}')
    assert [turn.error for turn in done.turns] == ["unknown_entity", "bad_arguments", ""]


def test_graph_cot_runs_several_calls_of_one_message_and_names_each_mistake():
    calls = [["RetrieveNode", "Ada Mbeki"], ["Fly", "moon"], ["NodeFeature", "m.0ada"],
             ["NodeDegree", "m.0ada", "film.director.film"],
             ["NeighbourCheck", "m.0nobody", "x"], ["NeighbourCheck", "m.0ada", "x"]]  # fmt: skip
    done = play("graph-cot", json.dumps({"calls": calls}), '{"answer": ["x"]}')
    lines = done.turns[0].observation.splitlines()
    assert len(lines) == 6 and lines[3] == "NodeDegree[m.0ada, film.director.film]: 2"
    assert done.turns[0].error == "unknown_tool"
    many = json.dumps({"calls": calls[:1] * 25})
    seen = play("graph-cot", many, '{"answer": []}').turns[0].observation
    assert "(5 more calls were not run)" in seen


def test_retrieval_is_recorded_and_cut_at_its_budget():
    about = Question("q", "Tom Lindqvist", (), (Answer("Eve Mbeki-Lindqvist", "m.0eve"),))
    done = by_oracle("graph-rag", about)
    assert score(done)["em"] == score(done)["retrieval_all"] == 1.0 and len(done.turns) == 1
    small = by_oracle("graph-rag", about, options={"tokens": 50})
    assert small.turns[0].hidden > 0
    assert "more triples are not shown" in small.turns[0].context[-1].content
    assert score(by_oracle("text-rag", about))["em"] == 0.0
