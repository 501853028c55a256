"""The ceiling of an environment, on the toy graph: what its tools show of a question's answers."""

import json
from dataclasses import replace

import pytest

import graphwalker as gw
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.rollout import rollout
from graphwalker.ceilings.ceiling import Reach, ceiling, reach_of, reaches
from graphwalker.config import load_config
from graphwalker.datasets.queries import resolve
from graphwalker.errors import GraphError
from graphwalker.files import read_jsonl, write_jsonl
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.graphs.open import open_graph
from graphwalker.oracle.oracle import OraclePolicy
from graphwalker.policies.base import Sampling
from graphwalker.query.query import Branch, Hop, Query
from graphwalker.question import Answer, Question
from graphwalker.scoring import score
from support.commands import command
from support.sparql_endpoint import serve
from support.toy import toy_graph

IN = Direction.IN
CHILDREN, SPOUSE, FILMS = "people.person.children", "people.person.spouse_s", "film.director.film"


def environment(*settings, graph=None):
    return Environment(graph or toy_graph(), load_config(EnvironmentConfig, None, settings))


def asked(answers, *branches, text="who?", topics=""):
    graph = toy_graph()
    made = tuple(Branch(Entity(t, graph.name(t)), tuple(hops)) for t, *hops in branches)
    known = tuple(Entity(t, graph.name(t)) for t in topics.split()) or tuple(b.topic for b in made)
    gold = tuple(Answer(graph.name(a), a) for a in answers.split())
    return Question("q", text, known, gold, query=Query(made) if made else None)


def child(text):
    return asked("m.0eve", ("m.0ada", Hop(CHILDREN)), text=text)


def measures(question, *settings):
    found = reach_of(question, environment(*settings)).to_json()
    assert found.pop("id") == "q"
    return tuple(found.values())


TWO_FILMS = asked("m.0film1 m.0film2", ("m.0ada", Hop(FILMS)))
OF_A_DRAMA = asked(
    "m.0ada", ("m.0genre1", Hop("film.film.genre", IN), Hop("film.film.directed_by"))
)
BOTH = asked("m.0film2", ("m.0genre2", Hop("film.film.genre", IN)),
             ("m.0lang", Hop("film.film.language", IN)))  # fmt: skip


@pytest.mark.parametrize(
    ("question", "settings", "expected"),
    [
        (TWO_FILMS, (), (True, True, True, True)),
        # One triple of two: the gold set is never whole.
        (TWO_FILMS, ("triples_per_relation=1",), (True, False, False, False)),
        # The relation is not among those listed; its inverse says as much, from the same entity.
        (child("parents"), ("top_relations=1",), (False, False, True, True)),
        # Nothing that is listed leads there.
        (child("director film"), ("top_relations=1",), (False, False, False, False)),
        # More is shown than was asked for: an agent may name a part.
        (asked("m.0film1", ("m.0ada", Hop(FILMS))), (), (True, False, False, True)),
        (OF_A_DRAMA, (), (True, True, True, True)),
        # Two looks and a query for the films; the fourth call finds who directed the first one.
        (OF_A_DRAMA, ("max_turns=3",), (True, False, False, False)),
        (OF_A_DRAMA, ("max_turns=4",), (True, True, True, True)),
        (BOTH, (), (True, True, True, True)),
        (BOTH, ("max_turns=3",), (True, False, False, True)),
        # Without a query only the relations of the topics are known.
        (asked("m.0eve", topics="m.0ada"), (), (None, None, True, True)),
        (asked("m.0lang", topics="m.0ada"), (), (None, None, False, False)),
        (asked("m.0eve", topics="m.0nobody"), (), (None, None, False, False)),
        (asked("", topics="m.0ada"), (), (None, None, False, False)),
        (Question("q", "who?", (), (Answer("Oslo"),)), (), (None, None, False, False)),
    ],
)
def test_what_an_environment_shows_of_a_question(question, settings, expected):
    assert measures(question, *settings) == expected


WIDE = ("preset=graphwalker-wide", "triples_per_relation=1", "top_relations=3")


def test_further_pages_count_as_shown_at_a_call_each():
    """A look and a film; the second film is on the next page: one more call."""
    assert measures(TWO_FILMS, *WIDE, "max_turns=2") == (True, False, False, False)
    assert measures(TWO_FILMS, *WIDE, "max_turns=3") == (True, True, True, True)


def test_a_relation_on_a_later_page_is_listed_where_the_calls_suffice_for_that_page():
    asked_last = asked("m.0city1", ("m.0ada", Hop("people.person.place_of_birth")), text="film")
    first, second = (measures(asked_last, *WIDE, f"max_turns={turns}") for turns in (1, 10))
    assert first[:2] == (False, False) and second[:2] == (True, True)


@pytest.mark.parametrize("question", [TWO_FILMS, OF_A_DRAMA, BOTH])
def test_nobody_plays_the_gold_query_better_than_the_ceiling_says(question):
    won: list[bool] = []
    for turns in (1, 2, 4, 5, 10):
        world = environment(f"max_turns={turns}")
        oracle = OraclePolicy(world.graph, world.protocol)
        [played] = rollout([question], world, oracle, Sampling(), concurrency=1)
        won.append(score(played)["em"] == 1.0)
        assert reach_of(question, world).all_answers_by_gold >= won[-1]
    assert won[-1] and not won[0]


def test_shares_are_of_the_questions_that_they_can_be_computed_for():
    rows = [Reach("a", True, False, True, True), Reach("b", None, None, False, True)]
    found = ceiling(rows)
    assert (found["questions"], found["with_query"], found["winnable"]) == (2, 1, 1.0)
    assert (found["gold_relation_listed"], found["all_answers_by_gold"]) == (1.0, 0.0)
    assert found["all_answers_by_any"] == 0.5 and ceiling([])["winnable"] is None
    assert gw.ceiling([TWO_FILMS], environment())["all_answers_by_gold"] == 1.0


def test_the_command_prints_json_and_nothing_else(tmp_path, capsys):
    path, rows = tmp_path / "q.jsonl", tmp_path / "rows.jsonl"
    write_jsonl(path, [TWO_FILMS.to_json()])
    given = ("ceiling", "--graph", "support.toy:toy_graph", "--questions", path)
    more = ("--json", "--per-record", rows, "environment.triples_per_relation=1")
    code, printed, _ = command(capsys, *given, *more)
    assert (code, json.loads(printed)["winnable"]) == (0, 0.0)
    assert "ceiling" not in printed
    assert next(iter(read_jsonl(rows)))["gold_relation_listed"] is True
    code, printed, error = command(capsys, *given)
    assert (code, "winnable" in printed, error) == (0, True, "")


def test_the_command_says_so_where_the_questions_are_about_another_graph(tmp_path, capsys):
    path = tmp_path / "q.jsonl"
    write_jsonl(path, [asked("m.0eve", topics="m.0nobody").to_json()])
    given = ("ceiling", "--graph", "support.toy:toy_graph", "--questions", path, "--json")
    code, printed, error = command(capsys, *given)
    assert (code, json.loads(printed)["winnable"]) == (0, 0.0)
    assert "is it the right graph?" in error


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["environment.preset=io-prompt"], "io-prompt"),
        (["environment.preset=nope"], "nope"),
        (["top_relations=0"], "top_relations"),
        (["--model", "."], "graphwalker.json"),
        (["--count", "0"], ""),
        (["rounds=3"], "rounds"),
    ],
)
def test_the_command_names_the_mistake_in_one_line(tmp_path, capsys, more, said):
    path = tmp_path / "q.jsonl"
    write_jsonl(path, [TWO_FILMS.to_json()])
    given = ("ceiling", "--graph", "support.toy:toy_graph", "--questions", path)
    try:
        code, _, error = command(capsys, *given, *more)
    except Exception as usage:  # typer's own, of an option
        code, error = 2, f"{usage}\n"
    assert code == 2 and said in error
    assert error.count("\n") == 1


HOSTILE = 'm.0ada> } ; DROP ALL # "\n{{x}}'


def test_an_endpoint_gives_the_same_figures_and_queries_and_hostile_ids_reach_no_query(toy_store):
    untyped = [
        replace(q, id=str(n), query=None, annotations={"relation_path": path})
        for n, (q, path) in enumerate(
            [
                (TWO_FILMS, [FILMS]),
                (TWO_FILMS, ["film.film.directed_by"]),
                (asked("m.0film2", topics="m.0film1"), ["film.film.directed_by"] * 2),
                (asked("m.0eve", topics="m.0nobody"), [CHILDREN]),
                (asked("m.0eve", topics="m.0ada"), [HOSTILE, ""]),
                (replace(TWO_FILMS, topic_entities=(Entity(HOSTILE, HOSTILE),)), [FILMS]),
            ]
        )
    ]
    with serve(toy_store) as address:
        worlds = [environment(graph=graph) for graph in (toy_graph(), open_graph(address))]
        shares = [ceiling(reaches(untyped, world)) for world in worlds]
        typed = [resolve(untyped, world.graph) for world in worlds]
    assert shares[0] == shares[1] and shares[0]["with_query"] == 3
    assert typed[0].questions == typed[1].questions
    assert typed[0].summary()["no_query"] == {"topic_not_in_graph": 2, "no_way": 1}


def test_an_outage_is_no_verdict_on_a_question():
    class Down(MemoryGraph):
        def neighbors(self, entity_id, relation, direction, limit=None):
            raise GraphError("the store is down")

    world = environment(graph=Down([("a", "r", "b")], {"a": "A", "b": "B"}))
    question = Question("q", "?", (Entity("a", "A"),), (Answer("B", "b"),))
    with pytest.raises(GraphError, match="down"):
        reach_of(question, world)
    with pytest.raises(GraphError, match="down"):
        resolve([replace(question, annotations={"relation_path": ["r"]})], world.graph)
