"""The record of a GRPO run: metrics.jsonl, trajectories.jsonl, the clock, and the alarm."""

import logging
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState

from graphwalker.errors import GraphWalkerError
from graphwalker.jsonl import JsonlAppender, read_jsonl, write_jsonl
from training.checkpoints import rewind_metrics
from training.distributed import agreed, gathered, rank
from training.grpo_config import GrpoConfig
from training.rollout import Rollouts, summary

log = logging.getLogger(__name__)


class CollapseError(GraphWalkerError, RuntimeError):
    """The policy collapsed; its text says by which sign and what to try."""


class StepLog:
    """Writes a line per step. A resumed run drops what it will write again.

    Of several processes, the first one writes, for the episodes of all.
    """

    def __init__(self, config: GrpoConfig, start: int) -> None:
        folder = Path(config.output_dir)
        self._config = config
        last: dict[str, Any] = {}
        if rank() == 0:
            last = rewind_metrics(folder / "metrics.jsonl", start)
            _rewind_trajectories(folder / "trajectories.jsonl", start)
            self._metrics = JsonlAppender(folder / "metrics.jsonl")
            self._episodes = JsonlAppender(folder / "trajectories.jsonl")
        self._before = float(last.get("seconds", 0.0))
        self._clock = self._step_clock = time.monotonic()
        self._off, self._off_max, self._off_count = 0.0, 0.0, 0
        self._low = {
            "answered": (config.min_answered, int(last.get("low_answered", 0))),
            "valid_actions": (config.min_valid_actions, int(last.get("low_valid_actions", 0))),
        }

    @property
    def seconds(self) -> float:
        """Seconds of training, those before a resume included."""
        return self._before + time.monotonic() - self._clock

    def begin(self) -> None:
        self._clock = self._step_clock = time.monotonic()

    def mismatch(self, total: float, largest: float, count: int) -> None:
        """Note how far the log-probabilities of training are from those of sampling."""
        self._off, self._off_count = self._off + total, self._off_count + count
        self._off_max = max(self._off_max, largest)

    def gather(self) -> None:
        """Take in what the other processes noted since the last line; all must call it."""
        noted = gathered([(self._off, self._off_max, self._off_count)])
        self._off, self._off_count = sum(n[0] for n in noted), sum(n[2] for n in noted)
        self._off_max = max(n[1] for n in noted)

    def write(self, step: int, logs: dict[str, float], rollouts: Rollouts) -> None:
        """One line of metrics and some episodes. Raises `CollapseError` if the alarm rings."""
        now = time.monotonic()
        facts = summary(rollouts.trajectories, rollouts.samples)
        low = self._count_low(facts)
        line: dict[str, Any] = {
            "step": step,
            **facts,
            "loss": logs.get("loss"),
            "kl": logs.get("kl"),
            "clip_ratio": logs.get("clip_ratio/region_mean"),
            "grad_norm": logs.get("grad_norm"),
            "lr": logs.get("learning_rate"),
            "mismatch_mean": self._off / max(1, self._off_count),
            "mismatch_max": self._off_max,
            **{f"low_{key}": count for key, count in low.items()},
            "seconds_generation": rollouts.seconds,
            "seconds_update": now - self._step_clock - rollouts.seconds,
            "seconds": self.seconds,
        }
        self._metrics.append({key: _rounded(value) for key, value in line.items()})
        self._write_episodes(step, rollouts)
        self._step_clock, self._off, self._off_max, self._off_count = now, 0.0, 0.0, 0
        log.info(
            "step %d of %d  EM %.3f  answered %.2f  turns %.1f  %.1f s",
            step, self._config.steps, facts["em"], facts["answered"], facts["turns"],
            line["seconds"],
        )  # fmt: skip
        self._ring(step, facts, low)

    def close(self) -> None:
        self._metrics.close()
        self._episodes.close()

    def _write_episodes(self, step: int, rollouts: Rollouts) -> None:
        # One of each question first: samples of one question are much alike.
        count, spread = self._config.trajectories_per_step, rollouts.samples
        ordered = [t for i in range(spread) for t in rollouts.trajectories[i::spread]]
        for episode in ordered[:count]:
            marked = replace(episode, provenance={**episode.provenance, "step": step})
            self._episodes.append(marked.to_json())

    def _count_low(self, facts: dict[str, float]) -> dict[str, int]:
        for key, (limit, count) in self._low.items():
            self._low[key] = (limit, count + 1 if facts[key] < limit else 0)
        return {key: count for key, (_, count) in self._low.items()}

    def _ring(self, step: int, facts: dict[str, float], low: dict[str, int]) -> None:
        for key, count in low.items():
            if 0 < self._config.alarm_steps <= count:
                raise CollapseError(
                    f"{self._config.output_dir}: stopped at step {step}: {key} is "
                    f"{facts[key]:.2f}, below min_{key} = {self._low[key][0]} for {count} steps; "
                    "read trajectories.jsonl, lower lr or raise beta, and start in a new output_dir"
                )


class Clock(TrainerCallback):
    """Ends the run after the step that passes `max_seconds`."""

    def __init__(self, record: StepLog, max_seconds: float) -> None:
        self._record, self._max_seconds = record, max_seconds

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._record.begin()

    def on_step_end(
        self, args: Any, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        # Processes that stopped at different steps would hang.
        if self._max_seconds and agreed(self._record.seconds) >= self._max_seconds:
            control.should_training_stop = True


def _rewind_trajectories(path: Path, step: int) -> None:
    if path.is_file():
        JsonlAppender(path).close()  # cuts a killed run's half line
        kept = [r for r in read_jsonl(path) if r["provenance"]["step"] <= step]
        write_jsonl(path, kept)


def _rounded(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value
