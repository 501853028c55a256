"""An evaluation in shards: joined, it is the run without shards, byte for byte."""

from pathlib import Path

import pytest

from eval.run.config import EvalConfig, run_eval
from eval.run.records import PREDICTIONS, SAMPLES
from graphwalker.errors import UserError


@pytest.fixture(scope="module")
def settings(source):
    def config(out: Path, **more) -> EvalConfig:
        values = {
            "graph": str(source / "graph"),
            "questions": str(source / "q.jsonl"),
            "output_dir": str(out),
            "policy": {"model": "random-relation"},
            "samples": 2,
        }
        return EvalConfig(**(values | more))

    return config


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
