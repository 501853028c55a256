"""The recipe page: its commands run as they stand there, with a tiny model and small counts."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphwalker.world.generate import make_world
from support.paths import ROOT

PAGE = ROOT / "docs" / "recipe.md"
COUNTS = {"synth": 24, "questions": 40, "experts": 16}
MIX = "mix={1-hop: 1, 2-hop: 1}"
SFT = ["format=inline", "lr=1e-3", "max_steps=3", "batch_size=8"]
GRPO = ["format=inline", "steps=1", "samples=2", "prompts_per_step=2", "max_prompt_tokens=1500",
        "max_response_tokens=1500", "max_turn_tokens=32"]  # fmt: skip
SMALL = {
    "#sft1": ["model=tiny", *SFT],
    "#sft2": SFT,
    "#grpo": GRPO,
    "eval": ["policy.format=inline", "limit=2", "samples=1", "max_tokens=32"],
}
"""In the place of the page's own settings. Only the first stage names the tiny model."""


def commands() -> Iterator[list[str]]:
    """Every line of the page's bash blocks, as words."""
    for block in re.findall(r"```bash\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        yield from map(shlex.split, block.splitlines())


def small(words: list[str]) -> list[str]:
    """The same command on small data."""
    if words[1] in COUNTS:
        words[words.index("--count") + 1] = str(COUNTS[words[1]])
        return [*words, MIX]
    for sign, more in SMALL.items():
        if any(word.endswith(sign) for word in words):
            keys = {setting.partition("=")[0] for setting in more}
            words = [word for word in words if word.partition("=")[0] not in keys]
            return [*_without(words, "--format"), *more]
    return words


def _without(words: list[str], option: str) -> list[str]:
    """Without an option and its value."""
    at = words.index(option) if option in words else len(words)
    return [*words[:at], *words[at + 2 :]]


def test_the_page_names_every_stage_of_its_config() -> None:
    told = " ".join(word for words in commands() for word in words)
    for stage in ("#sft1", "#sft2", "#grpo"):
        assert f"qwen2.5-1.5b-24gb.yaml{stage}" in told


@pytest.mark.slow
def test_every_command_of_the_page_runs(tmp_path) -> None:
    make_own_graph(tmp_path)
    for words in commands():
        run(small(words), tmp_path)
        if words[1] == "questions" and not (tmp_path / "tiny").exists():
            make_tiny_model(tmp_path)
    assert (tmp_path / "runs/mine/eval/report.html").is_file()


def run(words: list[str], folder: Path) -> None:
    """In `folder`, from which the page's paths of the source tree can be seen."""
    for name in ("configs", "training"):
        if not (folder / name).exists():
            (folder / name).symlink_to(ROOT / name)
    if words[0] == "graphwalker":
        words = [sys.executable, "-m", "graphwalker", *words[1:]]
    else:
        words = [sys.executable, *words[1:]]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout[-2000:]}{done.stderr[-4000:]}"


def make_own_graph(folder: Path) -> None:
    """A fictional world as a user's TSV files."""
    make_world(1000, 0, folder / "world")
    (folder / "world" / "triples.tsv.gz").rename(folder / "facts.tsv.gz")
    (folder / "world" / "names.tsv.gz").rename(folder / "names.tsv.gz")


def make_tiny_model(folder: Path) -> None:
    from graphwalker.files import read_records
    from graphwalker.trajectory import Trajectory
    from training.tiny.config import TinyModelConfig
    from training.tiny.make import conversation_texts, make_tiny

    shape = TinyModelConfig(vocab_size=1500, layers=2, hidden=64, heads=2, intermediate=128)
    walks = read_records(folder / "runs/mine/synth/graphsynth.jsonl", Trajectory.from_json)
    make_tiny(shape, conversation_texts(walks), [], folder / "tiny")
