"""The training benchmark: it runs to the end, and what it compares is the same work."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import ROOT

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
    losses = figures["grpo"]["first_loss"]
    assert losses["ours"] == pytest.approx(losses["padded"], abs=1e-5)
