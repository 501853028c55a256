"""MetaQA's data for the benchmark: its graph compiled, its questions split, the oracle's walks."""

import gzip
import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.metaqa_oracle import HOPS, PathOracle
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.rollout import rollout, untimed
from graphwalker.datasets.base import load_questions
from graphwalker.datasets.grounding import ground
from graphwalker.errors import UserError
from graphwalker.files import write_jsonl
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.open import open_graph
from graphwalker.policies.base import Sampling
from graphwalker.question import Question
from graphwalker.scoring import score

SPLITS = ("train", "dev", "test")


def build(kb: Path, out: Path, say: Callable[[str], None]) -> Path:
    """Compile `kb` (lines of `subject|relation|object`, plain or .gz) into the folder `out`."""
    if out.is_dir():
        return out
    if not kb.is_file():
        raise UserError(f"{kb}: no such file; set GRAPHWALKER_DATA to the folder above metaqa/")
    table = out.with_name("kb.tsv")
    table.parent.mkdir(parents=True, exist_ok=True)
    lines = gzip.decompress(kb.read_bytes()) if kb.suffix == ".gz" else kb.read_bytes()
    table.write_bytes(lines.replace(b"|", b"\t"))
    build_graph([table], out, progress=say)
    return out


def split_questions(
    files: Sequence[Path], graph: Path, seed: int, shares: tuple[float, float], out: Path
) -> dict[str, Any]:
    """Write OUT/SPLIT-HOPS.jsonl; returns the counts. `shares`: of train, and of dev.

    The topic entity decides the split, for all hops at once: no topic of a test question is the
    topic of a training question. The wordings (518 templates) are in every split, as in MetaQA.
    """
    counts: dict[str, Any] = {}
    for hops, path in zip(HOPS, files, strict=True):
        parts: dict[str, list[Question]] = {split: [] for split in SPLITS}
        for question in ground(load_questions(path), open_graph(graph)):
            parts[split_of(question.topic_entities[0].id, seed, shares)].append(question)
        for split, questions in parts.items():
            write_jsonl(question_file(out, split, hops), [q.to_json() for q in questions])
        counts[f"{hops}-hop"] = {split: len(questions) for split, questions in parts.items()}
    return counts


def split_of(topic: str, seed: int, shares: tuple[float, float]) -> str:
    """The split of every question about that topic, drawn from a hash of seed and topic.

    >>> split_of("Alien", 0, (1.0, 0.0))
    'train'
    """
    drawn = int.from_bytes(hashlib.sha256(f"{seed}/{topic}".encode()).digest()[:8]) / 2**64
    train, dev = shares
    return "train" if drawn < train else "dev" if drawn < train + dev else "test"


def question_file(folder: Path, split: str, hops: int) -> Path:
    return folder / f"{split}-{hops}hop.jsonl"


def walk_training(
    questions: Path, graph: Path, config: EnvironmentConfig, out: Path
) -> dict[str, Any]:
    """The oracle's trajectories of the training questions that it answers rightly; the counts."""
    environment = Environment(open_graph(graph), config)
    counts: dict[str, Any] = {}

    def kept() -> Iterator[dict[str, Any]]:
        for hops in HOPS:
            train = load_questions(question_file(questions, "train", hops))
            policy = PathOracle(environment.graph, environment.protocol)
            scored: list[dict[str, float]] = []
            for trajectory in rollout(train, environment, policy, Sampling()):
                scores = score(trajectory)
                scored.append(scores)
                if scores["em"] == 1.0:
                    yield untimed(trajectory).to_json()
            counts[f"{hops}-hop"] = _means(scored)

    write_jsonl(out, kept())
    return counts


def _means(scored: Sequence[dict[str, float]]) -> dict[str, float]:
    """What the oracle itself reaches: the ceiling of an agent that learns from it."""
    return {name: sum(s[name] for s in scored) / len(scored) for name in ("hits1", "em", "f1")}
