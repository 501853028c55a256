"""A command that makes something ends with its place, examples, and a next command that runs."""

import shlex
from pathlib import Path

import pytest

from graphwalker.cli import app as cli
from graphwalker.cli.endings import example_lines


def lines_of(capsys: pytest.CaptureFixture[str], *words: str | Path) -> list[str]:
    assert cli.run(lambda: cli.app([*map(str, words)], standalone_mode=False)) == 0
    return capsys.readouterr().out.splitlines()


def test_the_next_command_of_each_stage_runs_as_it_stands(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = lines_of(capsys, "graph", "make", "--entities", "1000", "--out", "a world")
    assert lines[-2] == "made: a world/graph"
    words = shlex.split(lines[-1].removeprefix("next: graphwalker "))
    lines = lines_of(capsys, *["4" if word == "1000" else word for word in words])
    made = lines.index("made: runs/synth/graphsynth.jsonl")
    assert lines[made + 1].endswith("?") and " -> " in lines[made + 2]
    lines = lines_of(capsys, *shlex.split(lines[made + 5].removeprefix("next: graphwalker ")))
    assert "all 4 records hold" in lines[-1]


def test_an_example_names_few_of_many_answers():
    record = {
        "question": "Who?",
        "query": {"branches": [{"topic": {"name": "A"}, "hops": ["r"]}], "tail": ["~s"]},
        "answers": [{"id": f"m.{n}", "name": f"N{n}" if n else ""} for n in range(5)],
    }
    assert list(example_lines(record)) == ["Who?", "A -> r -> ~s -> m.0, N1, N2 (+2)"]
