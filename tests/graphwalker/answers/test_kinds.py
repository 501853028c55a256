"""Kinds of answers: rows, paths, texts, and values that are equal by what they mean."""

import json
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eval.analysis.summary import summarise
from graphwalker.answers.kinds import Names, PathAnswer, Text, read_gold
from graphwalker.answers.rows import Rows, row_texts
from graphwalker.answers.values import value_key
from graphwalker.datasets.base import load_questions
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer, Question
from graphwalker.scoring import compare, score
from graphwalker.trajectory import Message, StopReason, Trajectory, Turn

ROWS = Rows(({"node_key": "ab", "n": 2}, {"node_key": "cd", "n": 3.5}))
TIED = Rows(({"k": "sure"},), ({"k": "a"}, {"k": "b"}, {"k": "c"}), 2)
PATH = PathAnswer(("0", "1", "2"), (("0", "1"), ("1", "2"), ("0", "10"), ("10", "2")))
TEXT = Text("The north", ("up there",))


def compared(gold, *rows):
    return gold.compare([json.dumps(row) for row in rows])


def test_rows_are_compared_as_a_set_whatever_the_order_of_rows_and_columns():
    scores = compared(ROWS, {"n": "3.50", "node_key": "cd"}, {"n": 2.0, "node_key": " ab "})
    assert (scores["em"], scores["f1"], scores["false_positives"]) == (1.0, 1.0, 0.0)


def test_a_wrong_row_costs_precision_and_a_missing_one_recall():
    scores = compared(ROWS, {"node_key": "ab", "n": 2}, {"node_key": "Ab", "n": 2}, {"n": 2})
    assert (scores["precision"], scores["recall"]) == (1 / 3, 0.5)
    assert (scores["em"], scores["false_positives"], scores["hits1"]) == (0.0, 2.0, 1.0)


@pytest.mark.parametrize("other", [True, None, "2 ", "02", [2], {"a": 2}, "two", 2.5])
def test_cells_of_other_values_differ(other):
    right = other == "2 "
    assert compared(Rows(({"n": 2},)), {"n": other})["em"] == float(right)


def test_of_tied_rows_so_many_as_are_wanted_are_right():
    sure, a, b, c = ({"k": k} for k in ("sure", "a", "b", "c"))
    assert compared(TIED, sure, c, a)["em"] == 1.0
    assert compared(TIED, sure, a)["recall"] == 2 / 3
    assert compared(TIED, sure, a, b, c)["false_positives"] == 1.0
    assert [row["k"] for row in TIED.nearest(['{"k": "c"}'])] == ["sure", "c", "a"]


def test_repeats_count_in_a_multiset_alone():
    twice = ({"k": "a"}, {"k": "a"})
    assert compared(Rows(twice), {"k": "a"})["em"] == 1.0
    assert compared(Rows(twice, repeats=True), {"k": "a"})["recall"] == 0.5
    assert compared(Rows(twice, repeats=True), *twice)["em"] == 1.0


def test_no_answer_scores_nothing_and_no_rows_may_be_right():
    assert set(ROWS.compare(None).values()) == {0.0}
    assert Rows(()).compare([])["em"] == 1.0
    assert ROWS.compare(["no json", "[1]", "{"])["precision"] == 0.0


CELL = st.one_of(st.integers(), st.text(max_size=5), st.booleans(), st.none())
ROW = st.dictionaries(st.text(max_size=3), CELL)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(ROW, max_size=5), st.booleans())
def test_rows_equal_themselves_through_json(rows, repeats):
    gold = Rows(tuple(rows), repeats=repeats)
    again = read_gold(json.loads(json.dumps(gold.to_json())))
    assert again == gold and gold.compare(row_texts(reversed(rows)))["em"] == 1.0


WAYS = {
    "0 1 2": "", "0 10 2": "", "0 1 0 1 2": "", "1 2": "begin", "0 1": "end",
    "0 2": "no step from 0 to 2", "": "begin",
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_a_path_is_right_where_each_step_is_an_edge(way):
    given, fault = way.split(), WAYS[way]
    assert fault in PATH.fault(given) and bool(fault) == bool(PATH.fault(given))
    scores = PATH.compare(given)
    assert scores["em"] == float(not fault)
    assert scores.get("path_ratio") == ((len(given) - 1) / 2 if not fault else None)


def test_a_text_is_right_by_any_accepted_wording_and_else_by_its_words():
    assert TEXT.compare([" UP  there"])["em"] == TEXT.compare(["the North"])["hits1"] == 1.0
    assert TEXT.compare(["far north"])["f1"] == 0.5 and TEXT.compare(None)["f1"] == 0.0


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([], "no JSON object"),
        ({"kind": "cube"}, "gold.kind.*known: names, rows, path, text"),
        ({"kind": "rows"}, "no 'rows'"),
        ({"kind": "rows", "rows": [1]}, "rows are JSON objects"),
        ({"kind": "rows", "rows": [], "ties": [{}]}, "pick is 0"),
        ({"kind": "path", "nodes": []}, "at least one"),
        ({"kind": "path", "nodes": ["a"], "edges": [["a"]]}, "no path"),
        ({"kind": "names", "names": [1]}, "names are strings"),
    ],
)
def test_odd_gold_is_named(record, message):
    with pytest.raises(UserError, match=message):
        read_gold(record)


def episode(gold, answer, observation=""):
    question = Question("q", "which?", (), gold=gold)
    turn = Turn((Message("user", "which?"),), "that", observation=observation)
    done = Trajectory(question, "a", "p", (turn,), answer, StopReason.ANSWERED)
    return replace(done, answer_kind=gold.kind)


@pytest.mark.parametrize("gold", [ROWS, TIED, PATH, TEXT, Names(("a", "b"))])
def test_questions_and_trajectories_hold_every_kind_in_json(gold, tmp_path):
    made = episode(gold, gold.texts())
    again = Trajectory.from_json(json.loads(json.dumps(made.to_json())))
    assert again == made and again.question.gold == gold
    assert [answer.name for answer in again.question.answers] == list(gold.texts())
    assert score(again)["em"] == 1.0 and score(replace(again, answer=None))["em"] == 0.0
    path = tmp_path / "questions.jsonl"
    record = {**made.question.to_json(), "topic_entities": [{"id": "x", "name": "x"}]}
    path.write_text(json.dumps(record) + "\n")
    assert load_questions(path)[0].gold == gold


def test_an_answer_is_grounded_where_its_texts_were_shown():
    seen = '[{"key": "ab"}, {"key": "cd"}]'
    scores = score(episode(ROWS, ROWS.texts()[:1], seen))
    assert (scores["grounded"], scores["retrieval_any"], scores["retrieval_all"]) == (1, 1, 1)
    assert score(episode(ROWS, ('{"node_key": "zz"}',), seen))["grounded"] == 0
    assert score(episode(PATH, PATH.texts(), "next: 1, 2"))["grounded"] == 1


def test_a_summary_counts_what_only_rows_and_paths_have():
    rows = replace(episode(ROWS, ('{"node_key": "x"}',)), sample=0)
    summary = summarise([rows, episode(PATH, ("0", "1", "0", "1", "2"))])
    assert (summary["false_positives"], summary["path_ratio"]) == (1.0, 2.0)
    assert summary["answers_read"] == {"none": 2}


XSD = "http://www.w3.org/2001/XMLSchema#"


def literal(text, kind):
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


def em(text, gold):
    return compare([Entity("", text)], [gold])["em"]


def test_a_value_is_right_however_it_is_written():
    for gold, texts in EQUAL:
        for text in texts:
            assert em(text, gold) == 1.0, (text, gold)


def test_another_value_or_name_is_wrong():
    for gold, texts in UNEQUAL:
        for text in texts:
            assert em(text, gold) == 0.0, (text, gold)


def test_an_entity_is_not_right_by_a_value_that_it_is_named_after():
    assert compare([Entity("m.0film", "May 1968")], [literal("1968-05", "gYearMonth")])["em"] == 0.0


def test_a_date_in_words_counts_as_retrieved_and_grounded():
    gold = literal("2003-11-30", "date")
    turn = Turn((), "", shown=(Entity(gold.id, gold.name),))
    question = Question("q", "When?", (), (gold,))
    answer = ("30 November 2003",)
    done = Trajectory(question, "a", "p", (turn,), answer, StopReason.ANSWERED, ("",))
    assert {score(done)[name] for name in ("em", "retrieval_all", "grounded")} == {1.0}


@given(st.dates())
def test_every_day_in_words_is_the_day_in_digits(day):
    iso = day.isoformat()
    month = day.strftime("%B")
    assert value_key(f"{month} {day.day}, {day.year:04d}") == value_key(iso) == iso


@given(st.text(max_size=60))
def test_a_key_is_a_value_of_its_own_key(text):
    key = value_key(text)
    assert value_key(key) == key or key.startswith(("-", "0")) or len(key) > 40 or "t" in key
