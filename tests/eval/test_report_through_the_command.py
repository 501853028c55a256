"""Figures of report.json that the report needs more than scores for: from questions to the page,
through the command line."""

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from graphwalker.cli.app import app
from support.yes_no_world import yes_no_records


def run(*arguments: object) -> None:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, (done.output, done.exception)


def stage_of(folder: Path, graph: Path, questions: Path, *settings: str) -> dict[str, Any]:
    """The report's record of the oracle's run over the questions."""
    asked = ("--graph", graph, "--questions", questions, "--model", "oracle")
    run("eval", *asked, "--out", folder / "run", *settings)
    run("report", folder / "run", "--out", folder / "report")
    return json.loads((folder / "report" / "report.json").read_text())["stages"][0]


def test_truth_runs_are_those_of_the_samples(tmp_path):
    (tmp_path / "qa.json").write_text(json.dumps(yes_no_records(10)))
    run("dataset", "evidence", tmp_path / "qa.json", "--out", tmp_path / "data")
    graph, questions = tmp_path / "data" / "graph", tmp_path / "data" / "questions.jsonl"
    preset = "environment.preset=chain-of-thought"
    found = stage_of(tmp_path, graph, questions, preset, "samples=3")["truth_runs"]
    assert (found["runs"], found["answer_rate"], found["overall_accuracy"]) == (3, 1.0, 1.0)
    assert (found["conditional_accuracy"], found["overall_accuracy_sd"]) == (1.0, 0.0)
