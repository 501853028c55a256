"""Shards of a job array: merged, they are the run without shards, byte for byte."""

from pathlib import Path

import pytest

from data_pipeline.config import ExpertConfig, SynthConfig
from data_pipeline.experts.experts import make_experts
from data_pipeline.jobs.shards import Shard
from data_pipeline.merge import merge
from data_pipeline.synthesize import synthesize
from graphwalker.errors import UserError

pytestmark = pytest.mark.long

COUNT = 48
CONFIG = SynthConfig(count=COUNT)
EXPERTS = ExpertConfig(count=12, mix={"2-hop": 1, "2I": 1})
FILES = ("walks.jsonl", "questions.jsonl", "graphsynth.jsonl", "dropped.jsonl", "datacard.json")


@pytest.fixture(scope="module")
def whole(graph, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("whole")
    synthesize(graph, CONFIG, out)
    return out


@pytest.fixture
def parts(graph, tmp_path) -> Path:
    """Two shards, the later one made first."""
    for index in (1, 0):
        synthesize(graph, CONFIG, tmp_path, shard=Shard(index, 2))
    return tmp_path


def same(one: Path, other: Path, files=FILES) -> bool:
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in files)


def test_merged_shards_are_the_run_without_shards(graph, whole, parts):
    merge(graph, parts)
    assert same(whole, parts)


def test_a_merge_makes_what_no_shard_has_tried(graph, whole, parts):
    for index in (0, 1):  # shards that gave up early: their cards and files end in the middle
        folder = Shard(index, 2).folder(parts)
        for path in folder.glob("*"):
            path.unlink()
    small = CONFIG.model_copy(update={"max_attempts": 4})
    for index in (0, 1):
        synthesize(graph, small, parts, shard=Shard(index, 2))
        run = Shard(index, 2).folder(parts) / "run.json"
        run.write_text(run.read_text().replace('"max_attempts": 4', '"max_attempts": 3000'))
    tried = sum(len((Shard(i, 2).folder(parts) / n).read_text().splitlines())
                for i in (0, 1) for n in ("graphsynth.jsonl", "dropped.jsonl"))  # fmt: skip
    lines = sum(len((whole / n).read_text().splitlines()) for n in FILES[2:4])
    assert tried < lines
    merge(graph, parts)
    assert same(whole, parts, FILES[:4])


def test_a_merge_names_the_shards_that_are_missing(graph, parts):
    (Shard(1, 2).folder(parts) / "datacard.json").unlink()
    with pytest.raises(UserError, match=r"1 of 2 shards are missing or unfinished: 1; run them"):
        merge(graph, parts)


def test_a_merge_refuses_a_shard_of_other_settings(graph, parts):
    run = Shard(1, 2).folder(parts) / "run.json"
    run.write_text(run.read_text().replace('"seed": 0', '"seed": 1', 1))
    with pytest.raises(UserError, match="1-of-2 was made with other settings"):
        merge(graph, parts)


def test_a_merge_names_an_attempt_that_was_lost(graph, parts):
    file = Shard(0, 2).folder(parts) / "attempts.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join(lines[1:]), encoding="utf-8")
    with pytest.raises(UserError, match=r"attempt \S+/\d+ is missing in its shard"):
        merge(graph, parts)


def test_a_killed_merge_goes_on(graph, whole, parts):
    def stop(done: int, total: int, label: str) -> None:
        if done == COUNT // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        merge(graph, parts, progress=stop)
    merge(graph, parts)
    assert same(whole, parts)


def test_shards_of_experts_merge_into_the_same_trajectories(exam, tmp_path):
    graph, questions = exam / "graph", exam / "questions/questions.jsonl"
    make_experts(graph, EXPERTS, questions, tmp_path / "whole")
    for index in range(2):
        make_experts(graph, EXPERTS, questions, tmp_path / "parts", shard=Shard(index, 2))
    with pytest.raises(UserError, match="give its question file as --questions"):
        merge(graph, tmp_path / "parts")
    merge(graph, tmp_path / "parts", questions)
    files = ("graphroll.jsonl", "dropped.jsonl", "datacard.json", "run.json")
    assert same(tmp_path / "whole", tmp_path / "parts", files)
