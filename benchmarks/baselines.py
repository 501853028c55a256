"""Baselines without a model and ceilings, of the test questions that docs have agents' figures of.

    python -m benchmarks.baselines [--out runs/baselines]

reads fb15k/, webqsp_on_fb15k/ and metaqa/ below $GRAPHWALKER_DATA (docs/real-facts.md and
docs/training.md say what they are), makes the test questions of configs/ablation.yaml, and writes
benchmarks/results/baselines.json. Five minutes.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from benchmarks.metaqa import MetaqaConfig
from benchmarks.metaqa_data import build, question_file, split_questions
from benchmarks.metaqa_oracle import HOPS
from benchmarks.record import ROOT, record
from data_pipeline.config import SynthConfig
from data_pipeline.synthesize import make_questions
from eval.analysis.summary import summarise
from eval.run.beside import FOLDER, write_beside
from eval.run.records import read_run
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.cli import console
from graphwalker.config import load_config, parse_config
from graphwalker.datasets.base import load_questions
from graphwalker.datasets.grounding import ground
from graphwalker.errors import UserError
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.open import open_graph
from graphwalker.pipeline import DemoConfig
from graphwalker.question import Question
from graphwalker.world.generate import make_world

FIGURES = ("questions", "em", "em_interval", "f1", "hits1", "hits1_interval")


def main() -> int:
    """Measure, print the tables, record the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("runs/baselines"))
    given = parser.parse_args()
    beside = ROOT.parent / "shared" / "data"
    data = Path(os.environ.get("GRAPHWALKER_DATA") or beside)
    try:
        figures = {**webqsp(data, given.out), **metaqa(data, given.out), **made(given.out)}
    except UserError as error:
        sys.stderr.write(f"benchmarks.baselines: {error}\n")
        return 2
    print(json.dumps(figures, indent=2))
    print(record("baselines", figures, "python -m benchmarks.baselines", seed=0))
    return 0


def webqsp(data: Path, out: Path) -> dict[str, Any]:
    """WebQSP's questions that the FB15k slice answers, in the preset `graphwalker`."""
    slice_, graph = data / "fb15k", out / "fb15k"
    if not slice_.is_dir():
        raise UserError(
            f"{slice_}: no such folder; set GRAPHWALKER_DATA to the folder above fb15k/"
        )
    if not graph.is_dir():
        names, types = slice_ / "entities.tsv.gz", slice_ / "entity_types.tsv.gz"
        build_graph([slice_ / "triples.tsv.gz"], graph, names=[names], types=[types])
    environment = Environment(open_graph(graph))
    found: dict[str, Any] = {}
    for split in ("train", "test"):
        questions = load_questions(data / "webqsp_on_fb15k" / f"{split}.jsonl.gz")
        name = f"webqsp-{split}"
        found[name] = measured(ground(questions, environment.graph), environment, out / name)
    return found


def metaqa(data: Path, out: Path) -> dict[str, Any]:
    """The test questions of `benchmarks.metaqa`, in its environment."""
    config = load_config(MetaqaConfig, ROOT / "configs" / "metaqa.yaml", [])
    graph = build(data / "metaqa" / config.kb, out / "metaqa", console.note)
    files = [data / "metaqa" / name for name in config.questions]
    shares = config.train_share, config.dev_share
    folder = out / "metaqa-questions"
    split_questions(files, graph, config.seed, shares, folder)
    settings: EnvironmentConfig = config.environment
    environment = Environment(open_graph(graph), settings)
    return {
        f"metaqa-{hops}-hop": measured(
            load_questions(question_file(folder, "test", hops)), environment, out / f"mq-{hops}"
        )
        for hops in HOPS
    }


def made(out: Path) -> dict[str, Any]:
    """The test questions of the ablation's three worlds."""
    found: dict[str, Any] = {}
    name, path = "ablation", ROOT / "configs" / "ablation.yaml"
    for seed in (0, 1, 2):
        folder, config = out / f"{name}-{seed}", load_config(DemoConfig, path, [f"seed={seed}"])
        graph = folder / "world" / "graph"
        if not graph.exists():
            make_world(config.entities, seed, folder / "world")
        questions: list[Question] = []
        for number, (split, values) in enumerate(config.tests.items()):
            values = {"seed": seed + 2 + number, **config.synth, **values, "split": split}
            settings = {**values, "workers": 1, "environment": config.environment}
            where = folder / "questions" / split
            make_questions(graph, parse_config(SynthConfig, settings, split), where)
            questions += load_questions(where / "questions.jsonl")
        settings = parse_config(EnvironmentConfig, config.environment, name)
        environment = Environment(open_graph(graph), settings)
        found[f"{name}-{seed}"] = measured(questions, environment, folder / "beside")
    return found


def measured(questions: list[Question], environment: Environment, out: Path) -> dict[str, Any]:
    """The figures of each baseline, and the ceiling."""
    beside = write_beside(out, questions, environment)
    found: dict[str, Any] = {}
    for name in beside["baselines"]:
        summary = summarise(read_run(out / FOLDER / name).trajectories)
        found[name] = {key: summary[key] for key in FIGURES}
    return {**found, "ceiling": {k: v for k, v in beside["ceiling"].items() if k != "digest"}}


if __name__ == "__main__":
    sys.exit(main())
