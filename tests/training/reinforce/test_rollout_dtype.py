"""Rollouts by weights of another precision: what they draw and what is trained."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from support.grpo_batches import first_batch, gradients, loss_mask, our_loss, plain_logps  # noqa: E402
from support.run_toys import (  # noqa: E402
    grpo_config,
    lines,
    weights,
)
from training.grpo import run_grpo  # noqa: E402
from training.models.copies import ModelCopy, merged_weights  # noqa: E402

pytestmark = pytest.mark.long


def test_the_ratio_is_to_the_policy_that_drew_and_capped(grpo_world, tmp_path) -> None:
    settings = {"rollout_dtype": "float32", "ratio_cap": 1.5, "clip_high": 0.28}
    trainer, inputs = first_batch(grpo_world, tmp_path / "r", **settings)
    mask = loss_mask(inputs)
    inputs["sampling_per_token_logps"] -= 0.6 * mask  # as if another policy had drawn
    inputs["old_per_token_logps"] = inputs["sampling_per_token_logps"]
    ratio = (plain_logps(trainer.model, inputs) - inputs["sampling_per_token_logps"]).exp()
    assert float(ratio[mask.bool()].detach().min()) > 1.5
    advantage = inputs["advantages"][:, None]
    terms = -torch.min(ratio.clamp(max=1.5) * advantage, ratio.clamp(max=1.28) * advantage)
    by_hand = ((terms * mask).sum(1) / mask.sum(1)).mean()
    loss = our_loss(trainer, inputs)
    assert torch.allclose(loss, by_hand, rtol=1e-4, atol=1e-6)
    assert not any(g.any() for g in gradients(trainer, loss))  # beyond both the clip and the cap


def test_weights_in_bfloat16_draw_and_the_ratio_sees_it(grpo_world, tmp_path) -> None:
    out = tmp_path / "r"
    run_grpo(grpo_config(grpo_world, out, steps=2, rollout_dtype="bfloat16"))
    for line in lines(out):
        assert 1e-5 < line["mismatch_mean"] < 0.1
    assert {value.dtype for value in weights(out).values()} == {torch.float32}


def test_a_float32_copy_draws_what_the_model_draws(grpo_world, tmp_path) -> None:
    run_grpo(grpo_config(grpo_world, tmp_path / "own", steps=2))
    run_grpo(grpo_config(grpo_world, tmp_path / "copy", steps=2, rollout_dtype="float32"))
    for key in ("em", "tokens", "entropy"):
        one, two = ([line[key] for line in lines(tmp_path / name)] for name in ("own", "copy"))
        assert one == pytest.approx(two, rel=1e-4)


def test_a_copy_has_the_adapters_merged_in(grpo_world, tmp_path) -> None:
    pytest.importorskip("peft")
    trainer, _ = first_batch(
        grpo_world, tmp_path / "r", lora={"r": 4, "alpha": 8}, rollout_dtype="float32"
    )
    with torch.no_grad():
        for name, parameter in trainer.model.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.1)
    copied = ModelCopy(torch.float32).update(trainer.model)
    ids = torch.arange(12)[None]
    with torch.no_grad():
        assert torch.allclose(copied(ids).logits, trainer.model(ids).logits, atol=1e-4)
        with trainer.model.disable_adapter():
            assert not torch.allclose(copied(ids).logits, trainer.model(ids).logits, atol=1e-2)
    assert (
        dict(merged_weights(trainer.model)).keys()
        <= dict(copied.named_parameters(remove_duplicate=False)).keys()
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rollout_dtype": "float32", "iterations": 2}, "iterations: 1"),
        ({"rollout_dtype": "bfloat16", "engine": "vllm"}, "engine: transformers"),
        ({"ratio_cap": 1.2}, r"above 1 \+ clip_high"),
    ],
)
def test_what_an_engine_cannot_do_is_refused(tmp_path, settings, message) -> None:
    with pytest.raises(ValueError, match=message):
        grpo_config(tmp_path, tmp_path, **settings)
