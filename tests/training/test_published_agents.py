"""Published agents that call tools are trained by the commands of all: their oracle's trajectories,
SFT, an evaluation in the environment that the model carries."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.files import read_jsonl
from graphwalker.trajectory import Trajectory
from graphwalker.world.generate import make_world
from support.paths import ROOT
from training.tiny.config import TinyModelConfig
from training.tiny.make import conversation_texts, make_tiny

SHAPE = TinyModelConfig(vocab_size=1200, layers=2, hidden=32, heads=2, intermediate=64)
PROMPTS = {"search-on-graph": "search-on-graph-compact", "kg-r1": "kg-r1"}


def run(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("preset", sorted(PROMPTS))
def test_from_the_oracle_to_a_model_that_plays_its_preset(preset: str, tmp_path: Path) -> None:
    prompt = PROMPTS[preset]
    make_world(1000, 0, tmp_path / "world")
    graph = ["--graph", str(tmp_path / "world/graph")]
    synth = ["--count", "8", "--out", str(tmp_path / "synth"), "mix={1-hop: 1}"]
    own = [f"environment.preset={preset}", f"environment.prompt={prompt}"]
    run("-m", "graphwalker", "synth", *graph, *synth, *own)
    data = tmp_path / "synth/graphsynth.jsonl"
    run("-m", "graphwalker", "verify", str(data), *graph)
    walks = [Trajectory.from_json(record) for record in read_jsonl(data)]
    assert all(walk.agent == preset for walk in walks)
    environment = EnvironmentConfig(preset=preset, prompt=prompt)
    texts = conversation_texts(walks)
    make_tiny(SHAPE, texts, [], tmp_path / "tiny", environment=environment)
    settings = ["format=inline", "lr=1e-3", "max_steps=2", "batch_size=4"]
    trained = [f"model={tmp_path / 'tiny'}", f"data=[{data}]", f"output_dir={tmp_path / 'sft'}"]
    run("training/sft.py", *trained, *settings)
    carried = json.loads((tmp_path / "sft/final/graphwalker.json").read_text())
    assert (carried["preset"], carried["environment"]["prompt"]) == (preset, prompt)
    model = ["--model", str(tmp_path / "sft/final"), "--out", str(tmp_path / "eval")]
    asked = ["--questions", str(tmp_path / "synth/questions.jsonl"), "limit=1", "max_tokens=8"]
    run("-m", "graphwalker", "eval", *graph, *model, *asked, "baselines=never", "ceiling=never")
    (record,) = read_jsonl(tmp_path / "eval/predictions.jsonl")
    assert record["agent"] == preset
