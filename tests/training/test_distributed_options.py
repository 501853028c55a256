"""What GRPO can do besides its paper, by two processes: each is the run of one."""

import os
from pathlib import Path
from typing import Any

import pytest

from graphwalker.files import read_jsonl, write_jsonl
from support.grpo_batches import environment_of
from support.grpo_toy import SMALL, played
from support.paths import ROOT
from support.run_toys import grpo_config, largest_difference, launch, lines
from training.grpo import run_grpo

ROUNDING = 2e-4
TESTS = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
"""Where processes of their own find the preset of a test."""
KEYS = ("em", "turns", "tokens", "entropy", "loss", "grad_norm")


@pytest.fixture(scope="module")
def shown(grpo_world) -> str:
    """Demonstrations to replay: the first half of the questions, answered right."""
    path = grpo_world / "shown.jsonl"
    write_jsonl(path, [t.to_json() for t in played(environment_of(grpo_world), "Verria")[:5]])
    return str(path)


def both(world: Path, folder: Path, layout: str = "ddp", **settings: Any) -> tuple[Path, Path]:
    """The run by one process, and by two; figures and final weights are checked to be equal."""
    one, two = folder / "one", folder / "two"
    run_grpo(grpo_config(world, one, **settings))
    launch("grpo.py", grpo_config(world, two, **settings), layout, DS_ACCELERATOR="cpu", **TESTS)
    for left, right in zip(lines(two), lines(one), strict=True):
        for key in KEYS:
            assert left[key] == pytest.approx(right[key], rel=1e-3, abs=1e-5), key
    assert largest_difference(two, one) < ROUNDING
    return one, two


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["grpo", "dapo"])
def test_contexts_that_begin_anew(grpo_world, tmp_path, objective) -> None:
    """Each process has another number of them."""
    preset = SMALL.model_copy(update={"preset": "support.forgetful_agent:FORGETFUL"})
    settings = {"environment": preset, "force_environment": True, "loss_type": objective}
    one, _ = both(grpo_world, tmp_path, beta=0.1, temperature=1.5, **settings)
    episodes = list(read_jsonl(one / "trajectories.jsonl"))
    assert any(turn.get("restart") for episode in episodes for turn in episode["turns"])


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["ddp", "zero2", "fsdp2"])
def test_replay(grpo_world, shown, tmp_path, layout) -> None:
    needs(layout)
    replay = {"data": (shown,), "rows": 5, "weight": 0.2}  # five rows for four passes
    one, two = both(grpo_world, tmp_path, layout, replay=replay)
    replayed = [[line["replay_loss"] for line in lines(run)] for run in (one, two)]
    assert replayed[0] == pytest.approx(replayed[1], rel=1e-4) and min(replayed[0]) > 0


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["ddp", "zero2", "fsdp2"])
def test_evaluation(grpo_world, tmp_path, layout) -> None:
    needs(layout)
    dev = {"questions": str(grpo_world / "questions.jsonl"), "every_steps": 2, "samples": 2}
    settings = {"evaluation": {**dev, "choose_best": False}}
    one, two = both(grpo_world, tmp_path, layout, **settings)
    keys = ("step", "em", "sampled_em", "em_by_question")
    figures = [
        [tuple(line[key] for key in keys) for line in read_jsonl(run / "evaluations.jsonl")]
        for run in (one, two)
    ]
    assert figures[0] == figures[1] and len(figures[0]) == 3


@pytest.mark.slow
def test_groups_drawn_again(grpo_world, tmp_path) -> None:
    both(grpo_world, tmp_path, zero_variance="resample", resample_tries=1)


def needs(layout: str) -> None:
    if layout.startswith("zero"):
        pytest.importorskip("deepspeed", reason="pip install 'graphwalker-kgqa[deepspeed]'")
