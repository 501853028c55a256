"""Agents that begin their conversation anew: each context is a row with its episode's advantage."""

import pytest
import torch

from support.forgetful_agent import ForgetfulAgent
from support.grpo_batches import (
    environment_of,
    first_batch,
    gradients,
    loss_mask,
    our_loss,
    plain_logps,
)
from support.grpo_toy import questions
from support.run_toys import grpo_config, lines
from training.grpo import make_trainer


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
