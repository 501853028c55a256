"""Every command that writes, and the data that it is given in trials."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from graphwalker.errors import GraphWalkerError
from graphwalker.files import read_jsonl
from graphwalker.runs import LOCK

ENTITIES, RECORDS = 1000, 24
"""Sizes of the world and of the corpus."""


@dataclass(frozen=True)
class Command:
    """A command that writes, its result, and whether it runs to its end after a kill."""

    name: str
    words: tuple[str, ...]
    result: Path
    to_its_end: bool = True

    @property
    def line(self) -> list[str]:
        return [sys.executable, "-m", *self.words]

    @property
    def lock(self) -> Path:
        """Path of its lock: in its folder, or next to its file."""
        inside = self.result / LOCK
        beside = self.result.with_name(f".{self.result.name}{LOCK}")
        return beside if beside.exists() else inside


def commands(work: Path, data: Path) -> Iterator[Command]:
    """Yield every command that writes a folder or a file, on the data of `prepare`."""
    graph, made = str(data / "world" / "graph"), data / "synth"
    corpus, questions = str(made / "graphsynth.jsonl"), str(made / "questions.jsonl")
    triples = str(data / "world" / "triples.nt.gz")

    def one(*words: str, file: str = "", name: str = "") -> Command:
        name = name or words[0]
        place = work / (file or name.replace(" ", "-"))
        return Command(name, ("graphwalker", *words, "--out", str(place)), place)

    yield one("graph", "make", "--entities", "3000", name="graph make")
    yield one("graph", "build", "--triples", triples, name="graph build")
    yield one("seeds", "--graph", graph)
    for name in ("synth", "walk", "questions"):
        yield one(name, "--graph", graph, "--count", "40")
    yield one("filter", "--graph", graph, "--questions", questions)
    yield one("experts", "--graph", graph, "--questions", questions)
    yield one("bench", "--graph", graph, "--count", "22")
    yield one("phrases", "--graph", graph, file="words.toml")
    yield one("export", corpus, "--to", "trl")
    yield one("stats", corpus)
    tests = ("--against", questions)
    yield one("contamination", "--questions", questions, *tests)
    yield one("ranker", "train", "--graph", graph, "--questions", questions, name="ranker train")
    typed = ("resolve", "--graph", graph, "--questions", questions)
    yield one("dataset", *typed, file="typed.jsonl", name="dataset resolve")
    yield one("eval", "--graph", graph, "--questions", questions, "--model", "oracle")
    yield one("report", str(data / "eval"))
    yield from _trainings(work, data, corpus, questions)
    demo = one("demo")
    yield Command(demo.name, demo.words, demo.result, to_its_end=False)


def _trainings(work: Path, data: Path, corpus: str, questions: str) -> Iterator[Command]:
    tiny = (f"model={data / 'model'}", "format=inline", "save_steps=1")
    place = work / "sft"
    sft = (f"data=[{corpus}]", f"output_dir={place}", "max_steps=2", "progress=false", *tiny)
    yield Command("SFT", ("training.sft", "--config", str(empty_config(data)), *sft), place)
    place = work / "grpo"
    grpo = (
        f"questions={questions}", f"graph={data / 'world' / 'graph'}", f"output_dir={place}",
        "steps=1", "prompts_per_step=2", "samples=2", "micro_batch=4", "max_turn_tokens=16", *tiny,
    )  # fmt: skip
    yield Command("GRPO", ("training.grpo", "--config", str(empty_config(data)), *grpo), place)


def empty_config(data: Path) -> Path:
    """Write a config file without settings, which the training scripts need."""
    path = data / "empty.yaml"
    path.write_text("seed: 0\n", encoding="utf-8")
    return path


def prepare(data: Path) -> None:
    """Make the world, a corpus, a tiny model, and an evaluation run to report."""
    graph, made = str(data / "world" / "graph"), data / "synth"
    if not (data / "world" / "graph").is_dir():
        _run("graph", "make", "--entities", str(ENTITIES), "--out", str(data / "world"))
    _run("synth", "--graph", graph, "--count", str(RECORDS), "--out", str(made))
    questions = str(made / "questions.jsonl")
    evaluated = ("--graph", graph, "--questions", questions, "--model", "oracle")
    _run("eval", *evaluated, "--out", str(data / "eval"))
    if not (data / "model").is_dir():
        from graphwalker.graphs.compiled.properties import open_compiled
        from graphwalker.trajectory import Trajectory
        from training.tiny.config import TinyModelConfig
        from training.tiny.make import conversation_texts, make_tiny

        texts = conversation_texts(map(Trajectory.from_json, read_jsonl(made / "graphsynth.jsonl")))
        shape = TinyModelConfig(hidden=32, intermediate=64, layers=1)
        make_tiny(shape, texts, open_compiled(graph).relation_ids(), data / "model")


def _run(*words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "graphwalker", *words], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise GraphWalkerError(f"graphwalker {' '.join(words)}: {done.stderr.strip()}")
