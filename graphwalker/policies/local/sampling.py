"""Drawing the next token of every row at once, and knowing which tokens may end a turn."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from graphwalker.policies.base import Request
from graphwalker.policies.token_record import TurnEnds

CONTINUES, ENDS, MAY_END = 0, 1, 2
STOP_TAIL = 32
"""Tokens that are decoded to look for a stop string which spans several tokens."""


def uniforms(request: Request, count: int) -> "np.ndarray[Any, Any]":
    """Return the draws of one turn, from (seed, key, turn) alone, so a batch cannot change them."""
    digest = hashlib.blake2b(
        f"{request.sampling.seed}\0{request.key}\0{len(request.turns)}".encode(), digest_size=16
    )
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest.digest()))).random(count)


class Cut(NamedTuple):
    """Which unlikely tokens are never drawn, as `Sampling` says it, each (rows,)."""

    top_p: Tensor
    top_k: Tensor
    min_p: Tensor


def draw(
    logits: Tensor,
    draws: Tensor | None,
    temperatures: Tensor,
    cut: Cut | None,
    constrain: Callable[[Tensor], None] | None = None,
) -> tuple[Tensor, Tensor]:
    """(token, log-probability) of each row; a row of temperature 0 takes the likeliest token.

    logits: (rows, vocab); `draws` (uniform from 0 to 1), the others and both results: (rows,).
    `constrain` sets the logits of tokens that may not be drawn to minus infinity.

    Log-probabilities are of the distribution at that temperature (at 1 for greedy rows), before
    `constrain` and `cut` take part of it away: what a trainer computes again. `draws=None` means
    that every row is greedy.
    """
    greedy = temperatures == 0
    scaled = logits.float() / torch.where(greedy, 1.0, temperatures)[:, None]
    token, best, total = _pick(scaled, draws, greedy, cut)
    if constrain is not None:
        left = scaled.clone()
        constrain(left)
        token, _, _ = _pick(left, draws, greedy, cut)
    chosen = scaled.gather(1, token[:, None]).squeeze(1)
    return token, (chosen - best).double().sub_(total.log()).float()


def _pick(
    scaled: Tensor, draws: Tensor | None, greedy: Tensor, cut: Cut | None
) -> tuple[Tensor, Tensor, Tensor]:
    """(column drawn, the highest value, the sum of all weights relative to it) of each row."""
    best, column = scaled.max(dim=-1)
    weights = (scaled - best[:, None]).exp_()
    if draws is None:
        return column, best, weights.sum(dim=-1, dtype=torch.float64)
    cumulative = weights.cumsum(dim=-1, dtype=torch.float64)
    total = cumulative[:, -1]
    if cut is not None:
        cumulative = _cut_weights(weights, cut).cumsum(dim=-1, dtype=torch.float64)
    whole = cumulative[:, -1]
    # Below the whole however it was rounded: behind the last token with a weight there is none.
    wanted = torch.minimum(draws * whole, torch.nextafter(whole, torch.zeros_like(whole)))
    drawn = torch.searchsorted(cumulative, wanted[:, None], right=True).squeeze(1)
    return torch.where(greedy, column, drawn.clamp_(max=scaled.shape[-1] - 1)), best, total


def _cut_weights(weights: Tensor, cut: Cut) -> Tensor:
    """`weights`, (rows, vocab), without the unlikely ones: the `top_k` likeliest, of these those of
    `min_p` of the likeliest, of these the likeliest up to the share `top_p` of what they weigh."""
    ordered, index = weights.sort(dim=-1, descending=True)
    rank = torch.arange(ordered.shape[-1], device=ordered.device)
    beyond = (rank >= cut.top_k[:, None]) & (cut.top_k[:, None] > 0)
    ordered = ordered.masked_fill(beyond | (ordered < cut.min_p[:, None] * ordered[:, :1]), 0.0)
    up_to = ordered.cumsum(dim=-1, dtype=torch.float64)
    whole = cut.top_p[:, None] * up_to[:, -1:]
    ordered = ordered.masked_fill(up_to - ordered >= whole, 0.0)
    return torch.zeros_like(weights).scatter_(1, index, ordered)


class StopTokens:
    """Per set of stop strings: a table over the vocabulary saying which tokens end a turn."""

    def __init__(self, ends: TurnEnds, vocabulary: int) -> None:
        self._ends, self._end_ids, self._size = ends, sorted(ends.end_ids), vocabulary
        self._texts: list[str] = []
        self._tables: dict[tuple[str, ...], Tensor] = {}

    def table(self, stop: tuple[str, ...]) -> Tensor:
        """`ENDS`, `MAY_END` (look at the text) or `CONTINUES` for each token id: (vocab,)."""
        if stop not in self._tables:
            self._tables[stop] = self._build(stop)
        return self._tables[stop]

    def complete_action(self, ids: Sequence[int], stop: tuple[str, ...]) -> bool:
        """Return whether the last of a turn's ids completes a stop string outside of a thought."""
        # The string may have begun in an earlier token, so a tail is decoded, not this token.
        tail = self._ends.text(ids[-STOP_TAIL:])
        return any(s in tail for s in stop) and self._ends.completes_action(ids, stop)

    def _build(self, stop: tuple[str, ...]) -> Tensor:
        table = torch.full((self._size,), CONTINUES, dtype=torch.int8)
        if stop and not self._texts:
            known = min(self._size, len(self._ends.tokenizer))
            self._texts = self._ends.tokenizer.batch_decode(
                [[i] for i in range(known)], skip_special_tokens=False
            )
        tails = {s[-n:] for s in stop for n in range(1, len(s))}
        for token, text in enumerate(self._texts if stop else ()):
            if any(s in text for s in stop) or any(text.startswith(tail) for tail in tails):
                table[token] = MAY_END
        table[self._end_ids] = ENDS
        return table
