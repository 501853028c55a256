"""The benchmarks of training and of rankers run to their records."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from graphwalker.config import write_config
from graphwalker.files import write_jsonl
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer, Question
from support.paths import ROOT
from support.run_toys import grpo_config

SMALL = (
    *("synth.count=200", "rl.count=150", "experts.count=100", "practice.count=40"),
    *("test.count=8", "test_words.count=4", "sft1.max_steps=6"),
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
    assert set(equal.values()) == {figures["rollouts"]["encoded_as_drawn"]}
    assert 2 * figures["rollouts"]["encoded_as_drawn"] > figures["rollouts"]["episodes"]


@pytest.mark.slow
def test_each_saving_of_a_grpo_step_is_the_same_gradient(grpo_world, tmp_path: Path) -> None:
    from benchmarks.training_grpo import ALONE, measure

    demo = tmp_path / "demo"
    for made, place in (("model", "sft2/final"), ("graph", "world/graph")):
        shutil.copytree(grpo_world / made, demo / place)
    (demo / "practice").mkdir()
    shutil.copy(grpo_world / "questions.jsonl", demo / "practice/questions.jsonl")
    write_config(grpo_config(grpo_world, demo / "grpo"), demo / "grpo")
    figures = measure(demo, 3)
    assert figures["informative_groups"] > 0  # else nothing is updated, and nothing measured
    gaps = figures["update"]["largest_difference_of_gradients"]
    assert {*ALONE, "ours"} < gaps.keys() and max(gaps.values()) < 1e-3
    assert sum(figures["shares"].values()) == pytest.approx(1.0, abs=1e-3)


ADA = (Entity("m.0ada", "Ada Mbeki"),)
PATHS = {"who is her kid?": "people.person.children", "her movies?": "film.film.directed_by"}


@pytest.mark.slow
def test_every_ranker_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.ranker import main

    for name in ("synth", "train", "test"):
        questions = [
            Question(str(k), text, ADA, (Answer("x"),), annotations={"relation_path": [relation]})
            for k, (text, relation) in enumerate(PATHS.items())
        ]
        write_jsonl(tmp_path / f"{name}.jsonl", [question.to_json() for question in questions])
    files = [f"--{name}={tmp_path}/{name}.jsonl" for name in ("synth", "train", "test")]
    given = ["--graph", "support.toy:toy_graph", *files, "--seeds", "3", "--synth-seeds", "3"]
    monkeypatch.setattr(sys, "argv", ["ranker", *given, "--results", str(tmp_path)])
    main()
    record = json.loads((tmp_path / "ranker.json").read_text())
    figures = record["figures"]
    assert len(figures) == 1 + 2 + 3 and record["seed"] == 3
    (trained,) = figures["trained, both"]
    assert trained["test"]["hops"] == 2 and trained["call_ms"] > 0
