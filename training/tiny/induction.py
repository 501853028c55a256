"""Mimetic initialisation: a tiny model that can copy from its context before its first step."""

import math
from typing import Any


def plant_induction(model: Any, std: float, gain: float = 1.6, copy: float = 2.0) -> None:
    """Set weights of a fresh Qwen2 so that one pair of heads forms an induction circuit.

    An agent's names and relations are copies from its context, and a small transformer spends most
    of its tokens on finding the two heads that copy (Olsson et al. 2022, "In-context learning and
    induction heads"). Trained models' weights have a structure that can be written down beforehand
    (Trockman & Kolter 2023, "Mimetic initialization of self-attention layers"). Here:

    - token embeddings fill the first half of the residual stream, the second half is left free;
    - the first head of layer 0 attends to the token before (by its query and key biases, which
      rotary positions turn into a function of the distance alone) and copies it to the free half;
    - the first head of layer 1 compares the present token with that copy, in the dimensions that
      rotary positions turn slowest, and writes the token that followed there;
    - every other head, whatever it learns to attend to, starts by passing a little of it on as it
      is, so that it can copy words that are rare in training, too;
    - the feed-forward layers start near zero, so that nothing drowns the embeddings.

    Everything stays trainable; the model is an ordinary `Qwen2ForCausalLM`.

    `std` is the spread of the embeddings, `gain` sharpens the comparison, and `copy` is the weight
    of what is written against the token itself. Needs at least two layers, and a head at least as
    wide as half the model. Raises `ValueError` otherwise.
    """
    import torch

    shape = model.config
    half, head = shape.hidden_size // 2, shape.hidden_size // shape.num_attention_heads
    if shape.num_hidden_layers < 2 or head < half:
        raise ValueError(
            "an induction circuit needs two layers and heads of half the model's width"
        )
    with torch.no_grad():
        model.model.embed_tokens.weight[:, half:] = 0
        for layer in model.model.layers:
            layer.mlp.down_proj.weight.normal_(0, std / 30)
            for first in range(0, shape.hidden_size, head):
                _pass_on(layer.self_attn, first, half, slice(0, half), std * PASSED_ON)
        speeds = _speeds(shape.rope_parameters["rope_theta"], head)
        _previous_token(model.model.layers[0].self_attn, half, speeds, std / math.sqrt(2))
        _match_and_copy(model.model.layers[1].self_attn, half, speeds, gain, std * copy)


def _speeds(theta: float, head: int) -> Any:
    """Radians per token of each pair of a head's dimensions, shape (head / 2,)."""
    import torch

    return theta ** -(torch.arange(0, head, 2) / head)


def _previous_token(attention: Any, half: int, speeds: Any, scale: float) -> None:
    """Head 0: scores peak one token back; what stands there goes to the free half."""
    pairs, strength = len(speeds), 9.0
    head = 2 * pairs
    attention.q_proj.weight[:head] = 0
    attention.k_proj.weight[:head] = 0
    attention.q_proj.bias[:pairs] = strength * speeds.cos()
    attention.q_proj.bias[pairs:head] = -strength * speeds.sin()
    attention.k_proj.bias[:pairs] = strength
    attention.k_proj.bias[pairs:head] = 0
    _pass_on(attention, 0, half, slice(half, 2 * half), scale)


def _match_and_copy(attention: Any, half: int, speeds: Any, gain: float, scale: float) -> None:
    """Head 0: the present token against the one before each position; what followed is written."""
    head = 2 * len(speeds)
    slow = [d for d in range(head) if speeds[d % len(speeds)] < SLOW][:half]
    attention.q_proj.weight[:head] = 0
    attention.k_proj.weight[:head] = 0
    for source, dimension in enumerate(slow):
        attention.q_proj.weight[dimension, source] = gain
        attention.k_proj.weight[dimension, half + source] = gain
    _pass_on(attention, 0, half, slice(0, half), scale)


def _pass_on(attention: Any, first: int, half: int, to: slice, scale: float) -> None:
    """Let the head at `first` write the attended embedding, scaled, to `to`."""
    import torch

    head = slice(first, first + attention.head_dim)
    attention.v_proj.weight[head] = 0
    attention.v_proj.weight[first : first + half, :half] = torch.eye(half)
    attention.o_proj.weight[:, head] = 0
    attention.o_proj.weight[to, first : first + half] = scale * torch.eye(half)


PASSED_ON = 0.3
"""What an ordinary head writes at first, in units of the embeddings' spread."""
SLOW = 3e-3
"""Radians per token: over the few hundred tokens of an episode such a dimension hardly turns."""
