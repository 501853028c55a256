"""A GRPO step taken apart: generation, tools, reward, log-probabilities, update; trim on and off.

Every variant starts from the same agent and draws the same first episodes.
"""

import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphwalker.agents.environment import Environment
from graphwalker.config import parse_config
from graphwalker.datasets.base import load_questions
from graphwalker.graphs.open import open_graph
from graphwalker.pipeline import Demo
from training.grpo_config import GrpoConfig

STEPS = 4
WARM = 1
"""Steps at the start that no clock counts."""


def grpo_figures(demo: Demo) -> dict[str, Any]:
    """Seconds a step by part, their shares, and the update's seconds without what we cut."""
    from training.reinforce.trainer import trimmed

    whole = _run(demo, None)
    padded = _run(demo, list)
    trim = _run(demo, lambda batches: [trimmed(batch) for batch in batches])
    parts = whole["parts"]
    total = sum(parts.values())
    update = {
        "ours": parts["log_probabilities"] + parts["update"],
        "trim_alone": trim["parts"]["log_probabilities"] + trim["parts"]["update"],
        "padded": padded["parts"]["log_probabilities"] + padded["parts"]["update"],
    }
    return {
        "episodes_per_step": demo.config.grpo["prompts_per_step"] * demo.config.grpo["samples"],
        "steps": STEPS - WARM,
        "seconds_per_step": {name: round(value, 3) for name, value in parts.items()},
        "shares": {name: round(value / total, 4) for name, value in parts.items()},
        "graph_share_target": 0.02,
        "update_seconds": {name: round(value, 3) for name, value in update.items()},
        "ratio_trim": round(update["padded"] / update["trim_alone"], 2),
        "ratio_trim_and_sort": round(update["padded"] / update["ours"], 2),
        "first_loss": {"ours": whole["loss"], "trim": trim["loss"], "padded": padded["loss"]},
    }


def _run(demo: Demo, micro_batches: Callable[[Any], Any] | None) -> dict[str, Any]:
    """A few steps with a clock in every part; `micro_batches` in place of our own."""
    import training.reinforce.rollout as rollout_module
    from training.grpo import make_trainer

    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        config = parse_config(GrpoConfig, _settings(demo, folder), "benchmark, grpo")
        environment = Environment(open_graph(demo.graph), config.environment)
        trainer = make_trainer(config, load_questions(demo.fresh_file), environment)
        if micro_batches is not None:
            trainer._micro_batches = micro_batches
        trainer.rollouts = clock.tools(trainer.rollouts)
        trainer.rollout_func = trainer.rollouts
        trainer._compute_loss = clock.timed("log_probabilities", trainer._compute_loss)
        trainer.accelerator.backward = clock.timed("update", trainer.accelerator.backward)
        trainer.create_optimizer()
        trainer.optimizer.step = clock.timed("update", trainer.optimizer.step)
        original = rollout_module.scored
        rollout_module.scored = clock.timed("reward", original)
        try:
            trainer.train()
        finally:
            rollout_module.scored = original
        losses = [line["loss"] for line in trainer.state.log_history if "loss" in line]
    return {"parts": clock.means(), "loss": losses[0]}


def _settings(demo: Demo, folder: str) -> dict[str, Any]:
    return {
        "model": str(demo.out / "sft1" / "final"),
        "questions": str(demo.fresh_file),
        "graph": str(demo.graph),
        "environment": demo.config.environment,
        "output_dir": str(Path(folder) / "run"),
        "seed": demo.config.seed,
        **demo.config.grpo,
        "steps": STEPS,
        "save_steps": 10**6,
    }


class Clock:
    """Seconds by part and step."""

    def __init__(self) -> None:
        self._steps: list[Counter[str]] = []

    def timed(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, its seconds added to `part` of the step under way."""

        def run(*args: Any, **kwargs: Any) -> Any:
            started = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                if self._steps:
                    self._steps[-1][part] += time.perf_counter() - started

        return run

    def tools(self, rollouts: Any) -> Any:
        """The rollouts: a step begins with them, and their episodes tell the tools' seconds."""
        return _Rollouts(rollouts, self)

    def begin(self) -> None:
        self._steps.append(Counter())

    def note(self, seconds: float, tools: float) -> None:
        """Seconds of a step's rollouts, of which `tools` were spent in the graph's tools."""
        step = self._steps[-1]
        step["tools"] += tools
        step["generation"] += seconds - tools - step["reward"]

    def means(self) -> dict[str, float]:
        """Mean seconds of each part over the steps that count."""
        counted = self._steps[WARM:]
        parts = ("generation", "tools", "reward", "log_probabilities", "update")
        return {part: sum(step[part] for step in counted) / len(counted) for part in parts}


class _Rollouts:
    """`Rollouts` with a clock around each call."""

    def __init__(self, rollouts: Any, clock: Clock) -> None:
        self._rollouts, self._clock = rollouts, clock

    def __call__(self, prompts: list[str], trainer: Any) -> Any:
        self._clock.begin()
        started = time.perf_counter()
        batch = self._rollouts(prompts, trainer)
        tools = sum(turn.milliseconds for t in self.batch.trajectories for turn in t.turns) / 1000
        self._clock.note(time.perf_counter() - started, tools)
        return batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rollouts, name)
