"""An evaluation in shards: joined, it is the run without shards, and every question counts."""

import json
import re
import shutil
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from eval.run.config import EvalConfig, run_eval
from eval.run.records import PREDICTIONS, SAMPLES, read_run
from graphwalker.cli.app import app
from graphwalker.errors import IncompleteError, UserError
from graphwalker.files import read_jsonl


def config_of(source: Path, out: Path, **more) -> EvalConfig:
    paths = {"graph": source / "graph", "questions": source / "q.jsonl", "output_dir": out}
    settings = {"policy": {"model": "random-relation"}, "samples": 2}
    return EvalConfig(**{key: str(path) for key, path in paths.items()} | settings | more)


@pytest.fixture(scope="module")
def settings(source):
    return partial(config_of, source)


@pytest.mark.parametrize("sampled", [0, 5])
def test_joined_shards_are_the_whole_run(settings, tmp_path, sampled):
    whole = run_eval(settings(tmp_path / "whole", sampled_questions=sampled))
    for number in (2, 0, 1):
        part = settings(tmp_path / "parts", sampled_questions=sampled, shard=f"{number}/3")
        assert (run_eval(part) / "complete.json").is_file()
    joined = run_eval(settings(tmp_path / "parts", sampled_questions=sampled))
    for name in (PREDICTIONS, SAMPLES, "config.json"):
        assert (joined / name).read_bytes() == (whole / name).read_bytes() != b""
    usage = [(f / "usage.jsonl").read_text().count("\n") for f in (whole, joined)]
    assert usage[0] == usage[1]


def test_a_run_takes_the_questions_of_several_files(settings, tmp_path):
    lines = Path(settings(tmp_path).questions[0]).read_text().splitlines(keepends=True)
    files = [tmp_path / name for name in ("a.jsonl", "b.jsonl")]
    files[0].write_text("".join(lines[:2]))
    files[1].write_text("".join(lines[2:]))
    run_eval(settings(tmp_path / "whole"))
    run_eval(settings(tmp_path / "both", questions=[str(path) for path in files]))
    made = [(tmp_path / name / PREDICTIONS).read_bytes() for name in ("whole", "both")]
    assert made[0] == made[1]


def test_shards_that_are_missing_or_of_another_making_are_named(settings, tmp_path):
    run_eval(settings(tmp_path, shard="0/2"))
    with pytest.raises(UserError, match="1 of 2 shards are missing or unfinished: 1;"):
        run_eval(settings(tmp_path))
    run_eval(settings(tmp_path, shard="1/2", temperature=0.5))
    with pytest.raises(UserError, match=r"temperature was 0\.5 and is now 1\.0"):
        run_eval(settings(tmp_path))


def test_more_shards_than_questions(settings, tmp_path):
    for number in range(3):
        run_eval(settings(tmp_path, shard=f"{number}/3", limit=2))
    assert (run_eval(settings(tmp_path, limit=2)) / PREDICTIONS).read_text().count("\n") == 2


def evaluate(source: Path, out: Path, shard: str = "") -> Path:
    return run_eval(
        config_of(source, out, policy={"model": "first-relation"}, samples=0, shard=shard)
    )


def command(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(map(str, words)))
    said = re.sub(r"\s+", " ", f"{done.output} {done.exception}")
    return 3 if isinstance(done.exception, IncompleteError) else done.exit_code, said


@pytest.fixture(scope="module")
def three_shards(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("shards")
    for number in range(3):
        evaluate(source, out, f"{number}/3")
    return out


@pytest.fixture
def killed_run(three_shards: Path, tmp_path: Path) -> Path:
    """Three shards, the last of which was killed within its second record."""
    folder = Path(shutil.copytree(three_shards, tmp_path / "run")) / "shards/2-of-3"
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


def test_missing_questions_count_0_in_reports_and_analyses(source, killed_run, tmp_path):
    command("merge", "--out", killed_run)
    asked = ("--questions", source / "q.jsonl")
    page = tmp_path / "page"
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
    code, said = command("report", killed_run, "--out", page, "--missing", "drop")
    assert code != 0 and "give the question file as --questions" in said
