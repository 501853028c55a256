"""What each training stage adds: GraphWalker's Table 4 and Figure 4 in miniature, over seeds.

    python -m benchmarks.ablation [--seeds 0 1 2 3 4] [--jobs 1] [--out runs/ablation]

Each seed has a world, questions, weights and draws of its own. Variants share the models that they
have in common: `full` starts from the model of `without RL`. Mixed training has the two schedules
of the staged one, each from a new optimizer, and both corpora in both: what differs is the order of
the rows (GraphSynth has 43 % of the tokens instead of 40). GRPO replays what its chain was shown in
SFT, and nothing else. A killed run resumes.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.record import ROOT, record
from graphwalker.cli import console
from graphwalker.config import load_config
from graphwalker.pipeline import BESIDE, Demo, DemoConfig

VARIANTS = {
    "full": ("stage1", "stage2", "grpo"),
    "without stage 1": ("stage2", "grpo"),
    "without stage 2": ("stage1", "grpo"),
    "without SFT": ("grpo",),
    "without RL": ("stage1", "stage2"),
    "mixed SFT + RL": ("mixed1", "mixed2", "grpo"),
    "mixed SFT": ("mixed1", "mixed2"),
    "stage 2 alone": ("stage2",),
    "stage 1 alone": ("stage1",),
}
"""Chains of training stages. Table 4's rows, and models before GRPO; `stage 2 alone` is the
SFT-only model without stage 1 of Figure 4."""
FIGURE = ("full", "without stage 1", "without RL", "stage 2 alone")
"""Variants whose Pass@k is drawn, as in Figure 4."""
KS = (1, 2, 4, 8, 16, 32)
CORPORA = {
    "stage1": ("synth/graphsynth.jsonl",),
    "stage2": ("graphroll/graphroll.jsonl",),
    "mixed1": ("synth/graphsynth.jsonl", "graphroll/graphroll.jsonl"),
    "mixed2": ("synth/graphsynth.jsonl", "graphroll/graphroll.jsonl"),
}
SECOND_PASS = 500
"""What the seed of mixed training's second half is higher by: another order of the same rows."""


def main() -> None:
    """Train and evaluate every variant for each seed, then write the table and the pictures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--jobs", type=int, default=1, help="seeds that run at the same time")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "ablation")
    parser.add_argument("--config", type=Path, default=ROOT / "configs" / "ablation.yaml")
    parser.add_argument("--set", nargs="*", default=[], help="settings, such as eval.samples=8")
    parser.add_argument("--seed", type=int, help="train this seed and stop (what a job does)")
    options = parser.parse_args()
    if options.seed is not None:
        run_seed(options.seed, options.out, options.config, options.set)
        return
    run_seeds(options, "benchmarks.ablation")
    figures = summary(options.out, options.seeds)
    write_pictures(figures, options.out)
    print(table(figures))
    again = [f"--seeds {' '.join(map(str, options.seeds))}", f"--jobs {options.jobs}"]
    again += [f"--set {' '.join(options.set)}"] if options.set else []
    command = f"python -m benchmarks.ablation {' '.join(again)}"
    print(record("ablation", figures, command, seed=options.seeds[0], folder=_results(options.out)))


def run_seeds(options: argparse.Namespace, module: str) -> None:
    """A process of the module per seed, `jobs` at a time. Raises `CalledProcessError` for one that
    fails."""
    threads = max(1, (os.cpu_count() or 1) // options.jobs)
    waiting, running = list(options.seeds), dict[int, subprocess.Popen[bytes]]()
    while waiting or running:
        while waiting and len(running) < options.jobs:
            seed = waiting.pop(0)
            command = [sys.executable, "-m", module, "--seed", str(seed)]
            command += ["--out", str(options.out), "--config", str(options.config)]
            command += ["--set", *options.set]
            environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
            running[seed] = subprocess.Popen(command, cwd=ROOT, env=environment)
        seed, process = next(iter(running.items()))
        if code := process.wait():
            for other in running.values():
                other.terminate()
            raise subprocess.CalledProcessError(code, process.args)
        del running[seed]


def run_seed(seed: int, out: Path, config: Path, overrides: list[str]) -> None:
    """Data, every model and every evaluation of one seed; what is finished is left as it is."""
    demo = Demo(out / f"seed-{seed}", load_config(DemoConfig, config, [*overrides, f"seed={seed}"]))
    demo.make_data()
    demo.make_model()
    for name, chain in VARIANTS.items():
        for depth in range(1, len(chain) + 1):
            train(demo, chain[:depth])
        evaluate(demo, chain, sampled=name in FIGURE)


def train(demo: Demo, chain: tuple[str, ...]) -> None:
    """The last stage of the chain, from the model of the chain before it."""
    stage = chain[-1]
    values: dict[str, Any] = {
        "model": str(model_of(demo.out, chain[:-1])),
        "output_dir": str(folder_of(demo.out, chain)),
        "seed": demo.config.seed + (SECOND_PASS if stage == "mixed2" else 0),
    }
    if stage == "grpo":
        settings = grpo_settings(demo.out, demo.config, chain)
        if len(chain) == 1:
            _train_without_sft(demo, {**values, **settings})
        else:
            demo.train_grpo({**values, **settings})
        return
    values["data"] = corpora(demo.out, stage)
    settings = demo.config.sft1 if stage in ("stage1", "mixed1") else demo.config.sft2
    demo.train_sft({**values, **settings}, " + ".join(chain))


def _train_without_sft(demo: Demo, values: dict[str, Any]) -> None:
    """A model from nothing never answers, so no reward is ever above 0 and no weight moves: GRPO's
    monitor ends the run, and what is evaluated is the model that it started from."""
    from training.reinforce.monitor import CollapseError

    final = folder_of(demo.out, ("grpo",)) / "final"
    if final.is_symlink():
        return
    try:
        demo.train_grpo(values)
    except CollapseError as error:
        console.note(f"without SFT: {error}")
        final.symlink_to(demo.out / "model")


def grpo_settings(out: Path, config: DemoConfig, chain: tuple[str, ...]) -> dict[str, Any]:
    """The demo's. What is replayed is what the last stage of the chain's SFT was shown; a chain
    without SFT replays nothing."""
    replay = config.grpo.get("replay")
    others = {name: value for name, value in config.grpo.items() if name != "replay"}
    if not replay or len(chain) == 1:
        return others
    return {**others, "replay": {**replay, "data": corpora(out, chain[-2])}}


def corpora(out: Path, stage: str) -> list[str]:
    """The files that a stage of SFT is shown."""
    return [str(out / path) for path in CORPORA[stage]]


def folder_of(run: Path, chain: tuple[str, ...]) -> Path:
    """Where the model of a chain is trained."""
    return run / "models" / "+".join(chain)


def model_of(run: Path, chain: tuple[str, ...]) -> Path:
    """The finished model of a chain; of no stage, the random one."""
    return folder_of(run, chain) / "final" if chain else run / "model"


def evaluate(demo: Demo, chain: tuple[str, ...], sampled: bool) -> None:
    """Greedy episodes on the held-out questions, and sampled ones for Pass@k."""
    more: dict[str, Any] = {} if sampled else {"samples": 0}
    if chain == VARIANTS["full"]:
        more |= BESIDE
    demo.evaluate(model_of(demo.out, chain), demo.out / "eval" / "+".join(chain), more)


def summary(out: Path, seeds: list[int]) -> dict[str, Any]:
    """Figures of each variant over the questions of all seeds, and each seed's EM.

    `minus_full` is the paired difference to `full` on the same questions, with its interval. The
    last rows are the baselines without a model.
    """
    from eval.run.beside import FOLDER, read_beside

    full, _ = pooled(out, seeds, VARIANTS["full"])
    figures: dict[str, Any] = {}
    for name, chain in VARIANTS.items():
        figures[name] = {"stages": list(chain), **_row(out, seeds, chain, full)}
    whole = "+".join(VARIANTS["full"])
    for name in read_beside(out / f"seed-{seeds[0]}" / "eval" / whole).get("baselines", ()):
        where = (f"{whole}/{FOLDER}/{name}",)
        figures[f"{name}, no model"] = {"stages": [], **_row(out, seeds, where, full)}
    return figures


def _row(out: Path, seeds: list[int], chain: tuple[str, ...], full: list[Any]) -> dict[str, Any]:
    from eval.analysis.summary import paired, summarise

    mine, samples = pooled(out, seeds, chain)
    found = summarise(mine, samples, KS)
    kept = ("questions", "failures", "em", "f1", "hits1", *(f"pass@{k}" for k in KS))
    row = {k: found[k] for k in kept if k in found}
    row |= {f"{k}_interval": found[f"{k}_interval"] for k in kept if f"{k}_interval" in found}
    splits: dict[str, list[float]] = {}
    for episode in mine:
        splits.setdefault(episode.question.split, []).append(episode.scores["em"])
    row["em_by_split"] = {k: round(sum(v) / len(v), 4) for k, v in sorted(splits.items())}
    row["em_by_seed"] = [round(summarise(pooled(out, [seed], chain)[0])["em"], 4) for seed in seeds]
    difference = paired(full, mine)
    row["minus_full"] = [difference["em"], *difference["em_interval"]]
    return row


def pooled(out: Path, seeds: list[int], chain: tuple[str, ...]) -> tuple[list[Any], list[Any]]:
    """The greedy and the sampled episodes of all seeds.

    Their questions' ids carry the seed, as every world has a question 1.
    """
    from dataclasses import replace

    from eval.run.records import read_run

    greedy: list[Any] = []
    sampled: list[Any] = []
    for seed in seeds:
        run = read_run(out / f"seed-{seed}" / "eval" / "+".join(chain))
        for one in run.trajectories:
            greedy.append(
                replace(one, question=replace(one.question, id=f"{seed}:{one.question.id}"))
            )
        sampled += [replace(one, question_id=f"{seed}:{one.question_id}") for one in run.samples]
    return greedy, sampled


def table(figures: Mapping[str, Mapping[str, Any]]) -> str:
    """The table as Markdown."""
    splits = sorted({split for row in figures.values() for split in row["em_by_split"]})
    heads = ["variant", "EM [95 %]", "by seed", "minus full [95 %]", *splits, "F1", "Pass@1"]
    lines = [f"| {' | '.join([*heads, 'Pass@32'])} |", "|---" * (len(heads) + 1) + "|"]
    for name, row in figures.items():
        em, (low, high) = row["em"], row["em_interval"]
        seeds = " / ".join(f"{value:.3f}" for value in row["em_by_seed"])
        gap = "{:+.3f} [{:+.3f}, {:+.3f}]".format(*row["minus_full"])
        passes = [f"{row[k]:.3f}" if k in row else "" for k in ("pass@1", "pass@32")]
        split = [f"{row['em_by_split'][split]:.3f}" for split in splits]
        cells = [name, f"{em:.3f} [{low:.3f}, {high:.3f}]", seeds, gap, *split]
        cells += [f"{row['f1']:.3f}", *passes]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def write_pictures(figures: Mapping[str, Mapping[str, Any]], out: Path) -> None:
    """`em.svg` and `pass.svg`: Table 4 and Figure 4."""
    from eval.report.assets import picture_file
    from eval.report.plots import pass_curves, stage_bars

    named = [{"name": name, **row} for name, row in figures.items()]
    drawn = {
        "em": stage_bars(named, {"em": "EM"}),
        "pass": pass_curves([row for row in named if row["name"] in FIGURE]),
    }
    for name, picture in drawn.items():
        if picture is not None:
            (out / f"{name}.svg").write_text(picture_file(picture), encoding="utf-8")


def _results(out: Path) -> Path:
    """The repository's results for a run at the usual place, else beside the run."""
    return ROOT / "benchmarks" / "results" if out == ROOT / "runs" / "ablation" else out


if __name__ == "__main__":
    main()
