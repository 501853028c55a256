"""The ablation: its variants share models, its settings are the demo's, and it runs to a table."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from graphwalker.graphs.base import Entity
from graphwalker.question import Answer, Question
from graphwalker.scoring import score
from graphwalker.trajectory import StopReason, Trajectory
from support.paths import ROOT


@pytest.fixture(autouse=True)
def _benchmarks_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))


def test_full_goes_on_from_the_model_of_without_rl(tmp_path: Path) -> None:
    from benchmarks.ablation import VARIANTS, folder_of

    before = folder_of(tmp_path, VARIANTS["full"][:-1])
    assert before == folder_of(tmp_path, VARIANTS["without RL"])


def test_grpo_replays_what_its_chain_was_shown(tmp_path: Path) -> None:
    from benchmarks.ablation import VARIANTS, corpora, grpo_settings
    from graphwalker.config import load_config
    from graphwalker.pipeline import DemoConfig

    config = load_config(DemoConfig, ROOT / "configs" / "ablation.yaml", [])
    shown = {
        name: grpo_settings(tmp_path, config, VARIANTS[name]).get("replay", {}).get("data", [])
        for name in ("full", "without stage 2", "mixed SFT + RL", "without SFT")
    }
    assert shown == {
        "full": corpora(tmp_path, "stage2"),
        "without stage 2": corpora(tmp_path, "stage1"),
        "mixed SFT + RL": corpora(tmp_path, "stage1") + corpora(tmp_path, "stage2"),
        "without SFT": [],
    }


def test_samples_of_a_question_are_pooled_with_its_seed(tmp_path: Path) -> None:
    from benchmarks.ablation import pooled
    from eval.analysis.summary import summarise
    from eval.run.records import PREDICTIONS, SAMPLES, Sampled

    for seed, said in ((3, "Bob"), (4, "Eve")):  # both worlds have a question 1
        folder = tmp_path / f"seed-{seed}" / "eval" / "stage1"
        folder.mkdir(parents=True)
        asked = Question("1", "Who?", (Entity("m.0ada", "Ada Mbeki"),), (Answer("Eve", "m.0eve"),))
        walk = Trajectory(asked, "agent", "policy", (), (said,), StopReason.ANSWERED)
        walk = walk.with_scores(**score(walk))
        for name, record in ((PREDICTIONS, walk), (SAMPLES, Sampled.of(walk))):
            (folder / name).write_text(json.dumps(record.to_json()) + "\n", encoding="utf-8")
    found = summarise(*pooled(tmp_path, [3, 4], ("stage1",)), ks=(1,))
    assert (found["questions"], found["pass@1_questions"], found["pass@1"]) == (2, 2, 0.5)


@pytest.mark.slow
def test_the_whole_ablation_ends_in_a_table_and_pictures(tmp_path: Path) -> None:
    small = [
        *("entities=1000", "synth.count=200", "rl_questions.count=150", "experts.count=100"),
        *("tests.test-entity.count=8", "tests.test-path.count=4", "eval.samples=2"),
        *("tests.test-wording.count=4", "grpo_questions.count=50"),
        *("sft1.max_steps=2", "sft2.max_steps=2", "grpo.steps=1", "grpo.prompts_per_step=2"),
        *("eval.sampled_questions=2", "eval.max_tokens=8", "grpo.max_turn_tokens=8"),
    ]
    command = [sys.executable, "-m", "benchmarks.ablation", "--seeds", "5", "6", "--jobs", "2"]
    command += ["--out", str(tmp_path), "--set", *small]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    figures = json.loads((tmp_path / "ablation.json").read_text(encoding="utf-8"))["figures"]
    assert figures["full"]["questions"] == 32 and len(figures["full"]["em_by_seed"]) == 2
    assert figures["full"]["pass@2_interval"] and "pass@2" not in figures["without stage 2"]
    assert "| mixed SFT + RL |" in done.stdout
    assert (tmp_path / "em.svg").is_file() and (tmp_path / "pass.svg").is_file()
