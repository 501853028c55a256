"""The recipe page and published agents, from trajectories to an evaluation, in small."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.files import read_jsonl, read_records
from graphwalker.trajectory import Trajectory
from graphwalker.world.generate import make_world
from support.paths import ROOT
from training.tiny.config import TinyModelConfig
from training.tiny.make import conversation_texts, make_tiny

PAGE = ROOT / "docs" / "recipe.md"
COUNTS = {"synth": 24, "questions": 40, "experts": 16}
MIX = "mix={1-hop: 1, 2-hop: 1}"
SFT = ["format=inline", "lr=1e-3", "max_steps=3", "batch_size=8"]
GRPO = ["format=inline", "steps=1", "samples=2", "prompts_per_step=2", "max_prompt_tokens=1500",
        "max_response_tokens=1500", "max_turn_tokens=200"]  # fmt: skip
SMALL = {
    "#sft1": ["model=tiny", *SFT],
    "#sft2": SFT,
    "#grpo": GRPO,
    "eval": ["policy.format=inline", "limit=2", "samples=1", "max_tokens=32"],
}
"""In the place of the page's own settings. Only the first stage names the tiny model."""


def commands() -> Iterator[list[str]]:
    for block in re.findall(r"```bash\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        yield from map(shlex.split, block.splitlines())


def small(words: list[str]) -> list[str]:
    if words[1] in COUNTS:
        words[words.index("--count") + 1] = str(COUNTS[words[1]])
        return [*words, MIX]
    for sign, more in SMALL.items():
        if any(word.endswith(sign) for word in words):
            keys = {setting.partition("=")[0] for setting in more}
            words = [word for word in words if word.partition("=")[0] not in keys]
            at = words.index("--format") if "--format" in words else len(words)
            return [*words[:at], *words[at + 2 :], *more]
    return words


def test_the_page_names_every_stage_of_its_config() -> None:
    told = " ".join(word for words in commands() for word in words)
    for stage in ("#sft1", "#sft2", "#grpo"):
        assert f"qwen2.5-1.5b-24gb.yaml{stage}" in told


@pytest.mark.slow
def test_every_command_of_the_page_runs(tmp_path) -> None:
    make_world(1000, 0, tmp_path / "world")  # as a user's TSV files
    (tmp_path / "world/triples.tsv.gz").rename(tmp_path / "facts.tsv.gz")
    (tmp_path / "world/names.tsv.gz").rename(tmp_path / "names.tsv.gz")
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
    own = ["-m", "graphwalker"] if words[0] == "graphwalker" else []
    words = [sys.executable, *own, *words[1:]]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout[-2000:]}{done.stderr[-4000:]}"


def make_tiny_model(folder: Path) -> None:
    shape = TinyModelConfig(vocab_size=1500, layers=2, hidden=64, heads=2, intermediate=128)
    walks = read_records(folder / "runs/mine/synth/graphsynth.jsonl", Trajectory.from_json)
    make_tiny(shape, conversation_texts(walks), [], folder / "tiny")


TINY = TinyModelConfig(vocab_size=1200, layers=2, hidden=32, heads=2, intermediate=64)
PROMPTS = {"search-on-graph": "search-on-graph-compact", "kg-r1": "kg-r1"}


def run_python(*words: str) -> None:
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.slow
@pytest.mark.parametrize("preset", sorted(PROMPTS))
def test_from_the_oracle_to_a_model_that_plays_its_preset(preset: str, tmp_path: Path) -> None:
    prompt = PROMPTS[preset]
    make_world(1000, 0, tmp_path / "world")
    graph = ["--graph", str(tmp_path / "world/graph")]
    synth = ["--count", "8", "--out", str(tmp_path / "synth"), "mix={1-hop: 1}"]
    own = [f"environment.preset={preset}", f"environment.prompt={prompt}"]
    run_python("-m", "graphwalker", "synth", *graph, *synth, *own)
    data = tmp_path / "synth/graphsynth.jsonl"
    run_python("-m", "graphwalker", "verify", str(data), *graph)
    walks = [Trajectory.from_json(record) for record in read_jsonl(data)]
    assert all(walk.agent == preset for walk in walks)
    environment = EnvironmentConfig(preset=preset, prompt=prompt)
    texts = conversation_texts(walks)
    make_tiny(TINY, texts, [], tmp_path / "tiny", environment=environment)
    settings = ["format=inline", "lr=1e-3", "max_steps=2", "batch_size=4"]
    trained = [f"model={tmp_path / 'tiny'}", f"data=[{data}]", f"output_dir={tmp_path / 'sft'}"]
    run_python("training/sft.py", *trained, *settings)
    carried = json.loads((tmp_path / "sft/final/graphwalker.json").read_text())
    assert (carried["preset"], carried["environment"]["prompt"]) == (preset, prompt)
    model = ["--model", str(tmp_path / "sft/final"), "--out", str(tmp_path / "eval")]
    asked = ["--questions", str(tmp_path / "synth/questions.jsonl"), "limit=1", "max_tokens=8"]
    run_python(
        "-m", "graphwalker", "eval", *graph, *model, *asked, "baselines=never", "ceiling=never"
    )
    (record,) = read_jsonl(tmp_path / "eval/predictions.jsonl")
    assert record["agent"] == preset
