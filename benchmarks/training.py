"""How fast training is, each part beside the plain way of doing it, in one run.

    python -m benchmarks.training [--out runs/bench-training] [--steps 40]

A tiny agent is made and trained a little on a made world; then SFT is set beside a plain
`SFTTrainer`, and rollouts beside `generate`. A GRPO step is taken apart by
`python -m benchmarks.training_grpo`, from a whole demo's stage 2.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.record import ROOT, record
from graphwalker.config import load_config
from graphwalker.pipeline import Demo, DemoConfig

SEED = 0
SMALL = (
    *("synth.count=1500", "rl_questions.count=800", "experts.count=400"),
    *("tests.test-entity.count=32", "tests.test-path.count=16", "sft1.max_steps=250"),
)
"""The ablation's settings, made smaller."""


def main() -> None:
    """Measure and write benchmarks/results/training.json."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, help="where the agent is made (default: a new folder)")
    parser.add_argument("--steps", type=int, default=40, help="SFT steps that are timed")
    parser.add_argument("--set", nargs="*", default=[], help="settings, such as synth.count=200")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(options.out or Path(folder), options.steps, options.set)
    print(json.dumps(figures, indent=2))
    results = options.out if options.set else ROOT / "benchmarks" / "results"
    command = f"python -m benchmarks.training --steps {options.steps}"
    print(record("training", figures, command, SEED, folder=results))


def measure(out: Path, steps: int, overrides: list[str]) -> dict[str, Any]:
    """All figures, after making what they are measured on in `out`."""
    import torch

    from benchmarks.training_rollouts import rollout_figures
    from benchmarks.training_sft import sft_figures

    demo = prepare(out, overrides)
    return {
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "threads": torch.get_num_threads(),
        "sft": sft_figures(demo, steps),
        "rollouts": rollout_figures(demo),
    }


def small_demo(out: Path, overrides: list[str]) -> Demo:
    """The ablation's demo, made smaller; nothing is made yet."""
    settings = [*SMALL, *overrides, f"seed={SEED}"]
    return Demo(out, load_config(DemoConfig, ROOT / "configs" / "ablation.yaml", settings))


def prepare(out: Path, overrides: list[str]) -> Demo:
    """World, data, and an agent of 250 steps of stage 1; left as it is where it is there."""
    demo = small_demo(out, overrides)
    config = demo.config
    demo.make_data()
    demo.make_model()
    values = {
        "model": str(out / "model"),
        "data": [str(out / "synth" / "graphsynth.jsonl")],
        "output_dir": str(out / "sft1"),
        "seed": SEED,
        **config.sft1,
    }
    demo.train_sft(values, "a little of stage 1")
    return demo


if __name__ == "__main__":
    main()
