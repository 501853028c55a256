"""Six graphs as other people have them, and 300 questions of each with the default settings.

    python -m benchmarks.foreign_graphs [--out runs/foreign] [--count 300] [--seed 0]

builds each graph with `graphwalker graph build`, makes its questions with `graphwalker synth` and
prints what came of it: records, structures that gave way, seconds, words that must not occur. For
every graph it writes OUT/NAME/read.tsv, 50 questions to be labelled by a reader. MetaQA's graph is
read from $GRAPHWALKER_DATA/metaqa/kb.txt.gz, and left out with a line where it is absent; the other
five are made here (benchmarks/foreign_data.py), and so are more: eight on which the rules grew
(benchmarks/foreign_held_out.py), and 33 that were read in eleven rounds, each before any rule was
written for it (benchmarks/foreign_rounds.py, `--only theatre newspapers bloodbank`). Labels that
were given are kept in benchmarks/results/reading-foreign.json and reading-foreign-held-out.json
(docs/your-graph.md).
"""

import argparse
import gzip
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.foreign_data import FOREIGN
from benchmarks.foreign_held_out import HELD_OUT
from benchmarks.foreign_rounds import STRANGERS
from benchmarks.record import ROOT
from graphwalker.files import read_json, read_jsonl

READ = 50
"""Questions of each graph that a person reads."""
NEVER = ("the has", "http", "the the ", "{x}", "_")
"""What no question may hold: the marks of an id that was not put into words."""


def main() -> int:
    """Make every graph and its questions; returns 1 where a count was missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("runs/foreign"))
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", help="names of graphs")
    given = parser.parse_args()
    figures: dict[str, Any] = {}
    for name in given.only or ("metaqa", *FOREIGN):
        folder = given.out / name
        folder.mkdir(parents=True, exist_ok=True)
        made = {**FOREIGN, **HELD_OUT, **STRANGERS}
        inputs = made[name](folder) if name in made else metaqa(folder)
        if not inputs:
            print(f"{name}: left out, GRAPHWALKER_DATA/metaqa/kb.txt.gz is absent")
            continue
        figures[name] = measure(folder, inputs, given.count, given.seed)
        print(name, json.dumps(figures[name]), flush=True)
    return int(any(one["made"] < given.count or one["never"] for one in figures.values()))


def metaqa(folder: Path) -> list[str]:
    """MetaQA's graph as TSV; nothing where its file is absent."""
    data = Path(os.environ.get("GRAPHWALKER_DATA") or ROOT.parent / "shared" / "data")
    source = data / "metaqa" / "kb.txt.gz"
    if not source.is_file():
        return []
    table = folder / "kb.tsv"
    table.write_bytes(gzip.decompress(source.read_bytes()).replace(b"|", b"\t"))
    return ["--triples", str(table)]


def measure(folder: Path, inputs: list[str], count: int, seed: int) -> dict[str, Any]:
    """What the two commands make of one graph, typed as a user types them."""
    graph, synth = str(folder / "graph"), folder / "synth"
    if not (folder / "graph").is_dir():
        run("graph", "build", *inputs, "--out", graph)
    started = time.perf_counter()
    asked = ("--graph", graph, "--count", str(count), "--seed", str(seed))
    run("synth", *asked, "--out", str(synth))
    seconds = time.perf_counter() - started
    card = read_json(synth / "datacard.json", "a data card")
    records = list(read_jsonl(synth / "questions.jsonl"))
    texts = [str(record["question"]) for record in records]
    sheet = random.Random(seed).sample(records, min(READ, len(records)))
    lines = [f"{r['structure']}\t{r['question']}\t{_answers(r)}" for r in sheet]
    (folder / "read.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {
        "made": card["count"],
        "structures": dict(Counter(str(record["structure"]) for record in records)),
        "too_few": card.get("too_few", {}),
        "never": sum(mark in text for text in texts for mark in NEVER),
        "mean_words": round(sum(len(text.split()) for text in texts) / max(1, len(texts)), 1),
        "synth_seconds": round(seconds, 1),
    }


def _answers(record: dict[str, Any]) -> str:
    return "; ".join(answer["name"] for answer in record["answers"][:3])


def run(*arguments: str) -> None:
    """The command line, in a process of its own; raises `CalledProcessError`."""
    subprocess.run([sys.executable, "-m", "graphwalker", *arguments], check=True)


if __name__ == "__main__":
    sys.exit(main())
