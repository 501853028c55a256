"""Every question of the question file counts: in reports, analyses and merged shards."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from eval.run.config import EvalConfig, run_eval
from eval.run.records import PREDICTIONS, read_run
from graphwalker.cli.app import app
from graphwalker.files import read_jsonl


def evaluate(source: Path, out: Path, shard: str = "") -> Path:
    values = {
        "graph": str(source / "graph"),
        "questions": str(source / "q.jsonl"),
        "output_dir": str(out),
        "policy": {"model": "first-relation"},
        "shard": shard,
    }
    return run_eval(EvalConfig.model_validate(values))


def command(*words: object) -> tuple[int, str]:
    """The exit code of a command, and what it says, in one line."""
    done = CliRunner().invoke(app, list(map(str, words)))
    said = f"{done.output} {done.exception}"
    return 3 if "Incomplete" in type(done.exception).__name__ else done.exit_code, (
        re.sub(r"\s+", " ", said)
    )


@pytest.fixture
def killed_run(source: Path, tmp_path: Path) -> Path:
    """Three shards, the last of which was killed within its second record."""
    for number in range(3):
        evaluate(source, tmp_path / "run", f"{number}/3")
    folder = tmp_path / "run/shards/2-of-3"
    (folder / "complete.json").unlink()
    first, second = (folder / PREDICTIONS).read_text().splitlines(keepends=True)[:2]
    (folder / PREDICTIONS).write_text(first + second[:40])
    return tmp_path / "run"


def test_a_merge_of_shards_names_what_one_has_not_done(source: Path, killed_run: Path) -> None:
    code, said = command("merge", "--out", killed_run)
    assert code == 3 and "1 of 8 questions missing: shard 2/3: 1 of 2;" in said
    questions = source / "q.jsonl"
    code, said = command("merge", "--out", killed_run, "--questions", questions)
    assert code == 3 and "shard 2/3: 1 of 2 (q06)" in said
    assert read_run(killed_run).missing()["missing"] == 1


def test_a_shard_that_never_began_is_named(source: Path, tmp_path: Path) -> None:
    evaluate(source, tmp_path, "1/3")
    code, said = command("merge", "--out", tmp_path)
    assert code == 3 and "5 of 8 questions missing: shard 0/3: 3 of 3; shard 2/3: 2 of 2;" in said


def test_a_merge_after_the_shard_has_finished_is_whole(source: Path, killed_run: Path) -> None:
    command("merge", "--out", killed_run)
    evaluate(source, killed_run, "2/3")
    assert command("merge", "--out", killed_run)[0] == 0
    whole = evaluate(source, killed_run.parent / "whole")
    ids = [sorted(r["id"] for r in read_jsonl(f / PREDICTIONS)) for f in (whole, killed_run)]
    assert ids[0] == ids[1]


def test_missing_questions_count_0_in_reports_and_analyses(source: Path, killed_run: Path) -> None:
    command("merge", "--out", killed_run)
    asked = ("--questions", source / "q.jsonl")
    page = killed_run.parent / "page"
    records = list(read_jsonl(killed_run / PREDICTIONS))
    f1 = sum(record["scores"]["f1"] for record in records)
    assert f1 > 0
    for more, counted, note in [
        ((), 7, ""),
        (asked, 8, "(counted 0)"),
        ((*asked, "--missing", "drop"), 7, "(left out)"),
    ]:
        code, said = command("report", killed_run, "--out", page, *more)
        (stage,) = json.loads((page / "report.json").read_text())["stages"]
        assert code == 3 and "1 of 8 questions" in said and note in said
        assert stage["f1"] == pytest.approx(f1 / counted)
        assert stage["turns"] == sum(len(record["turns"]) for record in records) / 7
        _, told = command("analyse", killed_run, "--json", *more)
        figures = json.JSONDecoder().raw_decode(told[told.index("{") :])[0]
        assert figures["overall"]["f1"] == stage["f1"] and figures["missing"] == 1
        assert ("q06" in said) == bool(more)
        kinds = sum(kind["count"] for kind in figures["errors"].values())
        assert kinds == figures["wrong"] == sum(r["scores"]["em"] < 1 for r in records)


def test_dropping_needs_the_question_file(killed_run: Path) -> None:
    command("merge", "--out", killed_run)
    code, said = command("report", killed_run, "--out", killed_run / "page", "--missing", "drop")
    assert code != 0 and "give the question file as --questions" in said
