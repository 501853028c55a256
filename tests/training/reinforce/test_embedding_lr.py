"""A learning rate of the embeddings' own: in a group of the optimizer, followed by the schedule."""

import torch
from torch import nn

from training.models.optimizers import set_embedding_lr


def test_embeddings_move_at_their_own_rate() -> None:
    model = nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, weight_decay=0.0, eps=1e-12)
    set_embedding_lr(optimizer, model, 0.01)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5**step)
    before = [p.detach().clone() for p in model.parameters()]
    model(torch.tensor([1, 2])).sum().backward()
    optimizer.step()
    scheduler.step()
    moved = [(p - b).abs().max().item() for p, b in zip(model.parameters(), before, strict=True)]
    assert [round(m, 4) for m in moved] == [0.01, 0.1, 0.1]
    assert sorted(g["lr"] for g in optimizer.param_groups) == [0.005, 0.05]
    assert sum(len(g["params"]) for g in optimizer.param_groups) == 3


def test_a_second_call_changes_nothing() -> None:
    model = nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    for _ in range(2):
        set_embedding_lr(optimizer, model, 0.01)
    assert len(optimizer.param_groups) == 2
