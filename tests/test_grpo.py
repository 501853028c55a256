"""GRPO: the batch holds what was sampled, the loss reads only that, and runs resume exactly."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: E402

import training  # noqa: E402
from graphwalker.agents.presets import Environment  # noqa: E402
from graphwalker.agents.rollout import rollout  # noqa: E402
from graphwalker.errors import UserError  # noqa: E402
from graphwalker.graphs.build import build_graph  # noqa: E402
from graphwalker.graphs.compiled import open_graph  # noqa: E402
from graphwalker.jsonl import read_jsonl, write_jsonl  # noqa: E402
from graphwalker.policies.base import Sampling  # noqa: E402
from graphwalker.policies.transformers_model import TransformersPolicy  # noqa: E402
from graphwalker.tokens import FORMATS, training_row  # noqa: E402
from graphwalker.trajectory import StopReason, Trajectory  # noqa: E402
from grpo_toy import SMALL, played, questions  # noqa: E402
from toy import TOY_NAMES, TOY_TRIPLES  # noqa: E402
from training.command import run_command  # noqa: E402
from training.config import TinyModelConfig  # noqa: E402
from training.grpo import make_trainer, run_grpo  # noqa: E402
from training.grpo_config import GrpoConfig  # noqa: E402
from training.grpo_log import CollapseError  # noqa: E402
from training.grpo_trainer import regroup, token_logps  # noqa: E402
from training.rewards import reward_of  # noqa: E402
from training.rollout import episode_tokens, grouped, step_seed  # noqa: E402
from training.tiny import conversation_texts, make_tiny  # noqa: E402

FORMAT = FORMATS["inline"]


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    """A compiled toy graph, eight questions, and a tiny model that is right half of the time."""
    folder = tmp_path_factory.mktemp("grpo")
    rows = "".join("\t".join(triple) + "\n" for triple in TOY_TRIPLES)
    (folder / "triples.tsv").write_text(rows, encoding="utf-8")
    names = "".join(f"{key}\t{name}\n" for key, name in TOY_NAMES.items())
    (folder / "names.tsv").write_text(names, encoding="utf-8")
    build_graph([folder / "triples.tsv"], folder / "graph", names=folder / "names.tsv")
    write_jsonl(folder / "questions.jsonl", [q.to_json() for q in questions()])
    environment = Environment(open_graph(folder / "graph"), SMALL)
    examples = [t for a in ("Verria", "Drama") for t in played(environment, a)]
    shape = TinyModelConfig(vocab_size=700, layers=2, hidden=64, heads=2, intermediate=128)
    relations = sorted({relation for _, relation, _ in TOY_TRIPLES})
    make_tiny(shape, conversation_texts(examples), relations, folder / "model")
    imitate(folder / "model", examples)
    return folder


def imitate(path: Path, examples: list[Trajectory]) -> None:
    tokenizer, model = load(path)
    rows = [training_row(t, FORMAT, tokenizer) for t in examples]
    width = max(len(row.input_ids) for row in rows)
    ids = torch.tensor([r.input_ids + [0] * (width - len(r.input_ids)) for r in rows])
    labels = torch.tensor([r.labels + [-100] * (width - len(r.labels)) for r in rows])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(600):
        optimizer.zero_grad()
        loss = model(input_ids=ids, labels=labels).loss
        if loss < 0.06:  # a coin toss for the answer is worth about 0.03
            break
        loss.backward()
        optimizer.step()
    model.save_pretrained(path)


def load(path: Path):
    return AutoTokenizer.from_pretrained(path), AutoModelForCausalLM.from_pretrained(path)


def config(world: Path, out: Path, **settings) -> GrpoConfig:
    values = {
        "model": str(world / "model"),
        "questions": str(world / "questions.jsonl"),
        "graph": str(world / "graph"),
        "output_dir": str(out),
        "format": "inline",
        "environment": SMALL,
        "prompts_per_step": 4,
        "samples": 4,
        "micro_batch": 8,
        "steps": 2,
        "lr": 1e-3,
        "beta": 0.0,
        "max_turn_tokens": 40,
        "max_prompt_tokens": 128,
        "max_response_tokens": 384,
        "save_steps": 1,
    }
    return GrpoConfig(**values | settings)


def metrics(folder: Path) -> list[dict]:
    return list(read_jsonl(folder / "metrics.jsonl"))


@pytest.fixture(scope="module")
def finished_run(world, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    run_grpo(config(world, out))
    return out


@pytest.fixture
def batch(world, tmp_path):
    """A trainer at step 0 and the micro-batches that TRL made of its first rollouts."""
    trainer = make_trainer(
        config(world, tmp_path / "run", beta=0.0), questions(), environment_of(world)
    )
    trainer.current_gradient_accumulation_steps = 2
    prompts = [{"prompt": f"q{i}"} for i in range(4) for _ in range(4)]
    inputs = trainer._generate_and_score_completions(prompts)
    return trainer, inputs


def environment_of(world: Path) -> Environment:
    return Environment(open_graph(world / "graph"), SMALL)


# --- episodes as tokens


def sampled(world: Path, count: int = 4) -> list[Trajectory]:
    tokenizer, model = load(world / "model")
    policy = TransformersPolicy(model, tokenizer, FORMAT, max_context=512)
    sampling = Sampling(temperature=1.0, max_tokens=40, seed=3)
    return list(rollout(questions()[:count], environment_of(world), policy, sampling, samples=2))


def test_ids_of_an_episode_are_those_of_its_training_row(world):
    tokenizer, _ = load(world / "model")
    for trajectory in sampled(world):
        tokens = episode_tokens(trajectory, FORMAT, tokenizer, [tokenizer.eos_token_id])
        row = training_row(trajectory, FORMAT, tokenizer)
        assert tokens.prompt + tokens.completion == row.input_ids


def test_the_mask_marks_what_the_policy_drew_and_nothing_else(world):
    tokenizer, _ = load(world / "model")
    for trajectory in sampled(world):
        tokens = episode_tokens(trajectory, FORMAT, tokenizer, [tokenizer.eos_token_id])
        drawn = [i for i, m in zip(tokens.completion, tokens.mask, strict=True) if m]
        turns = [t.token_ids[: len(t.logprobs)] for t in trajectory.turns]
        assert drawn == [token for turn in turns for token in turn]
        text = tokenizer.decode([i for i in drawn if i != tokenizer.eos_token_id])
        assert "<information>" not in text


def test_an_answered_episode_ends_with_an_end_token(world):
    tokenizer, _ = load(world / "model")
    trajectory = replace(sampled(world)[0], stop=StopReason.ANSWERED, answer=("Verria",))
    tokens = episode_tokens(trajectory, FORMAT, tokenizer, [7])
    assert tokens.completion[-1] == 7 and tokens.mask[-1] == 0


def test_an_episode_that_failed_for_us_is_unscored_and_wholly_masked(world):
    tokenizer, _ = load(world / "model")
    failed = replace(sampled(world)[0], stop=StopReason.GRAPH_ERROR)
    assert reward_of(failed) is None
    assert not any(episode_tokens(failed, FORMAT, tokenizer, [0]).mask)
    empty = episode_tokens(replace(failed, turns=()), FORMAT, tokenizer, [0])
    assert empty.prompt and empty.completion


def test_the_reward_reads_the_final_answer_alone(world):
    right, wrong = (played(environment_of(world), a)[0] for a in ("Verria", "Drama"))
    boast = replace(wrong.turns[0], completion='<answer> ["Verria"] </answer>')
    assert reward_of(right) == 1.0
    assert reward_of(replace(wrong, turns=(boast, *wrong.turns[1:]))) == 0.0


def test_groups_that_are_not_full_are_refused():
    assert grouped(["a", "a", "b", "b"], 2) == ["a", "b"]
    with pytest.raises(RuntimeError, match="groups of 2"):
        grouped(["a", "a", "b"], 2)
    with pytest.raises(RuntimeError, match="groups of 2"):
        grouped(["a", "b"], 2)


def test_each_step_has_its_own_seed():
    assert len({step_seed(seed, step) for seed in (0, 1) for step in range(50)}) == 100


# --- the loss


def test_sampling_and_training_agree_on_log_probabilities(batch):
    trainer, inputs = batch
    ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1)
    attention = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1)
    mask = inputs["completion_mask"] * inputs["tool_mask"]
    with torch.no_grad():
        logps = token_logps(trainer.model, ids, attention, mask, 1.0)
    off = (logps - inputs["sampling_per_token_logps"]).abs() * mask
    assert mask.sum() > 100 and float(off.max()) < 1e-4


def plain_logps(model, inputs):
    ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1)
    attention = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1)
    position = (attention.cumsum(1) - 1).clamp(min=0)
    logits = model(ids, attention_mask=attention, position_ids=position).logits[:, :-1]
    logps = logits.log_softmax(-1).gather(2, ids[:, 1:, None]).squeeze(2)
    return logps[:, -inputs["completion_ids"].shape[1] :]


def total_loss(trainer, inputs, drop_idle):
    whole = {k: v.tensor_split(2) for k, v in inputs.items() if v.ndim}
    halves = [{**inputs, **{k: v[i] for k, v in whole.items()}} for i in range(2)]
    parts = regroup(halves, drop_idle)
    return sum(trainer._compute_loss(trainer.model, part) for part in parts)


def gradients(trainer, loss):
    trainer.model.zero_grad()
    loss.backward()
    return [p.grad.clone() for p in trainer.model.parameters()]


def test_loss_and_gradient_equal_a_hand_computation(batch):
    trainer, inputs = batch
    trainer.model.train()
    mask = inputs["completion_mask"] * inputs["tool_mask"]
    logps = plain_logps(trainer.model, inputs)
    ratio = (logps - logps.detach()).exp()
    rows = (ratio * inputs["advantages"][:, None] * mask).sum(1) / mask.sum(1)
    expected = -rows.mean()
    loss = total_loss(trainer, inputs, drop_idle=False)
    assert float(inputs["advantages"].abs().max()) > 0
    assert torch.allclose(loss, expected, atol=1e-6)
    by_hand = gradients(trainer, expected)
    for ours, theirs in zip(gradients(trainer, loss), by_hand, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-6)


def test_rows_without_advantage_can_be_left_out(batch):
    trainer, inputs = batch
    trainer.model.train()
    inputs["advantages"][::3] = 0.0
    every = gradients(trainer, total_loss(trainer, inputs, drop_idle=False))
    fewer = gradients(trainer, total_loss(trainer, inputs, drop_idle=True))
    for ours, theirs in zip(fewer, every, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-6)


def test_a_batch_without_any_advantage_has_no_gradient(batch):
    trainer, inputs = batch
    trainer.model.train()
    inputs["advantages"][:] = 0.0
    for gradient in gradients(trainer, total_loss(trainer, inputs, drop_idle=True)):
        assert not gradient.any()


def test_environment_tokens_have_no_gradient(batch):
    """Logits, and so gradients of them, exist only where the policy drew a token."""
    trainer, inputs = batch
    trainer.model.train()
    mask = inputs["completion_mask"] * inputs["tool_mask"]
    parts = regroup([inputs], drop_idle=False)
    parts[0]["advantages"][:] = 1.0
    seen = []
    head = trainer.model.get_output_embeddings()
    hook = head.register_forward_hook(lambda _m, _i, output: seen.append(output))
    loss = trainer._compute_loss(trainer.model, parts[0])
    hook.remove()
    loss.backward()
    assert sum(len(logits) for logits in seen) == int(mask.sum()) < int(mask.numel())


# --- runs


def test_two_steps_write_metrics_trajectories_and_a_final_model(world, finished_run):
    lines = metrics(finished_run)
    assert [line["step"] for line in lines] == [1, 2]
    assert all(line["mismatch_max"] < 1e-4 for line in lines)
    assert any(0 < line["reward"] < 1 and line["grad_norm"] > 0 for line in lines)
    episodes = list(read_jsonl(finished_run / "trajectories.jsonl"))
    assert [e["provenance"]["step"] for e in episodes] == [1] * 4 + [2] * 4
    _, model = load(finished_run / "final")
    _, before = load(world / "model")
    assert not torch.equal(model.lm_head.weight, before.lm_head.weight)


def test_a_finished_run_is_recognised(world, finished_run):
    before = (finished_run / "metrics.jsonl").stat().st_mtime_ns
    assert run_grpo(config(world, finished_run)) == finished_run / "final"
    assert (finished_run / "metrics.jsonl").stat().st_mtime_ns == before


def test_a_folder_of_another_config_is_refused_naming_the_key(world, finished_run):
    with pytest.raises(UserError, match=r"lr = 0\.001"):
        run_grpo(config(world, finished_run, lr=5e-4))


def test_too_few_questions_are_refused(world, tmp_path):
    with pytest.raises(UserError, match="prompts_per_step"):
        run_grpo(config(world, tmp_path / "run", prompts_per_step=64))


def test_a_micro_batch_that_does_not_divide_is_refused(world, tmp_path):
    with pytest.raises(UserError, match="micro_batch = 7"):
        run_grpo(config(world, tmp_path / "run", micro_batch=7))


def test_the_alarm_stops_a_collapsed_run(world, tmp_path):
    settings = {"min_answered": 0.0, "alarm_steps": 1, "max_turn_tokens": 2}
    with pytest.raises(CollapseError, match="valid_actions"):
        run_grpo(config(world, tmp_path / "run", **settings))
    assert metrics(tmp_path / "run")[0]["valid_actions"] == 0


def test_a_kl_term_uses_the_reference_model(world, tmp_path):
    run_grpo(config(world, tmp_path / "run", beta=0.1))
    first, second = metrics(tmp_path / "run")
    assert first["kl"] < 1e-8 < second["kl"]


CURVE = ("reward", "loss", "grad_norm", "entropy", "turns", "tokens")


def curve(folder: Path) -> list[tuple]:
    return [tuple(line[key] for key in CURVE) for line in metrics(folder)]


def test_a_killed_run_goes_on_with_the_same_curve(world, tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    settings = {"steps": 4, "save_steps": 2}
    run_grpo(config(world, whole, **settings))
    kill_after(killed, 3, config(world, killed, **settings))
    assert not (killed / "final").exists()
    run_grpo(config(world, killed, **settings))
    assert curve(killed) == curve(whole)
    ends = [load(folder / "final")[1].state_dict() for folder in (whole, killed)]
    assert all(torch.equal(ends[0][key], ends[1][key]) for key in ends[0])
    steps = [e["provenance"]["step"] for e in read_jsonl(killed / "trajectories.jsonl")]
    assert steps == [step for step in (1, 2, 3, 4) for _ in range(4)]


def kill_after(folder: Path, step: int, settings: GrpoConfig) -> None:
    """Start the command itself, and kill -9 it once it has written that step."""
    path = folder.with_suffix(".json")
    path.write_text(settings.model_dump_json(), encoding="utf-8")
    script = Path(training.__file__).parent / "grpo.py"
    log = folder.with_suffix(".log").open("wb")
    run = subprocess.Popen(
        [sys.executable, str(script), "--config", str(path)], stdout=log, stderr=log
    )
    record = folder / "metrics.jsonl"
    while run.poll() is None:
        if record.is_file() and record.read_bytes().count(b"\n") >= step:
            os.kill(run.pid, signal.SIGKILL)
            run.wait()
            return
        time.sleep(0.01)
    raise AssertionError(folder.with_suffix(".log").read_text())


def test_the_command_answers_mistakes_with_one_line_and_code_2(world, tmp_path, capsys):
    path = tmp_path / "grpo.json"
    path.write_text(config(world, tmp_path / "run").model_dump_json(), encoding="utf-8")
    arguments = ["--config", str(path), "sampels=3"]
    assert run_command("grpo", GrpoConfig, run_grpo, arguments) == 2
    error = capsys.readouterr().err
    assert "did you mean samples" in error and error.count("\n") == 1
