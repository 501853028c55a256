"""What the corpora are worth: GraphWalker's Figures 5 and 6 in miniature, and errors by their kind.

    python -m benchmarks.corpora [--seeds 0 1 2] [--jobs 1] [--out runs/corpora]

Stage 1 on GraphSynth of three sizes, and on corpora made without a filter; stage 2 on GraphRoll of
three sizes, and on the same questions without errors, with injected ones, and with a model's own
mistakes and the way back. Every model of a stage takes as many steps. A killed run resumes.
"""

import argparse
import shutil
from collections.abc import Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.ablation import pooled, run_seeds
from benchmarks.record import ROOT, record
from eval.run.beside import FOLDER, read_beside
from graphwalker.config import load_config, parse_config
from graphwalker.pipeline import BESIDE, Demo, DemoConfig, Stage

SYNTH = {"1k": 1000, "5k": 5000, "15k": 15000}
WHOLE = "stage1-15k"
FILTERED = 5000
"""Records of the corpora made without a filter; to be set beside `stage1-5k`."""
ERRING = 1000
"""Records of the corpora of one kind of errors."""
FILTERS: dict[str, dict[str, Any]] = {
    "without the quality filter": {"unchecked": ["quality"]},
    "without the ambiguity certificate": {"unchecked": ["ambiguous_reading"]},
}
ROLL = {"0.5k": 500, "2k": 2000, "6k": 6000}
ERRORS = ("no errors", "injected errors", "own mistakes")
ROW = ("em", "f1", "retrieval_all", "recovery_given_error", "recovery_all")


def main() -> None:
    """Make, train and evaluate everything for each seed, then write table, picture and record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--jobs", type=int, default=1, help="seeds that run at the same time")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "corpora")
    parser.add_argument("--config", type=Path, default=ROOT / "configs" / "corpora.yaml")
    parser.add_argument("--set", nargs="*", default=[], help="settings, such as sft1.max_steps=9")
    parser.add_argument("--seed", type=int, help="train this seed and stop (what a job does)")
    options = parser.parse_args()
    if options.seed is not None:
        run_seed(options.seed, options.out, options.config, options.set)
        return
    run_seeds(options, "benchmarks.corpora")
    figures = {name: row(options.out, options.seeds, name) for name in models()}
    write_picture(figures, options.out)
    for name in baselines(options.out, options.seeds[0]):
        where = f"{WHOLE}/{FOLDER}/{name}"
        figures[f"{name}, no model"] = row(options.out, options.seeds, where)
    print(table(figures))
    usual = options.out == ROOT / "runs" / "corpora"
    folder = ROOT / "benchmarks" / "results" if usual else options.out
    command = f"python -m benchmarks.corpora --seeds {' '.join(map(str, options.seeds))}"
    print(record("corpora", figures, command, seed=options.seeds[0], folder=folder))


def models() -> list[str]:
    """Every model, by name; `stage2-...` are trained from `stage1-15k`."""
    one = [*SYNTH, *FILTERS]
    return [*(f"stage1-{name}" for name in one), *(f"stage2-{name}" for name in (*ROLL, *ERRORS))]


def baselines(out: Path, seed: int) -> list[str]:
    """What stands beside the models, by name."""
    return read_beside(out / f"seed-{seed}" / "eval" / WHOLE).get("baselines", [])


def run_seed(seed: int, out: Path, config: Path, overrides: list[str]) -> None:
    """All corpora, models and evaluations of one seed; what is finished is left as it is."""
    demo = Demo(out / f"seed-{seed}", load_config(DemoConfig, config, [*overrides, f"seed={seed}"]))
    demo.make_data()
    demo.make_model()
    for name, settings in FILTERS.items():
        demo.run_stage(Stage(name, partial(_synthesize, demo, name, settings)))
    for name in (*SYNTH, *FILTERS):
        _train(demo, f"stage1-{name}", demo.out / "model", _stage1_corpus(demo, name))
    for name in (*ROLL, *ERRORS):
        _train(demo, f"stage2-{name}", model_of(demo, WHOLE), _stage2_corpus(demo, name))


def _train(demo: Demo, name: str, start: Path, corpus: Path) -> None:
    """A model of a corpus, and its greedy answers on the held-out questions."""
    settings = demo.config.sft1 if name.startswith("stage1") else demo.config.sft2
    where = {"model": str(start), "output_dir": str(demo.out / "models" / name)}
    demo.train_sft({**where, "seed": demo.config.seed, "data": [str(corpus)], **settings}, name)
    more = {"samples": 0, **(BESIDE if name == WHOLE else {})}
    demo.evaluate(model_of(demo, name), demo.out / "eval" / name, more, f"evaluate {name}")


def model_of(demo: Demo, name: str) -> Path:
    """The finished model of that name."""
    return demo.out / "models" / name / "final"


def _stage1_corpus(demo: Demo, name: str) -> Path:
    if name in FILTERS:
        return demo.out / name / "graphsynth.jsonl"
    return head(demo.out / "synth" / "graphsynth.jsonl", SYNTH[name], demo.out / "corpora")


def _stage2_corpus(demo: Demo, name: str) -> Path:
    if name in ROLL:
        return head(demo.out / "graphroll" / "graphroll.jsonl", ROLL[name], demo.out / "corpora")
    folder = demo.out / name
    demo.run_stage(Stage(name, partial(_experts, demo, name, folder)))
    return folder / "graphroll.jsonl"


def _synthesize(demo: Demo, name: str, settings: Mapping[str, Any], tick: Any) -> None:
    """GraphSynth without one of its filters."""
    from data_pipeline.config import SynthConfig
    from data_pipeline.synthesize import synthesize

    count = min(FILTERED, demo.config.synth["count"])
    values = {**demo.config.synth, **settings, "seed": demo.config.seed, "count": count}
    values["environment"] = demo.config.environment
    synthesize(demo.graph, parse_config(SynthConfig, values, name), demo.out / name, tick)


def _experts(demo: Demo, name: str, folder: Path, tick: Any) -> None:
    """GraphRoll of one kind of errors, on the same questions."""
    from data_pipeline.collect import collect_experts
    from data_pipeline.config import ExpertConfig

    kinds: dict[str, dict[str, Any]] = {
        "no errors": {"policy": {"model": "oracle"}},
        "injected errors": {"error_rate": 0.8},
        "own mistakes": {
            "policy": {"model": str(model_of(demo, WHOLE)), **demo.config.eval["policy"]},
            "max_tokens": demo.config.eval["max_tokens"],
            "way_back": True,
        },
    }
    values = {**demo.config.experts, "workers": 1, "count": ERRING, **kinds[name]}
    values |= {"seed": demo.config.seed, "environment": demo.config.environment}
    config = parse_config(ExpertConfig, values, name)
    collect_experts(demo.graph, config, demo.rl_file, folder, tick)


def head(source: Path, count: int, folder: Path) -> Path:
    """The first records of a corpus, which hold its mix, as a file of its own."""
    path = folder / f"{source.stem}-{count}" / source.name
    if not path.is_file():
        from graphwalker.files import read_jsonl, write_jsonl

        path.parent.mkdir(parents=True, exist_ok=True)
        # Training reads the environment of a corpus from the config beside it.
        shutil.copyfile(source.parent / "config.yaml", path.parent / "config.yaml")
        write_jsonl(path, islice(read_jsonl(source), count))
    return path


def row(out: Path, seeds: list[int], name: str) -> dict[str, Any]:
    """Figures of a model over the questions of all seeds, and each seed's EM."""
    from eval.analysis.summary import paired, summarise

    mine, _ = pooled(out, seeds, (name,))
    found = summarise(mine)
    kept = ("questions", "erring", *ROW, *(f"{key}_interval" for key in ROW))
    figures = {key: found[key] for key in kept if key in found}
    by_seed = [summarise(pooled(out, [seed], (name,))[0])["em"] for seed in seeds]
    start, _ = pooled(out, seeds, (WHOLE,))
    difference = paired(start, mine)
    gap = [difference["em"], *difference["em_interval"]]
    return {**figures, "em_by_seed": [round(em, 4) for em in by_seed], f"minus_{WHOLE}": gap}


def table(figures: Mapping[str, Mapping[str, Any]]) -> str:
    """The table as Markdown."""
    lines = [
        f"| model | EM [95 %] | seeds | minus {WHOLE} [95 %] | retrieval | recovery given error |",
        "|---|---|---|---|---|---|",
    ]
    for name, found in figures.items():
        em, (low, high) = found["em"], found["em_interval"]
        seeds = " / ".join(f"{value:.3f}" for value in found["em_by_seed"])
        gap = "{:+.3f} [{:+.3f}, {:+.3f}]".format(*found[f"minus_{WHOLE}"])
        recovery, interval = found["recovery_given_error"], found["recovery_given_error_interval"]
        shown = "" if recovery is None else "{:.3f} [{:.3f}, {:.3f}]".format(recovery, *interval)
        cells = [name, f"{em:.3f} [{low:.3f}, {high:.3f}]", seeds, gap]
        cells += [f"{found['retrieval_all']:.3f}", f"{shown} of {found['erring']}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def write_picture(figures: Mapping[str, Mapping[str, Any]], out: Path) -> None:
    """`corpora.svg`: EM, retrieval and recovery of every model, with intervals."""
    from eval.report.assets import picture_file
    from eval.report.plots import stage_bars

    shown = {
        name.replace("-", " ", 1).replace("without the", "no"): f for name, f in figures.items()
    }
    named = [{"name": name, **found} for name, found in shown.items()]
    metrics = {"em": "EM", "retrieval_all": "retrieval", "recovery_given_error": "recovery"}
    if picture := stage_bars(named, metrics):
        (out / "corpora.svg").write_text(picture_file(picture), encoding="utf-8")


if __name__ == "__main__":
    main()
