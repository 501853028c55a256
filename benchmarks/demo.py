"""The demo over several seeds: EM after each stage, what GRPO adds to each part, minutes.

    python -m benchmarks.demo [--out runs/demos] [--seeds 0 1 2] [--set sft2.max_steps=900]

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
from eval.intervals import tango
from graphwalker.cli import console
from graphwalker.files import read_json, read_jsonl

STAGES = {"SFT stage 1": "sft1", "SFT stage 2": "sft2", "GRPO": "grpo"}
PARTS = {"shown words": "test-entity", "unseen paths": "test-path", "casual words": "test-wording"}
Scores = Mapping[str, tuple[str, bool]]
"""Of each question its part, and whether the greedy answer is right."""


def main() -> None:
    """Run what is missing, print, and write benchmarks/results/demo.json."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("runs/demos"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--set", nargs="*", default=[], help="settings, such as grpo.steps=40")
    options = parser.parse_args()
    seeds: dict[int, dict[str, Any]] = {}
    for seed in options.seeds:
        out = options.out / f"seed-{seed}"
        command = ["demo", "--out", str(out), f"seed={seed}", *options.set]
        subprocess.run([sys.executable, "-m", "graphwalker", *command], cwd=ROOT, check=True)
        seeds[seed] = figures(out)
    found = {"seeds": seeds, "mean": mean(list(seeds.values()))}
    console.facts("mean of the seeds", found["mean"])
    command = f"python -m benchmarks.demo --seeds {' '.join(map(str, options.seeds))}"
    folder = options.out if options.set else ROOT / "benchmarks" / "results"
    console.echo(str(record("demo", found, command, options.seeds[0], folder=folder)))


def figures(out: Path) -> dict[str, Any]:
    """Those of one finished run."""
    report = read_json(out / "report.json")
    stages = {stage["name"]: stage for stage in report["stages"]}
    scores = {name: _scores(out / "eval" / run) for name, run in STAGES.items()}
    before, after = scores["SFT stage 2"], scores["GRPO"]
    return {
        "questions": stages["GRPO"]["questions"],
        "em": {name: round(stages[name]["em"], 4) for name in STAGES},
        "pass@1": {name: stages[name].get("pass@1") for name in STAGES},
        "gain": {
            name: [round(x, 4) for x in (stages[name]["gain"], *stages[name]["gain_interval"])]
            for name in ("SFT stage 2", "GRPO")
        },
        "parts": {part: _part(before, after, split) for part, split in PARTS.items()},
        "without a model": {name: round(one["em"], 4) for name, one in report["baselines"].items()},
        "ceiling": report["ceiling"]["winnable"],
        "minutes": round(report["total_seconds"] / 60, 2),
        "cpu_minutes": round(report["total_cpu_seconds"] / 60, 2),
    }


def mean(seeds: list[dict[str, Any]]) -> dict[str, Any]:
    """Over seeds: EM after each stage, and of each part what GRPO changes and where it ends."""

    def of(values: list[float]) -> float:
        return round(sum(values) / len(values), 4)

    return {
        "em": {name: of([one["em"][name] for one in seeds]) for name in STAGES},
        "em_of_parts": {part: of([one["parts"][part]["grpo"] for one in seeds]) for part in PARTS},
        "gain_of_parts": {
            part: of([one["parts"][part]["gain"][0] for one in seeds]) for part in PARTS
        },
    }


def _scores(folder: Path) -> Scores:
    """Of the greedy episodes."""
    return {
        line["question"]["id"]: (line["question"]["split"], bool(line["scores"]["em"]))
        for line in read_jsonl(folder / "predictions.jsonl")
        if not line["sample"]
    }


def _part(before: Scores, after: Scores, split: str) -> dict[str, Any]:
    """EM before and after GRPO, and the paired gain with its interval of 95 % (Tango's)."""
    pairs = [(right, after[key][1]) for key, (part, right) in before.items() if part == split]
    won, lost = pairs.count((False, True)), pairs.count((True, False))
    count = len(pairs)
    gain = [(won - lost) / count, *tango(won, lost, count)]
    return {
        "questions": count,
        "sft2": round(sum(one for one, _ in pairs) / count, 4),
        "grpo": round(sum(two for _, two in pairs) / count, 4),
        "gain": [round(x, 4) for x in gain],
    }


if __name__ == "__main__":
    main()
