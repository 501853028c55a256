"""The command line: a newcomer's mistake gets one clear line and exit code 2, never a traceback."""

import errno
import json
import socket
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

import graphwalker
from graphwalker.cli import app as cli
from graphwalker.cli import config, shared
from graphwalker.console import console
from graphwalker.demo import models
from graphwalker.errors import IncompleteError, install_extra
from graphwalker.graphs.build.build import build_graph
from support.commands import command
from support.paths import ROOT


def code_and_errors(capsys, *words):
    code, _, errors = command(capsys, *words)
    return code, errors


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    (folder / "kb.tsv").write_text("a\tr.s.t\tb\nb\tr.s.u\tc\n")
    build_graph([folder / "kb.tsv"], folder / "graph")
    return folder / "graph"


def test_the_whole_process_prints_one_line_and_exits_with_2(tmp_path):
    words = [sys.executable, "-m", "graphwalker", "graph", "info", str(tmp_path / "nowhere")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 2 and len(done.stderr.strip().splitlines()) == 1
    assert "nowhere" in done.stderr and "Traceback" not in done.stderr


EVAL = "eval graph=G questions=q --out x --model m"
MISTAKES = {
    "config sfft": "known: synth",
    "synth --graph G --out x cuont=5": "did you mean count",
    "synth --graph G --out x count=many": "got 'many'",
    "synth --graph G --out x --config none.yaml": "no such config file",
    "eval --graph G": "questions is required",
    "synth --graph G": "output_dir is required: give --out",
    "eval graph=G questions=q --out x": "policy.model is required: give --model, or",
    "eval graph=G questions=q --out x policy=oracle": "section of settings: policy.model=oracle?",
    "synth --graph G --out x --config CONFIGS/sft.yaml": "sft.yaml has settings of `sft`)",
    "eval --config CONFIGS/cluster.yaml": "holds several configs: give CONFIGS/cluster.yaml#eval",
    "synth --graph G --out x --config CONFIGS/demo.yaml": "demo.yaml#synth (or #rl, ",
    "eval lr=1": "(lr is a setting of sft, grpo)",
    "eval sede=1": "sede is not a setting; did you mean seed?",
    "eval seed=010": "010: YAML reads this as 8; write the number without",
    "ask who? --graph G --model first-relation": "give --topic NAME",
    "ask Who? --topic a --graph G --model run": "mean run/final?",
    f"{EVAL} seed=-1": "seed: Input should be greater than or equal to 0 (got -1)",
    f"{EVAL} temperature=inf": "temperature: Input should be a finite number (got 'inf')",
    f"{EVAL} baselines=no": "baselines: Input should be 'auto', 'always' or 'never' (got False)",
    f"{EVAL} environment=5": "section of settings: environment.top_relations=5?",
    f"{EVAL} environment=true": "section of settings: environment.top_relations=...?",
    "eval polcy=m": "command line: polcy is not a setting; did you mean policy?",
    "eval policy.max_token=9": "policy.max_token is not a setting; did you mean max_tokens?",
    "eval environment.limit=9": "environment.limit is not a setting; did you mean limit?",
    "synth --seed 1 seed=2": "--seed 1 and seed=2 set the same setting",
    "report nowhere --out x": "not an evaluation run",
    "graph build --triples none.tsv --out x": "none.tsv",
    "ask Who? --topic a --graph G --model none": "no Hub model",
    "ask Who? --topic a --graph G --model oracl": "did you mean oracle",
    "ask Who? --topic a --graph G --model smolm2-graphwalker": "mean smollm2-graphwalker?",
    "ask Who? --topic a --graph G --model prolonged": "did you mean prolonged/final?",
    "ask Who? --topic a --graph G --model road": "did you mean road/grpo/final?",
    "ask Who? --topic a --graph G --model occupied": "occupied: a file; give a model's folder",
    "ask Who? --graph road --model first-relation": "did you mean road/world/graph?",
    "ask Who directed it --graph G --model oracle": "quote a text of several words",
    "config CONFIGS/demo.yaml": "run: give CONFIGS/demo.yaml#grpo or CONFIGS/demo.yaml#sft1",
    "graph info run": "graph build FILE --out FOLDER",
    "demo sft1.lrr=3": "sft1: lrr is not a setting; did you mean lr?",
    "demo --out occupied": "occupied: ",
    "config grpo --search zzzz": "no setting of grpo has 'zzzz'",
}
"""What is typed, and what the one line says."""


@pytest.mark.parametrize("typed", MISTAKES)
def test_a_mistake_is_named_in_one_line(typed, graph, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "occupied").write_text("a file\n")
    before = [f"prolonged/{name}" for name in ("checkpoint-9", "final", "final-before")]
    for folder in ("run/final", "road/grpo/final", "road/model", *before):
        (tmp_path / folder).mkdir(parents=True)
        for name in ("config.json", "model.safetensors"):
            (tmp_path / folder / name).write_text("{}")
    (tmp_path / "road" / "world").mkdir()
    (tmp_path / "road" / "world" / "graph").symlink_to(graph)
    places = {"G": str(graph), "graph=G": f"graph={graph}"}
    configs = str(ROOT / "configs")
    words = [places.get(word, word.replace("CONFIGS", configs)) for word in typed.split()]
    code, errors = code_and_errors(capsys, *words)
    assert code == 2 and MISTAKES[typed].replace("CONFIGS", configs) in errors
    assert errors.count("error:") == 1 and "Traceback" not in errors


def test_a_name_that_looks_like_none_is_not_suggested(capsys):
    for typed in ("lr=1", "grpo.lr=1"):
        assert "did you mean" not in code_and_errors(capsys, "eval", typed)[1]


FROM_INDEX = "pip install 'graphwalker-kgqa[train]'"
SOURCES = [
    ({"url": "file://HERE", "dir_info": {"editable": True}}, "pip install -e 'HERE[train]'"),
    ({"url": "file://HERE", "dir_info": {}}, "pip install 'HERE[train]'"),
    ({"url": "file:///gone.whl", "archive_info": {}}, FROM_INDEX),
    ({}, FROM_INDEX),
]


@pytest.mark.parametrize(("source", "typed"), SOURCES)
def test_an_extra_is_added_as_the_package_was_installed(source, typed, tmp_path, monkeypatch):
    about = tmp_path / "graphwalker_kgqa-9.9.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: graphwalker-kgqa\nVersion: 9.9\n")
    (about / "direct_url.json").write_text(json.dumps(source).replace("HERE", str(tmp_path)))
    monkeypatch.syspath_prepend(tmp_path)
    assert install_extra("train") == typed.replace("HERE", str(tmp_path))


def test_a_result_that_is_a_file_is_called_one():
    for words in (["dataset", "resolve"], ["dataset", "audit"], ["phrases"]):
        shown = CliRunner().invoke(cli.app, [*words, "--help"]).output
        assert "File for the result." in shown and "Folder for the result." not in shown


def test_a_port_that_is_taken_is_told_before_anything_is_loaded(capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        words = ("serve", "--graph", "nowhere", "--model", "none", "--port", port)
        code, errors = code_and_errors(capsys, *words)
    assert code == 2 and f"127.0.0.1:{port}: " in errors and "choose another --port" in errors


def test_a_server_that_is_down_is_told_while_somebody_waits(graph, capsys):
    """Port 9 has none; runs that nobody watches try longer."""
    agent = ["--graph", str(graph), "--model", "m", "--api", "http://127.0.0.1:9/v1"]
    code, errors = code_and_errors(capsys, "ask", "Who?", "--topic", "a", *agent)
    assert code == 1 and "Connection refused) (after 2 attempts)" in errors


def test_every_command_teaches_itself():
    for name in typer.main.get_command(cli.app).commands:
        result = CliRunner().invoke(cli.app, [name, "--help"])
        assert result.exit_code == 0 and "Usage" in result.output


def test_a_typing_mistake_is_blamed_on_the_command_line_and_a_files_on_the_file(tmp_path, capsys):
    (file := tmp_path / "c.yaml").write_text("questions: q\noutput_dir: o\npolicy: {model: m}\n")
    line = ["eval", "--config", file, "--graph", "g"]
    assert "error: command line: sede is" in code_and_errors(capsys, *line, "sede=1")[1]
    file.write_text("sede: 1\n")
    assert f"error: {file}: sede is" in code_and_errors(capsys, *line)[1]


def test_a_short_option_is_the_setting_that_it_stands_for():
    by_option = shared.CommandOptions(None, [], {"graph": "g", "policy.model": "7"}, frozenset())
    by_setting = shared.CommandOptions(None, ["graph=g", "policy.model='7'"], {}, frozenset())
    assert by_option.settings(models.AskConfig) == by_setting.settings(models.AskConfig)


def test_settings_are_read_at_80_columns_and_found_by_a_word(capsys):
    config.show_config("grpo")
    whole = capsys.readouterr().out
    assert "beta  float  0.001\n    Weight of the KL term" in whole
    config.show_config("grpo", search="KL term")
    found = capsys.readouterr().out
    assert "beta  float" in found and "graph  str" not in found


def test_progress_in_a_log_is_a_line_with_figures_rate_and_remaining_time(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    with console.progress("SFT") as tick:
        tick(0, 1000)
        now[0] = 61.0
        tick(61, 1000, loss=0.51234)
        now[0] = 70.0
        tick(70, 1000, loss=0.5)
    assert capsys.readouterr().err == "SFT: 61 of 1,000, 60/min, loss 0.5123, 16 min left\n"


def test_the_version_and_the_agents_are_told(capsys):
    assert (
        CliRunner().invoke(cli.app, ["--version"]).output
        == f"graphwalker {graphwalker.__version__}\n"
    )
    assert code_and_errors(capsys, "agents")[0] == 0
    cli.app(["agents", "--json"], standalone_mode=False)
    assert "graphwalker" in capsys.readouterr().out


def test_every_config_can_be_described(capsys):
    for name in models.config_models():
        config.show_config(name)
    assert "GraphWalker" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "more"),
    [("eval", ": the same command resumes it"), ("serve", ""), ("graph serve", ""), ("ask", "")],
)
def test_ctrl_c_ends_a_command_with_one_line_and_130(typed, more, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["graphwalker", *typed.split(), "--graph", "G"])
    own = typer.Typer(cls=cli.Commands)

    @own.command()
    @own.command("other")
    def stopped():
        raise KeyboardInterrupt

    assert cli.run(lambda: own(["stopped"], standalone_mode=False)) == 130
    assert capsys.readouterr().err == f"interrupted{more}\n"


ENDINGS = [
    (ModuleNotFoundError("No module named 'peft'", name="peft"), 2,
     f"error: peft is not installed: {install_extra('lora')}"),
    (OSError(errno.ENOSPC, "No space left on device", "runs/a.jsonl"), 1,
     "error: runs/a.jsonl: No space left on device; mend it, then the same command resumes"),
    (IncompleteError("2 of 8 are missing"), 3, "incomplete: 2 of 8 are missing"),
]  # fmt: skip


def fail_with(error):
    def fail():
        raise error

    return fail


@pytest.mark.parametrize(("error", "code", "line"), ENDINGS)
def test_what_ends_a_command_is_one_line(error, code, line, capsys):
    assert cli.run(fail_with(error)) == code and capsys.readouterr().err == f"{line}\n"


def test_an_unknown_error_is_not_hidden():
    with pytest.raises(ModuleNotFoundError):
        cli.run(fail_with(ModuleNotFoundError("No module named 'mine'", name="mine")))


def test_memory_is_estimated_for_a_chain_of_which_nothing_is_made_yet(tmp_path):
    path = tmp_path / "chain.yaml"
    path.write_text(
        "run: runs/x\nshared: {format: chatml}\n"
        "sft1: {model: base, data: [d], output_dir: '${run}/sft1'}\n"
        "sft2: {model: '${run}/sft1-whole', data: [d], output_dir: '${run}/sft2'}\n"
        "grpo: {model: '${run}/sft2/final', output_dir: '${run}/grpo'}\n"
    )
    for model in ("runs/x/sft2/final", "runs/x/sft1-whole", "base"):
        assert config._first_model(f"{path}#grpo", model) == "base"
    assert config._first_model(f"{path}#grpo", str(tmp_path)) == str(tmp_path)
