"""Passes by a budget of tokens: rows laid end to end have the same log-probabilities and loss."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from support.grpo_batches import (  # noqa: E402
    first_batch,
    gradients,
    loss_mask,
    our_loss,
    plain_logps,
)
from support.run_toys import curve, grpo_config, largest_difference, lines  # noqa: E402
from training.grpo import run_grpo  # noqa: E402
from training.reinforce.rows.logps import packed_logps  # noqa: E402
from training.reinforce.rows.passes import token_passes  # noqa: E402

BUDGET = 250
LORA = {"r": 4, "alpha": 8}


@pytest.mark.parametrize("selective", [True, False])
def test_rows_end_to_end_have_the_log_probabilities_of_padded_ones(
    grpo_world, tmp_path, selective
) -> None:
    trainer, inputs = first_batch(grpo_world, tmp_path / "r")
    ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1)
    attention = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1)
    mask = loss_mask(inputs)
    with torch.no_grad():
        found, entropies = packed_logps(trainer.model, ids, attention, mask, 1.0, selective)
        plain = plain_logps(trainer.model, inputs) * mask
    assert int((attention.sum(1) != attention.shape[1]).sum()) > 4  # rows of many lengths
    assert torch.allclose(found, plain, atol=1e-4)
    assert (entropies[mask.bool()] >= 0).all() and not entropies[~mask.bool()].any()


@pytest.mark.long
@pytest.mark.parametrize("objective", ["grpo", "dr_grpo", "dapo"])
def test_passes_by_tokens_have_the_gradient_of_passes_by_rows(
    grpo_world, tmp_path, objective
) -> None:
    settings = {"loss_type": objective, "beta": 0.1}
    trainer, inputs = first_batch(grpo_world, tmp_path / "r", **settings)
    by_rows = gradients(trainer, our_loss(trainer, inputs))
    trainer.pass_tokens = BUDGET
    trainer.current_gradient_accumulation_steps = trainer.args.steps_per_generation = 1
    parts = trainer._micro_batches([inputs])
    assert len(parts) > 2
    assert all(int(p["prompt_mask"].sum() + p["completion_mask"].sum()) <= BUDGET for p in parts)
    assert sum(int(p["completion_mask"].sum()) for p in parts) == int(
        inputs["completion_mask"].sum()
    )
    by_tokens = gradients(trainer, sum(trainer._compute_loss(trainer.model, p) for p in parts))
    for one, two in zip(by_tokens, by_rows, strict=True):
        assert torch.allclose(one, two, atol=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [{"beta": 0.1}, {"iterations": 2}, {"lora": LORA, "beta": 0.1}, {"loss_type": "dapo"}],
    ids=["kl", "iterations", "lora", "dapo"],
)
def test_a_run_by_tokens_is_the_run_by_rows(grpo_world, tmp_path, settings) -> None:
    if "lora" in settings:
        pytest.importorskip("peft")
    settings = {"steps": 2, "save_steps": 2, "lr": 1e-4, **settings}
    run_grpo(grpo_config(grpo_world, tmp_path / "rows", **settings))
    run_grpo(grpo_config(grpo_world, tmp_path / "tokens", micro_batch_tokens=BUDGET, **settings))
    for one, two in zip(
        curve(tmp_path / "tokens", "em"), curve(tmp_path / "rows", "em"), strict=True
    ):
        assert one == pytest.approx(two, rel=1e-3, abs=1e-5)
    assert largest_difference(tmp_path / "tokens", tmp_path / "rows") < 5e-5
    assert lines(tmp_path / "tokens")[0]["mismatch_max"] < 1e-4


def test_a_row_longer_than_the_budget_is_a_pass_of_its_own() -> None:
    cuts = token_passes([900, 300, 200, 100, 50], 600)
    assert [(cut.start, cut.stop) for cut in cuts] == [(0, 1), (1, 4), (4, 5)]
    assert token_passes([], 600) == []


def test_a_mean_of_each_pass_cannot_be_cut_by_tokens(tmp_path) -> None:
    with pytest.raises(ValueError, match="loss_type: dapo"):
        grpo_config(tmp_path, tmp_path, micro_batch_tokens=BUDGET, loss_type="bnpo")
