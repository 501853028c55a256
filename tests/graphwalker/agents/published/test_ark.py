"""ARK-V1: the state machine's routes, its contexts, its two ways of counting, and its oracle."""

import json

import pytest

from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.policies import load_policy
from graphwalker.agents.rollout import rollout
from graphwalker.datasets.base import load_dataset
from graphwalker.datasets.evidence import graph_records, with_evidence
from graphwalker.files import write_jsonl
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.open import open_graph
from graphwalker.policies.config import PolicyConfig
from graphwalker.policies.scripted import ScriptedPolicy
from graphwalker.query.query import Branch, Hop, Query
from graphwalker.question import Answer, Question
from graphwalker.scoring import score
from graphwalker.trajectory import StopReason
from support.toy import toy_graph
from support.yes_no_world import yes_no_records

ADA = Entity("m.0ada", "Ada Mbeki")
GENRES = Question(
    "q",
    "Of which genres are films by Ada Mbeki?",
    (ADA,),
    (Answer("Drama", "m.0genre1"), Answer("Science Fiction", "m.0genre2")),
    query=Query((Branch(ADA, (Hop("film.director.film"), Hop("film.film.genre"))),)),
)
ANCHOR = '{"anchor": "Ada Mbeki"}'
FILMS = '{"relation": "film.director.film"}'
REASON = '{"triples": ["46f6"], "implication": "i", "continue": true, "reset": false}'
SUMMARY = '{"summary": "Two films."}'
ANSWER = '{"answer": ["Drama"]}'


def play(*lines, preset="ark-v1", graph=None, **settings):
    env = Environment(graph or toy_graph(), EnvironmentConfig(preset=preset, **settings))
    (done,) = rollout([GENRES], env, ScriptedPolicy({"q": lines}))
    return done


def forms(done):
    """What each turn decided, by the name of its form; in capitals where a context begins."""
    names = [turn.action.get("tool") or next(iter(turn.action)) for turn in done.turns]
    return [n.upper() if t.restart else n for n, t in zip(names, done.turns, strict=True)]


def test_a_step_is_anchor_relation_reasoning_summary_and_then_the_context_is_new():
    done = play(ANCHOR, FILMS, REASON, SUMMARY, ANCHOR, '{"relation": "x"}', FILMS, REASON)
    assert forms(done)[:5] == ["anchor", "relation", "reason", "summary", "ANCHOR"]
    context = done.turns[4].context
    assert [message.role for message in context] == ["system", "user"]
    assert "Known so far: Two films." in context[1].content
    assert "film.director.film" not in context[1].content


@pytest.mark.parametrize("attempts, wins", [(4, True), (5, True), (6, False)])
def test_the_fifth_attempt_may_succeed(attempts, wins):
    wrong = ['{"anchor": "Nobody"}'] * (attempts - 1)
    done = play(*wrong, *([ANCHOR, FILMS, ANSWER] if wins else [ANSWER]))
    assert (forms(done)[attempts - 1] == "anchor") is wins
    assert wins or (done.stop, done.answer) == (StopReason.ANSWERED, ("Drama",))


def test_as_the_code_counts_the_fifth_attempt_leads_to_the_answer_even_if_it_is_valid():
    wrong = ['{"anchor": "Nobody"}'] * 4
    done = play(*wrong, ANCHOR, ANSWER, preset="ark-v1-code")
    assert forms(done) == ["anchor"] * 5 + ["ANSWER"]
    done = play(*wrong[:3], ANCHOR, FILMS, ANSWER, preset="ark-v1-code")
    assert forms(done)[:5] == ["anchor"] * 4 + ["relation"]


def test_no_relation_leads_back_to_an_anchor_in_the_same_step():
    done = play(ANCHOR, '{"relation": ""}', '{"anchor": "Tom Lindqvist"}', FILMS)
    assert forms(done) == ["anchor", "relation", "anchor", "relation"]
    assert done.turns[3].error == "unknown_relation"


def test_a_wrong_name_brings_what_is_near_it():
    done = play('{"anchor": "Ada Mbeky"}', ANCHOR, '{"relation": "film.director.movies"}')
    assert "nearest are Ada Mbeki" in done.turns[0].observation
    assert "nearest are film.director.film, " in done.turns[2].observation


def test_unknown_keys_are_tried_again_and_an_empty_choice_or_reset_drops_the_step():
    wrong = REASON.replace("46f6", "zzzz")
    dropped = REASON.replace('["46f6"]', "[]")
    reset = REASON.replace('"reset": false', '"reset": true')
    for given in (dropped, reset):
        done = play(ANCHOR, FILMS, wrong, given, ANCHOR)
        assert forms(done) == ["anchor", "relation", "reason", "reason", "ANCHOR"]
        assert "keys are 46f6, 8bc1" in done.turns[2].observation
        assert "Known so far" not in done.turns[4].context[-1].content


def test_who_does_not_continue_and_who_has_no_step_left_is_asked_for_the_answer():
    over = REASON.replace("true", "false", 1)
    assert forms(play(ANCHOR, FILMS, over, SUMMARY, ANSWER))[-1] == "ANSWER"
    step = [ANCHOR, FILMS, REASON, SUMMARY]
    done = play(*step, *step, ANSWER, options={"steps": 2})
    assert forms(done)[-1] == "ANSWER" and len(done.turns) == 9


def test_qualifiers_stand_behind_the_triple(tmp_path):
    path, records = tmp_path / "CoLoTa_qa.json", tmp_path / "evidence.jsonl"
    path.write_text(json.dumps(yes_no_records(5)))
    questions = with_evidence(load_dataset(path).questions).usable
    write_jsonl(records, graph_records(questions))
    build_graph([], tmp_path / "graph", property_files=[records])
    env = Environment(open_graph(tmp_path / "graph"), EnvironmentConfig(preset="ark-v1"))
    oracle = load_policy(PolicyConfig(model="oracle"), environment=env)
    (done,) = rollout([questions[3]], env, oracle)
    assert "{replaces: " in done.turns[2].context[-1].content
    assert score(done)["em"] == 1.0


def test_the_oracle_walks_a_query_and_is_lost_where_a_hop_comes_in():
    env = Environment(toy_graph(), EnvironmentConfig(preset="ark-v1"))
    oracle = load_policy(PolicyConfig(model="oracle"), environment=env)
    (done,) = rollout([GENRES], env, oracle)
    assert score(done)["em"] == 1.0 and sum(turn.restart for turn in done.turns) == 3
    into = Query((Branch(ADA, (Hop("film.film.directed_by", Direction.IN),)),))
    question = Question("in", "?", (ADA,), (Answer("The Glass Harbor", "m.0film1"),), query=into)
    (done,) = rollout([question], env, oracle)
    assert score(done)["em"] == 0.0
    assert (forms(done), done.answer) == (["anchor"] * 5 + ["ANSWER"], ("None",))
    env = Environment(toy_graph(), EnvironmentConfig(preset="ark-v1", options={"steps": 1}))
    (done,) = rollout([GENRES], env, load_policy(PolicyConfig(model="oracle"), environment=env))
    assert (forms(done)[-2:], done.answer) == (["summary", "ANSWER"], ("None",))
