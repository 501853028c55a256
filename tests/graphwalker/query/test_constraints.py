"""Constraints: what they keep, in our form and in SPARQL, and when they are clear enough to ask."""

import json
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_pipeline.certificates import other_reading
from data_pipeline.teacher.paths import hints, paths
from data_pipeline.walks.constrained import round_between
from data_pipeline.wording.composition.constraints import forms
from data_pipeline.wording.composition.questions import ProgrammaticTeacher
from data_pipeline.wording.lexicon import Lexicon
from data_pipeline.wording.quality import judge
from graphwalker.graphs.base import Entity
from graphwalker.query.constraint import Constraint, constraint_fault, kind_of
from graphwalker.query.draft import Draft
from graphwalker.query.query import Query, execute
from graphwalker.query.sparql import render
from support.backends import in_memory, write
from support.constraints_toy import FACTS, NAMES, PEOPLE, RELEASED, cities, films
from support.oxigraph import load_store, node_id
from support.toy import XSD

GRAPH = in_memory(FACTS, NAMES, {})
LEXICON = Lexicon.for_graph({r for _, r, _ in FACTS})
RNG = random.Random(0)
GLASS, ROSE = Entity("m.g", "Glass Oath"), Entity("m.f2", "Pale Rose")


def date(operator, bound="", than=None):
    return films(Constraint(RELEASED, "date", operator, bound, than))  # pyright: ignore[reportArgumentType]


def number(operator, bound="", than=None):
    return cities(Constraint(PEOPLE, "number", operator, bound, than))  # pyright: ignore[reportArgumentType]


KEEPS = {
    "after a year": (date("above", "1986"), {"m.f2", "m.f3"}),
    "the year itself is not after it": (date("above", "1990"), {"m.f3"}),
    "before a year": (date("below", "1990"), {"m.f1"}),
    "in a year": (date("in", "1990"), {"m.f2"}),
    "later than another film": (date("above", than=GLASS), {"m.f3"}),
    "earlier than one of themselves": (date("below", than=ROSE), {"m.f1"}),
    "last": (date("highest"), {"m.f3"}),
    "first": (date("lowest"), {"m.f1"}),
    "more, through a CVT": (number("above", "1000"), {"m.c2", "m.c3"}),
    "fewer, by value and not by text": (number("below", "3000"), {"m.c1"}),
    "most, in another spelling": (number("highest"), {"m.c3"}),
    "fewer than another city": (number("below", than=Entity("m.c2", "Brigport")), {"m.c1"}),
    "nothing": (date("above", "2001"), set()),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return load_store([write(tmp_path_factory.mktemp("toy"), FACTS, NAMES, {})])


@pytest.mark.parametrize("case", KEEPS)
def test_a_constraint_keeps_the_answers_that_it_says(case):
    query, wanted = KEEPS[case]
    assert {entity.id for entity in execute(GRAPH, query).answers} == wanted


@pytest.mark.parametrize("case", KEEPS)
@pytest.mark.parametrize("schema", [True, False])
def test_its_sparql_keeps_the_same(case, schema, store):
    query, wanted = KEEPS[case]
    sparql = render(query, {r for _, r, _ in FACTS} if schema else None)
    assert {node_id(row["x"]) for row in store.query(sparql)} == wanted


@pytest.mark.parametrize("case", KEEPS)
def test_its_json_and_back_cancel(case):
    query, _ = KEEPS[case]
    assert Query.from_json(json.loads(json.dumps(query.to_json()))) == query


@pytest.mark.parametrize(
    "record",
    [
        {"relation": "a.b", "kind": "text", "operator": "above", "bound": "x"},
        {"relation": "a.b", "kind": "date", "operator": "after", "bound": "1990"},
        {"relation": "a.b", "kind": "number", "operator": "above", "bound": "many"},
        {"relation": "a.b", "kind": "date", "operator": "above"},
    ],
)
def test_a_record_that_is_no_constraint_is_refused(record):
    with pytest.raises(ValueError):
        Constraint.from_json(record)


def fault_of(values, constraint):
    facts = [(f"m.{e}", "a.b.c", v) for e, listed in values.items() for v in listed]
    graph = in_memory(facts, {f"m.{entity}": entity for entity in values}, {})
    candidates = [Entity(f"m.{entity}", entity) for entity in values if entity != "than"]
    return constraint_fault(graph, constraint, candidates)


def day(text):
    return f'"{text}"^^<{XSD}{"date" if "-" in text else "gYear"}>'


@pytest.mark.parametrize(
    ("values", "operator", "bound", "fault"),
    [
        ({"x": ["1990-05-01"], "y": ["1985-01-01"]}, "highest", "", ""),
        ({"x": ["1990-05-01"], "y": ["1990"]}, "highest", "", "value_tie"),
        ({"x": ["1990-05-01"], "y": []}, "highest", "", "value_missing"),
        ({"x": ["1990-05-01"], "y": ["1980", "1981"]}, "highest", "", "value_ambiguous"),
        ({"x": ["1990-05-01"]}, "highest", "", "single_candidate"),
        ({"x": ["1990-05-01"], "y": ["1985"]}, "above", "1990", "value_tie"),
        ({"x": ["1990-05-01"], "y": ["1985"]}, "above", "1988", ""),
        ({"x": ["1990-05-01"], "y": ["1985"]}, "in", "1990", ""),
        ({"x": ["1990-05-01"], "y": ["1985"], "than": ["1987"]}, "above", "", ""),
    ],
)
def test_values_that_leave_the_answer_open_are_a_fault(values, operator, bound, fault):
    than = Entity("m.than", "than") if "than" in values else None
    constraint = Constraint("a.b.c", "date", operator, bound, than)
    found = fault_of({e: list(map(day, listed)) for e, listed in values.items()}, constraint)
    assert found == fault


def test_a_phrase_that_fits_another_value_with_other_answers_is_ambiguous():
    other = [("m.f1", "book.book.initial_release_date", day("1999-01-01"))]
    graph = in_memory([*FACTS, *other], NAMES, {})
    query = films(Constraint("film.film.initial_release_date", "date", "highest"))
    draft = ProgrammaticTeacher(LEXICON).ask(query, execute(GRAPH, query).answers, RNG)
    assert draft is not None
    same = replace(draft, constraint="has the latest initial release date")
    rival = other_reading(graph, query, same, execute(graph, query))
    assert rival.startswith("book.book.initial_release_date")
    assert not other_reading(GRAPH, query, draft, execute(GRAPH, query))


@pytest.mark.parametrize(
    ("literal", "kind"),
    [
        (day("1990"), "date"),
        (f'"1990-01-01T00:00:00Z"^^<{XSD}dateTime>', "date"),
        (f'"12"^^<{XSD}integer>', "number"),
        (f'"NaN"^^<{XSD}double>', None),
        (f'"-0044-03-15"^^<{XSD}date>', None),
        ('"Anna"@en', None),
        ("m.1990", None),
    ],
)
def test_dates_and_numbers_are_told_by_their_datatype(literal, kind):
    assert kind_of(literal) == kind


@given(st.decimals(-(10**9), 10**9, places=3), st.decimals(0, 10**9, places=3))
def test_a_round_number_lies_strictly_between(low, step):
    if step > 0:
        assert low < round_between(low, low + step) < low + step


def test_a_chat_model_is_told_the_constraint():
    query = number("below", "25000")
    assert paths(query).splitlines()[1] == "Only the answer that has fewer than 25,000 inhabitants"
    assert "has fewer than 25,000 inhabitants" in hints(query, LEXICON)


@pytest.mark.parametrize("case", sorted(KEEPS.keys() - {"nothing"}))
def test_every_form_of_a_question_says_its_constraint_and_topics(case):
    query, _ = KEEPS[case]
    answers = execute(GRAPH, query).answers
    for seed in range(12):
        draft = ProgrammaticTeacher(LEXICON).ask(query, answers, random.Random(seed))
        assert draft is not None and judge(draft.text, query, draft, answers).kept, draft
        assert all(topic.name in draft.text for topic in query.topics)
        assert Draft.from_json(draft.text, draft.to_json()) == draft


@pytest.mark.parametrize(
    ("relation", "says"),
    [
        ("played_on", "was played last"),
        ("diedOn", "died last"),
        ("founded", "was founded last"),
        ("publication_year", "has the latest publication year"),
    ],
)
def test_a_date_is_compared_by_its_verb_or_by_its_noun(relation, says):
    assert forms(relation, "date")["highest"] == (says,)
