"""SFT's loss by hand: what is summed, divided by what, and where no gradient comes from."""

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from graphwalker.errors import UserError
from graphwalker.tokens.segments import IGNORED
from support.run_toys import curve, lines, sft_config, weights
from training.runs.distributed import uses_bfloat16
from training.sft import run_sft
from training.supervised.batches import Collator, PackingCollator, plan_steps
from training.supervised.rows import Rows, read_rows
from training.supervised.trainer import PlannedTrainer


@pytest.fixture(scope="module")
def tokenizer(place):
    return AutoTokenizer.from_pretrained(place / "model")


@pytest.fixture(scope="module")
def rows(place, tokenizer, tmp_path_factory) -> Rows:
    return read_rows(sft_config(place, place / "r"), tokenizer, tmp_path_factory.mktemp("rows"))


@pytest.fixture(scope="module")
def records(rows) -> list[dict[str, Any]]:
    assert len(set(rows.lengths[:6])) > 2
    return list(rows.dataset.take(6))


def plain_model(place, **options) -> Any:
    return AutoModelForCausalLM.from_pretrained(place / "model", dtype=torch.float32, **options)


def by_hand(model, rows) -> tuple[Any, int]:
    """Sum of -log p over the trained tokens, row by row and token by token; how many they are."""
    total, count = torch.zeros(()), 0
    for row in rows:
        scores = model(input_ids=torch.tensor([row["input_ids"]])).logits[0].log_softmax(-1)
        for place, (_, label) in enumerate(pairwise(row["labels"])):
            if label != IGNORED:
                total, count = total - scores[place, label], count + 1
    return total, count


def trainer(place, out, **values) -> PlannedTrainer:
    config = sft_config(place, out, **values)
    tokenizer: Any = AutoTokenizer.from_pretrained(config.model)
    rows = read_rows(config, tokenizer, out / "rows")
    plan = plan_steps(rows.lengths, config, config.gradient_accumulation)
    return PlannedTrainer(config, tokenizer, rows, plan, 0)


@pytest.mark.long
@pytest.mark.parametrize(("accumulation", "packing"), [(1, False), (3, True)])
def test_a_steps_loss_and_gradient_are_those_by_hand(accumulation, packing, place, rows, tmp_path):
    values = {"tokens_per_step": 0, "batch_size": 7, "max_steps": 1, "packing": packing}
    config = sft_config(place, tmp_path / "r", gradient_accumulation=accumulation, **values)
    (step,) = plan_steps(rows.lengths, config, accumulation)
    assert len({len(part) for part in step}) == (1 if accumulation == 1 else 2)  # unequal parts
    model = plain_model(place)
    total, count = by_hand(model, [rows.dataset[i] for part in step for i in part])
    (total / count).backward()
    norm = math.sqrt(sum(float((p.grad**2).sum()) for p in model.parameters()))
    run_sft(config)
    (line,) = lines(tmp_path / "r")
    assert line["loss"] == pytest.approx(total.item() / count, abs=2e-5)
    assert line["grad_norm"] == pytest.approx(norm, rel=1e-4)


@pytest.mark.parametrize("lean", [True, False], ids=["ours", "TRL's"])
@pytest.mark.parametrize("packing", [False, True])
def test_the_environments_words_give_no_gradient(
    lean, packing, place, records, tokenizer, tmp_path
):
    sft = trainer(place, tmp_path / "r", packing=packing)
    sft._lean = lean
    kept: list[Any] = []

    def keep(_, __, output) -> None:
        output.last_hidden_state.retain_grad()
        kept.append(output.last_hidden_state)

    sft.model.base_model.register_forward_hook(keep)
    batch = (PackingCollator() if packing else Collator(tokenizer.pad_token_id))(records)
    sft.compute_loss(sft.model, dict(batch)).backward()
    gradient, trained = kept[0].grad[:, :-1], batch["labels"][:, 1:] != IGNORED
    assert (~trained).sum() > 60
    assert not gradient[~trained].any()
    assert gradient[trained].abs().sum(-1).min() > 0


@pytest.mark.parametrize("lean", [True, False], ids=["ours", "TRL's"])
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_packed_rows_learn_as_padded_ones(lean, attention, place, records, tokenizer, tmp_path):
    sft = trainer(place, tmp_path / "r", attention=attention, packing=True)
    sft._lean = lean
    losses, gradients = [], []
    for collate in (Collator(tokenizer.pad_token_id), PackingCollator()):
        sft.model.zero_grad()
        loss = sft.compute_loss(sft.model, dict(collate(records)))
        loss.backward()
        losses.append(float(loss))
        gradients.append([p.grad.clone() for p in sft.model.parameters()])
    assert losses[1] == pytest.approx(losses[0], abs=1e-5)
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-4, atol=1e-6)


def test_no_row_of_a_pack_predicts_the_first_token_of_the_next() -> None:
    rows = [{"input_ids": ids, "labels": ids} for ids in ([5, 6], [7, 8, 9])]
    packed = PackingCollator()(rows)
    assert packed["labels"].tolist() == [[IGNORED, 6, IGNORED, 8, 9]]
    assert packed["position_ids"].tolist() == [[0, 1, 0, 1, 2]]


def test_steps_hold_rows_of_like_length_and_packed_ones_real_tokens_alone(place) -> None:
    lengths = [10 + 7 * (n % 13) for n in range(500)]
    config = sft_config(place, place / "r", tokens_per_step=300, packing=True, max_steps=0)
    steps = [sum(lengths[row] for row in step[0]) for step in plan_steps(lengths, config, 1)]
    assert max(steps) <= 300
    assert sum(steps) / len(steps) > 230
    lengths = [20 + (n * 37) % 400 for n in range(2000)]
    config = sft_config(place, place / "r", tokens_per_step=0, batch_size=32, max_steps=0, epochs=1)
    plan = plan_steps(lengths, config, 4)
    padded = sum(len(part) * max(lengths[i] for i in part) for step in plan for part in step)
    assert padded / sum(lengths) < 1.05


@pytest.fixture(scope="module")
def plain(place) -> Path:
    run_sft(sft_config(place, place / "plain", max_steps=4, max_length=LIMIT))
    return place / "plain"


LIMIT = 50
"""Tokens; some rows of the toy are longer."""


@pytest.mark.long
@pytest.mark.parametrize(
    ("settings", "rel"),
    [
        ({"gradient_checkpointing": True}, 1e-5),
        ({"packing": True, "gradient_accumulation": 2}, None),
        ({"dtype": "bfloat16"}, 0.03),
    ],
)
def test_a_run_cut_up_otherwise_learns_the_same(place, plain, tmp_path, settings, rel) -> None:
    values = {"max_steps": 4, "max_length": LIMIT, **settings}
    if rel is None:  # the same rows in a step, however they are laid out
        values |= {"tokens_per_step": 0, "batch_size": 8}
        plain = tmp_path / "padded"
        run_sft(sft_config(place, plain, **values | {"packing": False}))
    run_sft(sft_config(place, tmp_path / "r", **values))
    for ours, theirs in zip(curve(tmp_path / "r"), curve(plain), strict=True):
        assert ours[1] == pytest.approx(theirs[1], rel=rel or 1e-3)
    assert all(w.dtype == torch.float32 for w in weights(tmp_path / "r").values())


@pytest.mark.long
def test_rows_set_aside_are_listed_with_their_lengths(plain, rows) -> None:
    lengths = rows.lengths
    report = json.loads((plain / "lengths.json").read_text())
    longer = {f"q{i}#0/0": length for i, length in enumerate(lengths) if length > LIMIT}
    assert report["left_out"] == longer and longer
    assert (report["rows"], report["too_long"]) == (64, len(longer))
    assert report["tokens_at_share"]["1.0"] == max(lengths)
    assert report["tokens_at_share"]["0.5"] == sorted(lengths)[31]


@pytest.mark.skipif(torch.cuda.is_available(), reason="of CPUs")
@pytest.mark.parametrize(
    ("avx512", "amx", "half"), [(False, False, False), (True, False, True), (False, True, True)]
)
def test_native_is_bfloat16_where_the_cpu_multiplies_in_it(monkeypatch, avx512, amx, half) -> None:
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: avx512)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx)
    assert uses_bfloat16("native") == half
    assert not uses_bfloat16("auto")


def test_flash_attention_is_refused_where_it_is_not(place, tmp_path) -> None:
    from transformers.utils.import_utils import is_flash_attn_2_available

    if is_flash_attn_2_available():
        pytest.skip("flash-attn is here")
    with pytest.raises(UserError, match="set attention=sdpa"):
        trainer(place, tmp_path / "r", attention="flash_attention_2")
