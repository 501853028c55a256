"""The code of docs/your-graph.md, run as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from graphwalker.graphs.base import Direction
from graphwalker.graphs.conformance import check_graph
from graphwalker.graphs.open import open_graph
from support.paths import ROOT

PAGE = (ROOT / "docs" / "your-graph.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", PAGE, flags=re.DOTALL)


def write_files(folder: Path) -> None:
    for language, text in BLOCKS:
        if language == "python":
            name = text.partition("\n")[0].removeprefix("# ")
            (folder / name).write_text(text, encoding="utf-8")


def run(folder: Path, *words: str) -> str:
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_networkx_graph_of_the_page_opens(tmp_path, monkeypatch):
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    graph = open_graph("my_graph:make")
    (alien,) = graph.resolve("Alien")
    assert graph.flat_relations(alien.id, Direction.OUT) == [("cast..actor", 1), ("directed by", 1)]


@pytest.mark.long
def test_the_class_of_the_page_conforms_and_makes_questions(tmp_path, monkeypatch):
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    graph = open_graph("my_backend:Times")
    assert list(check_graph(graph, [graph.entity_at(index) for index in (0, 40)])) == []
    (commands,) = [t for kind, t in BLOCKS if kind == "bash" and "my_backend" in t]
    for line in commands.splitlines():
        words = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', line)]
        run(tmp_path, "-m", *words)
    made = (tmp_path / "runs" / "times" / "graphsynth.jsonl").read_text()
    assert made.count("\n") == 4
