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


@pytest.mark.parametrize(
    ("records", "error", "counts", "em"),
    [
        (right(*range(10)), "", (0, 0, 0), 1.0),
        (right(*range(6)), "4 of 10 questions have no record and count 0 (q6, q7,", (4, 0, 0), 0.6),
        (
            [*right(*range(10)), {"id": "q3", "predictions": ["wrong"]}],
            "1 records repeat an id: the first of each counts (q3)",
            (0, 1, 0),
            1.0,
        ),
        (
            [*right(*range(10)), {"id": "q77", "predictions": ["x"]}],
            "1 records have no question of that id and do not count (q77)",
            (0, 0, 1),
            1.0,
        ),
    ],
)
def test_missing_doubled_and_unknown_records_are_named_and_end_with_3(
    capsys, tmp_path, records, error, counts, em
):
    code, out, said_error = said(capsys, tmp_path, records, "--json")
    found = json.loads(out)
    assert code == (3 if error else 0) and error in said_error and bool(error) == bool(said_error)
    assert found["n"] == 10 and found["metrics"] == {"em": em, "tog_em": em}
    assert tuple(found[name] for name in ("missing", "doubled", "unknown")) == counts
    if error:
        _, table, _ = said(capsys, tmp_path, records)
        assert f"INCOMPLETE: {error.split(' (')[0]}" in " ".join(table.split())


def test_samples_of_missing_questions_count_as_wrong(tmp_path):
    from eval.score.score import score_file

    records = [{**one, "samples": [one["predictions"]] * 2} for one in right(0, 1)]
    path = write(tmp_path / "p.jsonl", records)
    found = score_file(path, ["pass@2", "em"], questions=write(tmp_path / "q.jsonl", QUESTIONS))
    assert found.metrics == pytest.approx({"pass@2": 0.2, "em": 0.2})
