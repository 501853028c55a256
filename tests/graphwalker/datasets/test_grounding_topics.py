"""A run whose questions are not about its graph does not start."""

import pytest

from graphwalker.datasets.grounding import refuse_unknown_topics
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.question import Question
from support.backends import in_memory
from support.toy import TOY_NAMES, TOY_TRIPLES, TOY_TYPES


def about(*ids):
    return [Question(f"q{i}", "Who?", (Entity(i, "X"),)) for i in ids]


@pytest.fixture(scope="module")
def toy():
    return in_memory(TOY_TRIPLES, TOY_NAMES, TOY_TYPES)


def test_questions_of_another_graph_are_refused_by_its_name(toy):
    told = r"runs/graph: has no triple of .* \(3 looked for, the first 'm\.9'\)"
    with pytest.raises(UserError, match=told):
        refuse_unknown_topics(about("m.9", "m.8", "m.7"), toy, "runs/graph")


def test_questions_without_any_topic_are_refused(toy):
    for none in (about(""), [Question("q", "Who?", ())]):
        with pytest.raises(UserError, match="0 looked for"):
            refuse_unknown_topics(none, toy, "runs/graph")


def test_some_unknown_topics_are_told_and_no_more(toy, caplog):
    refuse_unknown_topics(about("m.0ada", "m.9"), toy, "runs/graph")
    assert "no triple of 1 of 2 topic entities" in caplog.text


def test_no_questions_are_no_fault_of_the_graph(toy):
    refuse_unknown_topics([], toy, "runs/graph")
