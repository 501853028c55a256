"""GRPO runs: the batch holds what was sampled, and runs end, refuse and resume as they should."""

import contextlib
import shutil
import types
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl.generation.vllm_generation import VLLMGeneration

from graphwalker.agents.model_environment import read_environment
from graphwalker.agents.policies import load_policy
from graphwalker.agents.rollout import rollout
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl
from graphwalker.policies.base import Sampling
from graphwalker.policies.config import PolicyConfig
from graphwalker.policies.local.policy import TransformersPolicy
from graphwalker.tokens.formats import FORMATS
from graphwalker.tokens.segments import training_row
from graphwalker.trajectory import StopReason, Trajectory
from support.grpo_batches import environment_of
from support.grpo_toy import questions
from support.run_toys import grpo_config, largest_difference, lines, write_config
from training.grpo import run_grpo
from training.grpo_config import GrpoConfig
from training.models.lora import merge_adapter
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
def finished_run(grpo_world, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    run_grpo(config(grpo_world, out))
    return out


def sampled(grpo_world: Path, count: int = 4) -> list[Trajectory]:
    tokenizer, model = load(grpo_world / "model")
    policy = TransformersPolicy(model, tokenizer, FORMAT, max_context=512)
    sampling = Sampling(temperature=1.0, max_tokens=40, seed=3)
    return list(
        rollout(questions()[:count], environment_of(grpo_world), policy, sampling, samples=2)
    )


def test_an_episode_is_the_ids_of_its_training_row_and_its_mask_what_the_policy_drew(grpo_world):
    tokenizer, _ = load(grpo_world / "model")
    for trajectory in sampled(grpo_world):
        tokens = episode_tokens(trajectory, FORMAT, tokenizer, [tokenizer.eos_token_id])
        row = training_row(trajectory, FORMAT, tokenizer)
        assert tokens.prompt + tokens.completion == row.input_ids
        drawn = [i for i, m in zip(tokens.completion, tokens.mask, strict=True) if m]
        turns = [t.token_ids[: len(t.logprobs)] for t in trajectory.turns]
        assert drawn == [token for turn in turns for token in turn]
        text = tokenizer.decode([i for i in drawn if i != tokenizer.eos_token_id])
        assert "<information>" not in text


def test_how_an_episode_ended_shows_in_its_tokens(grpo_world):
    tokenizer, _ = load(grpo_world / "model")
    first = sampled(grpo_world)[0]
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


@pytest.mark.long
def test_two_steps_write_metrics_trajectories_and_a_final_model(grpo_world, finished_run):
    record = lines(finished_run)
    assert [line["step"] for line in record] == [1, 2]
    assert all(line["mismatch_max"] < 1e-4 for line in record)
    assert any(0 < line["reward"] < 1 and line["grad_norm"] > 0 for line in record)
    episodes = list(read_jsonl(finished_run / "trajectories.jsonl"))
    assert [e["provenance"]["step"] for e in episodes] == [1] * 4 + [2] * 4
    _, model = load(finished_run / "final")
    _, before = load(grpo_world / "model")
    assert not torch.equal(model.lm_head.weight, before.lm_head.weight)


def test_a_finished_run_is_recognised_and_another_config_refused(grpo_world, finished_run):
    before = (finished_run / "metrics.jsonl").stat().st_mtime_ns
    assert run_grpo(config(grpo_world, finished_run)) == finished_run / "final"
    assert (finished_run / "metrics.jsonl").stat().st_mtime_ns == before
    with pytest.raises(UserError, match=r"lr was 0\.001"):
        run_grpo(config(grpo_world, finished_run, lr=5e-4))


@pytest.mark.parametrize(("key", "value"), [("prompts_per_step", 64), ("micro_batch", 7)])
def test_batches_that_cannot_be_are_refused(grpo_world, tmp_path, key, value):
    with pytest.raises(UserError, match=f"{key} = {value}"):
        run_grpo(config(grpo_world, tmp_path / "run", **{key: value}))


CURVE = ("reward", "loss", "grad_norm", "entropy", "turns", "tokens", "resampled")


def curve(folder: Path) -> list[tuple]:
    return [tuple(line[key] for key in CURVE) for line in lines(folder)]


@pytest.mark.long
def test_a_run_that_stopped_goes_on_with_the_same_curve(grpo_world, tmp_path):
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    settings = {"steps": 4, "save_steps": 2, "iterations": 2, "beta": 0.1}
    settings |= {"zero_variance": "resample", "keep_checkpoints": 9}
    run_grpo(config(grpo_world, whole, **settings))
    shutil.copytree(whole, stopped)
    shutil.rmtree(stopped / "final")
    shutil.rmtree(stopped / "checkpoint-4")
    text = (stopped / "config.yaml").read_text(encoding="utf-8")
    (stopped / "config.yaml").write_text(text.replace(str(whole), str(stopped)), encoding="utf-8")
    run_grpo(config(grpo_world, stopped, **settings))
    assert curve(stopped) == curve(whole) and len(curve(whole)) == 4
    assert lines(whole)[0]["kl"] < 1e-8 < lines(whole)[-1]["kl"]  # from the model of the start
    assert largest_difference(whole, stopped) == 0
    steps = [e["provenance"]["step"] for e in read_jsonl(stopped / "trajectories.jsonl")]
    assert steps == [1] * 4 + [3] * 4


def test_the_command_answers_mistakes_with_one_line_and_code_2(grpo_world, tmp_path, capsys):
    path = write_config(config(grpo_world, tmp_path / "run"), tmp_path / "grpo.json")
    arguments = ["--config", str(path), "sampels=3"]
    assert run_command("grpo", GrpoConfig, run_grpo, arguments) == 2
    error = capsys.readouterr().err
    assert "did you mean samples" in error and error.count("\n") == 1


LORA = {"r": 8, "alpha": 16}


@pytest.fixture(scope="module")
def run(grpo_world, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "lora"
    run_grpo(grpo_config(grpo_world, out, lora=LORA, lr=2e-2, steps=2, save_steps=2, beta=0.001))
    return out


@pytest.mark.long
def test_adapters_alone_are_trained_against_the_model_without_them_and_merged(run, tmp_path):
    assert (run / "final" / "adapter_config.json").is_file()
    assert not (run / "final" / "model.safetensors").exists()
    kl = [line["kl"] for line in lines(run)]
    assert kl[0] == pytest.approx(0.0, abs=1e-6) and kl[-1] > 1e-4
    assert max(line["mismatch_max"] for line in lines(run)) < 1e-4
    whole = merge_adapter(run, tmp_path / "whole")
    assert load_policy(PolicyConfig(model=str(whole), format="inline")).name == "whole"
    assert read_environment(whole) == read_environment(run / "final")


@pytest.mark.long
def test_an_adapter_is_trained_on_against_what_it_was(run, grpo_world, tmp_path):
    values = {"lora": LORA, "lr": 2e-2, "steps": 2, "save_steps": 1, "beta": 0.001}
    out = tmp_path / "on"
    run_grpo(grpo_config(grpo_world, out, model=str(run / "final"), **values))
    # against the base it would be what it was at the end of the first run
    assert lines(out)[0]["kl"] == pytest.approx(0.0, abs=1e-6) and lines(run)[-1]["kl"] > 1e-4
    for folder in (out / "final", out / "checkpoint-1"):
        assert not (folder / "ref").exists()
    own, before = ((at / "final" / "adapter_config.json").read_text() for at in (out, run))
    assert own == before
    assert load_policy(PolicyConfig(model=str(out / "final"), format="inline")).name
    weights = out / "final" / "adapter_model.safetensors"
    whole = weights.read_bytes()
    shutil.rmtree(out / "final")
    shutil.rmtree(out / "checkpoint-2")
    run_grpo(grpo_config(grpo_world, out, model=str(run / "final"), **values))
    assert weights.read_bytes() == whole and len(lines(out)) == 2  # resumed, the same


def test_what_is_pushed_to_vllm_is_the_merged_model_under_its_own_names(run, grpo_world) -> None:
    """Up to vLLM's door: TRL's walk over the weights that it would send."""
    (base, other) = (load(grpo_world / "model")[1] for _ in range(2))
    own = {name: value.clone() for name, value in base.named_parameters()}
    push = object.__new__(VLLMGeneration)
    push.model = PeftModel.from_pretrained(base, run / "final")
    gather = lambda parameters: contextlib.nullcontext()  # noqa: E731  (no shards here)
    push._dist = types.SimpleNamespace(gather_params=gather, is_fsdp=False)
    sent = {name: value.clone() for name, value in push._iter_named_params()}
    whole = PeftModel.from_pretrained(other, run / "final").merge_and_unload()
    expected = dict(whole.named_parameters())
    assert sent.keys() == expected.keys() == own.keys()
    assert all(torch.allclose(sent[name], expected[name], atol=1e-6) for name in sent)
    assert any(not torch.equal(sent[name], own[name]) for name in sent)
