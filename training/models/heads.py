"""The output head, and what leads to it alone, at chosen positions: most logits of a row are never
looked at."""

import functools
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_SCALED = (
    "final_logit_softcapping", "logit_scale", "output_multiplier", "logits_scaling",
    "lm_head_multiplier",
)  # fmt: skip
_OF_A_POSITION = ("self_attn.q_proj", "self_attn.o_proj", "mlp")
"""Parts of a decoder layer that see one position at a time. Keys and values of the last layer are
read from everywhere; what these parts make at a place is read at that place alone."""


@dataclass(slots=True)
class _Places:
    """Positions that the present forward pass scores; `None`: all."""

    at: Any = None


def add_selective_head(model: Any) -> None:
    """`model(..., score_at=(rows, columns))` gives logits at those places alone: (places, vocab).

    For a tiny model this halves the time of a step, whose logits are most of its arithmetic. The
    last layer computes its queries and its feed-forward part there alone, too, where it has the
    usual parts: a tenth of the time of a model of three layers. Gradients are those of the whole.
    """
    forward, places = model.forward, _Places()
    for part in _last_parts(model):
        _restrict(part, places)

    @functools.wraps(forward)
    def selective(self: Any, *args: Any, score_at: Any = None, **kwargs: Any) -> Any:
        if score_at is None:
            return forward(*args, **kwargs)
        # A checkpointed layer runs again in the backward pass, when nothing says where.
        places.at = None if getattr(self, "is_gradient_checkpointing", False) else score_at
        try:
            hidden = self.base_model(*args, use_cache=False, **kwargs).last_hidden_state
        finally:
            places.at = None
        return self.get_output_embeddings()(hidden[score_at])

    model.forward = types.MethodType(selective, model)


def has_plain_head(model: Any) -> bool:
    """Return whether logits are the output embedding of the last hidden state and nothing more."""
    config = model.config.get_text_config()
    return not any(getattr(config, key, None) for key in _SCALED)


def _last_parts(model: Any) -> Iterator[Any]:
    """Yield the parts of the last layer that see one position at a time, if it has them all."""
    lists = [part for name, part in model.named_modules() if name.split(".")[-1] == "layers"]
    parts = dict(lists[0][-1].named_modules()) if len(lists) == 1 and len(lists[0]) else {}
    if all(name in parts for name in (*_OF_A_POSITION, "mlp.gate_proj")):
        yield from (parts[name] for name in _OF_A_POSITION)


def _restrict(part: Any, places: _Places) -> None:
    """Let a part compute where a pass is scored alone; elsewhere it gives zeros."""
    forward = part.forward

    @functools.wraps(forward)
    def forward_where_scored(hidden: Any, *args: Any, **kwargs: Any) -> Any:
        if places.at is None or hidden.dim() != 3:
            return forward(hidden, *args, **kwargs)
        found = forward(hidden[places.at], *args, **kwargs)
        return found.new_zeros((*hidden.shape[:2], found.shape[-1])).index_put(places.at, found)

    part.forward = forward_where_scored
