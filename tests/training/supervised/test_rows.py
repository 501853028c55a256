"""The rows of a run: encoded once, kept in its folder, made anew when their sources change."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from data_pipeline.config import SynthConfig
from data_pipeline.synthesize import synthesize
from graphwalker.files import read_jsonl, read_records, write_jsonl
from graphwalker.tokens.formats import FORMATS
from graphwalker.tokens.segments import (
    IGNORED,
    completion_ids,
    extension_ids,
    prompt_ids,
    training_row,
    training_rows,
)
from graphwalker.trajectory import Trajectory
from graphwalker.world.generate import make_world
from support.paths import ROOT
from support.run_toys import sft_config, write_config
from support.token_kinds import byte_level
from training.supervised.rows import Rows, read_rows

READ = """
import sys
from pathlib import Path
from transformers import AutoTokenizer
from graphwalker.config import load_config
from training.config import SftConfig
from training.supervised.rows import read_rows
config = load_config(SftConfig, sys.argv[1], [])
read_rows(config, AutoTokenizer.from_pretrained(config.model), Path(sys.argv[2]))
"""


@pytest.fixture(scope="module")
def tokenizer(place) -> Any:
    return AutoTokenizer.from_pretrained(place / "model")


def read(place: Path, cache: Path, tokenizer: Any, **values: Any) -> Rows:
    return read_rows(sft_config(place, place / "r", **values), tokenizer, cache)


def kept(cache: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in cache.rglob("*.arrow")}


def test_a_row_has_the_ids_and_labels_of_its_trajectory(place, tokenizer, tmp_path) -> None:
    rows = read(place, tmp_path, tokenizer)
    walks = read_records(place / "walks.jsonl", Trajectory.from_json)
    made = [row for w in walks for row in training_rows(w, FORMATS["inline"], tokenizer)]
    assert rows.dataset["input_ids"][:] == [row.input_ids for row in made]
    assert rows.dataset["labels"][:] == [row.labels for row in made]
    assert rows.longest_turn == max(row.longest_turn for row in made)
    assert rows.lengths == [len(row.input_ids) for row in made]


def test_a_second_start_reads_what_the_first_one_encoded(place, tokenizer, tmp_path) -> None:
    first = read(place, tmp_path, tokenizer)
    files = kept(tmp_path)
    again = read(place, tmp_path, AutoTokenizer.from_pretrained(place / "model"), lr=1.0)
    assert again.facts() == first.facts() and kept(tmp_path) == files
    assert again.dataset[:] == first.dataset[:]


@pytest.mark.parametrize("changed", ["max_length", "format", "mask", "data", "tokenizer"])
def test_what_rows_are_made_of_makes_them_anew(place, tokenizer, tmp_path, changed) -> None:
    read(place, tmp_path / "rows", tokenizer)
    (before,) = kept(tmp_path / "rows")
    records = [*read_jsonl(place / "walks.jsonl")]
    records[-1]["turns"][-1]["completion"] = "<answer>[]</answer>"
    write_jsonl(tmp_path / "walks.jsonl", records)
    other = AutoTokenizer.from_pretrained(place / "model")
    other.add_tokens(["twin of"])
    values = {
        "max_length": {"max_length": 80},
        "format": {"format": "chatml"},
        "mask": {"mask_injected_errors": False},
        "data": {"data": (str(tmp_path / "walks.jsonl"),)},
        "tokenizer": {},
    }[changed]
    if changed == "format":
        other.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    unchanged = changed not in ("tokenizer", "format")
    read(place, tmp_path / "rows", tokenizer if unchanged else other, **values)
    (after,) = kept(tmp_path / "rows")  # and those of before are gone
    assert after != before


@pytest.mark.long
def test_a_killed_start_leaves_nothing_that_is_taken_for_whole(place, tokenizer, tmp_path):
    many = [*read_jsonl(place / "walks.jsonl")] * 200
    write_jsonl(tmp_path / "walks.jsonl", many)
    data = {"data": (str(tmp_path / "walks.jsonl"),)}
    config = write_config(sft_config(place, tmp_path, **data), tmp_path / "config.json")
    command = [sys.executable, "-c", READ, str(config), str(tmp_path / "rows")]
    run = subprocess.Popen(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)})
    try:
        deadline = time.monotonic() + 900
        while not any(file.stat().st_size for file in (tmp_path / "rows").rglob("*.arrow")):
            assert run.poll() is None and time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        run.kill()
        run.wait()
    assert not list((tmp_path / "rows").rglob("dataset_info.json"))
    assert len(read(place, tmp_path / "rows", tokenizer, **data).lengths) == len(many)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> list[Trajectory]:
    folder = tmp_path_factory.mktemp("corpus")
    make_world(1000, 0, folder)
    synthesize(folder / "graph", SynthConfig(count=12), folder / "synth")
    return list(read_records(folder / "synth" / "graphsynth.jsonl", Trajectory.from_json))


@pytest.fixture(scope="module")
def bytes_tokenizer():
    return byte_level()


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_all_tokens_of_the_agent_and_no_others_are_trained(name, corpus, bytes_tokenizer):
    fmt = FORMATS[name]
    for trajectory in corpus:
        row = training_row(trajectory, fmt, bytes_tokenizer)
        ids, labels = [], []
        for number, turn in enumerate(trajectory.turns):
            first = prompt_ids if number == 0 else extension_ids
            context = first(turn.context, fmt, bytes_tokenizer)
            said = completion_ids(turn.completion, fmt, bytes_tokenizer)
            ids += [*context, *said]
            labels += [*[IGNORED] * len(context), *said]
        assert (row.input_ids, row.labels) == (ids, labels)
