"""The GRPO loss: equal to a hand computation for every objective, cut up or begun anew."""

import pytest
import torch

from support.forgetful_agent import ForgetfulAgent
from support.grpo_batches import (
    environment_of,
    first_batch,
    gradients,
    halves,
    loss_mask,
    moved,
    our_loss,
    plain_logps,
)
from support.grpo_toy import questions
from support.run_toys import grpo_config, lines
from training.grpo import make_trainer
from training.reinforce.rows import token_logps

BETA, LOW, HIGH, RESPONSE = 0.1, 0.2, 0.28, 384


@pytest.fixture
def batch(grpo_world, tmp_path):
    return first_batch(grpo_world, tmp_path / "run")


def test_sampling_and_training_agree_on_log_probabilities(batch):
    trainer, inputs = batch
    ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1)
    attention = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1)
    mask = loss_mask(inputs)
    with torch.no_grad():
        ours = token_logps(trainer.model, ids, attention, mask, 1.0)
        plain = plain_logps(trainer.model, inputs)
    for logps in (ours, plain):
        off = (logps - inputs["sampling_per_token_logps"]).abs() * mask
        assert mask.sum() > 100 and float(off.max()) < 1e-4


def off_policy(trainer, inputs):
    """As in a later iteration: the policy has moved, so the clips act and the KL counts."""
    mask = loss_mask(inputs)
    with torch.no_grad():
        logps = plain_logps(trainer.model, inputs)
    inputs["old_per_token_logps"] = moved(logps, mask, 0.5, seed=1)
    if trainer.beta:
        inputs["ref_per_token_logps"] = moved(logps, mask, 0.5, seed=2)


def hand_loss(trainer, inputs, low=LOW, high=HIGH, beta=BETA, level="token"):
    """Per-token terms -min(ratio A, clip(ratio) A) + beta * k3, and the mask of the loss."""
    mask, logps = loss_mask(inputs), plain_logps(trainer.model, inputs)
    gap = (logps - inputs["old_per_token_logps"]) * mask
    if level == "sequence":  # GSPO Eq. 7: the geometric mean of the sequence's ratios
        gap = (gap.sum(1) / mask.sum(1))[:, None].expand_as(gap)
    ratio, advantage = gap.exp(), inputs["advantages"][:, None]
    terms = -torch.min(ratio * advantage, ratio.clamp(1 - low, 1 + high) * advantage)
    if beta:
        behind = inputs["ref_per_token_logps"] - logps
        terms = terms + beta * (behind.exp() - behind - 1)
    return terms * mask, mask


OBJECTIVES = {
    "grpo": lambda terms, mask: (terms.sum(1) / mask.sum(1)).mean(),
    "dr_grpo": lambda terms, mask: terms.sum() / (len(terms) * RESPONSE),
    "dapo": lambda terms, mask: terms.sum() / mask.sum(),
}


@pytest.mark.long
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_loss_and_gradient_equal_a_hand_computation(grpo_world, tmp_path, objective):
    settings = {"loss_type": objective, "beta": BETA, "clip_low": LOW, "clip_high": HIGH}
    trainer, inputs = first_batch(grpo_world, tmp_path / "run", **settings)
    off_policy(trainer, inputs)
    expected = OBJECTIVES[objective](*hand_loss(trainer, inputs))
    loss = our_loss(trainer, inputs)
    assert torch.allclose(loss, expected, rtol=1e-5, atol=1e-7)
    by_hand = gradients(trainer, expected)
    assert max(float(g.abs().max()) for g in by_hand) > 1e-3
    for ours, theirs in zip(gradients(trainer, loss), by_hand, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-5)


def test_gspo_clips_the_ratio_of_the_sequence(grpo_world, tmp_path):
    settings = {"importance_level": "sequence", "clip_low": 3e-4, "clip_high": 4e-4}
    trainer, inputs = first_batch(grpo_world, tmp_path / "run", **settings)
    off_policy(trainer, inputs)
    terms = hand_loss(trainer, inputs, 3e-4, 4e-4, 0.0, "sequence")
    by_token = hand_loss(trainer, inputs, 3e-4, 4e-4, 0.0)
    loss = our_loss(trainer, inputs)
    assert torch.allclose(loss, OBJECTIVES["grpo"](*terms), rtol=1e-5)
    assert not torch.allclose(loss, OBJECTIVES["grpo"](*by_token), rtol=1e-2)


@pytest.mark.long
@pytest.mark.parametrize("objective", [*OBJECTIVES, "bnpo"])
def test_padding_changes_nothing_and_parts_have_trls_gradient(grpo_world, tmp_path, objective):
    trainer, inputs = first_batch(grpo_world, tmp_path / "run", loss_type=objective, beta=BETA)
    wide = dict(inputs)
    for key, value in inputs.items():
        if key.startswith("prompt"):
            wide[key] = torch.nn.functional.pad(value, (40, 0))
        elif value.ndim == 2:
            wide[key] = torch.nn.functional.pad(value, (0, 70))
    parts, wide_parts = (trainer._micro_batches(halves(rows)) for rows in (inputs, wide))
    assert [p["prompt_ids"].shape for p in parts] == [p["prompt_ids"].shape for p in wide_parts]
    narrow = gradients(trainer, our_loss(trainer, inputs))
    for ours, theirs in zip(gradients(trainer, our_loss(trainer, wide)), narrow, strict=True):
        assert torch.equal(ours, theirs)
    trainer._selective = False
    plain = sum(trainer._compute_loss(trainer.model, part) for part in halves(inputs))
    for mine, theirs in zip(narrow, gradients(trainer, plain), strict=True):
        assert torch.allclose(mine, theirs, atol=1e-6)


def test_rows_without_advantage_are_left_out_exactly(batch):
    trainer, inputs = batch
    inputs["advantages"][::3] = 0.0
    fewer = gradients(trainer, our_loss(trainer, inputs))
    trainer.beta = 1e-30  # as with a KL term, every row is needed
    inputs["ref_per_token_logps"] = torch.zeros_like(inputs["sampling_per_token_logps"])
    every = gradients(trainer, our_loss(trainer, inputs))
    for ours, theirs in zip(fewer, every, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-6)
    trainer.beta = 0.0
    inputs["advantages"][:] = 0.0
    assert not any(g.any() for g in gradients(trainer, our_loss(trainer, inputs)))
    trainer.beta = BETA
    assert any(g.any() for g in gradients(trainer, our_loss(trainer, inputs)))


def test_environment_tokens_have_no_gradient_and_their_scores_do_not_count(grpo_world, tmp_path):
    """Logits, and so gradients of them, exist only where the policy drew a token."""
    trainer, inputs = first_batch(grpo_world, tmp_path / "run", beta=BETA)
    mask = loss_mask(inputs)
    inputs["advantages"][:] = 1.0
    seen = []
    head = trainer.model.get_output_embeddings()
    hook = head.register_forward_hook(lambda _m, _i, output: seen.append(output))
    loss = our_loss(trainer, inputs)
    hook.remove()
    loss.backward()
    assert sum(len(logits) for logits in seen) == int(mask.sum()) < int(mask.numel())
    theirs = (mask == 0) & (inputs["completion_mask"] == 1)
    assert theirs.any()
    for name in ("sampling_per_token_logps", "ref_per_token_logps"):
        inputs[name][theirs] = -50.0
    assert float(our_loss(trainer, inputs).detach()) == float(loss.detach())


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_log_probabilities_are_those_at_the_temperature_of_the_draws(temperature):
    torch.manual_seed(0)
    scores = torch.randn(2, 5, 7)  # (rows, tokens, vocabulary), each of the next token
    ids, mask = torch.randint(0, 7, (2, 5)), torch.tensor([[1, 0, 1], [1, 1, 0]])

    def model(score_at, **_):
        return scores[score_at]

    found = token_logps(model, ids, torch.ones_like(ids), mask, temperature)
    drawn = (scores / temperature).log_softmax(-1)[:, 1:4].gather(-1, ids[:, 2:, None])[..., 0]
    assert torch.allclose(found, drawn * mask, atol=1e-5)


def forgetful(world, contexts: int = 2):
    environment = environment_of(world)
    environment.agent = ForgetfulAgent(environment.protocol, contexts)
    return environment


def test_every_context_is_a_row_of_its_episode_and_trained_as_by_hand(grpo_world, tmp_path) -> None:
    settings = {"rewards": {"em": 1.0, "answered": 0.5}}
    trainer, inputs = first_batch(grpo_world, tmp_path / "r", forgetful(grpo_world), **settings)
    batch = trainer.rollouts.batch
    contexts = [context.episode for context in batch.contexts]
    assert len(contexts) > 0
    rows = len(inputs["advantages"])
    assert rows % 2 == 0 and 16 + len(contexts) <= rows <= 17 + len(contexts)
    more = inputs["advantages"][16 : 16 + len(contexts)]
    assert torch.equal(more, inputs["advantages"][contexts])
    assert (
        inputs["kept"][: 16 + len(contexts)].all()
        and not inputs["kept"][16 + len(contexts) :].any()
    )
    drawn = sum(len(t.logprobs or ()) for e in batch.trajectories for t in e.turns)
    mask, kept = loss_mask(inputs), inputs["kept"]
    assert int(mask.sum()) == drawn == int(inputs["num_items_in_batch"])
    # Read as it was drawn, trained as by hand.
    logps = plain_logps(trainer.model, inputs)
    gap = (logps.detach() - inputs["sampling_per_token_logps"]).abs() * mask
    assert float(gap.max()) < 1e-4
    terms = -(logps - logps.detach()).exp() * inputs["advantages"][:, None] * mask
    by_hand = (terms.sum(1)[kept] / mask.sum(1)[kept].clamp(min=1)).mean()
    ours = gradients(trainer, our_loss(trainer, inputs))
    for one, two in zip(ours, gradients(trainer, by_hand), strict=True):
        assert torch.allclose(one, two, atol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("settings", [{"beta": 0.1}, {"iterations": 2}])
def test_a_run_trains_on_agents_that_begin_anew(grpo_world, tmp_path, settings) -> None:
    config = grpo_config(grpo_world, tmp_path / "r", steps=2, **settings)
    make_trainer(config, questions(), forgetful(grpo_world, 3)).train()
    first = lines(tmp_path / "r")[0]
    assert first["mismatch_max"] < 1e-4 and first["grad_norm"] >= 0
    assert first["kl"] is None or first["kl"] == pytest.approx(0, abs=1e-6)
