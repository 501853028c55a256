"""Instruments: which part of a step's episodes teaches, and by what; and how far weights moved."""

from collections.abc import Sequence
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import torch
from transformers import TrainerCallback, TrainerControl, TrainerState

from training.models.copies import whole
from training.reinforce.groups import EPSILON, chunks, has_no_variance

if TYPE_CHECKING:
    from training.reinforce.batch import EpisodeFacts

THIRDS = ("short", "middle", "long")
ENTRIES = 1 << 14
"""Of each tensor that the movement of the weights is measured by: evenly spread ones."""


def instruments(
    facts: Sequence["EpisodeFacts"], samples: int, scale: str
) -> dict[str, float | None]:
    """Figures of a step's episodes; `None` where there is none to take a mean of.

    `advantage_short`, `_middle`, `_long`: mean advantage of the thirds of the episodes by drawn
    tokens; where long episodes are the wrong ones, training shortens.
    """
    scores = advantages([f.reward for f in facts], samples, scale)
    valid = [(f, a) for f, a in zip(facts, scores, strict=True) if f.reward is not None]
    valid.sort(key=lambda pair: pair[0].tokens)
    edges = [round(k * len(valid) / 3) for k in range(4)]
    thirds = zip(THIRDS, edges, edges[1:], strict=False)
    groups = list(chunks([f.reward for f in facts], samples))
    right = [f for f, _ in valid if f.em]
    paid = [f for f, _ in valid if (f.reward or 0.0) > 0]
    turns = sum(f.turns for f, _ in valid)
    return {
        "informative_groups": float(sum(not has_no_variance(group) for group in groups)),
        **{f"advantage_{name}": _mean([a for _, a in valid[i:j]]) for name, i, j in thirds},
        "tokens_right": _mean([f.tokens for f in right]),
        "tokens_wrong": _mean([f.tokens for f, _ in valid if not f.em]),
        "ungrounded": _mean([not f.grounded for f in paid]),
        "cut_turns": sum(f.cut_turns for f, _ in valid) / max(1, turns),
    }


def advantages(rewards: Sequence[float | None], samples: int, scale: str) -> list[float]:
    """Of each episode, as TRL computes them: less the mean of its group, divided by the deviation
    of the `group`, of the `batch`, or by nothing. 0 without a reward.

    >>> advantages([1.0, 0.0, 1.0, None], 4, "none")
    [0.33333333333333337, -0.6666666666666666, 0.33333333333333337, 0.0]
    """
    known = [r for r in rewards if r is not None]
    whole = _deviation(known)
    found: list[float] = []
    for group in chunks(rewards, samples):
        here = [r for r in group if r is not None]
        mean = fmean(here) if here else 0.0
        spread = {"group": _deviation(here), "batch": whole}.get(scale)
        divisor = 1.0 if spread is None else spread + EPSILON
        found += [0.0 if r is None else (r - mean) / divisor for r in group]
    return found


class Movement(TrainerCallback):
    """How far the trained weights are from those of the model that the run starts from
    (`weights_moved`), and how far the last step took them (`step_moved`), relative to their norm.

    Measured on evenly spread entries of every tensor; `take` is empty where no process holds whole
    weights (ZeRO-3).
    """

    def __init__(self, model: torch.nn.Module) -> None:
        self._model = model
        self._start = self._before = self._now = _spread(model)

    def on_train_begin(
        self, args: Any, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        self._now = _spread(self._model)  # of the checkpoint, where a run resumes

    def on_step_end(
        self, args: Any, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        self._before, self._now = self._now, _spread(self._model)

    def take(self) -> dict[str, float]:
        norm = float(self._start.norm())
        # ZeRO-3 keeps small tensors, such as adapters, whole from the first step on.
        if not norm or any(len(w) != len(self._start) for w in (self._before, self._now)):
            return {}
        return {
            "weights_moved": float((self._now - self._start).norm()) / norm,
            "step_moved": float((self._now - self._before).norm()) / norm,
        }


@torch.no_grad()
def _spread(model: torch.nn.Module) -> torch.Tensor:
    """Entries of all trained tensors in main memory, those of a tensor that is not counted whole
    scaled so that the norm is an estimate of the whole one's."""
    parts: list[torch.Tensor] = []
    for parameter in model.parameters():
        if parameter.requires_grad and parameter.numel():
            flat = whole(parameter.detach()).reshape(-1)
            stride = -(-flat.numel() // ENTRIES)
            parts.append(flat[::stride].to("cpu", torch.float32) * stride**0.5)
    return torch.cat(parts) if parts else torch.zeros(0)


def _deviation(values: Sequence[float]) -> float:
    return stdev(values) if len(values) > 1 else 0.0


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
