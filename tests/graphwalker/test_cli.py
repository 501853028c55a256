"""The command line: a newcomer's mistake gets one clear line and exit code 2, never a traceback."""

import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from graphwalker.cli import app as cli
from graphwalker.cli import config, models
from graphwalker.graphs.build.build import build_graph


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "graphwalker", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def code_and_errors(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = cli.run(lambda: cli.app(arguments, standalone_mode=False))
    return code, capsys.readouterr().err


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli")
    (folder / "kb.tsv").write_text("a\tr.s.t\tb\nb\tr.s.u\tc\n")
    build_graph([folder / "kb.tsv"], folder / "graph")
    return folder / "graph"


def test_the_whole_process_prints_one_line_and_exits_with_2(tmp_path):
    done = run("graph", "info", str(tmp_path / "nowhere"))
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "nowhere" in done.stderr and "Traceback" not in done.stderr


def test_the_package_runs_as_a_module(tmp_path):
    command = [sys.executable, "-m", "graphwalker", "graph", "info", str(tmp_path / "nowhere")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and "nowhere" in done.stderr


def test_an_unknown_command_and_a_missing_option_exit_with_2():
    assert run("grap").returncode == 2
    assert run("synth", "--count", "5").returncode == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["config", "sfft"], "known: environment"),
        (["synth", "--graph", "nowhere", "--out", "x"], "nowhere"),
        (["synth", "--graph", "G", "--out", "x", "cuont=5"], "did you mean count"),
        (["synth", "--graph", "G", "--out", "x", "count=many"], "got 'many'"),
        (["synth", "--graph", "G", "--out", "x", "count"], "a.b=c"),
        (["synth", "--graph", "G", "--out", "x", "--config", "none.yaml"], "no such config file"),
        (["experts", "--graph", "G", "--questions", "none.jsonl", "--out", "x"], "none.jsonl"),
        (["eval", "graph=G"], "questions is required"),
        (["report", "nowhere", "--out", "x"], "not an evaluation run"),
        (["compare", "nowhere", "nowhere"], "not an evaluation run"),
        (["graph", "build", "--triples", "none.tsv", "--out", "x"], "none.tsv"),
        (["demo", "--config", "none.yaml"], "no such config file"),
        (["ask", "Who?", "--topic", "a", "--graph", "G", "--model", "none"], "no model"),
    ],
)
def test_a_mistake_is_named_in_one_line(arguments, message, graph, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    arguments = [
        argument.replace("G", str(graph)) if "G" in argument else argument for argument in arguments
    ]
    code, errors = code_and_errors(capsys, *arguments)
    assert code == 2
    assert message in errors
    assert errors.count("error:") == 1 and "Traceback" not in errors


def test_a_text_file_is_not_taken_for_a_graph(tmp_path, capsys):
    (tmp_path / "graph.gwk").write_text("hello\n")
    code, errors = code_and_errors(capsys, "graph", "info", str(tmp_path))
    assert code == 2 and "graph.gwk" in errors


def test_every_command_teaches_itself():
    for name in typer.main.get_command(cli.app).commands:
        result = CliRunner().invoke(cli.app, [name, "--help"])
        assert result.exit_code == 0 and "Usage" in result.output


def test_every_config_can_be_described(capsys):
    for name in models.NAMES:
        config.show_config(name)
    assert "GraphWalker" in capsys.readouterr().out
