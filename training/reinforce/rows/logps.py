"""Log-probabilities of drawn tokens."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy


def token_logps(
    model: Any, ids: Tensor, attention: Tensor, scored: Tensor, temperature: float
) -> Tensor:
    """Log-probabilities of the scored completion tokens, 0 elsewhere, shaped like `scored`.

    ids, attention: (rows, prompt + completion tokens), the prompt padded on the left, the
    completion on the right; scored: (rows, completion tokens).
    """
    columns = attention.any(0).nonzero()
    first, last = int(columns[0]), int(columns[-1]) + 1
    dropped = ids.shape[1] - last
    keep = scored.shape[1] - dropped
    ids, attention = ids[:, first:last], attention[:, first:last]
    rows, places = scored[:, :keep].nonzero(as_tuple=True)
    targets = places + ids.shape[1] - keep
    logits = model(
        input_ids=ids,
        attention_mask=attention,
        position_ids=(attention.cumsum(1) - 1).clamp(min=0),
        score_at=(rows, targets - 1),
    )
    values = _of_drawn(logits, ids[rows, targets], temperature)
    return torch.zeros(scored.shape, device=ids.device).index_put((rows, places), values)


def _of_drawn(logits: Tensor, drawn: Tensor, temperature: float) -> Tensor:
    """logits: (tokens, vocab); `drawn` and the log-probabilities: (tokens,)."""
    return -cross_entropy(logits.float() / temperature, drawn, reduction="none")
