"""GRPO runs: the batch holds what was sampled, and runs end, refuse and resume as they should."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from graphwalker.agents.rollout import rollout
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl
from graphwalker.policies.base import Sampling
from graphwalker.policies.local.policy import TransformersPolicy
from graphwalker.tokens.formats import FORMATS
from graphwalker.tokens.segments import training_row
from graphwalker.trajectory import StopReason, Trajectory
from support.grpo_batches import environment_of
from support.grpo_toy import questions
from support.run_toys import grpo_config, largest_difference, lines, write_config
from training.grpo import run_grpo
from training.grpo_config import GrpoConfig
from training.reinforce.episode_tokens import episode_tokens
from training.reinforce.groups import group_ids
from training.reinforce.rollout import step_seed
from training.rewards.mix import score_episode
from training.runs.command import run_command

FORMAT = FORMATS["inline"]


def load(path: Path):
    return AutoTokenizer.from_pretrained(path), AutoModelForCausalLM.from_pretrained(path)


def config(world: Path, out: Path, **settings: Any) -> GrpoConfig:
    return grpo_config(world, out, **({"steps": 2, "save_steps": 1} | settings))


@pytest.fixture(scope="module")
def world(grpo_world) -> Path:
    return grpo_world


@pytest.fixture(scope="module")
def finished_run(world, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    run_grpo(config(world, out))
    return out


# --- episodes as tokens


def sampled(world: Path, count: int = 4) -> list[Trajectory]:
    tokenizer, model = load(world / "model")
    policy = TransformersPolicy(model, tokenizer, FORMAT, max_context=512)
    sampling = Sampling(temperature=1.0, max_tokens=40, seed=3)
    return list(rollout(questions()[:count], environment_of(world), policy, sampling, samples=2))


def test_an_episode_is_the_ids_of_its_training_row_and_its_mask_what_the_policy_drew(world):
    tokenizer, _ = load(world / "model")
    for trajectory in sampled(world):
        tokens = episode_tokens(trajectory, FORMAT, tokenizer, [tokenizer.eos_token_id])
        row = training_row(trajectory, FORMAT, tokenizer)
        assert tokens.prompt + tokens.completion == row.input_ids
        drawn = [i for i, m in zip(tokens.completion, tokens.mask, strict=True) if m]
        turns = [t.token_ids[: len(t.logprobs)] for t in trajectory.turns]
        assert drawn == [token for turn in turns for token in turn]
        text = tokenizer.decode([i for i in drawn if i != tokenizer.eos_token_id])
        assert "<information>" not in text


def test_how_an_episode_ended_shows_in_its_tokens(world):
    tokenizer, _ = load(world / "model")
    first = sampled(world)[0]
    answered = replace(first, stop=StopReason.ANSWERED, answer=("Verria",))
    tokens = episode_tokens(answered, FORMAT, tokenizer, [7])
    assert tokens.completion[-1] == 7 and tokens.mask[-1] == 0
    failed = replace(first, stop=StopReason.GRAPH_ERROR)
    assert score_episode(failed).scores.get("reward") is None
    assert not any(episode_tokens(failed, FORMAT, tokenizer, [0]).mask)
    empty = episode_tokens(replace(failed, turns=()), FORMAT, tokenizer, [0])
    assert empty.prompt and empty.completion


def test_groups_that_are_not_full_are_refused_and_each_step_has_its_own_seed():
    assert group_ids(["a", "a", "b", "b"], 2) == ["a", "b"]
    for prompts in (["a", "a", "b"], ["a", "b"]):
        with pytest.raises(RuntimeError, match="groups of 2"):
            group_ids(prompts, 2)
    assert len({step_seed(seed, step) for seed in (0, 1) for step in range(50)}) == 100


# --- runs


@pytest.mark.long
def test_two_steps_write_metrics_trajectories_and_a_final_model(world, finished_run):
    record = lines(finished_run)
    assert [line["step"] for line in record] == [1, 2]
    assert all(line["mismatch_max"] < 1e-4 for line in record)
    assert any(0 < line["reward"] < 1 and line["grad_norm"] > 0 for line in record)
    episodes = list(read_jsonl(finished_run / "trajectories.jsonl"))
    assert [e["provenance"]["step"] for e in episodes] == [1] * 4 + [2] * 4
    _, model = load(finished_run / "final")
    _, before = load(world / "model")
    assert not torch.equal(model.lm_head.weight, before.lm_head.weight)


def test_a_finished_run_is_recognised_and_another_config_is_refused_by_its_key(world, finished_run):
    before = (finished_run / "metrics.jsonl").stat().st_mtime_ns
    assert run_grpo(config(world, finished_run)) == finished_run / "final"
    assert (finished_run / "metrics.jsonl").stat().st_mtime_ns == before
    with pytest.raises(UserError, match=r"lr was 0\.001"):
        run_grpo(config(world, finished_run, lr=5e-4))


@pytest.mark.parametrize(("key", "value"), [("prompts_per_step", 64), ("micro_batch", 7)])
def test_batches_that_cannot_be_are_refused(world, tmp_path, key, value):
    with pytest.raises(UserError, match=f"{key} = {value}"):
        run_grpo(config(world, tmp_path / "run", **{key: value}))


CURVE = ("reward", "loss", "grad_norm", "entropy", "turns", "tokens", "resampled")


def curve(folder: Path) -> list[tuple]:
    return [tuple(line[key] for key in CURVE) for line in lines(folder)]


@pytest.mark.long
def test_a_run_that_stopped_goes_on_with_the_same_curve(world, tmp_path):
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    settings = {"steps": 4, "save_steps": 2, "iterations": 2, "beta": 0.1}
    settings |= {"zero_variance": "resample", "keep_checkpoints": 9}
    run_grpo(config(world, whole, **settings))
    shutil.copytree(whole, stopped)
    shutil.rmtree(stopped / "final")
    shutil.rmtree(stopped / "checkpoint-4")
    text = (stopped / "config.yaml").read_text(encoding="utf-8")
    (stopped / "config.yaml").write_text(text.replace(str(whole), str(stopped)), encoding="utf-8")
    run_grpo(config(world, stopped, **settings))
    assert curve(stopped) == curve(whole) and len(curve(whole)) == 4
    assert lines(whole)[0]["kl"] < 1e-8 < lines(whole)[-1]["kl"]  # from the model of the start
    assert largest_difference(whole, stopped) == 0
    steps = [e["provenance"]["step"] for e in read_jsonl(stopped / "trajectories.jsonl")]
    assert steps == [1] * 4 + [3] * 4


def test_the_command_answers_mistakes_with_one_line_and_code_2(world, tmp_path, capsys):
    path = write_config(config(world, tmp_path / "run"), tmp_path / "grpo.json")
    arguments = ["--config", str(path), "sampels=3"]
    assert run_command("grpo", GrpoConfig, run_grpo, arguments) == 2
    error = capsys.readouterr().err
    assert "did you mean samples" in error and error.count("\n") == 1
