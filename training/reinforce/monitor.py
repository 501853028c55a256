"""The monitor: limits on a step's figures, and how many steps in a row were beyond them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphwalker.errors import GraphWalkerError
from training.grpo_config import GrpoConfig


class CollapseError(GraphWalkerError, RuntimeError):
    """The policy collapsed; its text says by which sign and what to try."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A floor or a ceiling for one value of a step's line."""

    key: str
    setting: str
    """Its name in the config, `min_...` or `max_...`."""
    value: float

    @property
    def counter(self) -> str:
        """The key of the line that counts the steps in a row beyond this limit."""
        side, _, name = self.setting.partition("_")
        return f"{'low' if side == 'min' else 'high'}_{name}"

    def is_exceeded(self, line: Mapping[str, Any]) -> bool:
        seen = line.get(self.key)
        if seen is None:  # no KL without a reference, no mismatch without trained rows
            return False
        return seen < self.value if self.setting.startswith("min_") else seen > self.value > 0


class Monitor:
    """Counts the steps beyond each limit. `last` is the line after which a run resumes."""

    def __init__(self, config: GrpoConfig, last: Mapping[str, Any]) -> None:
        self._folder, self._steps = Path(config.output_dir), config.limit_steps
        self._limits = (
            Limit("answered", "min_answered", config.min_answered),
            Limit("valid_actions", "min_valid_actions", config.min_valid_actions),
            Limit("entropy", "min_entropy", config.min_entropy),
            Limit("kl", "max_kl", config.max_kl),
            Limit("mismatch_mean", "max_mismatch", config.max_mismatch),
        )
        self._counts = {limit: int(last.get(limit.counter, 0)) for limit in self._limits}

    @property
    def within_limits(self) -> bool:
        """The last step was within all limits: a checkpoint made now is a good one."""
        return not self._steps or not any(self._counts.values())

    def count(self, line: Mapping[str, Any]) -> dict[str, int]:
        """Take note of a step's line; returns the counters to write into it."""
        for limit in self._limits:
            self._counts[limit] = self._counts[limit] + 1 if limit.is_exceeded(line) else 0
        return {limit.counter: count for limit, count in self._counts.items()}

    def check(self, step: int, line: Mapping[str, Any]) -> None:
        """Raise `CollapseError` once a limit was exceeded `limit_steps` times in a row, and at once
        for a loss or a gradient that is not finite."""
        if not self._steps:
            return
        for key in ("loss", "grad_norm"):
            if not math.isfinite(line.get(key) or 0.0):
                raise self._error(step, f"{key} is {line[key]}", 1)
        for limit, count in self._counts.items():
            if count >= self._steps:
                side = "below" if limit.setting.startswith("min_") else "above"
                seen = f"{limit.key} is {line[limit.key]:.3g}"
                bound = f"{side} {limit.setting} = {limit.value:g} for {count} steps"
                raise self._error(step, f"{seen}, {bound}", count)

    def _error(self, step: int, sign: str, count: int) -> CollapseError:
        good = max((s for s in checkpoints(self._folder) if s <= step - count), default=0)
        kept = f"checkpoint-{good} is the last good one; " if good else ""
        return CollapseError(
            f"{self._folder}: stopped at step {step}: {sign}; {kept}"
            "read trajectories.jsonl, lower lr or raise beta, and start in a new output_dir"
        )


def checkpoints(folder: Path) -> list[int]:
    """Steps of the checkpoints in a run folder."""
    names = (path.name.partition("-")[2] for path in folder.glob("checkpoint-*"))
    return [int(name) for name in names if name.isdigit()]
