"""A command ends with its place, examples, and a next command that runs as it is printed."""

import shlex
import subprocess
import sys

import pytest
from typer.main import get_command

from data_pipeline.config import SynthConfig
from data_pipeline.synthesize import make_questions
from graphwalker.cli.app import app
from graphwalker.config import load_config
from graphwalker.console import program
from graphwalker.console.endings import show_ending
from graphwalker.demo.config import DemoConfig, for_own_graph, shipped_config
from graphwalker.errors import UserError
from graphwalker.graphs.build.build import build_graph
from graphwalker.jobs.local import is_done
from graphwalker.jobs.sections import ChainSection
from support.commands import command
from support.paths import ROOT


def lines_of(capsys, *words):
    code, printed, _ = command(capsys, *words)
    assert code == 0
    return printed.splitlines()


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


def test_the_next_stage_has_the_settings_of_the_one_before(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines_of(capsys, "graph", "make", "--entities", "1000", "--out", "world")
    (tmp_path / "my.yaml").write_text("graph: world/graph\ncount: 4\n")
    words = ["walk", "--config", "my.yaml", "--seed", "3", "--out", "walks", "split=any"]
    for made in ("runs/q/questions.jsonl", "runs/filtered/filtered.jsonl"):
        last = lines_of(capsys, *words)[-1]
        assert last.endswith(" --config my.yaml split=any seed=3")
        words = shlex.split(last.removeprefix("next: graphwalker "))
        lines_of(capsys, *words)
        assert '"synth/any/3/' in (tmp_path / made).read_text()


FEW = {"mix": {"1-hop": 1, "2-hop": 1}, "max_attempts": 40, "split": "any"}


@pytest.fixture(scope="module")
def small_graph(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    lines = [f"n{k}\tmade_by\tn{(7 * k + 1) % 40}\n" for k in range(40)]
    (folder / "kb.tsv").write_text("".join(lines))
    build_graph([folder / "kb.tsv"], folder / "graph")
    return folder / "graph"


def test_a_graph_with_too_few_questions_gives_what_it_has_and_says_so(
    small_graph, tmp_path, capsys
):
    where = ["--graph", small_graph, "--out"]
    asked = ["--count", "240", "mix={1-hop: 1, 2-hop: 1}", "max_attempts=40", "split=any"]
    for _ in range(2):  # the second time nothing is tried again
        code, _, told = command(capsys, "questions", *where, tmp_path / "q", *asked)
        kept = sum(1 for _ in (tmp_path / "q/questions.jsonl").open())
        assert code == 3 and 0 < kept < 240
        assert f"{kept} of 240 made: the graph has no more" in told
    for shard in ("0/2", "1/2"):
        lines_of(capsys, "questions", *where, tmp_path / "parts", *asked, "--shard", shard)
    code, _, told = command(capsys, "merge", *where, tmp_path / "parts")
    assert code == 3 and f"{kept} of 240 made" in told


def test_a_chain_does_not_go_on_with_too_few_questions(small_graph, tmp_path):
    make_questions(small_graph, SynthConfig(count=240, **FEW), tmp_path / "few")
    make_questions(small_graph, SynthConfig(count=20, **FEW), tmp_path / "all")
    sections = [
        ChainSection(n, "questions", {"output_dir": str(tmp_path / n)}) for n in ("few", "all")
    ]
    assert [is_done(section) for section in sections] == [False, True]


def test_a_demo_on_a_graph_of_ones_own_needs_a_graph_that_a_tiny_model_can_learn(tmp_path):
    config = load_config(DemoConfig, shipped_config(), [f"graph={tmp_path / 'graph'}"])
    (tmp_path / "kb.tsv").write_text("a\tr\tb\n")
    build_graph([tmp_path / "kb.tsv"], tmp_path / "graph")
    with pytest.raises(UserError, match=r"has 2 entities.*serve --graph"):
        for_own_graph(config)
    (tmp_path / "kb.tsv").write_text("".join(f"n{k}\tr\tn{k // 2}\n" for k in range(120)))
    build_graph([tmp_path / "kb.tsv"], tmp_path / "larger")
    own = for_own_graph(config.model_copy(update={"graph": str(tmp_path / "larger")}))
    assert not own.test_words and own.synth["wordings"] == "all" and own.grpo == config.grpo


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A checkout whose environment nobody activated."""
    (tmp_path / ".venv").symlink_to(sys.prefix)
    monkeypatch.setattr(sys, "executable", str(tmp_path / ".venv/bin/python"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    program.program.cache_clear()
    yield tmp_path
    program.program.cache_clear()


def test_the_next_command_runs_in_a_shell_without_the_environment(clone, capsys):
    show_ending(clone / "final", ["config", "ask"], examples=False)
    printed = capsys.readouterr().out.splitlines()[-1].removeprefix("next: ")
    assert printed == ".venv/bin/graphwalker config ask"
    done = subprocess.run(printed, shell=True, cwd=clone, capture_output=True, text=True)
    assert done.returncode == 0 and "compiled graph" in done.stdout


def test_an_error_names_the_command_as_the_shell_finds_it(clone):
    command = [".venv/bin/python", "-m", "graphwalker", "graph", "info", "absent"]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(clone), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True)
    assert done.returncode == 2 and ".venv/bin/graphwalker graph build" in done.stderr


def test_an_activated_environment_leaves_the_names_as_they_are():
    program.program.cache_clear()
    text = "next: graphwalker eval; accelerate launch training/sft.py"
    assert program.as_typed(text) == text


def test_paths_and_other_words_stay_as_they_are(clone):
    words = ("runs/graphwalker ask", "the preset graphwalker, wide", "graphwalker-wide is")
    for text in (*words, "such as graphwalker or kg-r1", "where this graphwalker reads version 2"):
        assert program.as_typed(text) == text
    assert {*program.VERBS} == {*get_command(app).commands}  # pyright: ignore[reportAttributeAccessIssue]


def test_a_program_outside_of_the_folder_is_named_whole(clone, monkeypatch):
    (clone / "elsewhere").mkdir()
    monkeypatch.chdir(clone / "elsewhere")
    assert program.as_typed("graphwalker ask") == f"{clone}/.venv/bin/graphwalker ask"


def test_without_the_program_the_interpreter_runs_the_module(clone, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(clone / "python"))
    assert program.as_typed("graphwalker ask") == "python -m graphwalker ask"
