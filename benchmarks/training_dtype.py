"""SFT in bfloat16 on a CPU that multiplies in it (`dtype=native`) beside float32, in turns.

    python -m benchmarks.training_dtype [--out runs/bench-training] [--steps 100] [--rounds 3]

The first steps of the demo's stage 1, on one thread, from the same model and rows.
"""

import argparse
import json
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.record import ROOT, record
from benchmarks.training import SEED, prepare
from graphwalker.config import load_config, parse_config
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl
from graphwalker.pipeline import Demo, DemoConfig

DTYPES = ("float32", "native")


def main() -> None:
    """Measure and write benchmarks/results/training_dtype.json."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, help="where the data is made (default: a new folder)")
    parser.add_argument("--steps", type=int, default=100, help="steps of each run")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each kind")
    parser.add_argument("--set", nargs="*", default=[], help="settings, such as synth.count=200")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        demo = prepare(options.out or Path(folder), options.set)
        figures = measure(demo, Path(folder) / "runs", options.steps, options.rounds)
    print(json.dumps(figures, indent=2))
    results = options.out if options.set else ROOT / "benchmarks" / "results"
    command = f"python -m benchmarks.training_dtype --steps {options.steps}"
    print(record("training_dtype", figures, command, SEED, folder=results))


def measure(demo: Demo, runs: Path, steps: int, rounds: int) -> dict[str, Any]:
    """Tokens a second of each run, the ratio of each round, and how far the last losses differ.

    Raises `UserError` on a CPU that does not multiply in bfloat16: nothing would differ.
    """
    from training.runs.distributed import uses_bfloat16

    if not uses_bfloat16("native"):
        raise UserError("this CPU has neither AVX512-BF16 nor AMX: dtype=native is float32 here")
    lines = [
        {dtype: _run(demo, runs / f"{dtype}-{round_}", dtype, steps) for dtype in DTYPES}
        for round_ in range(rounds)
    ]
    speeds = {dtype: [line[dtype]["tokens_per_s"] for line in lines] for dtype in DTYPES}
    ratios = [native / plain for plain, native in zip(*speeds.values(), strict=True)]
    return {
        "steps": steps,
        "threads": 1,
        "tokens_per_s": speeds,
        "ratios": [round(ratio, 2) for ratio in ratios],
        "median_ratio": round(median(ratios), 2),
        "last_loss": {dtype: lines[0][dtype]["loss"] for dtype in DTYPES},
    }


def _run(demo: Demo, out: Path, dtype: str, steps: int) -> dict[str, Any]:
    """The last line of the run's metrics."""
    from training.config import SftConfig
    from training.sft import run_sft

    values = {
        **load_config(DemoConfig, ROOT / "configs" / "demo.yaml").sft1,
        "model": str(demo.out / "model"),
        "data": [str(demo.out / "synth" / "graphsynth.jsonl")],
        "output_dir": str(out),
        "seed": SEED,
        "environment": demo.config.environment,
        "dtype": dtype,
        "threads": 1,
        "max_steps": steps,
        "progress": False,
    }
    run_sft(parse_config(SftConfig, values, "benchmark, sft"))
    return list(read_jsonl(out / "metrics.jsonl"))[-1]


if __name__ == "__main__":
    main()
