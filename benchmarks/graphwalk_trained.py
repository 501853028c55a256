"""GraphWalk's agent from nothing: the oracle's steps through several hundred synthetic graphs, a
tiny model with tokens made for them, and graphs of 100 nodes that it never saw.

    python -m benchmarks.graphwalk_trained [--seeds 0] [--config ...] [--set ...]

The settings are those of configs/graphwalk-trained.yaml, or of another config of its form. Beside
the agent stand, by template: itself with free decoding, where the config constrains it; its oracle
and the share of the oracle's trajectories that fit the model's context; the same tiny model trained
to answer without tools, where the config has `no_tools`, and the share of prompts with the whole
graph that fit; the first rows of one right call; and rows drawn from it. A killed run resumes.
Writes benchmarks/results/, a file of the config's name.
"""

import argparse
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.graphwalk_rules import RULES
from benchmarks.graphwalk_run import NO_TOOLS, TRAINED, SeedRun, decodings
from benchmarks.graphwalk_settings import GraphWalkTrainedConfig
from benchmarks.record import ROOT, record
from eval.intervals import mean_interval
from graphwalker.config import load_config
from graphwalker.files import read_json, read_jsonl, read_records
from graphwalker.scoring import score
from graphwalker.trajectory import Trajectory


def main(arguments: Sequence[str] | None = None) -> None:
    """Train and evaluate for each seed, then print and record the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--out", type=Path, help="runs/ and the config's name unless told")
    parser.add_argument("--config", type=Path, default=ROOT / "configs" / "graphwalk-trained.yaml")
    parser.add_argument("--set", nargs="*", default=[], help="settings, such as sft.max_steps=9")
    parser.add_argument("--until", default="", help="stop after the stage of this name")
    parser.add_argument("--record", action="store_true", help="also from another folder")
    given = parser.parse_args(arguments)
    config = load_config(GraphWalkTrainedConfig, given.config, given.set)
    usual = ROOT / "runs" / given.config.stem
    out = given.out or usual
    for seed in given.seeds:
        SeedRun(out / f"seed-{seed}", seed, config).run(given.until)
    if given.until:
        return
    figures = summary(out, given.seeds, config)
    print(table(figures))
    command = f"python -m benchmarks.graphwalk_trained --seeds {' '.join(map(str, given.seeds))}"
    command += f" --config configs/{given.config.name}"
    command += f" --set {' '.join(given.set)}" if given.set else ""
    folder = ROOT / "benchmarks" / "results" if out == usual or given.record else out
    print(record(given.config.stem.replace("-", "_"), figures, command, given.seeds[0], folder))


def summary(out: Path, seeds: Sequence[int], config: GraphWalkTrainedConfig) -> dict[str, Any]:
    """Accuracy of everyone by test set and template, and what fits the model's context."""
    players = ["oracle", *decodings(config), *(rule.replace(" ", "-") for rule in RULES)]
    players += [NO_TOOLS] if config.no_tools else []
    found: dict[str, Any] = {}
    for name in config.test:
        rows: dict[str, Any] = {}
        for player in players:
            each = [
                list(
                    read_records(
                        out / f"seed-{seed}" / f"eval-{name}-{player}" / "predictions.jsonl",
                        Trajectory.from_json,
                    )
                )
                for seed in seeds
            ]
            apart = [by_template(walks) for walks in each]
            for template, some in by_template(chain(*each)).items():
                of_seeds = [_figures(walks[template]) for walks in apart]
                rows.setdefault(template, {})[player] = _figures(some) | {"seeds": of_seeds}
        for template, (oracle, whole) in fits(out, seeds, name, config).items():
            rows[template] |= {"oracle_fits": oracle, "whole_graph_fits": whole}
        found[name] = rows
    return {"sets": found, "config": config.model_dump(mode="json"), **costs(out, seeds, config)}


def by_template(played: Iterable[Trajectory]) -> dict[str, list[Trajectory]]:
    found: dict[str, list[Trajectory]] = {}
    for one in played:
        found.setdefault(one.question.structure, []).append(one)
    return found


def _figures(played: Sequence[Trajectory]) -> dict[str, Any]:
    scores = [score(one) for one in played]
    em, interval = mean_interval([one["em"] for one in scores], 0)
    means = {"f1": fmean(s["f1"] for s in scores), "turns": fmean(len(t.turns) for t in played)}
    ends = dict(Counter(one.stop.value for one in played))
    return {"questions": len(played), "em": em, "em_interval": interval, **means, "ends": ends}


def fits(
    out: Path, seeds: Sequence[int], name: str, config: GraphWalkTrainedConfig
) -> dict[str, tuple[float, float]]:
    """Shares of the oracle's trajectories, and of whole graphs with the gold rows, that are no
    longer than the model's context."""
    from transformers import AutoTokenizer

    from graphwalker.tokens.segments import chat_format, training_rows

    most = config.eval["policy"]["max_context"]
    within: dict[str, tuple[list[bool], list[bool]]] = {}
    for seed in seeds:
        run = SeedRun(out / f"seed-{seed}", seed, config)
        tokenizer: Any = AutoTokenizer.from_pretrained(run.out / f"model-{TRAINED}")
        path = run.out / f"eval-{name}-oracle" / "predictions.jsonl"
        whole = run.told(run.out / f"test-{name}", run.asked(name))
        for place, played in enumerate((read_records(path, Trajectory.from_json), whole)):
            for one in played:
                (row,) = training_rows(one, chat_format("inline"), tokenizer)
                shares = within.setdefault(one.question.structure, ([], []))
                shares[place].append(len(row.input_ids) <= most)
    return {template: (fmean(a), fmean(b)) for template, (a, b) in within.items()}


def costs(out: Path, seeds: Sequence[int], config: GraphWalkTrainedConfig) -> dict[str, Any]:
    """What the trainings took: rows, tokens, seconds."""
    kinds = [(TRAINED, number) for number in range(len(config.rounds))]
    kinds += [(NO_TOOLS, 0)] if config.no_tools else []
    found: dict[str, Any] = {}
    for seed in seeds:
        folder = out / f"seed-{seed}"
        for kind, number in kinds:
            run = folder / f"sft-{kind}-{number}"
            *_, last = read_jsonl(run / "metrics.jsonl")
            found[f"{kind}, round {number}, seed {seed}"] = {**read_json(run / "data.json"), **last}
    return {"training": found}


def table(figures: dict[str, Any]) -> str:
    """A row for each template, a column for each player."""
    lines: list[str] = []
    for name, rows in figures["sets"].items():
        players = [p for p in next(iter(rows.values())) if not p.endswith("_fits")]
        head = f"| template | oracle fits | whole graph fits | {' | '.join(players)} |"
        lines += [f"{name}:", "", head, "| --- " * (len(players) + 3) + "|"]
        for template, row in rows.items():
            cells = [f"{row[player]['em']:.3f}" for player in players]
            shares = f"{row['oracle_fits']:.2f} | {row['whole_graph_fits']:.2f}"
            lines.append(f"| `{template}` | {shares} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
