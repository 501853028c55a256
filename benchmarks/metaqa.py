"""MetaQA from nothing: graph, splits, the oracle's trajectories, a tiny agent, its test figures.

    python -m benchmarks.metaqa [--config configs/metaqa.yaml] [--out runs/metaqa] [KEY=VALUE ...]

reads kb.txt.gz and qa_{1,2,3}hop_dev.jsonl.gz from $GRAPHWALKER_DATA/metaqa (docs/training.md) and
writes benchmarks/results/metaqa.json. The same command again goes on where it was stopped.
"""

import argparse
import json
import logging
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import Field

from benchmarks.metaqa_data import build, question_file, split_questions, walk_training
from benchmarks.metaqa_oracle import HOPS
from benchmarks.record import ROOT, record
from eval.analysis.summary import summarise
from eval.run.config import EvalConfig, run_eval
from eval.run.records import read_run
from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.cli import console
from graphwalker.config import Config, load_config, parse_config
from graphwalker.errors import UserError
from graphwalker.files import read_records
from graphwalker.graphs.open import open_graph
from graphwalker.graphs.relations import shown_relations
from graphwalker.runs import claim
from graphwalker.trajectory import Trajectory
from training.config import SftConfig, TinyModelConfig
from training.models.tiny import conversation_texts, make_tiny
from training.sft import run_sft

FIGURES = ("questions", "hits1", "hits1_interval", "em", "em_interval", "f1", "answered", "turns")


class MetaqaConfig(Config):
    """Settings of the benchmark, those of each stage checked by the stage itself."""

    seed: int = 0
    """Of the splits, the weights and the order of the rows."""
    kb: str = "kb.txt.gz"
    """Triples, `subject|relation|object`, inside the data folder."""
    questions: tuple[str, str, str] = (
        "qa_1hop_dev.jsonl.gz",
        "qa_2hop_dev.jsonl.gz",
        "qa_3hop_dev.jsonl.gz",
    )
    """Questions of 1, 2 and 3 hops with their relation paths, inside the data folder."""
    train_share: float = Field(default=0.8, gt=0, lt=1)
    """Share of the topic entities whose questions are trained on."""
    dev_share: float = Field(default=0.1, gt=0, lt=1)
    """Share of those to choose settings by; the rest is the test set."""
    texts: int = Field(default=6000, ge=1)
    """Trajectories that the tokenizer learns its words from."""
    environment: EnvironmentConfig = EnvironmentConfig()
    """Tools, limits and prompt, the same for trajectories and evaluation."""
    model: TinyModelConfig = TinyModelConfig()
    """The model made from nothing."""
    sft: dict[str, Any] = {}
    """Training (see `graphwalker config sft`)."""
    eval: dict[str, Any] = {}
    """Evaluation (see `graphwalker config eval`)."""
    split: str = "test"
    """The split that is evaluated: `dev` while settings are chosen, `test` once at the end."""


def main() -> int:
    """Run every stage that is not finished, print the figures, and record them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--config", type=Path, default=ROOT / "configs" / "metaqa.yaml")
    parser.add_argument("--out", type=Path, default=Path("runs/metaqa"))
    parser.add_argument("overrides", nargs="*", help="settings as KEY=VALUE")
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        bench = Benchmark(given.out, load_config(MetaqaConfig, given.config, given.overrides))
        figures = bench.run()
    except UserError as error:
        sys.stderr.write(f"benchmarks.metaqa: {error}\n")
        return 2
    print(json.dumps(figures, indent=2))
    command = " ".join(["python -m benchmarks.metaqa", *given.overrides])
    if given.config == parser.get_default("config") and bench.config.split == "test":
        print(record("metaqa", figures, command, bench.config.seed))
    return 0


class Benchmark:
    """One run folder, its finished stages kept."""

    def __init__(self, out: Path, config: MetaqaConfig) -> None:
        self.out, self.config = out, config
        beside = ROOT.parent / "shared" / "data"
        self.data = Path(os.environ.get("GRAPHWALKER_DATA") or beside) / "metaqa"
        self.graph = out / "graph"
        self.walks = out / "train.jsonl"
        claim(out, config, "config.yaml", free=("eval", "split"), foreign="*")
        self.model = out / "sft" / "final"

    def run(self) -> dict[str, Any]:
        """Every stage in order; the figures of the chosen split."""
        config, out = self.config, self.out
        build(self.data / config.kb, self.graph, console.note)
        counts = self._once("splits", self._split)
        oracle = self._once("oracle", self._walk)
        self._once("model", self._make_model)
        self._once("training", self._train)
        results = {f"{hops}-hop": self._evaluate(hops) for hops in HOPS}
        data = json.loads((out / "sft" / "data.json").read_text(encoding="utf-8"))
        return {
            "split": config.split,
            "results": {name: result["figures"] for name, result in results.items()},
            "questions": counts["facts"],
            "oracle_on_train": oracle["facts"],
            "rows": {key: data[key] for key in ("rows", "too_long", "tokens", "trained_tokens")},
            "seconds": {
                name: json.loads((out / f"{name}.done.json").read_text(encoding="utf-8"))["seconds"]
                for name in ("splits", "oracle", "model", "training")
            }
            | {f"evaluation {name}": result["seconds"] for name, result in results.items()},
        }

    def _split(self) -> dict[str, Any]:
        files = [self.data / name for name in self.config.questions]
        shares = self.config.train_share, self.config.dev_share
        return split_questions(files, self.graph, self.config.seed, shares, self.out / "questions")

    def _walk(self) -> dict[str, Any]:
        config = self.config
        folder = self.out / "questions"
        return walk_training(folder, self.graph, config.environment, self.walks)

    def _make_model(self) -> dict[str, Any]:
        graph = open_graph(self.graph)
        trajectories = list(read_records(self.walks, Trajectory.from_json))
        step = max(1, len(trajectories) // self.config.texts)
        texts = conversation_texts(trajectories[::step])
        names = (graph.entity_at(i).name for i in range(graph.size))
        make_tiny(self.config.model, texts, shown_relations(graph), self.out / "model", names)
        return {}

    def _train(self) -> dict[str, Any]:
        values = {
            "model": str(self.out / "model"),
            "data": [str(self.walks)],
            "output_dir": str(self.out / "sft"),
            "format": "inline",
            "seed": self.config.seed,
            **self.config.sft,
        }
        run_sft(parse_config(SftConfig, values, "metaqa settings, sft"))
        return {}

    def _evaluate(self, hops: int) -> dict[str, Any]:
        """What `graphwalker eval` does with the questions of so many hops."""
        folder = self.out / "eval" / f"{self.config.split}-{hops}hop"
        values = {
            "graph": str(self.graph),
            "questions": str(question_file(self.out / "questions", self.config.split, hops)),
            "output_dir": str(folder),
            "environment": self.config.environment,
            "seed": self.config.seed,
            **self.config.eval,
            "policy": {
                "model": str(self.model),
                "format": "inline",
                **self.config.eval.get("policy", {}),
            },
        }
        parsed = parse_config(EvalConfig, values, "metaqa settings, eval")

        def play() -> dict[str, Any]:
            with console.progress(f"evaluate {hops}-hop") as tick:
                run_eval(parsed, tick)
            summary = summarise(read_run(folder).trajectories)
            return {name: summary[name] for name in FIGURES}

        done = self._once(f"eval-{self.config.split}-{hops}hop", play)
        return {"figures": done["facts"], "seconds": done["seconds"]}

    def _once(self, name: str, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The stage's facts and seconds; a finished stage is read back."""
        path = self.out / f"{name}.done.json"
        if not path.is_file():
            console.note(f"{name} ...")
            started = time.perf_counter()
            facts = work()
            done = {"facts": facts, "seconds": round(time.perf_counter() - started, 1)}
            partial = path.with_suffix(".partial")
            partial.write_text(json.dumps(done, indent=1) + "\n", encoding="utf-8")
            partial.replace(path)
        return json.loads(path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    sys.exit(main())
