"""What each reward of GRPO is worth beside exact match alone, on WebQSP's training questions.

    python -m benchmarks.webqsp_rewards [--config configs/webqsp/rewards.yaml] [--out runs/rewards]

One agent a seed is trained on synthesized questions, as in the first row of
`benchmarks.webqsp_rows`; from it one GRPO a reward starts, equal but for that, with answers of
WebQSP's training questions and no demonstration of them. All are tested on WebQSP's test questions.
Data are read from $GRAPHWALKER_DATA; the same command again resumes. Writes
benchmarks/results/webqsp_rewards.json.
"""

import argparse
import sys
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.record import ROOT, record
from benchmarks.webqsp_config import RowsConfig
from benchmarks.webqsp_results import BASELINES, difference, exact, figures_of
from benchmarks.webqsp_rows import Rows, settings_line
from graphwalker.config import load_config
from graphwalker.errors import UserError
from graphwalker.files import read_json, read_jsonl

ALONE = "em"
"""The reward that the others are compared with."""


class RewardsConfig(RowsConfig):
    """The agents of one row, and a GRPO of each for every reward."""

    grpo: dict[str, Any] = {}
    """GRPO, whatever it rewards (see `graphwalker config grpo`)."""
    rewards: dict[str, dict[str, Any]]
    """Settings of GRPO by the name of what they reward; `em` is exact match alone."""


class Rewards(Rows):
    """One run folder: the row's data and agents, then a GRPO for each reward and seed."""

    config: RewardsConfig

    def run(self) -> dict[str, Any]:
        """Every stage in order, seed by seed, then the figures."""
        self._make_data()
        (row,) = self.config.rows
        for seed in self.config.seeds:
            self._train(row, seed)
            self._test(self._agent(row, seed), f"start-{seed}")
            for reward in self.config.rewards:
                self._reward(row, reward, seed)
                self._test(self._rewarded(reward, seed), f"{reward}-{seed}")
        return self._figures(row)

    def _reward(self, row: str, reward: str, seed: int) -> None:
        walks = [str(self._walks(row, kind)) for kind in self.config.rows[row].demonstrations]
        replay = self.config.grpo.get("replay")
        of = {
            "model": str(self._agent(row, seed)),
            "output_dir": str(self._rewarded(reward, seed).parent),
            "graph": str(self.graph),
            "questions": str(self.questions("webqsp")),
            "format": "inline",
            "seed": seed,
            **self.config.grpo,
            **({"replay": {"data": walks, **replay}} if replay else {}),
            **self.config.rewards[reward],
        }
        stage = f"grpo-{reward}-{seed}"
        self._once(stage, lambda: self._module("training.grpo", *settings_line(of)))

    def _rewarded(self, reward: str, seed: int) -> Path:
        return self.out / f"grpo-{reward}-{seed}" / "final"

    def _test(self, model: Path, name: str) -> None:
        out = self.out / "eval" / name
        where = ("--graph", str(self.graph), "--questions", str(self.sources.test))
        of = {"samples": 0, **self.config.eval}
        agent = ("--model", str(model), "--format", "inline", "--out", str(out))
        self._command(f"eval-{name}", "eval", *where, *agent, *settings_line(of))

    def _figures(self, row: str) -> dict[str, Any]:
        """Every reward: its seeds, and the paired differences to the start and to `em`."""
        seeds, folder = self.config.seeds, self.out / "eval"
        right = {
            name: [exact(folder / f"{name}-{seed}") for seed in seeds]
            for name in ("start", *self.config.rewards)
        }
        by_question = {
            name: {key: fmean(one[key] for one in runs) for key in runs[0]}
            for name, runs in right.items()
        }
        found: dict[str, Any] = {}
        for name, runs in right.items():
            figures = [figures_of(folder / f"{name}-{seed}") for seed in seeds]
            found[name] = {
                "settings": self.config.rewards.get(name, {}),
                "em": round(fmean(one["em"] for one in figures), 4),
                "em_by_seed": [round(one["em"], 4) for one in figures],
                "f1": round(fmean(one["f1"] for one in figures), 4),
                "turns": round(fmean(one["turns"] for one in figures), 2),
            }
            for other in ("start", ALONE):
                if name not in ("start", other):
                    found[name][f"minus_{other}"] = difference(runs, by_question[other])
            if name != "start":
                found[name]["last_steps"] = [self._last_steps(name, seed) for seed in seeds]
        beside = {kind: figures_of(folder / f"{row}-{kind}") for kind in BASELINES}
        ceiling = read_json(folder / f"{row}-ceiling.json")
        return {"rewards": found, "baselines": beside, "ceiling": ceiling}

    def _last_steps(self, reward: str, seed: int) -> dict[str, float]:
        """Means of the last quarter of the steps: what they earned, how many groups taught."""
        path = self._rewarded(reward, seed).parent / "metrics.jsonl"
        steps = [one for one in read_jsonl(path) if "informative_groups" in one]
        last = steps[-max(1, len(steps) // 4) :]
        names = ("reward", "em", "informative_groups", "ungrounded")
        return {n: round(fmean(one[n] for one in last), 4) for n in names if n in last[0]}


def table(figures: dict[str, Any]) -> str:
    """The rewards in Markdown."""
    heads = ["reward", "EM by seed", "mean", "minus the start", f"minus {ALONE}", "F1", "turns"]
    lines = [f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]
    for name, row in figures["rewards"].items():
        gaps = [_gap(row.get(f"minus_{other}")) for other in ("start", ALONE)]
        seeds = " / ".join(f"{value:.3f}" for value in row["em_by_seed"])
        cells = [name, seeds, f"{row['em']:.3f}", *gaps, f"{row['f1']:.3f}", f"{row['turns']:.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
    for kind, row in figures["baselines"].items():
        lines.append(f"| {kind}, no model | | {row['em']:.3f} | | | {row['f1']:.3f} | |")
    return "\n".join(lines)


def _gap(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    low, high = found["interval"]
    return f"{found['difference']:+.3f} [{low:+.3f}, {high:+.3f}]"


def main() -> int:
    """Run every stage that is not finished, print the table, record the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    usual = ROOT / "configs" / "webqsp" / "rewards.yaml"
    parser.add_argument("--config", type=Path, default=usual)
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "rewards")
    parser.add_argument("overrides", nargs="*", help="settings as KEY=VALUE")
    given = parser.parse_args()
    try:
        config = load_config(RewardsConfig, given.config, given.overrides)
        given.out.mkdir(parents=True, exist_ok=True)
        figures = Rewards(given.out.resolve(), config).run()
    except UserError as error:
        sys.stderr.write(f"benchmarks.webqsp_rewards: {error}\n")
        return 2
    print(table(figures))
    command = " ".join(["python -m benchmarks.webqsp_rewards", *given.overrides])
    print(record("webqsp_rewards", figures, command, config.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
