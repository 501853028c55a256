"""Gold relation paths made typed queries, by execution on the toy graph."""

import json
from dataclasses import replace

import pytest

from graphwalker.agents.environment import Environment
from graphwalker.agents.rollout import rollout
from graphwalker.datasets.base import load_questions
from graphwalker.datasets.queries import EXECUTED, NO_QUERY, resolve, resolve_one
from graphwalker.files import write_jsonl
from graphwalker.graphs.base import Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.oracle.oracle import OraclePolicy
from graphwalker.policies.base import Sampling
from graphwalker.query.query import execute
from graphwalker.query.sparql import render
from graphwalker.question import Answer, Question
from graphwalker.scoring import score
from support.commands import command
from support.oxigraph import node_id
from support.toy import toy_graph

ADA, FILM1, GENRE1 = "m.0ada", "m.0film1", "m.0genre1"
MADE, BY, GENRE = "film.director.film", "film.film.directed_by", "film.film.genre"
CHILDREN = "people.person.children"


def question(path, answers, topic=ADA):
    name = toy_graph().name
    topics = tuple(Entity(i, name(i)) for i in topic.split())
    gold = tuple(Answer(name(i), i) for i in answers.split())
    return Question("q", "who?", topics, gold, annotations={"relation_path": path})


def resolved(*arguments):
    return resolve_one(question(*arguments), toy_graph())


@pytest.mark.parametrize(
    ("path", "answers", "topic", "hops", "fit"),
    [
        ([MADE], "m.0film1 m.0film2", ADA, MADE, "equal"),
        ([BY], "m.0film1 m.0film2", ADA, f"~{BY}", "equal"),
        ([f"~{GENRE}"], "m.0film1 m.0film2", GENRE1, f"~{GENRE}", "equal"),
        ([GENRE, MADE], "m.0ada", GENRE1, f"~{GENRE}/~{MADE}", "equal"),
        ([MADE], "m.0film1", ADA, MADE, "superset"),
        ([GENRE], "m.0genre1 m.0genre2", "m.0film2 m.0film1", GENRE, "equal"),
    ],
)
def test_the_direction_is_the_one_that_finds_the_gold_answers(path, answers, topic, hops, fit):
    found = resolved(path, answers, topic)
    assert found.query.path == (hops,) and found.annotations[EXECUTED] == fit
    assert [a.id for a in found.answers] == answers.split()


@pytest.mark.parametrize(
    ("path", "answers", "topic", "reason"),
    [
        ([], "m.0eve", ADA, "no_path"),
        (["a"] * 6, "m.0eve", ADA, "path_too_long"),
        ([CHILDREN], "m.0eve", "m.0nobody", "topic_not_in_graph"),
        (["people.person.nobody"], "m.0eve", ADA, "no_way"),
        ([CHILDREN], "m.0bob", ADA, "no_gold_answer"),
        (MADE, "m.0film1", ADA, "no_path"),
        ([""], "m.0film1", ADA, "no_way"),
        (['" } DROP <x>', 7], "m.0film1", ADA, "no_way"),
    ],
)
def test_a_path_without_a_meaning_here_keeps_no_query_and_says_why(path, answers, topic, reason):
    found = resolved(path, answers, topic)
    assert found.query is None and found.annotations[NO_QUERY] == reason


@pytest.mark.parametrize(
    ("label", "found"), [(MADE.rpartition(".")[2], (MADE,)), ("nobody", None), ("", None)]
)
def test_the_last_part_of_a_relation_is_looked_for_at_the_topic(label, found):
    asked = question([], "m.0film1 m.0film2")
    done = resolve_one(replace(asked, annotations={"relation_label": label}), toy_graph())
    assert (done.query and done.query.path) == found
    assert found or done.annotations[NO_QUERY] == ("no_way" if label else "no_path")


def test_two_directions_that_fit_equally_well_are_ambiguous():
    graph = toy_graph()
    both = question(["people.person.nationality"], "m.0land m.0tom", "m.0land m.0tom")
    assert resolve([both], graph).summary()["no_query"] == {}  # 1 of 2 beats 2 of 25
    tied = question([GENRE], "m.0genre2 m.0genre1", "m.0film1 m.0film3")
    assert resolve([tied], graph).summary()["no_query"] == {"ambiguous": 1}


def test_relations_that_meet_in_the_gold_answers_are_a_conjunction():
    found = resolved([GENRE, "film.film.language"], "m.0film2", "m.0genre2 m.0lang")
    assert len(found.query.branches) == 2 and found.annotations[EXECUTED] == "equal"


def test_a_walk_that_may_not_come_back_to_its_topic_finds_the_others(toy_store):
    found = resolved([BY, f"~{BY}"], "m.0film2", FILM1)
    assert found.query.avoids_topics
    graph = toy_graph()
    assert {node_id(row["x"]) for row in toy_store.query(render(found.query))} == {"m.0film2"}
    environment = Environment(graph)
    oracle = OraclePolicy(graph, environment.protocol)
    [played] = rollout([found], environment, oracle, Sampling(), concurrency=1)
    assert score(played)["em"] == 1.0
    again = Question.from_json(json.loads(json.dumps(found.to_json())))
    assert again == found
    assert [e.id for e in execute(graph, again.query).answers] == ["m.0film2"]


def test_the_command_writes_the_exact_ones_and_counts_the_rest(tmp_path, capsys):
    asked = [question([CHILDREN], "m.0eve"), question([MADE], FILM1), question([], FILM1)]
    path, out = tmp_path / "q.jsonl", tmp_path / "typed.jsonl"
    write_jsonl(path, [replace(q, id=str(n)).to_json() for n, q in enumerate(asked)])
    given = ("--graph", "support.toy:toy_graph", "--questions", str(path), "--out", str(out))
    told = json.loads(command(capsys, "dataset", "resolve", *given, "--exact", "--json")[1])
    kinds = {"equal": 1, "superset": 1, "subset": 0, "overlap": 0, "disjoint": 0}
    assert (told["questions"], told["with_query"], told["executed"]) == (3, 2, kinds)
    assert (told["no_query"], told["written"], told["file"]) == ({"no_path": 1}, 1, str(out))
    assert [q.id for q in load_questions(out)] == ["0"]
    command(capsys, "dataset", "resolve", *given, "--with-query")
    assert [q.id for q in load_questions(out)] == ["0", "1"]
    command(capsys, "dataset", "resolve", *given)
    assert [q.query is None for q in load_questions(out)] == [False, False, True]
    # What the command has written it reads again, to the same bytes.
    before = out.read_bytes()
    command(capsys, "dataset", "resolve", *given[:2], "--questions", str(out), "--out", str(out))
    assert out.read_bytes() == before


def test_an_inverse_relation_that_knows_all_of_the_gold_takes_the_place_of_one_that_knows_a_part():
    names = {i: i.upper() for i in "abcd"}
    graph = MemoryGraph([("a", "jobs", "b"), ("b", "people", "a"), ("c", "people", "a")], names)
    asked = Question(
        "q", "?", (Entity("a", "A"),), (Answer("B", "b"), Answer("C", "c")),
        annotations={"relation_path": ["jobs"]},
    )  # fmt: skip
    assert resolve_one(asked, graph).query.path == ("~people",)
