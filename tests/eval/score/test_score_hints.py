"""Predictions in forms of their own, with gold of their own, and typed in ways of their own: read
where that is beyond doubt, told where it is not."""

import json
from pathlib import Path
from typing import Any

import pytest

from eval.analysis.comparison import compare_runs, read_runs
from eval.score.forms import part_names
from eval.score.score import ScoreResult, score_file
from graphwalker.cli import app as cli
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer
from graphwalker.scoring import compare, near_miss

GOLD = {"q1": ["Oslo", "Bergen"], "q2": ["Washington, D.C."], "q3": ["Queen's College"]}
FORMS = {
    "list": json.dumps,
    "semicolons": lambda names: "; ".join(names),
    "tight": lambda names: ";".join(names),
    "braces": lambda names: "{" + ", ".join(names) + "}",
    "brackets": lambda names: "[" + ", ".join(names) + "]",
    "python": repr,
    "set": lambda names: "{" + ", ".join(map(repr, names)) + "}",
    "bars": lambda names: " | ".join(names),
}


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    return write(
        tmp_path / "q.jsonl",
        [
            {
                "id": key,
                "question": f"Which {key}?",
                "topic_entities": [{"id": "m.0", "name": "Norway"}],
                "answers": [{"id": f"m.{name}", "name": name} for name in names],
            }
            for key, names in GOLD.items()
        ],
    )


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def table(path: Path, cells: dict[str, str]) -> Path:
    rows = (f'{key},"{cell.replace(chr(34), chr(34) * 2)}"\n' for key, cell in cells.items())
    path.write_text("id,prediction\n" + "".join(rows))
    return path


def scored(path: Path, questions: Path) -> ScoreResult:
    return score_file(path, ["em"], questions=questions)


@pytest.mark.parametrize("form", FORMS)
def test_the_same_predictions_score_the_same_in_every_form(form, questions, tmp_path):
    cells = {key: FORMS[form](names) for key, names in GOLD.items()}
    lines = write(tmp_path / "p.jsonl", [{"id": k, "prediction": c} for k, c in cells.items()])
    for path in (lines, table(tmp_path / "p.csv", cells)):
        assert scored(path, questions).metrics["em"] == 1.0
    (row,) = compare_runs(read_runs([lines], questions=questions))["runs"]
    assert row["em"] == 1.0


@pytest.mark.parametrize(
    ("text", "names", "remark"),
    [
        ("{Rome, Paris}", ("Rome", "Paris"), "unclear"),
        ("Oslo, Bergen", ("Oslo, Bergen",), "unclear"),  # its parts are names, it is none
        ("Rome, Paris", ("Rome, Paris",), ""),
        ("{Oslo, Washington, D.C.}", ("Oslo", "Washington, D.C."), "braces"),
        ("Tom &amp; Jerry; Oslo", ("Tom &amp; Jerry", "Oslo"), "semicolons"),
        ("a; b | c", ("a; b", "c"), ""),
        ("['Oslo' \"Queen's\"]", ("Oslo", "Queen's"), ""),
        ("[\"Oslo' 'x\"]", ("Oslo' 'x",), ""),
        ("[1, 2]", ("1", "2"), "unclear"),
        ("{" * 3000, ("{" * 3000,), ""),
    ],
)
def test_a_comma_parts_names_within_braces_alone_and_what_is_unclear_is_told(text, names, remark):
    known = {name.casefold() for names in GOLD.values() for name in names}
    assert part_names(text, known) == (names, remark)


def test_guessed_and_unclear_forms_are_counted_with_an_example(questions, tmp_path):
    cells = {"q1": "Oslo; Bergen", "q2": "{Paris, Texas}", "q3": "Oslo, Bergen"}
    found = scored(table(tmp_path / "p.csv", cells), questions)
    assert found.to_json()["hints"] == {"semicolons": 1, "unclear": 2}
    assert "such as '{Paris, Texas}'" in found.remarks[1]


def test_a_gold_column_that_may_be_one_name_or_several_is_refused(tmp_path):
    (tmp_path / "p.csv").write_text('id,prediction,answers\nq1,Oslo,"{Oslo, Bergen}"\n')
    with pytest.raises(UserError, match=r"p\.csv:2: .* part names by bars"):
        score_file(tmp_path / "p.csv")


OWN = [
    {"id": "q1", "predictions": ["Tromso"], "answers": ["Tromso"]},
    {"id": "q2", "prediction": ["Paris"], "ground_truth": ["Paris"]},
    {"uid": "q3", "response": "<answer>Eve</answer>",
     "ground_truth": {"target_text": ["Eve"], "target_kb_id": ["m.9"]}},
]  # fmt: skip


def test_the_answers_of_the_questions_win_over_those_of_the_predictions(questions, tmp_path):
    path = write(tmp_path / "p.jsonl", OWN)
    assert score_file(path, ["em"]).metrics["em"] == 1.0
    found = scored(path, questions)
    assert found.metrics["em"] == 0.0 and not found.complaint
    assert found.to_json()["differing_ids"] == ["q1", "q2", "q3"]
    assert "3 records carry other answers than the questions" in found.remarks[0]
    (row,) = compare_runs(read_runs([path], questions=questions))["runs"]
    assert (row["em"], row["differing"]) == (0.0, 3)


def test_gold_that_is_the_same_in_other_words_is_no_difference(questions, tmp_path):
    path = write(tmp_path / "p.jsonl", [
        {"id": "q1", "predictions": ["oslo", "Bergen"], "answers": ["Bergen", "OSLO"]},
        {"id": "q2", "predictions": ["x"], "answers": [{"id": "m.Washington, D.C."}]},
        {"id": "q3", "predictions": ["x"]},
    ])  # fmt: skip
    assert scored(path, questions).to_json()["differing"] == 0


def test_a_run_of_our_own_is_scored_by_the_questions_that_are_given(source, tmp_path):
    run = tmp_path / "run"
    command("eval", "--graph", source / "graph", "--questions", source / "q.jsonl", "--model",
            "first-relation", "--out", run, "samples=2", "ceiling=never")  # fmt: skip
    records = [json.loads(line) for line in (source / "q.jsonl").read_text().splitlines()]
    other = [{**one, "answers": [{"name": "Nowhere"}]} for one in records]
    write(tmp_path / "other.jsonl", other)
    found = score_file(run, ["em", "pass@2"], questions=tmp_path / "other.jsonl")
    assert score_file(run, ["em"]).metrics["em"] > 0
    assert found.metrics == {"em": 0.0, "pass@2": 0.0} and len(found.expected.differing) == 8
    command("report", run, "--out", tmp_path / "page", "--questions", tmp_path / "other.jsonl")
    (stage,) = json.loads((tmp_path / "page/report.json").read_text())["stages"]
    assert (stage["em"], stage["pass@2"]) == (0.0, 0.0)


def command(*words: object) -> None:
    assert cli.run(lambda: cli.app(list(map(str, words)), standalone_mode=False)) == 0


@pytest.mark.parametrize(
    ("given", "gold"),
    [
        ("Queen’s College", "Queen's College"),
        ("Tom &amp; Jerry", "Tom & Jerry"),
        ("New\u200b York", "New York"),
        ("New_York", "New York"),
        ("1990–1995", "1990-1995"),
        ("1990 — 1995", "1990-1995"),
        ("“Hello”", "Hello"),
    ],
)
def test_a_near_miss_is_told_and_counts_as_wrong(given, gold):
    answer, gold_set = [Entity("", given)], [Answer(gold, "m.1")]
    assert compare(answer, gold_set)["em"] == 0.0 and near_miss(answer, gold_set) == given


def test_what_is_right_or_simply_wrong_is_no_near_miss():
    gold = [Answer("New York", "m.1"), Answer("1000", "")]
    for given in ("new  york", "1,000", "York", "Newyork"):
        assert near_miss([Entity("", given)], gold) == ""
    assert near_miss([Entity("m.2", "New_York")], gold) == ""  # ids decide
    assert near_miss(None, gold) == ""


def test_near_misses_are_counted_by_score_and_compare(questions, tmp_path):
    path = write(tmp_path / "p.jsonl", [{"id": "q3", "predictions": ["Queen’s College"]}])
    found = scored(path, questions)
    assert found.metrics["em"] == 0.0 and found.to_json()["hints"] == {"typing": 1}
    (row,) = compare_runs(read_runs([path], questions=questions))["runs"]
    assert row["near_misses"] == 1 and "Queen’s College" in row["remark"]


TWICE = ('"predictions": ["b"]', '"answers": [{"name": "b", "name": ""}]')


@pytest.mark.parametrize("inside", TWICE)
def test_a_field_that_stands_twice_is_refused_by_line(inside, tmp_path):
    good = '{"id": "q", "predictions": ["a"], "answers": ["a"]}'
    (tmp_path / "p.jsonl").write_text(f"{good}\n{good[:-1]}, {inside}}}\n")
    (tmp_path / "p.json").write_text(f"[{good[:-1]}, {inside}}}]")
    with pytest.raises(UserError, match=r"p\.jsonl:2: the field '\w+' stands twice"):
        score_file(tmp_path / "p.jsonl")
    with pytest.raises(UserError, match=r"p\.json: the field '\w+' stands twice"):
        score_file(tmp_path / "p.json")


def test_two_columns_of_one_name_are_refused(tmp_path):
    (tmp_path / "p.csv").write_text("id,prediction,Prediction\nq,a,b\n")
    with pytest.raises(UserError, match="two columns are named 'prediction'"):
        score_file(tmp_path / "p.csv")


def test_a_run_of_a_rule_is_named_after_the_rule(source, tmp_path):
    command("eval", "--graph", source / "graph", "--questions", source / "q.jsonl", "--model",
            "first-relation", "--out", tmp_path / "run", "ceiling=never")  # fmt: skip
    assert [run.name for run in read_runs([tmp_path / "run"])] == ["first-relation"]
