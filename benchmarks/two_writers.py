"""Two of every writing command at once: one writes, the other is refused in one line, by name.

The first one is stopped where it holds its lock, the second must be refused and change no byte;
then the first is killed, and the same command takes the dead one's lock over and ends well.

python -m benchmarks.two_writers --work runs/two-writers
"""

import argparse
import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from graphwalker.errors import GraphWalkerError
from graphwalker.files import read_jsonl
from graphwalker.runs import LOCK

ENTITIES, RECORDS = 1000, 24
"""Of the data that the commands are given."""
PATIENCE_S = 300.0


@dataclass(frozen=True)
class Command:
    """A command that writes, where, and whether it is run to its end after the kill."""

    name: str
    words: tuple[str, ...]
    result: Path
    to_its_end: bool = True

    @property
    def line(self) -> list[str]:
        return [sys.executable, "-m", *self.words]

    @property
    def lock(self) -> Path:
        """Where it shows that it writes: in its folder, or beside its file."""
        inside = self.result / LOCK
        beside = self.result.with_name(f".{self.result.name}{LOCK}")
        return beside if beside.exists() else inside


@dataclass(frozen=True)
class Outcome:
    """What became of two at once."""

    refusal: str
    """The second one's only line, `""` where it was not refused as it should be."""
    unharmed: bool
    """The first one's files are as they were before the second came."""
    taken_over: bool
    """The same command again, after the first was killed, ended with exit code 0."""

    @property
    def sound(self) -> bool:
        return bool(self.refusal) and self.unharmed and self.taken_over


def commands(work: Path, data: Path) -> Iterator[Command]:
    """Every command that writes a folder or a file, on the data of `prepare`."""
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
    tests = ("--against", questions, "--embedding", "tfidf")
    yield one("contamination", "--questions", questions, *tests)
    yield one("ranker", "train", "--graph", graph, "--questions", questions, name="ranker train")
    typed = ("resolve", "--graph", graph, "--questions", questions)
    yield one("dataset", *typed, file="typed.jsonl", name="dataset resolve")
    yield one("eval", "--graph", graph, "--questions", questions, "--model", "oracle")
    yield one("report", str(data / "eval"))
    yield from _trainings(work, data, corpus, questions)
    demo = one("demo", "--quick")
    yield Command(demo.name, demo.words, demo.result, to_its_end=False)


def _trainings(work: Path, data: Path, corpus: str, questions: str) -> Iterator[Command]:
    tiny = (f"model={data / 'model'}", "format=inline", "save_steps=1")
    place = work / "sft"
    sft = (f"data=[{corpus}]", f"output_dir={place}", "max_steps=2", "progress=false", *tiny)
    yield Command("SFT", ("training.sft", "--config", str(_empty(data)), *sft), place)
    place = work / "grpo"
    grpo = (
        f"questions={questions}", f"graph={data / 'world' / 'graph'}", f"output_dir={place}",
        "steps=1", "prompts_per_step=2", "samples=2", "micro_batch=4", "max_turn_tokens=16", *tiny,
    )  # fmt: skip
    yield Command("GRPO", ("training.grpo", "--config", str(_empty(data)), *grpo), place)


def _empty(data: Path) -> Path:
    """A config file without settings, which the training scripts want."""
    path = data / "empty.yaml"
    path.write_text("seed: 0\n", encoding="utf-8")
    return path


def prepare(data: Path) -> None:
    """The world, a corpus on it, a tiny model, and an evaluation run to report."""
    graph, made = str(data / "world" / "graph"), data / "synth"
    if not (data / "world" / "graph").is_dir():
        _done("graph", "make", "--entities", str(ENTITIES), "--out", str(data / "world"))
    _done("synth", "--graph", graph, "--count", str(RECORDS), "--out", str(made))
    questions = str(made / "questions.jsonl")
    evaluated = ("--graph", graph, "--questions", questions, "--model", "oracle")
    _done("eval", *evaluated, "--out", str(data / "eval"))
    if not (data / "model").is_dir():
        from graphwalker.graphs.compiled.open import open_compiled
        from graphwalker.trajectory import Trajectory
        from training.config import TinyModelConfig
        from training.models.tiny import conversation_texts, make_tiny

        texts = conversation_texts(map(Trajectory.from_json, read_jsonl(made / "graphsynth.jsonl")))
        shape = TinyModelConfig(hidden=32, intermediate=64, layers=1)
        make_tiny(shape, texts, open_compiled(graph).relation_ids(), data / "model")


def try_two(command: Command) -> Outcome:
    """Start it, stop it where it holds its lock, start it again, kill the first, start a third."""
    first = _started(command)
    try:
        _await_lock(command, first)
        os.killpg(first.pid, signal.SIGSTOP)
        before = _bytes_of(command.result)
        second = subprocess.run(
            command.line, capture_output=True, text=True, check=False, timeout=PATIENCE_S
        )
        refusal = second.stderr.strip()
        named = f"process {first.pid}" in refusal and "\n" not in refusal
        unharmed = _bytes_of(command.result) == before
    finally:
        if first.poll() is None:
            os.killpg(first.pid, signal.SIGKILL)
        first.wait()
    third = (
        not command.to_its_end
        or not subprocess.run(
            command.line, capture_output=True, check=False, timeout=PATIENCE_S
        ).returncode
    )
    return Outcome(refusal if named and second.returncode == 2 else "", unharmed, third)


def _started(command: Command) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        command.line,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _await_lock(command: Command, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not (command.lock.exists() and command.lock.read_text()):
        if process.poll() is not None or time.monotonic() > deadline:
            raise GraphWalkerError(f"{command.name}: no lock was seen; exit code {process.poll()}")
        time.sleep(0.001)


def _bytes_of(place: Path) -> dict[str, str]:
    """Digests of the result's files, those beside it that carry its name among them."""
    roots = [place, *place.parent.glob(f".{place.name}*")]
    files = [f for root in roots for f in ([root] if root.is_file() else root.rglob("*"))]
    return {str(f): hashlib.sha256(f.read_bytes()).hexdigest() for f in files if f.is_file()}


def _done(*words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "graphwalker", *words], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise GraphWalkerError(f"graphwalker {' '.join(words)}: {done.stderr.strip()}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only", help="names of commands, by commas")
    arguments = parser.parse_args()
    data: Path = arguments.work / "data"
    prepare(data)
    chosen = arguments.only.split(",") if arguments.only else None
    failed = 0
    for command in commands(arguments.work / "out", data):
        if chosen and command.name not in chosen:
            continue
        outcome = try_two(command)
        failed += not outcome.sound
        print(f"{command.name:16} {'sound' if outcome.sound else 'NOT SOUND'}  {outcome}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
