"""A learning rate of the token embeddings' own: new words are learned where they are read.

A word that no demonstration has is a row of the embedding table that SFT never moved. To learn what
it means is to move that row, by about as much as SFT moves the others; the same steps taken by all
weights would undo what those have learned.
"""

from typing import Any

from torch import nn


def set_embedding_lr(optimizer: Any, model: nn.Module, lr: float) -> None:
    """Give the embedding tables a group of their own in the optimizer. Call it before the
    scheduler is made, which remembers each group's first rate."""
    tables = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    for group in list(optimizer.param_groups):
        inside = [p for p in group["params"] if id(p) in tables]
        if not inside or group.get("embeddings"):
            continue
        group["params"] = [p for p in group["params"] if id(p) not in tables]
        rest = {key: value for key, value in group.items() if key not in ("params", "initial_lr")}
        optimizer.add_param_group({**rest, "params": inside, "lr": lr, "embeddings": True})
