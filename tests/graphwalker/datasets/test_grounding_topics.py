"""A run whose questions are not about its graph does not start."""

from dataclasses import replace

import pytest

from graphwalker.datasets.base import load_questions
from graphwalker.datasets.grounding import ground, refuse_unknown_topics
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.graphs.open import open_graph
from graphwalker.question import Answer, Question
from graphwalker.synthetic.sets import make_maze_set
from support.toy import TOY_NAMES, toy_graph


def about(*ids):
    return [Question(f"q{i}", "Who?", (Entity(i, "X"),)) for i in ids]


@pytest.fixture
def toy():
    return toy_graph()


def test_questions_of_another_graph_are_refused_by_its_name(toy):
    told = r"runs/graph: has no triple of .* \(3 looked for, the first 'm\.9'\)"
    with pytest.raises(UserError, match=told):
        refuse_unknown_topics(about("m.9", "m.8", "m.7"), toy, "runs/graph")


def test_some_unknown_topics_are_told_and_no_more(toy, caplog):
    refuse_unknown_topics(about("m.0ada", "m.9"), toy, "runs/graph")
    assert "no triple of 1 of 2 topic entities" in caplog.text


def test_questions_of_a_set_ask_about_its_members(tmp_path):
    make_maze_set(10, 2, 0, tmp_path)
    graphs = open_graph(tmp_path)
    questions = load_questions(tmp_path / "questions.jsonl")
    refuse_unknown_topics(questions, graphs, "mazes")
    foreign = [replace(questions[0], facets={"graph": "m9"}), *questions]
    with pytest.raises(UserError, match="holds no graph 'm9', which m00000 asks about"):
        refuse_unknown_topics(foreign, graphs, "mazes")


def test_names_that_a_file_divided_at_a_comma_are_joined_by_the_graph(caplog):
    facts = [("Suddenly, Last June", "star", "Mira"), ("Harbor", "star", "Mira")]
    graph = MemoryGraph(facts, {name: name for fact in facts for name in (fact[0], fact[2])})
    for ids in (False, True):
        names = ("Suddenly", "Last June", "Harbor", "Mira")
        answers = tuple(Answer(name, name if ids else "") for name in names)
        (found,) = ground([Question("q", "Which?", (Entity("Mira", "Mira"),), answers)], graph)
        assert [a.name for a in found.answers] == ["Suddenly, Last June", "Harbor", "Mira"]
    assert not caplog.text


def test_answers_that_are_no_names_of_the_graph_are_counted(toy, caplog):
    known = TOY_NAMES["m.0ada"]
    answers = (
        Answer("Nobody at all"),
        Answer(known),
        Answer("Alias", "", (known,)),
        Answer("1.70"),
    )
    ground([Question("q", "Who?", (Entity("m.0ada", "Ada"),), answers)], toy)
    told = "1 of 3 gold answers are no entity of this graph by name, the first 'Nobody at all'"
    assert told in caplog.text


def test_topics_whose_name_several_entities_bear_are_told(caplog):
    graph = MemoryGraph([("a", "r", "b")], {"a": "Springfield", "b": "Springfield"})
    named = Question("q", "Who?", (Entity("", "Springfield"),), (Answer("x", "a"),))
    (found,) = ground([named], graph)
    assert found.topic_entities[0].id == "a"
    assert "1 of 1 topic entities without an id bear the name of several" in caplog.text


def test_no_questions_are_no_fault_of_the_graph(toy):
    refuse_unknown_topics([], toy, "runs/graph")
