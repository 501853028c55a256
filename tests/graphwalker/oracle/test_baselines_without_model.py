"""Baselines without a model: they take a listed relation by rule, in the real environment."""

import pytest

from graphwalker.agents.environment import Environment
from graphwalker.agents.rollout import rollout
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.policies.config import PolicyConfig
from graphwalker.policies.load import load_policy
from graphwalker.question import Question
from graphwalker.trajectory import Trajectory
from support.toy import toy_graph

EVE = Question("q", "Who are Eve's parents?", (Entity("m.0eve", "Eve Mbeki-Lindqvist"),))


def play(model: str, question: Question = EVE) -> Trajectory:
    environment = Environment(toy_graph())
    policy = load_policy(PolicyConfig(model=model), environment=environment)
    (done,) = rollout([question], environment, policy)
    return done


def test_the_first_relation_listed_is_taken_and_all_that_it_shows_is_the_answer():
    done = play("first-relation")
    first = done.turns[0].listed[0].hops[0].relation
    assert done.turns[1].action["arguments"]["relations"] == [first]
    ends = {end.name for triple in done.turns[1].triples for end in (triple.head, triple.tail)}
    assert set(done.answer or ()) == ends - {"Eve Mbeki-Lindqvist"}


def test_a_random_relation_is_the_same_one_each_time():
    assert play("random-relation").turns[1].action == play("random-relation").turns[1].action


def test_a_question_without_a_topic_entity_is_answered_with_nothing():
    assert play("first-relation", Question("q", "Who?", ())).answer == ()


def test_an_oracle_refuses_a_question_without_a_query():
    assert play("oracle").stop.infrastructure_failure


def test_they_say_that_they_are_no_models():
    from graphwalker.policies.load import refuse_without_model

    with pytest.raises(UserError, match="first-relation is a policy without a model"):
        refuse_without_model("first-relation", "training")
