"""The record of a GRPO run: metrics.jsonl, trajectories.jsonl, the clock, and the monitor."""

import logging
import math
import time
from contextlib import ExitStack
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState

from graphwalker.console import console
from graphwalker.files import JsonlAppender, read_jsonl
from training.grpo_config import GrpoConfig
from training.reinforce.batch import Batch, summary
from training.reinforce.groups import ZERO_VARIANCE
from training.reinforce.monitor import Monitor
from training.runs.checkpoints import lines_until
from training.runs.distributed import agree_on_first

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Drift:
    """How far the policy in training is from the one that drew, and from the reference: sums over
    tokens, so that no figure depends on how they were batched."""

    tokens: int = 0
    distance: float = 0.0
    largest: float = 0.0
    ratio: float = 0.0
    """Of the probability ratios of the policy in training to the one that drew."""
    kl: float = 0.0
    """Of the KL term from the reference (k3)."""

    def __add__(self, other: "Drift") -> "Drift":
        sums = [one + two for one, two in zip(astuple(self), astuple(other), strict=True)]
        return replace(Drift(*sums), largest=max(self.largest, other.largest))

    def facts(self) -> dict[str, float | None]:
        """`ratio_mean` and `kl` are `None` where no token was trained."""
        return {
            "ratio_mean": self.ratio / self.tokens if self.tokens else None,
            "kl": self.kl / self.tokens if self.tokens else None,
            "mismatch_mean": self.distance / max(1, self.tokens),
            "mismatch_max": self.largest,
        }


class StepLog:
    """Writes a line per step. A resumed run drops what it will write again.

    Every process has one, so that all of them stop together; only the first one writes.
    """

    def __init__(self, config: GrpoConfig, start: int, writes: bool = True) -> None:
        folder = Path(config.output_dir)
        self._config = config
        metrics, episodes = folder / "metrics.jsonl", folder / "trajectories.jsonl"
        self._metrics, self._episodes, last = None, None, dict[str, Any]()
        if writes:
            last = (lines_until(metrics, start) or [last])[-1]
            lines_until(episodes, start, lambda t: t["provenance"]["step"])
            self._metrics, self._episodes = JsonlAppender(metrics), JsonlAppender(episodes)
        elif start and metrics.is_file():
            last = next((line for line in read_jsonl(metrics) if line["step"] == start), last)
        self._before = float(last.get("seconds", 0.0))
        self._clock = self._step_clock = time.monotonic()
        self._monitor = Monitor(config, last)
        self._start, self._writes, self._shown = start, writes, ExitStack()
        self._tick: console.ProgressTick = console.silent

    @property
    def seconds(self) -> float:
        """Seconds of training, those before a resume included."""
        return self._before + time.monotonic() - self._clock

    @property
    def within_limits(self) -> bool:
        """The last step was within all limits of the monitor."""
        return self._monitor.within_limits

    def begin(self) -> None:
        self._clock = self._step_clock = time.monotonic()
        # A script logs a line for each step; where nothing is logged, a bar is shown.
        if self._writes and not log.isEnabledFor(logging.INFO):
            self._tick = self._shown.enter_context(console.progress("GRPO"))
            self._tick(self._start, self._config.steps)

    def facts(self, batch: Batch, drift: Drift) -> dict[str, float | None]:
        """Return the facts of a step that TRL does not report; the same in all processes."""
        drawn = {"resampled": float(batch.resampled), "filtered": float(batch.filtered)}
        moved = drift.facts()
        if not self._config.beta:  # no reference
            moved["kl"] = None
        return {**summary(batch.facts, self._config.samples), **drawn, **moved}

    def write(
        self, step: int, logs: dict[str, Any], facts: dict[str, float | None], batch: Batch
    ) -> None:
        """Write metrics and some episodes. Raises `CollapseError` past the monitor's limits."""
        now = time.monotonic()
        fresh = batch.step == step - 1  # not a further iteration on the same episodes
        generation = batch.seconds if fresh else 0.0
        line: dict[str, Any] = {
            "step": step,
            **facts,
            "loss": logs.get("loss"),
            "clip_ratio": logs.get("clip_ratio/region_mean"),
            "clip_low": logs.get("clip_ratio/low_mean"),
            "clip_high": logs.get("clip_ratio/high_mean"),
            "grad_norm": logs.get("grad_norm"),
            "lr": logs.get("learning_rate"),
            **{name: value for name, value in logs.items() if name.startswith("eval_")},
        }
        line |= self._monitor.count(line)
        line |= {
            "seconds_generation": generation,
            "seconds_update": now - self._step_clock - generation,
            "seconds": self.seconds,
        }
        self._step_clock = now
        if self._metrics is not None:
            self._metrics.append({key: _round(value) for key, value in line.items()})
            self._show(step, line)
        if fresh and self._episodes is not None:
            for episode in batch.shown:
                marked = replace(episode, provenance={**episode.provenance, "step": step})
                self._episodes.append(marked.to_json())
        self._monitor.check(step, line)

    def close(self) -> None:
        self._shown.close()
        for appender in (self._metrics, self._episodes):
            if appender is not None:
                appender.close()

    def _show(self, step: int, line: dict[str, Any]) -> None:
        self._tick(step, self._config.steps, EM=line["em"])
        log.info(
            "step %d of %d  EM %.3f  answered %.2f  turns %.1f  %.1f s, %s left",
            step, self._config.steps, line["em"], line["answered"], line["turns"],
            line["seconds"], console.clock(line["seconds"] / step * (self._config.steps - step)),
        )  # fmt: skip
        if line["zero_variance"]:
            log.info(
                "step %d: no variance in %.0f %% of the groups: unwinnable %.0f, always right "
                "%.0f, always wrong %.0f",
                step, *(100 * line[key] for key in ("zero_variance", *ZERO_VARIANCE)),
            )  # fmt: skip


class Clock(TrainerCallback):
    """Ends the run after the step that passes `max_seconds`, in all processes at once."""

    def __init__(self, record: StepLog, max_seconds: float) -> None:
        self._record, self._max_seconds = record, max_seconds

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._record.begin()

    def on_step_end(
        self, args: Any, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        # Processes that stopped at different steps would hang.
        if self._max_seconds and agree_on_first(self._record.seconds) >= self._max_seconds:
            control.should_training_stop = True

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._record.close()


def _round(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return float(f"{value:.6g}") if math.isfinite(value) else str(value)
