"""The output head at chosen positions alone: most logits of a row are never looked at."""

import functools
import types
from typing import Any

_SCALED = (
    "final_logit_softcapping", "logit_scale", "output_multiplier", "logits_scaling",
    "lm_head_multiplier",
)  # fmt: skip


def add_selective_head(model: Any) -> None:
    """`model(..., score_at=(rows, columns))` gives logits at those places alone: (places, vocab).

    For a tiny model this halves the time of a step, whose logits are most of its arithmetic.
    """
    forward = model.forward

    @functools.wraps(forward)
    def selective(self: Any, *args: Any, score_at: Any = None, **kwargs: Any) -> Any:
        if score_at is None:
            return forward(*args, **kwargs)
        hidden = self.base_model(*args, use_cache=False, **kwargs).last_hidden_state
        return self.get_output_embeddings()(hidden[score_at])

    model.forward = types.MethodType(selective, model)


def has_plain_head(model: Any) -> bool:
    """Whether logits are the output embedding of the last hidden state and nothing more."""
    config = model.config.get_text_config()
    return not any(getattr(config, key, None) for key in _SCALED)
