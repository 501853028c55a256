"""Dates, numbers and truth values are equal by what they mean; names stay strict."""

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from graphwalker.answers.values import value_key
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer, Question
from graphwalker.scoring import compare, score
from graphwalker.trajectory import StopReason, Trajectory, Turn

XSD = "http://www.w3.org/2001/XMLSchema#"


def literal(text: str, kind: str) -> Answer:
    return Answer(text, f'"{text}"^^<{XSD}{kind}>')


EQUAL = [
    (literal("2003-11-30", "date"), ("2003-11-30", "November 30, 2003",
                                     "30 November 2003", "30th of Nov 2003", "Nov. 30 2003",
                                     "2003-11-30T00:00:00Z", "2003-11-30+01:00")),
    (literal("2003-11-30-08:00", "date"), ("2003-11-30", "Nov 30, 2003")),
    (literal("2003-01-05", "date"), ("2003-1-5", "5 January 2003")),
    (literal("0987", "gYear"), ("0987",)),
    (literal("1987", "gYear"), ("1987", "1987Z")),
    (literal("1987-05", "gYearMonth"), ("May 1987", "1987-5")),
    (literal("2500000", "integer"), ("2,500,000", "2.5e6", "2500000.0", "+2500000")),
    (literal("0.50", "decimal"), ("0.5", "5e-1")),
    (literal("false", "boolean"), ("No", "False")),
    (Answer("1987-05-02"), ("May 2, 1987",)),
]  # fmt: skip
UNEQUAL = [
    (literal("2003-11-30", "date"), ("2003", "2003-11", "2003-11-03", "30/11/2003", "11/30/2003",
                                     "2003-11-30T12:00:00Z", "November 31, 2003")),
    (literal("1987", "gYear"), ("1987-01-01", "19870", "1,987.5")),
    (literal("true", "boolean"), ("No", "1", "truly")),
    (Answer("02139"), ("2139",)),
    (Answer("12,34"), ("1234",)),
    (Answer("St. Almer"), ("St Almer",)),
    (Answer("Ésme"), ("Esme",)),
    (Answer("May 1968", "m.0film"), ("1968-05",)),
    (Answer("1984", "m.0book"), ("1984.0",)),
]  # fmt: skip


def em(text: str, gold: Answer) -> float:
    return compare([Entity("", text)], [gold])["em"]


def test_a_value_is_right_however_it_is_written() -> None:
    for gold, texts in EQUAL:
        for text in texts:
            assert em(text, gold) == 1.0, (text, gold)


def test_another_value_or_name_is_wrong() -> None:
    for gold, texts in UNEQUAL:
        for text in texts:
            assert em(text, gold) == 0.0, (text, gold)


def test_an_entity_is_not_right_by_a_value_that_it_is_named_after() -> None:
    assert compare([Entity("m.0film", "May 1968")], [literal("1968-05", "gYearMonth")])["em"] == 0.0


def test_a_date_in_words_counts_as_retrieved_and_grounded() -> None:
    gold = literal("2003-11-30", "date")
    turn = Turn((), "", shown=(Entity(gold.id, gold.name),))
    question = Question("q", "When?", (), (gold,))
    answer = ("30 November 2003",)
    done = Trajectory(question, "a", "p", (turn,), answer, StopReason.ANSWERED, ("",))
    assert {score(done)[name] for name in ("em", "retrieval_all", "grounded")} == {1.0}


@given(st.dates())
def test_every_day_in_words_is_the_day_in_digits(day: date) -> None:
    iso = day.isoformat()
    month = day.strftime("%B")
    assert value_key(f"{month} {day.day}, {day.year:04d}") == value_key(iso) == iso


@given(st.text(max_size=60))
def test_a_key_is_a_value_of_its_own_key(text: str) -> None:
    key = value_key(text)
    assert value_key(key) == key or key.startswith(("-", "0")) or len(key) > 40 or "t" in key
