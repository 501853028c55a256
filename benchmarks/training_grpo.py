"""A GRPO step of the demo taken apart: generation, tools, reward, update; and each saving alone.

    python -m benchmarks.training_grpo [--demo runs/demo] [--steps 4]

It starts from a finished demo's stage 2, with that demo's settings and questions, so groups are as
informative as they are there. On the very batches that are trained on, the loss and its gradients
are computed in each way, timed, and compared: all ways are the same gradient. Without a GPU all
seconds are those of the CPU, which other work on the machine does not change much.
"""

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.record import ROOT, record
from graphwalker.config import load_config
from graphwalker.errors import UserError
from training.grpo_config import GrpoConfig

WARM = 1
"""Steps at the start that no clock counts."""
ALONE = ("drawn_tokens_alone", "sorted_and_trimmed", "without_idle_rows")
"""Savings against TRL's own way, each alone; `ours` has all of them."""

Parts = list[dict[str, Any]]


def now() -> float:
    """Return seconds of this process's CPU, or of the clock on a GPU."""
    import torch

    if not torch.cuda.is_available():
        return time.process_time()
    torch.cuda.synchronize()  # what was asked of it is done later, else
    return time.perf_counter()


def main() -> None:
    """Measure and write benchmarks/results/grpo-step.json."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--demo", type=Path, default=Path("runs/demo"), help="a finished demo")
    parser.add_argument("--steps", type=int, default=4, help="steps, the first of which warms up")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--set", nargs="*", default=[], help="settings, such as iterations=1")
    options = parser.parse_args()
    figures = measure(options.demo, options.steps, options.set)
    print(json.dumps(figures, indent=2))
    command = f"python -m benchmarks.training_grpo --steps {options.steps}"
    command += f" --set {' '.join(options.set)}" if options.set else ""
    print(record("grpo-step", figures, command, 0, folder=options.out))


def measure(demo: Path, steps: int, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """Return seconds a step by part, their shares, and the update's seconds with each saving."""
    with tempfile.TemporaryDirectory() as folder:
        return step_figures(_config(demo, folder, steps, overrides))


def step_figures(config: GrpoConfig) -> dict[str, Any]:
    """Return the same figures of any config."""
    import torch

    trainer, clock, savings = _prepare(config)
    started = time.perf_counter()
    trainer.train()
    lines = [line for line in trainer.state.log_history if "loss" in line][WARM:]
    parts = clock.means()
    total = sum(parts.values())
    informative = [line["agent/informative_groups"] for line in lines]
    return {
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "threads": torch.get_num_threads(),
        "episodes_per_step": len(trainer.rollouts.batch.trajectories),
        "steps": len(lines),
        "informative_groups": sum(informative) / len(informative),
        "largest_loss": max(abs(line["loss"]) for line in lines),
        "drawn_tokens_per_s": round(
            sum(line["agent/tokens"] for line in lines) / (len(lines) * parts["generation"]), 1
        ),
        "steps_per_minute": round(60 / total, 2),
        "seconds_per_step": {name: round(value, 3) for name, value in parts.items()},
        "shares": {name: round(value / total, 4) for name, value in parts.items()},
        "update": savings.figures(),
        "minutes": round((time.perf_counter() - started) / 60, 1),
    }


def _config(demo: Path, folder: str, steps: int, overrides: Sequence[str]) -> GrpoConfig:
    """Return the config of the demo's GRPO, in a folder of its own."""
    if not (demo / "sft2" / "final").is_dir():
        raise UserError(f"{demo}: no finished demo; make one: make demo OUT={demo}")
    paths = {
        "model": demo / "sft2" / "final",
        "questions": demo / "practice" / "questions.jsonl",
        "graph": demo / "world" / "graph",
        "output_dir": Path(folder) / "run",
    }
    given = [f"{name}={path}" for name, path in paths.items()]
    given += [f"steps={steps}", "save_steps=1000000", *overrides]
    return load_config(GrpoConfig, demo / "grpo" / "config.yaml", given)


def _prepare(config: GrpoConfig) -> "tuple[Any, Clock, Savings]":
    """Return the trainer with a clock in every part of its steps."""
    import training.reinforce.rollout as rollout_module
    from training.grpo import make_trainer, open_world

    trainer, clock = make_trainer(config, *open_world(config)), Clock()
    savings = Savings(trainer)
    trainer.rollouts = clock.tools(trainer.rollouts)
    trainer.rollout_func = trainer.rollouts
    trainer._compute_loss = clock.time_calls("log_probabilities", trainer._compute_loss)
    trainer.accelerator.backward = clock.time_calls("update", trainer.accelerator.backward)
    trainer.create_optimizer()
    trainer.optimizer.step = clock.time_calls("update", trainer.optimizer.step)
    rollout_module.score_episode = clock.time_calls("reward", rollout_module.score_episode)
    cut = trainer._micro_batches

    def micro_batches(batches: Any) -> Parts:
        if clock.counting:
            savings.measure(batches, cut)
        return cut(batches)

    trainer._micro_batches = micro_batches
    return trainer, clock, savings


class Savings:
    """Seconds of the loss and its gradients, computed in several ways on the same batch."""

    def __init__(self, trainer: Any) -> None:
        self._trainer, self._loss = trainer, trainer._compute_loss
        self._seconds: Counter[str] = Counter()
        self._gap: dict[str, float] = {}
        self._batches = 0

    def measure(self, batches: Parts, ours: Callable[[Any], Parts]) -> None:
        """Time each way on this batch and compare gradients with those of TRL's own way."""
        import torch

        from training.reinforce.rows import regroup, trim_padding

        trainer = self._trainer
        selective, replay, trainer.replay = trainer._selective, trainer.replay, None
        ordered = regroup([_all_kept(batch) for batch in batches], drop_idle=False)
        ways: dict[str, tuple[Parts, bool]] = {
            "plain": (list(batches), False),
            "drawn_tokens_alone": (list(batches), True),
            "sorted_and_trimmed": ([trim_padding(part) for part in ordered], False),
            "without_idle_rows": (without_idle(batches), False),
            "ours": (ours(batches), True),
        }
        plain: list[Any] = []
        for name, (parts, at_drawn) in ways.items():
            trainer._selective = at_drawn and selective
            trainer.model.zero_grad()
            started = now()
            for part in parts:
                self._loss(trainer.model, part).backward()
            self._seconds[name] += now() - started
            found = [p.grad.clone() for p in trainer.model.parameters() if p.grad is not None]
            plain = plain or found
            found = found or [torch.zeros_like(g) for g in plain]  # no row has an advantage
            largest = max(float(p.abs().max()) for p in plain)
            gap = max(float((a - b).abs().max()) for a, b in zip(found, plain, strict=True))
            self._gap[name] = max(self._gap.get(name, 0.0), gap / max(largest, 1e-12))
        trainer.model.zero_grad()
        trainer._selective, trainer.replay = selective, replay
        trainer._drift = type(trainer._drift)()
        for figures in trainer._metrics["train"].values():  # those of the trials are no figures
            figures[:] = figures[:1]
        self._batches += 1

    def figures(self) -> dict[str, Any]:
        """Seconds a batch, how many times faster than the plain way, and how far the gradients are
        from its own, relative to their largest entry."""
        seconds = {name: value / self._batches for name, value in self._seconds.items()}
        return {
            "seconds": {name: round(value, 3) for name, value in seconds.items()},
            "times_faster": {
                name: round(seconds["plain"] / value, 2) for name, value in seconds.items()
            },
            "largest_difference_of_gradients": self._gap,
        }


def _all_kept(batch: dict[str, Any]) -> dict[str, Any]:
    import torch

    return {**batch, "kept": torch.ones_like(batch["kept"])}


def without_idle(batches: Parts) -> Parts:
    """Return the rows that have an advantage, in the same order, padding and number of passes."""
    import torch

    rows = {k: torch.cat([b[k] for b in batches]) for k, v in batches[0].items() if v.ndim}
    scalars = {k: v for k, v in batches[0].items() if k not in rows}
    total = len(rows["advantages"])
    busy = rows["advantages"].reshape(total, -1).any(1).nonzero()[:, 0]
    return [
        {
            **scalars,
            **{key: value[chosen] for key, value in rows.items()},
            "share": len(chosen) * len(batches) / total,
        }
        for chosen in busy.tensor_split(len(batches))
        if len(chosen)
    ]


class Clock:
    """Seconds by part and step."""

    def __init__(self) -> None:
        self._steps: list[Counter[str]] = []

    @property
    def counting(self) -> bool:
        """Whether the step under way is one that counts."""
        return len(self._steps) > WARM

    def time_calls(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with its seconds added to `part` of the current step."""

        def run(*args: Any, **kwargs: Any) -> Any:
            started = now()
            try:
                return function(*args, **kwargs)
            finally:
                if self._steps:
                    self._steps[-1][part] += now() - started

        return run

    def tools(self, rollouts: Any) -> Any:
        """Return the rollouts with a clock; they begin a step."""
        return _Rollouts(rollouts, self)

    def begin(self) -> None:
        self._steps.append(Counter())

    def note(self, seconds: float, tools: float) -> None:
        """Add the seconds of a step's rollouts, of which the graph's tools took `tools`."""
        step = self._steps[-1]
        step["tools"] += tools
        step["generation"] += seconds - tools - step["reward"]

    def means(self) -> dict[str, float]:
        """Return mean seconds of each part over the counted steps."""
        counted = self._steps[WARM:]
        parts = ("generation", "tools", "reward", "log_probabilities", "update")
        return {part: sum(step[part] for step in counted) / len(counted) for part in parts}


class _Rollouts:
    """`Rollouts` with a clock around each call."""

    def __init__(self, rollouts: Any, clock: Clock) -> None:
        self._rollouts, self._clock = rollouts, clock

    def __call__(self, prompts: list[str], trainer: Any) -> Any:
        self._clock.begin()
        started = now()
        batch = self._rollouts(prompts, trainer)
        tools = sum(turn.milliseconds for t in self.batch.trajectories for turn in t.turns) / 1000
        self._clock.note(now() - started, tools)
        return batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rollouts, name)


if __name__ == "__main__":
    main()
