"""Baselines without a model, and ceilings, on WebQSP over the FB15k slice and on MetaQA.

    python -m benchmarks.baselines --fb15k fb15k --webqsp webqsp_on_fb15k --metaqa metaqa

Measures `first-relation`, `random-relation`, `linear` and the ceiling in `graphwalker-wide`, and
writes `benchmarks/results/baselines.json`. A folder that is not given is left out. `linear` uses a
ranker that is trained on the questions of the training split: WebQSP's `train.jsonl.gz`, and 80 %
of MetaQA's topic entities. Ten minutes on two cores.
"""

import argparse
import gzip
import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.record import record
from eval.analysis.summary import summarise
from eval.run.beside import FOLDER, write_beside
from eval.run.records import read_run
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.datasets.base import load_questions
from graphwalker.datasets.grounding import ground
from graphwalker.errors import UserError
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.open import open_graph
from graphwalker.question import Question
from graphwalker.ranking.learned.ranker import write_ranker
from graphwalker.ranking.learned.train import QuestionFile, train_ranker
from graphwalker.tools.listing import lister

FIGURES = ("questions", "em", "em_interval", "f1", "hits1", "hits1_interval")
HOPS = (1, 2, 3)
TRAIN_SHARE, DEV_SHARE = 0.8, 0.1
"""Shares of MetaQA's topic entities; the rest is the test split."""


def main() -> int:
    """Measure, print the figures, record them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--fb15k", type=Path, help="folder of triples, entities, entity_types .tsv.gz"
    )
    parser.add_argument("--webqsp", type=Path, help="folder of train.jsonl.gz and test.jsonl.gz")
    parser.add_argument("--metaqa", type=Path, help="folder of kb.txt.gz and qa_Nhop_dev.jsonl.gz")
    parser.add_argument("--out", type=Path, default=Path("runs/baselines"))
    given = parser.parse_args()
    try:
        figures = measure(given.fb15k, given.webqsp, given.metaqa, given.out)
    except UserError as error:
        sys.stderr.write(f"benchmarks.baselines: {error}\n")
        return 2
    print(json.dumps(figures, indent=2))
    command = "python -m benchmarks.baselines --fb15k FOLDER --webqsp FOLDER --metaqa FOLDER"
    print(record("baselines", figures, command, seed=0))
    return 0


def measure(
    fb15k: Path | None, webqsp: Path | None, metaqa: Path | None, out: Path
) -> dict[str, Any]:
    """Return the figures by question set. Raises `UserError` where a file is missing."""
    if bool(fb15k) != bool(webqsp):
        raise UserError("--fb15k and --webqsp belong together: give both or neither")
    if not (fb15k or metaqa):
        raise UserError("nothing to measure: give --fb15k with --webqsp, or --metaqa")
    found = webqsp_figures(fb15k, webqsp, out) if fb15k and webqsp else {}
    return found | (metaqa_figures(metaqa, out) if metaqa else {})


def webqsp_figures(fb15k: Path, webqsp: Path, out: Path) -> dict[str, Any]:
    """Return the figures of WebQSP's test questions that the FB15k slice answers."""
    folder = out / "fb15k"
    if not folder.is_dir():
        names, types = (
            _existing(fb15k / "entities.tsv.gz"),
            _existing(fb15k / "entity_types.tsv.gz"),
        )
        build_graph([_existing(fb15k / "triples.tsv.gz")], folder, names=[names], types=[types])
    graph = open_graph(folder)
    train, test = (
        ground(load_questions(_existing(webqsp / f"{split}.jsonl.gz")), graph)
        for split in ("train", "test")
    )
    return {"webqsp-test": figures(list(test), list(train), graph, out / "webqsp")}


def metaqa_figures(metaqa: Path, out: Path) -> dict[str, Any]:
    """Return the figures of MetaQA's questions of 1, 2 and 3 hops."""
    graph = open_graph(build_metaqa(metaqa / "kb.txt.gz", out / "metaqa-graph"))
    found: dict[str, Any] = {}
    for hops in HOPS:
        path = _existing(metaqa / f"qa_{hops}hop_dev.jsonl.gz")
        parts: dict[str, list[Question]] = {"train": [], "dev": [], "test": []}
        for question in ground(load_questions(path), graph):
            parts[split_of(question.topic_entities[0].id)].append(question)
        name = f"metaqa-{hops}-hop"
        found[name] = figures(parts["test"], parts["train"], graph, out / name)
    return found


def build_metaqa(kb: Path, out: Path) -> Path:
    """Compile lines of `subject|relation|object` into the folder `out` unless it exists."""
    if not out.is_dir():
        table = out.with_name("kb.tsv")
        table.parent.mkdir(parents=True, exist_ok=True)
        table.write_bytes(gzip.decompress(_existing(kb).read_bytes()).replace(b"|", b"\t"))
        build_graph([table], out)
    return out


def split_of(topic: str, seed: int = 0) -> str:
    """Return the split of every question about a topic entity, from a hash of seed and topic.

    >>> split_of("Alien")
    'train'
    """
    drawn = int.from_bytes(hashlib.sha256(f"{seed}/{topic}".encode()).digest()[:8]) / 2**64
    return "train" if drawn < TRAIN_SHARE else "dev" if drawn < TRAIN_SHARE + DEV_SHARE else "test"


def figures(
    test: Sequence[Question], train: Sequence[Question], graph: KnowledgeGraph, out: Path
) -> dict[str, Any]:
    """Return the figures of each baseline, and the ceiling with and without a trained ranker."""
    ranker = out / "ranker"
    if not ranker.is_dir():
        listing = lister(graph, EnvironmentConfig(preset="graphwalker-wide"))
        made = train_ranker(
            [QuestionFile("train", "", train)], graph, lambda e: listing(e).relations
        )
        write_ranker(made, ranker)
    settings = EnvironmentConfig(preset="graphwalker-wide")
    plain = _beside(test, Environment(graph, settings), out / "bm25")
    settings = EnvironmentConfig(preset="graphwalker-wide", ranker=str(ranker))
    trained = _beside(test, Environment(graph, settings), out / "trained")
    return {
        **{name: value for name, value in plain.items() if name != "ceiling"},
        "linear": trained["linear"],
        "ceiling": plain["ceiling"],
        "ceiling_with_ranker": trained["ceiling"],
    }


def _beside(questions: Sequence[Question], environment: Environment, out: Path) -> dict[str, Any]:
    beside = write_beside(out, questions, environment)
    found: dict[str, Any] = {}
    for name in beside["baselines"]:
        summary = summarise(read_run(out / FOLDER / name).trajectories)
        found[name] = {key: summary[key] for key in FIGURES}
    return {**found, "ceiling": {k: v for k, v in beside["ceiling"].items() if k != "digest"}}


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise UserError(f"{path}: no such file; give the folder that holds it")
    return path


if __name__ == "__main__":
    sys.exit(main())
