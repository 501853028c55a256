"""Kinds of answers: rows, paths and texts beside names, in questions, trajectories and scores."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eval.analysis.summary import summarise
from graphwalker.answers.kinds import Names, PathAnswer, Text, read_gold
from graphwalker.answers.rows import Rows, row_texts
from graphwalker.datasets.base import load_questions
from graphwalker.errors import UserError
from graphwalker.question import Question
from graphwalker.scoring import score
from graphwalker.trajectory import Message, StopReason, Trajectory, Turn

ROWS = Rows(({"node_key": "ab", "n": 2}, {"node_key": "cd", "n": 3.5}))
TIED = Rows(({"k": "sure"},), ({"k": "a"}, {"k": "b"}, {"k": "c"}), 2)
PATH = PathAnswer(("0", "1", "2"), (("0", "1"), ("1", "2"), ("0", "10"), ("10", "2")))
TEXT = Text("The north", ("up there",))


def compared(gold: Rows, *rows: Any) -> dict[str, float]:
    return gold.compare([json.dumps(row) for row in rows])


def test_rows_are_compared_as_a_set_whatever_the_order_of_rows_and_columns() -> None:
    scores = compared(ROWS, {"n": "3.50", "node_key": "cd"}, {"n": 2.0, "node_key": " ab "})
    assert (scores["em"], scores["f1"], scores["false_positives"]) == (1.0, 1.0, 0.0)


def test_a_wrong_row_costs_precision_and_a_missing_one_recall() -> None:
    scores = compared(ROWS, {"node_key": "ab", "n": 2}, {"node_key": "Ab", "n": 2}, {"n": 2})
    assert (scores["precision"], scores["recall"]) == (1 / 3, 0.5)
    assert (scores["em"], scores["false_positives"], scores["hits1"]) == (0.0, 2.0, 1.0)


@pytest.mark.parametrize("other", [True, None, "2 ", "02", [2], {"a": 2}, "two", 2.5])
def test_cells_of_other_values_differ(other: Any) -> None:
    right = other == "2 "
    assert compared(Rows(({"n": 2},)), {"n": other})["em"] == float(right)


def test_of_tied_rows_so_many_as_are_wanted_are_right() -> None:
    sure, a, b, c = ({"k": k} for k in ("sure", "a", "b", "c"))
    assert compared(TIED, sure, c, a)["em"] == 1.0
    assert compared(TIED, sure, a)["recall"] == 2 / 3
    assert compared(TIED, sure, a, b, c)["false_positives"] == 1.0
    assert [row["k"] for row in TIED.nearest(['{"k": "c"}'])] == ["sure", "c", "a"]


def test_repeats_count_in_a_multiset_alone() -> None:
    twice = ({"k": "a"}, {"k": "a"})
    assert compared(Rows(twice), {"k": "a"})["em"] == 1.0
    assert compared(Rows(twice, repeats=True), {"k": "a"})["recall"] == 0.5
    assert compared(Rows(twice, repeats=True), *twice)["em"] == 1.0


def test_no_answer_scores_nothing_and_no_rows_may_be_right() -> None:
    assert set(ROWS.compare(None).values()) == {0.0}
    assert Rows(()).compare([])["em"] == 1.0
    assert ROWS.compare(["no json", "[1]", "{"])["precision"] == 0.0


ROW = st.dictionaries(
    st.text(max_size=3), st.one_of(st.integers(), st.text(max_size=5), st.booleans(), st.none())
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(ROW, max_size=5), st.booleans())
def test_rows_equal_themselves_through_json(rows: list[Any], repeats: bool) -> None:
    gold = Rows(tuple(rows), repeats=repeats)
    again = read_gold(json.loads(json.dumps(gold.to_json())))
    assert again == gold
    assert gold.compare(row_texts(reversed(rows)))["em"] == 1.0


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        (["0", "1", "2"], ""),
        (["0", "10", "2"], ""),
        (["0", "1", "0", "1", "2"], ""),
        (["1", "2"], "begin"),
        (["0", "1"], "end"),
        (["0", "2"], "no step from 0 to 2"),
        ([], "begin"),
    ],
)
def test_a_path_is_right_where_each_step_is_an_edge(given: list[str], fault: str) -> None:
    assert fault in PATH.fault(given) and bool(fault) == bool(PATH.fault(given))
    scores = PATH.compare(given)
    assert scores["em"] == float(not fault)
    assert scores.get("path_ratio") == ((len(given) - 1) / 2 if not fault else None)


def test_a_text_is_right_by_any_accepted_wording_and_else_by_its_words() -> None:
    assert TEXT.compare([" UP  there"])["em"] == TEXT.compare(["the North"])["hits1"] == 1.0
    assert TEXT.compare(["far north"])["f1"] == 0.5
    assert TEXT.compare(None)["f1"] == 0.0


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
def test_odd_gold_is_named(record: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_gold(record)


def episode(gold: Any, answer: tuple[str, ...] | None, observation: str = "") -> Trajectory:
    question = Question("q", "which?", (), gold=gold)
    turn = Turn((Message("user", "which?"),), "that", observation=observation)
    return Trajectory(
        question, "a", "p", (turn,), answer, StopReason.ANSWERED, answer_kind=gold.kind
    )


@pytest.mark.parametrize("gold", [ROWS, TIED, PATH, TEXT, Names(("a", "b"))])
def test_questions_and_trajectories_hold_every_kind_in_json(gold: Any, tmp_path: Path) -> None:
    made = episode(gold, gold.texts())
    again = Trajectory.from_json(json.loads(json.dumps(made.to_json())))
    assert again == made and again.question.gold == gold
    assert [answer.name for answer in again.question.answers] == list(gold.texts())
    assert score(again)["em"] == 1.0 and score(replace(again, answer=None))["em"] == 0.0
    path = tmp_path / "questions.jsonl"
    record = {**made.question.to_json(), "topic_entities": [{"id": "x", "name": "x"}]}
    path.write_text(json.dumps(record) + "\n")
    assert load_questions(path)[0].gold == gold


def test_an_answer_is_grounded_where_its_texts_were_shown() -> None:
    seen = '[{"key": "ab"}, {"key": "cd"}]'
    scores = score(episode(ROWS, ROWS.texts()[:1], seen))
    assert (scores["grounded"], scores["retrieval_any"], scores["retrieval_all"]) == (1, 1, 1)
    assert score(episode(ROWS, ('{"node_key": "zz"}',), seen))["grounded"] == 0
    assert score(episode(PATH, PATH.texts(), "next: 1, 2"))["grounded"] == 1


def test_a_summary_counts_what_only_rows_and_paths_have() -> None:
    rows = replace(episode(ROWS, ('{"node_key": "x"}',)), sample=0)
    summary = summarise([rows, episode(PATH, ("0", "1", "0", "1", "2"))])
    assert (summary["false_positives"], summary["path_ratio"]) == (1.0, 2.0)
    assert summary["answers_read"] == {"none": 2}
