"""With --questions a file is scored for what was asked: each question once, missing ones as 0."""

import json
from pathlib import Path
from typing import Any

import pytest

from graphwalker.cli import app as cli

QUESTIONS = [
    {
        "id": f"q{k}",
        "question": f"Which {k}?",
        "topic_entities": [{"id": "m.0", "name": "Norway"}],
        "answers": [{"name": f"a{k}"}],
    }
    for k in range(10)
]


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def said(capsys: Any, tmp_path: Path, records: list[dict[str, Any]], *more: str) -> tuple[Any, ...]:
    """Exit code, stdout and stderr of `score` over the records."""
    files = (write(tmp_path / "p.jsonl", records), write(tmp_path / "q.jsonl", QUESTIONS))
    names = ("--predictions", str(files[0]), "--questions", str(files[1]))
    arguments = ("score", *names, "--metrics", "em,tog_em", *more)
    code = cli.run(lambda: cli.app(arguments, standalone_mode=False))
    return (code, *capsys.readouterr())


def right(*numbers: int) -> list[dict[str, Any]]:
    return [{"id": f"q{k}", "predictions": [f"a{k}"]} for k in numbers]


def test_a_whole_file_is_as_it_was(capsys, tmp_path):
    code, out, error = said(capsys, tmp_path, right(*range(10)), "--json")
    found = json.loads(out)
    assert (code, error) == (0, "") and found["metrics"] == {"em": 1.0, "tog_em": 1.0}
    assert (found["n"], found["missing"], found["doubled"], found["unknown"]) == (10, 0, 0, 0)


def test_missing_questions_count_0_are_named_and_end_with_3(capsys, tmp_path):
    code, out, error = said(capsys, tmp_path, right(*range(6)), "--json")
    found = json.loads(out)
    assert code == 3 and "4 of 10 questions have no record and count 0 (q6, q7, q8, q9)" in error
    assert found["n"] == 10 and found["metrics"] == {"em": 0.6, "tog_em": 0.6}
    assert found["missing"] == 4 and found["missing_ids"] == ["q6", "q7", "q8", "q9"]


def test_of_two_records_of_a_question_the_first_counts(capsys, tmp_path):
    twice = [*right(*range(10)), {"id": "q3", "predictions": ["wrong"]}]
    code, out, error = said(capsys, tmp_path, twice, "--json")
    found = json.loads(out)
    assert code == 3 and "1 records repeat an id" in error and "(q3)" in error
    assert (found["n"], found["doubled"], found["metrics"]["em"]) == (10, 1, 1.0)


def test_an_id_that_no_question_has_is_said_and_does_not_count(capsys, tmp_path):
    more = [*right(*range(10)), {"id": "q77", "predictions": ["x"]}]
    code, out, error = said(capsys, tmp_path, more, "--json")
    assert code == 3 and "have no question of that id" in error and "q77" in error
    assert json.loads(out)["n"] == 10 and json.loads(out)["unknown_ids"] == ["q77"]


def test_the_table_says_that_it_is_not_whole(capsys, tmp_path):
    _, out, _ = said(capsys, tmp_path, right(0))
    assert "INCOMPLETE: 9 of 10 questions have no record" in " ".join(out.split())


def test_samples_of_missing_questions_count_as_wrong(tmp_path):
    from eval.score.score import score_file

    records = [{**one, "samples": [one["predictions"]] * 2} for one in right(0, 1)]
    path = write(tmp_path / "p.jsonl", records)
    found = score_file(path, ["pass@2", "em"], questions=write(tmp_path / "q.jsonl", QUESTIONS))
    assert found.metrics == pytest.approx({"pass@2": 0.2, "em": 0.2})
