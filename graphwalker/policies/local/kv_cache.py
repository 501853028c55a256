"""A key-value cache whose rows live as long as an episode: slot t of a row holds its token t.

Rows have their own lengths, so an irregular batch has no holes and no shared timeline to compact;
a row that must rewrite its last slots simply writes them again. `transformers` sees an ordinary
`Cache`.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers.cache_utils import Cache, CacheLayerMixin
from transformers.integrations.sdpa_attention import (
    sdpa_attention_forward,  # pyright: ignore[reportUnknownVariableType]
)
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

_SMALL = 2**26
"""Bytes: no more for all slots, and a buffer has them from the start, without copies later."""
_ALIKE = 0.7
"""The mean row, as a share of the longest, from which the rows of a batch are read together."""
_FEW = 16
"""Query positions up to which the heads of a group are read together: those of decoding."""


class SlotLayer(CacheLayerMixin):
    """Keys and values of one layer, shaped (rows, heads, slots, head size)."""

    def __init__(self) -> None:
        super().__init__()  # pyright: ignore[reportUnknownMemberType]
        self.plan: Placement | None = None

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        self.keys = key_states.new_zeros((0, key_states.shape[1], 0, key_states.shape[3]))
        self.values = value_states.new_zeros((0, value_states.shape[1], 0, value_states.shape[3]))
        self.is_initialized = True

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Write the new states where the plan says, and return all that the batch attends to."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        plan = self.plan
        assert plan is not None and self.keys is not None and self.values is not None
        self.keys, self.values = plan.grow(self.keys), plan.grow(self.values)
        return plan.write(self.keys, key_states), plan.write(self.values, value_states)

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.get_seq_length() + query_length, 0

    def get_seq_length(self) -> int:
        return 0 if self.plan is None else self.plan.width

    def get_max_length(self) -> int:
        return -1


class Placement:
    """Where the tokens of one forward pass go. `rows=None` means the first rows, without a copy."""

    def __init__(
        self,
        rows: Tensor | None,
        slots: Tensor,
        valid: Tensor | None,
        width: int,
        size: tuple[int, int],
        most: int,
    ) -> None:
        """`slots` and `valid` are (batch, tokens); the batch attends to slots `0 .. width - 1`;
        no row will ever have more than `most` slots."""
        self.rows, self.valid, self.width, self.size = rows, valid, width, size
        self.most = most
        self.count = slots.shape[0]
        index = torch.arange(self.count, device=slots.device) if rows is None else rows
        if valid is None:
            self.row_index, self.slot_index = index[:, None], slots
        else:
            self.row_index = index[:, None].expand_as(slots)[valid]
            self.slot_index = slots[valid]

    def grow(self, buffer: Tensor) -> Tensor:
        """Return the buffer, or a larger copy where the rows or slots do not fit."""
        rows, slots = self.size
        if rows <= buffer.shape[0] and slots <= buffer.shape[2]:
            return buffer
        rows = max(rows, buffer.shape[0])
        if slots > buffer.shape[2]:
            whole = rows * buffer.shape[1] * self.most * buffer.shape[3] * buffer.element_size()
            room = self.most if whole <= _SMALL else -(-slots * 2 // 64) * 64
            slots = max(slots, min(room, self.most))
        rows_before, slots_before = buffer.shape[0], buffer.shape[2]
        slots = max(slots, slots_before)
        larger = buffer.new_empty((rows, buffer.shape[1], slots, buffer.shape[3]))
        larger[:rows_before, :, :slots_before] = buffer
        # Hidden slots are multiplied by 0, and what stands there must be a number.
        larger[:rows_before, :, slots_before:] = 0
        larger[rows_before:] = 0
        return larger

    def write(self, buffer: Tensor, states: Tensor) -> Tensor:
        """Put `states`, (batch, heads, tokens, size), into the buffer, (rows, heads, slots, size);
        returns what the batch attends to: (batch, heads, width, size)."""
        states = states.transpose(1, 2)
        buffer[self.row_index, :, self.slot_index] = (
            states if self.valid is None else states[self.valid]
        )
        if self.rows is None:
            return buffer[: self.count, :, : self.width]
        return buffer[:, :, : self.width].index_select(0, self.rows)


class RowCache(Cache):
    """The rows of all live episodes. Give the placement of a forward pass with `place` first."""

    def __init__(self, layers: int) -> None:
        self.slot_layers = [SlotLayer() for _ in range(layers)]
        super().__init__(layers=list(self.slot_layers))

    def place(self, plan: Placement) -> None:
        for layer in self.slot_layers:
            layer.plan = plan

    def make_room(self, rows: int, width: int, most: int) -> None:
        """Let every layer have so many rows and slots; a layer that was never fed has none."""
        first = torch.zeros((1, 1), dtype=torch.long)
        plan = Placement(None, first, None, width, (rows, width), most)
        for layer in self.slot_layers:
            if layer.keys is not None and layer.values is not None:
                layer.keys, layer.values = plan.grow(layer.keys), plan.grow(layer.values)

    def move(self, pairs: list[tuple[int, int]], width: int, swap: bool) -> None:
        """Copy (or swap) the first `width` slots of rows, given as (from, to)."""
        if not pairs:
            return
        source, target = (torch.tensor(side) for side in zip(*pairs, strict=True))
        for layer in self.slot_layers:
            for buffer in (layer.keys, layer.values):
                if buffer is not None:
                    _move(
                        buffer[:, :, :width],
                        source.to(buffer.device),
                        target.to(buffer.device),
                        swap,
                    )


def _move(buffer: Tensor, source: Tensor, target: Tensor, swap: bool) -> None:
    moved = buffer.index_select(0, source)
    if swap:
        buffer.index_copy_(0, source, buffer.index_select(0, target))
    buffer.index_copy_(0, target, moved)


@contextmanager
def shared_heads_read_once(model: Any) -> Generator[None]:
    """Decode without the copies that `sdpa` makes of keys that several query heads share.

    Decoding reads the whole cache for every pass, so with a quarter of the heads it is about
    that much faster.
    """
    config = model.config
    before = config._attn_implementation
    heads = config.num_attention_heads
    grouped = getattr(config, "num_key_value_heads", None) not in (None, heads)
    if grouped and before == "sdpa":
        config._attn_implementation = _GROUPED
    try:
        yield
    finally:
        config._attn_implementation = before


def _grouped_attention(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor, **settings: Any
) -> tuple[Tensor, None]:
    """query: (batch, heads, tokens, size); key and value: (batch, key heads, slots, size);
    attention_mask: (batch, 1, tokens, slots)."""
    batch, heads, length, size = query.shape
    if query.device.type == "cpu" and batch > 1:
        seen = [int(count) for count in (attention_mask[:, 0, -1] == 0).sum(-1)]
        if sum(seen) < _ALIKE * batch * max(seen):
            # Each row reads its own slots, not as many as the longest has.
            rows = [
                _grouped_attention(
                    module, query[i : i + 1], key[i : i + 1, :, :n], value[i : i + 1, :, :n],
                    attention_mask[i : i + 1, :, :, :n], **settings,
                )[0]
                for i, n in enumerate(seen)
            ]  # fmt: skip
            return torch.cat(rows), None
    if length > _FEW:
        return sdpa_attention_forward(module, query, key, value, attention_mask, **settings)
    # Few query positions: the heads of a group can stand where more of them would.
    shared = heads // key.shape[1]
    grouped = query.reshape(batch, key.shape[1], shared * length, size)
    output = scaled_dot_product_attention(
        grouped, key, value, attn_mask=attention_mask.repeat(1, 1, shared, 1),
        scale=settings.get("scaling"),
    )  # fmt: skip
    # Some kernels return other strides than a view needs.
    return output.reshape(batch, heads, length, size).transpose(1, 2), None


_GROUPED = "graphwalker_grouped"
ALL_ATTENTION_FUNCTIONS.register(  # pyright: ignore[reportUnknownMemberType]
    _GROUPED, _grouped_attention
)
