"""The training benchmark: it runs to the end, and what it compares is the same work."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("trl")

from graphwalker.config import write_config
from graphwalker.files import write_jsonl
from support.grpo_batches import environment_of
from support.grpo_toy import played
from support.paths import ROOT
from support.run_toys import grpo_config

SMALL = (
    *("entities=1000", "synth.count=200", "rl_questions.count=150", "experts.count=100"),
    *("tests.test-entity.count=8", "tests.test-path.count=4", "sft1.max_steps=6"),
    *("grpo.prompts_per_step=4", "grpo.samples=4"),
)


@pytest.mark.slow
def test_plain_training_has_our_losses_and_generate_plays_our_episodes(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.training", "--out", str(tmp_path)]
    command += ["--steps", "8", "--set", *SMALL]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    figures = json.loads((tmp_path / "training.json").read_text(encoding="utf-8"))["figures"]
    assert figures["sft"]["largest_loss_difference"] < 1e-3
    equal = figures["rollouts"]["equal_episodes"]
    assert set(equal.values()) == {figures["rollouts"]["episodes"]}


@pytest.mark.slow
def test_each_saving_of_a_grpo_step_is_the_same_gradient(grpo_world, tmp_path: Path) -> None:
    """On the toy, in the form of a finished demo."""
    from benchmarks.training_grpo import ALONE, measure

    demo = tmp_path / "demo"
    for made, place in (("model", "sft2/final"), ("graph", "world/graph")):
        shutil.copytree(grpo_world / made, demo / place)
    (demo / "questions/grpo").mkdir(parents=True)
    shutil.copy(grpo_world / "questions.jsonl", demo / "questions/grpo/questions.jsonl")
    (demo / "graphroll").mkdir()
    shown = played(environment_of(grpo_world), "Verria")
    write_jsonl(demo / "graphroll/graphroll.jsonl", [t.to_json() for t in shown])
    replay = {"data": ("x",), "rows": 2}
    write_config(grpo_config(grpo_world, demo / "grpo", replay=replay), demo / "grpo")
    figures = measure(demo, 3)
    assert figures["informative_groups"] > 0  # else nothing is updated, and nothing measured
    gaps = figures["update"]["largest_difference_of_gradients"]
    assert {*ALONE, "ours"} < gaps.keys() and max(gaps.values()) < 1e-3
    assert sum(figures["shares"].values()) == pytest.approx(1.0, abs=1e-3)
