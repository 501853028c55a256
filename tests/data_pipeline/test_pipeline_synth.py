"""The synthesis loop: exact mix, same bytes whatever the workers, kills, restarts and shards."""

import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from data_pipeline.config import ExpertConfig, SynthConfig
from data_pipeline.experts.experts import make_experts
from data_pipeline.jobs.shards import Shard
from data_pipeline.merge import merge
from data_pipeline.splits import check_leakage
from data_pipeline.synthesize import make_questions, synthesize
from graphwalker.datasets.base import load_questions
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl

pytestmark = pytest.mark.long

FILES = ("walks.jsonl", "questions.jsonl", "graphsynth.jsonl", "dropped.jsonl")
CARDS = ("datacard.json", "README.md")


@pytest.fixture(scope="module")
def synth(graph, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("synth")
    synthesize(graph, SynthConfig(count=120), out)
    return out


def contents(folder: Path, names=(*FILES, *CARDS)) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in names}


def test_the_mix_is_exact_and_every_trajectory_is_right(synth):
    rows = list(read_jsonl(synth / "graphsynth.jsonl"))
    made = Counter(row["question"]["structure"] for row in rows)
    assert made == {"2-hop": 16, "3-hop": 40, "4-hop": 14, "5-hop": 5, "2I": 45}
    assert all(row["scores"]["em"] == row["scores"]["retrieval_all"] == 1.0 for row in rows)
    assert len({row["question"]["question"].casefold() for row in rows}) == len(rows)


def test_every_attempt_is_accounted_for(synth):
    kept = {row["unit"] for row in read_jsonl(synth / "graphsynth.jsonl")}
    dropped = {row["id"] for row in read_jsonl(synth / "dropped.jsonl")}
    assert not kept & dropped
    for structure in ("2-hop", "3-hop", "2I"):
        numbers = sorted(int(u.split("/")[1]) for u in kept | dropped if u.startswith(structure))
        assert numbers == list(range(len(numbers)))
    card = json.loads((synth / "datacard.json").read_text())
    assert card["attempts"] == len(kept | dropped) and card["count"] == 120


def test_two_workers_make_the_same_bytes_as_one(graph, synth, tmp_path):
    synthesize(graph, SynthConfig(count=120, workers=2), tmp_path)
    assert contents(tmp_path) == contents(synth)


def test_a_killed_run_goes_on_to_the_files_of_an_undisturbed_one(graph, synth, tmp_path):
    made, command = tmp_path / "attempts.jsonl", [sys.executable, "-m", "graphwalker", "synth"]
    command += ["--graph", str(graph), "--count", "120", "--out", str(tmp_path), "--workers"]
    for workers, at_least in (("1", 5), ("2", 40)):
        with psutil.Popen([*command, workers]) as run:
            until(lambda enough=at_least: count(made) >= enough)
            processes = run.children()
            run.kill()
    assert count(made) < 120
    assert processes
    until(lambda: not any(map(is_alive, processes)))  # no worker outlives the run
    synthesize(graph, SynthConfig(count=120), tmp_path)
    assert contents(tmp_path) == contents(synth)


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 300
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def is_alive(process: psutil.Process) -> bool:
    """A zombie that nobody has reaped yet is not."""
    with suppress(psutil.NoSuchProcess):
        return process.status() != psutil.STATUS_ZOMBIE
    return False


def count(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_another_config_is_refused_by_the_key_that_differs(graph, synth):
    with pytest.raises(UserError, match=r"max_degree was 5 and is now 4"):
        synthesize(graph, SynthConfig(count=120, max_degree=4), synth)


def test_a_structure_that_the_graph_cannot_give_is_named(graph, tmp_path):
    config = SynthConfig(count=50, mix={"5-hop": 1}, min_degree=4, max_attempts=60)
    for _ in range(2):  # the second run finds the same, without another attempt
        with pytest.raises(UserError, match="5-hop: 0 of 50 made, none in the last 60 attempts"):
            synthesize(graph, config, tmp_path)
        assert count(tmp_path / "dropped.jsonl") == 60


def test_a_path_share_caps_the_questions_of_one_relation_path(graph, tmp_path):
    config = SynthConfig(count=40, mix={"1-hop": 1}, max_path_share=0.05)
    make_questions(graph, config, tmp_path)
    paths = Counter(q.relation_path for q in load_questions(tmp_path / "questions.jsonl"))
    assert max(paths.values()) == 2


def test_held_out_questions_share_no_topic_and_no_text_with_training(graph, synth, tmp_path):
    train = load_questions(synth / "questions.jsonl")
    for split in ("test-entity", "test-path"):
        config = SynthConfig(count=30, seed=3, split=split, mix={"2-hop": 2, "2I": 1})
        make_questions(graph, config, tmp_path / split)
        test = load_questions(tmp_path / split / "questions.jsonl")
        assert {q.split for q in test} == {split}
        found = check_leakage(train, test)
        assert found == {"questions": 30, "shared_topics": 0, "shared_texts": 0, "shared_paths": 0}


COUNT = 48
CONFIG = SynthConfig(count=COUNT)
MERGED = (*FILES, "datacard.json")
EXPERTS = ExpertConfig(count=12, mix={"2-hop": 1, "2I": 1})


@pytest.fixture(scope="module")
def whole(graph, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("whole")
    synthesize(graph, CONFIG, out)
    return out


@pytest.fixture
def parts(graph, tmp_path) -> Path:
    for index in (1, 0):
        synthesize(graph, CONFIG, tmp_path, shard=Shard(index, 2))
    return tmp_path


def test_merged_shards_are_the_run_without_shards(graph, whole, parts):
    merge(graph, parts)
    assert contents(whole, MERGED) == contents(parts, MERGED)


def test_a_merge_makes_what_no_shard_has_tried(graph, whole, parts):
    for index in (0, 1):  # shards that gave up early: their cards and files end in the middle
        folder = Shard(index, 2).folder(parts)
        for path in folder.glob("*"):
            path.unlink()
    small = CONFIG.model_copy(update={"max_attempts": 2})
    for index in (0, 1):
        synthesize(graph, small, parts, shard=Shard(index, 2))
        run = Shard(index, 2).folder(parts) / "run.json"
        run.write_text(run.read_text().replace('"max_attempts": 2', '"max_attempts": 3000'))
    tried = sum(len((Shard(i, 2).folder(parts) / n).read_text().splitlines())
                for i in (0, 1) for n in ("graphsynth.jsonl", "dropped.jsonl"))  # fmt: skip
    lines = sum(len((whole / n).read_text().splitlines()) for n in FILES[2:4])
    assert tried < lines
    merge(graph, parts)
    assert contents(whole, FILES) == contents(parts, FILES)


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
    assert contents(whole, MERGED) == contents(parts, MERGED)


def test_shards_of_experts_merge_into_the_same_trajectories(exam, tmp_path):
    graph, questions = exam / "graph", exam / "questions/questions.jsonl"
    make_experts(graph, EXPERTS, questions, tmp_path / "whole")
    for index in range(2):
        make_experts(graph, EXPERTS, questions, tmp_path / "parts", shard=Shard(index, 2))
    with pytest.raises(UserError, match="give its question file as --questions"):
        merge(graph, tmp_path / "parts")
    merge(graph, tmp_path / "parts", questions)
    files = ("graphroll.jsonl", "dropped.jsonl", "datacard.json", "run.json")
    assert contents(tmp_path / "whole", files) == contents(tmp_path / "parts", files)
