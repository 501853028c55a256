"""The output head at chosen positions alone: most logits of a row are never looked at."""

import functools
import math
import types
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

_SCALED = (
    "final_logit_softcapping", "logit_scale", "output_multiplier", "logits_scaling",
    "lm_head_multiplier",
)  # fmt: skip


def add_selective_head(model: Any) -> None:
    """`model(..., score_at=(rows, columns))` gives logits at those places alone: (places, vocab);
    with `among`, token ids of shape (candidates,), of those tokens alone: (places, candidates).

    For a tiny model this halves the time of a step, whose logits are most of its arithmetic.
    """
    forward = model.forward

    @functools.wraps(forward)
    def selective(
        self: Any, *args: Any, score_at: Any = None, among: Any = None, **kwargs: Any
    ) -> Any:
        if score_at is None:
            return forward(*args, **kwargs)
        hidden = self.base_model(*args, use_cache=False, **kwargs).last_hidden_state
        head = self.get_output_embeddings()
        if among is None:
            return head(hidden[score_at])
        bias = None if head.bias is None else head.bias[among]
        return linear(hidden[score_at], head.weight[among], bias)

    model.forward = types.MethodType(selective, model)


def has_plain_head(model: Any) -> bool:
    """Whether logits are the output embedding of the last hidden state and nothing more."""
    config = model.config.get_text_config()
    return not any(getattr(config, key, None) for key in _SCALED)


def candidates(used: Tensor, more: int, vocabulary: int, seed: int) -> tuple[Tensor, Tensor]:
    """The tokens that a sampled softmax looks at, in ascending order, and what is added to the
    logit of each: both (candidates,).

    All `used` tokens are there, and `more` others drawn at random, whose logits are raised so that
    they stand for all that were not drawn (Jean et al. 2015, "On Using Very Large Target Vocabulary
    for Neural Machine Translation", without its importance weights of words).
    """
    known = torch.unique(used)
    drawn = torch.randperm(vocabulary, generator=torch.Generator().manual_seed(seed))
    absent = drawn[~torch.isin(drawn, known)]
    ids = torch.cat([known, absent[:more]])
    raised = torch.zeros(len(ids))
    if more < len(absent):
        raised[len(known) :] = math.log(len(absent) / more)
    order = ids.argsort()
    return ids[order], raised[order]
