"""The benchmark of baselines, on a MetaQA of a few films."""

import gzip
import json
from pathlib import Path

import pytest

from benchmarks.baselines import HOPS, measure, split_of
from graphwalker.errors import UserError

FACTS = "".join(
    f"Film {n}|directed_by|Director {n % 7}\nFilm {n}|has_genre|Drama\n" for n in range(40)
)


@pytest.fixture
def metaqa(tmp_path: Path) -> Path:
    (tmp_path / "kb.txt.gz").write_bytes(gzip.compress(FACTS.encode()))
    for hops in HOPS:
        lines = [
            {"id": f"{hops}/{n}", "question": f"who directed [Film {n}]?", "qtype": "d",
             "topic_entity": f"Film {n}", "answers": [f"Director {n % 7}"],
             "relation_path": ["directed_by"]}
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
