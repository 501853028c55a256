"""Log-probabilities of drawn tokens: of rows that are padded, or laid end to end."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from graphwalker.tokens.segments import IGNORED


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


def packed_logps(
    model: Any,
    ids: Tensor,
    attention: Tensor,
    scored: Tensor,
    temperature: float,
    selective: bool,
) -> tuple[Tensor, Tensor]:
    """As `token_logps`, with the rows end to end and no padding: positions begin anew with each
    row, and attention layers, which get no mask, read from them where a row ends. Also -log p, or
    with TRL's own head (not `selective`) the entropy: (rows, completion tokens) each."""
    real = attention.bool()
    flat, position = ids[real][None], (attention.cumsum(1) - 1)[real][None]
    wanted = torch.zeros_like(real)
    wanted[:, -scored.shape[1] :] = scored.bool()
    places = wanted[real].nonzero()[:, 0]  # never the first of a row, which is of its prompt
    if selective:
        rows = torch.zeros_like(places)
        logits = model(input_ids=flat, position_ids=position, score_at=(rows, places - 1))
        values = _of_drawn(logits, flat[0, places], temperature)
        entropies = -values.detach()
    else:  # the head that TRL puts on, whose temperature is the trainer's
        labels = torch.full_like(flat, IGNORED)
        labels[0, places] = flat[0, places]
        outputs = model(input_ids=flat, position_ids=position, labels=labels, fused_lm_head=True)
        values = outputs.log_probs[0, places - 1]
        entropies = (
            -values if outputs.entropy is None else outputs.entropy[0, places - 1]
        ).detach()
    index = scored.nonzero(as_tuple=True)
    empty = torch.zeros(scored.shape, device=ids.device, dtype=values.dtype)
    return empty.index_put(index, values), empty.index_put(index, entropies)


def _of_drawn(logits: Tensor, drawn: Tensor, temperature: float) -> Tensor:
    """logits: (tokens, vocab); `drawn` and the log-probabilities: (tokens,)."""
    return -cross_entropy(logits.float() / temperature, drawn, reduction="none")
