"""The demo over several seeds: EM after each stage, what GRPO adds to each part, minutes.

    python -m benchmarks.demo [--out runs/demos] [--seeds 0 1 2] [--full] [--set sft2.max_steps=900]

Each seed is a `graphwalker demo` of its own, with another world, questions and weights, one after
the other; a seed that is finished is read. Minutes are those of a machine with nothing else to do.
"""

import argparse
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.record import ROOT, record
from eval.analysis.summary import paired_difference
from graphwalker.console import console
from graphwalker.files import read_json, read_records
from graphwalker.trajectory import Trajectory

STAGES = {"SFT stage 1": "sft1", "SFT stage 2": "sft2", "GRPO": "grpo"}
PARTS = {"shown words": "test-entity", "held-out words": "test-wording"}


def main() -> None:
    """Run what is missing, print, and write benchmarks/results/demo.json, or demo_full.json."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("runs/demos"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--full", action="store_true", help="configs/demo-full.yaml")
    parser.add_argument("--set", nargs="*", default=[], help="settings, such as grpo.steps=40")
    options = parser.parse_args()
    seeds: dict[int, dict[str, Any]] = {}
    for seed in options.seeds:
        out = options.out / f"seed-{seed}"
        full = ["--full"] if options.full else []
        command = ["demo", *full, "--out", str(out), f"seed={seed}", *options.set]
        subprocess.run([sys.executable, "-m", "graphwalker", *command], cwd=ROOT, check=True)
        seeds[seed] = figures(out)
    found = {"seeds": seeds, "mean": mean(list(seeds.values()))}
    console.facts("mean of the seeds", found["mean"])
    name, words = ("demo_full", "--full ") if options.full else ("demo", "")
    command = f"python -m benchmarks.demo {words}--seeds {' '.join(map(str, options.seeds))}"
    folder = options.out if options.set else ROOT / "benchmarks" / "results"
    console.echo(str(record(name, found, command, options.seeds[0], folder=folder)))


def figures(out: Path) -> dict[str, Any]:
    """Return the figures of one finished run."""
    report = read_json(out / "report.json")
    stages = {stage["name"]: stage for stage in report["stages"]}
    before, after = (_greedy(out / "eval" / STAGES[name]) for name in ("SFT stage 2", "GRPO"))
    return {
        "questions": stages["GRPO"]["questions"],
        "em": {name: round(stages[name]["em"], 4) for name in STAGES},
        "em_interval": {name: _interval(stages[name]) for name in STAGES},
        "gain": {
            name: [round(x, 4) for x in (stages[name]["gain"], *stages[name]["gain_interval"])]
            for name in ("SFT stage 2", "GRPO")
        },
        "parts": {part: _part(before, after, split) for part, split in PARTS.items()},
        "without a model": {
            name: [round(one["em"], 4), *_interval(one)]
            for name, one in report["baselines"].items()
        },
        "ceiling": report["ceiling"]["winnable"],
        "minutes": round(report["total_seconds"] / 60, 2),
        "cpu_minutes": round(report["total_cpu_seconds"] / 60, 2),
    }


def mean(seeds: list[dict[str, Any]]) -> dict[str, Any]:
    """Return means over seeds: EM after each stage, and GRPO's gain and final EM by part."""

    def of(values: list[float]) -> float:
        return round(sum(values) / len(values), 4)

    return {
        "em": {name: of([one["em"][name] for one in seeds]) for name in STAGES},
        "em_of_parts": {part: of([one["parts"][part]["grpo"] for one in seeds]) for part in PARTS},
        "gain_of_parts": {
            part: of([one["parts"][part]["gain"][0] for one in seeds]) for part in PARTS
        },
    }


def _interval(figures: Mapping[str, Any]) -> list[float]:
    return [round(x, 4) for x in figures["em_interval"]]


def _greedy(folder: Path) -> list[Trajectory]:
    every = read_records(folder / "predictions.jsonl", Trajectory.from_json)
    return [trajectory for trajectory in every if not trajectory.sample]


def _part(before: list[Trajectory], after: list[Trajectory], split: str) -> dict[str, Any]:
    """Return EM before and after GRPO, and the paired gain with its 95 % interval."""
    mine = ([t for t in several if t.question.split == split] for several in (before, after))
    found = paired_difference(*mine)
    return {
        "questions": found["questions"],
        "sft2": round(found["em_a"], 4),
        "grpo": round(found["em_b"], 4),
        "gain": [round(x, 4) for x in (found["em"], *found["em_interval"])],
    }


if __name__ == "__main__":
    main()
