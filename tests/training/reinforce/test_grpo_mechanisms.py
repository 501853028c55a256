"""What stands against forgetting and waste in GRPO: evaluation and replay."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn.functional import cross_entropy

from graphwalker.errors import UserError
from graphwalker.files import read_jsonl, write_jsonl
from support.grpo_batches import environment_of, first_batch, gradients, halves, our_loss
from support.grpo_toy import played, questions
from support.run_toys import grpo_config, largest_difference, lines, stop_after
from training.grpo import run_grpo
from training.supervised.replay import Replay

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def world(grpo_world) -> Path:
    dev = [replace(q, id=f"dev-{q.id}", text=f"Say, {q.text}") for q in questions()]
    write_jsonl(grpo_world / "dev.jsonl", [q.to_json() for q in dev])
    shown = played(environment_of(grpo_world), "Verria")
    write_jsonl(grpo_world / "shown.jsonl", [t.to_json() for t in shown])
    return grpo_world


def everything(world: Path, out: Path, **settings: Any) -> Any:
    values: dict[str, Any] = {
        "evaluation": {"questions": str(world / "dev.jsonl"), "every_steps": 2, "samples": 2},
        "replay": {"data": [str(world / "shown.jsonl")], "rows": 3},
        "keep_checkpoints": 9,
    }
    return grpo_config(world, out, **values | settings)


@pytest.fixture(scope="module")
def whole(world, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("mechanisms") / "whole"
    run_grpo(everything(world, out))
    return out


def test_dev_questions_are_asked_before_the_first_step_and_the_best_model_is_the_final_one(whole):
    found = list(read_jsonl(whole / "evaluations.jsonl"))
    assert [line["step"] for line in found] == [0, 2, 4]
    assert all(line["em_low"] <= line["em"] <= line["em_high"] for line in found)
    assert all(0 <= line["sampled_em"] <= 1 for line in found)
    assert len(found[0]["em_by_question"]) == 8
    for line in found[1:]:
        assert line["gain"] == pytest.approx(line["em"] - found[0]["em"])
    by_step = {line["step"]: line for line in lines(whole)}
    assert by_step[2]["eval_em"] == found[1]["em"] and "eval_em" not in by_step[3]
    best = max(found, key=lambda line: (line["em"], -line["step"]))
    assert json.loads((whole / "best.json").read_text()) == {"step": best["step"], "em": best["em"]}
    kept = whole / f"best-{best['step']}" / "model.safetensors"
    assert kept.read_bytes() == (whole / "final" / "model.safetensors").read_bytes()


def test_a_run_ends_when_evaluations_bring_no_gain(world, tmp_path) -> None:
    rules = {"questions": str(world / "dev.jsonl"), "every_steps": 1, "patience": 1}
    run_grpo(grpo_config(world, tmp_path / "r", lr=1e-12, evaluation=rules))
    assert [line["step"] for line in lines(tmp_path / "r")] == [1]
    assert (tmp_path / "r" / "final").is_dir()


def test_evaluation_leaves_training_as_it_is(world, tmp_path) -> None:
    rules = {"questions": str(world / "dev.jsonl"), "every_steps": 1, "choose_best": False}
    run_grpo(grpo_config(world, tmp_path / "seen", steps=2, evaluation=rules))
    run_grpo(grpo_config(world, tmp_path / "blind", steps=2))
    assert largest_difference(tmp_path / "seen", tmp_path / "blind") == 0


def test_replay_adds_the_weighted_mean_cross_entropy_of_its_rows(world, tmp_path) -> None:
    replay = {"data": [str(world / "shown.jsonl")], "rows": 3, "weight": 0.5}
    trainer, inputs = first_batch(world, tmp_path / "r", replay=replay)
    dealt: Replay = trainer.replay
    seen = [row for step in range(8) for row in dealt.step(step)]
    assert sorted(seen) == sorted([*range(8)] * 3)  # none twice before all have come
    parts = [dealt.part(0, place, 4) for place in range(4)]
    assert sum(int((p.labels[:, 1:] != -100).sum()) for p in parts) == parts[0].of
    rows = [trainer.replay._rows[i] for i in trainer.replay.step(0)]
    total, count = torch.zeros(()), 0
    for row in rows:
        ids, labels = torch.tensor(row["input_ids"])[None], torch.tensor(row["labels"][1:]).long()
        logits = trainer.model(ids).logits[0, :-1]
        total = total + cross_entropy(logits, labels, ignore_index=-100, reduction="sum")
        count += int((labels != -100).sum())
    trainer._buffered_inputs = trainer._micro_batches(halves(inputs))
    with_it = torch.zeros(())
    for number, part in enumerate(trainer._buffered_inputs):
        trainer._step = number
        with_it = with_it + trainer._compute_loss(trainer.model, part)
    both = gradients(trainer, with_it)
    trainer.replay = None
    alone = gradients(trainer, our_loss(trainer, inputs))
    extra = gradients(trainer, 0.5 * total / count)
    for found, a, b in zip(both, alone, extra, strict=True):
        assert torch.allclose(found, a + b, atol=1e-6)


def test_files_of_replay_and_evaluation_are_named_before_anything_is_made(world, tmp_path) -> None:
    with pytest.raises(UserError, match=r"replay\.data: none\.jsonl: no such trajectory file"):
        run_grpo(grpo_config(world, tmp_path / "r", replay={"data": ["none.jsonl"]}))
    with pytest.raises(UserError, match=r"evaluation\.questions: none\.jsonl: no such file"):
        run_grpo(grpo_config(world, tmp_path / "r", evaluation={"questions": "none.jsonl"}))
    assert not (tmp_path / "r" / "config.yaml").exists()


def test_a_run_with_all_of_it_resumes_bit_equal(world, whole, tmp_path) -> None:
    step = 2
    config = everything(world, tmp_path / "again")
    run = stop_after(whole, config, step)
    for folder in run.glob("best*"):
        shutil.rmtree(folder) if folder.is_dir() else folder.unlink()
    for best in whole.glob("best-*"):
        if int(best.name.partition("-")[2]) <= step:  # a kill would have left it
            shutil.copytree(best, run / best.name)
            shutil.copy(whole / "best.json", run / "best.json")
    run_grpo(config)
    assert largest_difference(run, whole) == 0
    name = "evaluations.jsonl"
    assert (run / name).read_text() == (whole / name).read_text()
    ours, theirs = (
        [[line.get(key) for key in ("loss", "em", "replay_loss", "eval_em")] for line in lines(at)]
        for at in (run, whole)
    )
    assert ours == theirs
