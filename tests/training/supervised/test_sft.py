"""SFT through the real trainer, with a model of one layer and trajectories written by hand."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM, AutoTokenizer

from graphwalker.config import load_config
from graphwalker.errors import GraphWalkerError, UserError
from graphwalker.files import read_json, read_jsonl, write_jsonl
from graphwalker.tokens.formats import FORMATS
from graphwalker.tokens.segments import IGNORED, prompt_ids
from graphwalker.trajectory import StopReason
from support.run_toys import curve, lines, sft_config, walk
from training.config import SftConfig
from training.models.heads import add_selective_head
from training.runs.command import parse_arguments
from training.runs.resuming import claim_run
from training.sft import run_sft
from training.supervised.batches import Collator, plan_steps
from training.supervised.rows import read_rows


def settings(place: Path, **values) -> SftConfig:
    plain = {"schedule": "constant", "max_steps": 0, "save_steps": 500}
    return sft_config(place, place / "run", **(plain | values))


@pytest.fixture(scope="module")
def tokenizer(place):
    return AutoTokenizer.from_pretrained(place / "model")


@pytest.fixture
def model(place):
    return AutoModelForCausalLM.from_pretrained(place / "model", dtype=torch.float32)


@pytest.fixture(scope="module")
def batch(place, tokenizer, tmp_path_factory):
    rows = read_rows(settings(place), tokenizer, tmp_path_factory.mktemp("rows"))
    return Collator(tokenizer.pad_token_id)(list(rows.dataset.take(6)))


def test_the_lean_loss_and_its_gradient_equal_the_models_own(model, batch) -> None:
    count = (batch["labels"][:, 1:] != IGNORED).sum()
    plain = model(**batch).loss
    plain.backward()
    expected = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    add_selective_head(model)
    labels = batch["labels"][:, 1:]
    places = (labels != IGNORED).nonzero(as_tuple=True)
    logits = model(input_ids=batch["input_ids"], score_at=places)
    total = cross_entropy(logits, labels[places], reduction="sum")
    (total / count).backward()
    torch.testing.assert_close(total / count, plain, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close([p.grad for p in model.parameters()], expected)


@pytest.mark.parametrize("checkpointed", [False, True])
def test_the_last_layer_feeds_forward_where_it_is_scored(model, batch, checkpointed) -> None:
    places = (batch["labels"][:, 1:] != IGNORED).nonzero(as_tuple=True)
    wanted = model(input_ids=batch["input_ids"]).logits[places]
    add_selective_head(model)
    seen: list[int] = []
    gate = model.model.layers[-1].mlp.gate_proj
    gate.register_forward_hook(lambda _, given, __: seen.append(given[0].numel()))
    model.train()
    if checkpointed:
        model.gradient_checkpointing_enable()
    logits = model(input_ids=batch["input_ids"], score_at=places)
    logits.sum().backward()
    torch.testing.assert_close(logits, wanted)
    everywhere = batch["input_ids"].numel() * model.config.hidden_size
    scored = len(places[0]) * model.config.hidden_size
    assert seen[0] == (everywhere if checkpointed else scored) and scored < 0.8 * everywhere
    assert model(input_ids=batch["input_ids"]).logits.shape[:2] == batch["input_ids"].shape


@pytest.mark.long
def test_training_learns_to_write_the_agents_turn(place) -> None:
    trained = run_sft(settings(place, output_dir=str(place / "trained"), max_steps=100))
    lines = list(read_jsonl(trained.parent / "metrics.jsonl"))
    assert lines[-1]["step"] == 100
    assert lines[-1]["loss"] < 0.3 < 3 < lines[0]["loss"]
    assert set(lines[0]) >= {"step", "loss", "tokens", "seconds", "tokens_per_s"}
    tokenizer = AutoTokenizer.from_pretrained(trained)
    model: Any = AutoModelForCausalLM.from_pretrained(trained)
    prompt = prompt_ids([walk(1).turns[0].context[0]], FORMATS["inline"], tokenizer)
    written = model.generate(torch.tensor([prompt]), max_new_tokens=40, do_sample=False)
    text = tokenizer.decode(written[0][len(prompt) :])
    turns = [walk(number).turns[0].completion for number in range(8)]  # copying takes longer
    assert text.removesuffix(FORMATS["inline"].end_of_turn) in turns
    with pytest.raises(UserError, match=r"lr was 0\.003 and is now 0\.5"):
        run_sft(settings(place, output_dir=str(place / "trained"), max_steps=100, lr=0.5))


def test_a_loss_that_is_no_number_ends_the_run_before_a_model_is_saved(place) -> None:
    out = place / "diverged"
    with pytest.raises(GraphWalkerError, match=r"stopped at step \d: loss is nan; lower lr"):
        run_sft(settings(place, output_dir=str(out), lr=1e30, max_grad_norm=0, max_steps=4))
    assert list(out.glob("checkpoint-*")) == [] and not (out / "final").exists()


def test_a_setting_that_came_after_a_run_folder_counts_as_its_default(place, tmp_path) -> None:
    now = settings(place, output_dir=str(tmp_path))
    claim_run(now, {}, ())
    path = tmp_path / "config.yaml"
    kept = [line for line in path.read_text().splitlines() if not line.startswith("packing:")]
    path.write_text("\n".join(kept))
    claim_run(now, {}, ())
    with pytest.raises(UserError, match="packing was False and is now True"):
        claim_run(now.model_copy(update={"packing": True}), {}, ())


@pytest.mark.slow
def test_a_run_with_a_time_limit_ends_in_time_with_its_rate_decayed(place) -> None:
    values = {"max_steps": 5000, "max_seconds": 4.0, "schedule": "linear"}
    final = run_sft(settings(place, output_dir=str(place / "timed"), **values))
    rows = list(read_jsonl(final.parent / "metrics.jsonl"))
    # On a busy machine few steps fit into the limit, so the last one begins well before its end.
    assert rows[-1]["lr"] < max(row["lr"] for row in rows) / 2
    assert rows[-1]["seconds"] >= 4 and rows[-1]["step"] < 5000


def test_a_model_folder_that_is_not_there_is_named(place) -> None:
    with pytest.raises(UserError, match=r"model: runs/none/final: no such folder"):
        run_sft(settings(place, output_dir=str(place / "nomodel"), model="runs/none/final"))
    assert not (place / "nomodel").exists()


def test_long_rows_and_failures_of_ours_are_set_aside_and_counted(place, tokenizer, tmp_path):
    everything = read_rows(settings(place), tokenizer, tmp_path)
    limit = sorted(everything.lengths)[10]
    rows = read_rows(settings(place, max_length=limit), tokenizer, tmp_path)
    assert rows.too_long == sum(length > limit for length in everything.lengths) > 0
    assert len(rows.dataset) + rows.too_long == 64
    path = place / "failed.jsonl"
    failures = (StopReason.GRAPH_ERROR, StopReason.POLICY_ERROR)
    walks = [walk(0), *(replace(walk(1), stop=stop) for stop in failures)]
    write_jsonl(path, [w.to_json() for w in walks])
    rows = read_rows(settings(place, data=(str(path),)), tokenizer, tmp_path)
    assert (len(rows.dataset), rows.failed) == (1, 2)


def test_a_plan_holds_every_row_once_per_epoch_within_its_budget_for_all_processes(place) -> None:
    lengths = [10 + 7 * (n % 13) for n in range(101)]
    plan = plan_steps(lengths, settings(place, epochs=2), passes=2)
    seen = sorted(row for step in plan for part in step for row in part if row >= 0)
    assert seen == sorted([*range(101)] * 2)
    for (rows,) in plan_steps(lengths, settings(place, tokens_per_step=300), passes=1):
        assert len(rows) * max(lengths[row] for row in rows) <= 300
    plan = plan_steps([10] * 7, settings(place, tokens_per_step=0, batch_size=3), passes=4)
    assert all(len(step) == 4 and all(step) for step in plan)


def test_the_papers_values_are_the_defaults_and_other_words_are_refused() -> None:
    config = SftConfig(model="m", data=("a",), output_dir="o")
    assert (config.lr, config.schedule, config.batch_size) == (1e-5, "cosine", 32)
    assert (config.epochs, config.max_length) == (2, 4096)
    assert parse_arguments(["--config", "x.yaml", "a.b=c"]) == ("x.yaml", ["a.b=c"])
    with pytest.raises(UserError, match="--lr"):
        parse_arguments(["--lr", "3"])
    with pytest.raises(UserError, match="did you mean max_length"):
        load_config(SftConfig, None, ["model=m", "data=[a]", "output_dir=o", "max_lenght=3"])


def test_injected_errors_are_context_and_their_recovery_is_trained(place, tokenizer, tmp_path):
    erred = replace(walk(3), provenance={"errors": [{"turn": 0, "slip": True}]})
    write_jsonl(place / "erred.jsonl", [erred.to_json()])
    data = (str(place / "erred.jsonl"),)
    texts = []
    for masked in (False, True):
        config = settings(place, data=data, mask_injected_errors=masked)
        (row,) = read_rows(config, tokenizer, tmp_path).dataset
        texts.append(tokenizer.decode([label for label in row["labels"] if label >= 0]))
    end = FORMATS["inline"].end_of_turn
    assert texts[0] == "".join(turn.completion + end for turn in erred.turns)
    assert texts[1] == "".join(turn.completion + end for turn in erred.turns[1:])


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"messages": [{"role": "user", "content": "Who?"}]}, r"a record as in chats .messages"),
        ({"conversations": []}, r"a record as in chats .conversations"),
        ({"id": "q", "question": "Who?", "answers": []}, "record 1: a question, where a trajec"),
    ],
)
def test_records_of_another_form_name_the_command_of_trajectories(place, tmp_path, record, said):
    write_jsonl(tmp_path / "own.jsonl", [record])
    config = sft_config(place, tmp_path / "run", data=(str(tmp_path / "own.jsonl"),))
    with pytest.raises(UserError, match=f"{said}.*graphwalker synth.*graphwalker experts"):
        run_sft(config)


LORA = {"r": 8, "alpha": 16}


@pytest.fixture(scope="module")
def adapted(place, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "lora"
    run_sft(sft_config(place, out, lora=LORA, lr=1e-2, max_steps=30))
    return out


@pytest.mark.long
def test_an_adapter_of_every_linear_layer_but_the_head_learns(adapted) -> None:
    losses = [line["loss"] for line in lines(adapted)]
    assert losses[-1] < 0.7 * losses[0]
    weights = load_file(adapted / "final" / "adapter_model.safetensors")
    assert len(weights) == 2 * 2 * 7  # A and B, two layers, seven matrices each
    assert all(min(tensor.shape) == 8 for tensor in weights.values())
    assert not (adapted / "final" / "model.safetensors").exists()
    for folder in (adapted / "final", adapted / "checkpoint-30"):  # equal runs write equal files
        targets = read_json(folder / "adapter_config.json")["target_modules"]
        assert targets == sorted(targets) and targets


@pytest.mark.long
def test_the_same_seed_makes_the_same_adapter_of_the_chosen_layers_alone(place, tmp_path) -> None:
    values = {"lora": {**LORA, "targets": ["q_proj"]}, "max_steps": 4}
    for name, extra in (("a", {}), ("b", {}), ("c", {"gradient_checkpointing": True})):
        run_sft(sft_config(place, tmp_path / name, **values, **extra))
    files = [tmp_path / n / "final" / "adapter_model.safetensors" for n in ("a", "b")]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert len(load_file(files[0])) == 4 and all("q_proj" in name for name in load_file(files[0]))
    for ours, theirs in zip(curve(tmp_path / "c"), curve(tmp_path / "a"), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-5)


def test_an_adapter_is_not_taken_for_a_model(place, tmp_path) -> None:
    adapter = tmp_path / "final"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text("{}")
    with pytest.raises(UserError, match=r"is a LoRA adapter; .*graphwalker merge"):
        run_sft(sft_config(place, tmp_path / "r", model=str(adapter)))


@pytest.mark.long
def test_an_adapter_is_trained_on_over_the_same_base(adapted, place, tmp_path):
    start, out = adapted / "final", tmp_path / "on"
    run_sft(sft_config(place, out, model=str(start), lora=LORA, lr=1e-3, max_steps=2))
    assert lines(out)[0]["loss"] < 0.8 * lines(adapted)[0]["loss"]
    own, before = (read_json(at / "adapter_config.json") for at in (out / "final", start))
    assert own == before
    digests = [read_json(at / "graphwalker.json")["base_weights"] for at in (out / "final", start)]
    assert digests[0] == digests[1]


@pytest.mark.long
def test_an_adapter_keeps_its_rank(adapted, place, tmp_path) -> None:
    config = sft_config(place, tmp_path / "r", model=str(adapted / "final"), lora={"r": 4})
    with pytest.raises(UserError, match=r"lora.r = 4, but the adapter .* has rank 8"):
        run_sft(config)


@pytest.mark.long
def test_an_adapter_of_the_hubs_cache_is_no_whole_model(adapted, place, tmp_path, monkeypatch):
    cached = tmp_path / "hub" / "models--some--adapter"
    (cached / "refs").mkdir(parents=True)
    (cached / "refs" / "main").write_text("c" * 40)
    shutil.copytree(adapted / "final", cached / "snapshots" / ("c" * 40))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    with pytest.raises(UserError, match=r"is a LoRA adapter; lora.r=8 trains it further"):
        run_sft(sft_config(place, tmp_path / "r", model="some/adapter"))
