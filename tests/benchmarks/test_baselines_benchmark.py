"""The benchmark of baselines on a few films, and what is read off a finished demo."""

import gzip
import json
from pathlib import Path

import pytest

from benchmarks.baselines import HOPS, measure, split_of
from benchmarks.demo import PARTS, figures, mean
from graphwalker.errors import UserError
from graphwalker.files import write_json, write_jsonl
from graphwalker.question import Answer, Question
from graphwalker.trajectory import StopReason, Trajectory

FACTS = "".join(
    f"Film {n}|directed_by|Director {n % 7}\nFilm {n}|has_genre|Drama\n" for n in range(40)
)


@pytest.fixture
def metaqa(tmp_path: Path) -> Path:
    (tmp_path / "kb.txt.gz").write_bytes(gzip.compress(FACTS.encode()))
    for hops in HOPS:
        about = {"qtype": "d", "relation_path": ["directed_by"]}
        lines = [
            {"id": f"{hops}/{n}", "question": f"who directed [Film {n}]?", **about,
             "topic_entity": f"Film {n}", "answers": [f"Director {n % 7}"]}
            for n in range(40)
        ]  # fmt: skip
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (tmp_path / f"qa_{hops}hop_dev.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    return tmp_path


def test_every_baseline_and_the_ceiling_are_measured(metaqa: Path, tmp_path: Path) -> None:
    found = measure(None, None, metaqa, tmp_path / "out")
    assert set(found) == {"metaqa-1-hop", "metaqa-2-hop", "metaqa-3-hop"}
    row = found["metaqa-1-hop"]
    assert row["linear"]["em"] == row["ceiling"]["winnable"] == 1.0
    assert row["first-relation"]["questions"] == row["random-relation"]["questions"]


def test_a_topic_entity_is_in_one_split() -> None:
    assert {split_of(f"Film {n}") for n in range(40)} == {"train", "dev", "test"}


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"kb\.txt\.gz: no such file"):
        measure(None, None, tmp_path, tmp_path / "out")


def prediction(number: int, split: str, right: bool, sample: int = 0) -> dict:
    answer = Answer("Verria", "m.1")
    question = Question(f"{split}-{number}", "Which?", (), (answer,), split=split)
    name, found = ("Verria", "m.1") if right else ("Elsewhere", "m.2")
    stop = StopReason.ANSWERED
    episode = Trajectory(question, "graphwalker", "p", (), (name,), stop, (found,), sample)
    return episode.to_json()


@pytest.fixture
def run(tmp_path):
    stage = {"questions": 12, "em": 0.5, "gain": 0.25, "gain_interval": [0.1, 0.4]}
    stage["em_interval"] = [0.2, 0.8]
    names = ("untrained", "SFT stage 1", "SFT stage 2", "GRPO")
    report = {
        "stages": [{"name": name, **stage} for name in names],
        "baselines": {"first-relation": {"em": 0.25, "em_interval": [0.1, 0.5]}},
        "ceiling": {"winnable": 1.0},
        "total_seconds": 90.0,
        "total_cpu_seconds": 150.0,
    }
    write_json(tmp_path / "report.json", report)
    right = {"sft1": (), "sft2": (0, 1), "grpo": (1, 2, 3)}
    for folder, numbers in right.items():
        rows = [prediction(n, split, n in numbers) for split in PARTS.values() for n in range(4)]
        rows += [prediction(0, "test-path", True, sample=1)]  # a sampled one counts for nothing
        (tmp_path / "eval" / folder).mkdir(parents=True)
        write_jsonl(tmp_path / "eval" / folder / "predictions.jsonl", rows)
    return tmp_path


def test_the_gain_of_a_part_is_paired(run):
    found = figures(run)
    part = found["parts"]["held-out words"]
    assert (part["questions"], part["sft2"], part["grpo"]) == (4, 0.5, 0.75)
    gain, low, high = part["gain"]
    assert gain == 0.25 and low < 0.25 < high  # two won, one lost
    assert found["gain"]["GRPO"] == [0.25, 0.1, 0.4]
    assert found["without a model"]["first-relation"] == [0.25, 0.1, 0.5]
    assert (found["minutes"], found["cpu_minutes"]) == (1.5, 2.5)


def test_means_are_over_seeds(run):
    one = figures(run)
    other = {**one, "em": dict.fromkeys(one["em"], 1.0)}
    assert mean([one, other])["em"] == dict.fromkeys(one["em"], 0.75)
    assert mean([one])["gain_of_parts"] == dict.fromkeys(PARTS, 0.25)
