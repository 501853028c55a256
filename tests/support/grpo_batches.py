"""A GRPO trainer before its first update, and its loss by TRL, by us, and by hand."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from graphwalker.agents.environment import Environment
from graphwalker.graphs.open import open_graph
from support.grpo_toy import SMALL, questions
from support.run_toys import grpo_config
from training.grpo import make_trainer


def environment_of(world: Path) -> Environment:
    return Environment(open_graph(world / "graph"), SMALL)


def first_batch(world: Path, out: Path, environment: Environment | None = None, **settings: Any):
    """The trainer of these settings, and what TRL made of its first rollouts (16 episodes)."""
    config = grpo_config(world, out, **settings)
    trainer = make_trainer(config, questions(), environment or environment_of(world))
    trainer.current_gradient_accumulation_steps = 2
    trainer.model.train()
    prompts = [{"prompt": f"q{i}"} for i in range(4) for _ in range(4)]
    return trainer, trainer._generate_and_score_completions(prompts)


def halves(inputs: dict[str, Any]) -> list[dict[str, Any]]:
    """As TRL splits a batch into micro-batches."""
    whole = {k: v.tensor_split(2) for k, v in inputs.items() if v.ndim}
    return [{**inputs, **{k: v[i] for k, v in whole.items()}} for i in range(2)]


def our_loss(trainer: Any, inputs: dict[str, Any]) -> Tensor:
    parts = trainer._micro_batches(halves(inputs))
    return sum(trainer._compute_loss(trainer.model, part) for part in parts)


def gradients(trainer: Any, loss: Tensor) -> list[Tensor]:
    trainer.model.zero_grad()
    loss.backward()
    return [p.grad.clone() for p in trainer.model.parameters()]


def loss_mask(inputs: dict[str, Any]) -> Tensor:
    return inputs["completion_mask"] * inputs["tool_mask"]


def plain_logps(model: Any, inputs: dict[str, Any]) -> Tensor:
    """Of every completion token, by one padded pass and a log-softmax over all the logits."""
    ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1)
    attention = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1)
    position = (attention.cumsum(1) - 1).clamp(min=0)
    logits = model(ids, attention_mask=attention, position_ids=position).logits[:, :-1]
    logps = logits.log_softmax(-1).gather(2, ids[:, 1:, None]).squeeze(2)
    return logps[:, -inputs["completion_ids"].shape[1] :]


def moved(logps: Tensor, mask: Tensor, by: float, seed: int) -> Tensor:
    """Log-probabilities of another policy, at most `by` nats away on each token."""
    noise = torch.rand(logps.shape, generator=torch.Generator().manual_seed(seed)) * 2 - 1
    return logps.detach() + noise * by * mask
