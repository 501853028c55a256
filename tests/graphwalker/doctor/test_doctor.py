"""Broken set-ups are named with the next move, before a run meets them."""

import json
import subprocess
from functools import cache
from importlib import metadata

import pytest
from typer.testing import CliRunner

from graphwalker.cli.app import app
from graphwalker.cli.runs.doctor import show_findings
from graphwalker.config import read_settings
from graphwalker.console.program import as_typed
from graphwalker.demo.check import check_chain
from graphwalker.doctor.diagnosis import wrong
from graphwalker.doctor.places import look_at_files, look_at_model, promised_gpus
from graphwalker.doctor.software import look_at_software
from graphwalker.errors import UserError, install_extra
from graphwalker.graphs.virtuoso.server import STATE
from support.commands import command
from support.http_server import QuietHandler, listening


class Empty(QuietHandler):
    """A SPARQL endpoint that is up and holds nothing."""

    def _answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = json.dumps({"head": {"vars": ["s"]}, "results": {"bindings": []}}).encode()
        self.send(200, body, "application/sparql-results+json")

    do_GET = do_POST = _answer


@pytest.fixture(autouse=True)
def nothing_promised(monkeypatch):
    for name in ("OPENAI_API_KEY", "DOCTOR_KEY", "SLURM_GPUS_ON_NODE", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def empty_endpoint():
    with listening(Empty) as address:
        yield f"{address}/sparql"


def look(capsys, *words):
    """Exit code, and (verdict, found, next) of everything that was looked at."""
    code, printed, _ = command(capsys, "doctor", *words, "--json")
    rows = json.loads(printed)
    return code, {row["what"]: (row["verdict"], row["found"], row["next"]) for row in rows}


def test_a_whole_set_up_is_fine(capsys, toy_folder, tmp_path):
    code, found = look(capsys, "--graph", toy_folder, "--out", tmp_path)
    assert "wrong" not in {verdict for verdict, _, _ in found.values()} and code == 0
    assert "entities" in found["graph"][1]


LARGER = "machine.gpu_gib=24 grpo.keep_checkpoints=9000"
EVAL = "eval --graph {graph} --out {tmp} questions=q policy.model=m "
EVAL += "policy.api.base_url=http://127.0.0.1:9/v1"
BROKEN: dict[str, tuple[str, str, str]] = {
    "a graph that is not there": ("--graph {tmp}/none", "graph", "no such file or folder"),
    "an endpoint that is down": ("--graph http://127.0.0.1:9/sparql", "graph", "refused"),
    "an endpoint that is up but empty": ("--graph {empty}", "graph", "holds no triple"),
    "a misspelt setting": ("sft lrr=3", "config", "mean lr?"),
    "a model folder without a tokenizer": ("--model {tmp}/half", "model", "lacks tokenizer.json"),
    "a model that is not there": ("--model {tmp}/none", "model", "no such folder"),
    "a folder that cannot be written": ("--out {tmp}/file/run", "disk", "cannot be written"),
    "a chat server without its key": (
        f"{EVAL} policy.api.api_key_env=DOCTOR_KEY", "policy.api's key", "DOCTOR_KEY is not set",
    ),
    "a chat server that is down": (EVAL, "policy.api", "refused"),
    "a file without a line": ("sft --out {tmp} model=m/n data=[{tmp}/file]", "data", "file: empty"),
    "a chain without its files": ("", "questions", "no such file"),
    "a chain without a key": ("", "teacher's key", "OPENAI_API_KEY is not set"),
    "a chain with a misspelt setting": ("sft1.lrr=3", "sft1", "did you mean lr?"),
    "a chain for larger GPUs": (LARGER, "grpo", "of 24 cannot hold the model"),
    "a chain whose checkpoints do not fit": (LARGER, "disk", "needed for"),
}  # fmt: skip
"""Fifteen set-ups: what is typed, the row that says what is wrong, and what it says."""


@cache
def looked_at_chain(*words):
    file = "configs/paper/graphwalker-table2.yaml"
    found = check_chain(read_settings(file, [*words]), file)
    # A stage may be named again for what else is wrong: the first row that is wrong counts.
    rows = sorted(found, key=lambda one: one.verdict == "wrong")
    return {one.what: (one.verdict, one.found, one.next) for one in rows}


def test_fifteen_broken_set_ups_are_named_with_the_next_move(
    capsys, toy_folder, tmp_path, monkeypatch, empty_endpoint
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "config.json").write_text("{}")
    (tmp_path / "file").touch()
    assert len(BROKEN) == 15
    for name, (words, what, said) in BROKEN.items():
        given = words.format(tmp=tmp_path, graph=toy_folder, empty=empty_endpoint).split()
        chain = name.startswith("a chain")
        found = looked_at_chain(*given) if chain else look(capsys, *given)[1]
        verdict, seen, move = found[what]
        assert verdict == "wrong" and said in seen and move, (name, found)


def test_a_layout_for_gpus_and_a_torch_for_cpus(capsys, monkeypatch):
    import torch

    if torch.version.cuda is not None:
        pytest.skip("this torch is built for GPUs")
    code, found = look(capsys, "--layout", "ddp")
    assert code == 1 and "layout ddp is for GPUs" in found["GPUs"][1]


def test_gpus_that_were_promised_and_are_not_there(capsys, monkeypatch):
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has the GPUs that are promised")
    monkeypatch.setenv("SLURM_GPUS_ON_NODE", "2")
    code, found = look(capsys)
    assert code == 1 and "SLURM_GPUS_ON_NODE=2" in found["GPUs"][1]
    assert "CUDA build" in found["GPUs"][2] and promised_gpus({}) == ""


@pytest.mark.parametrize(
    ("versions", "needed", "what", "said"),
    [
        ({"trl": "0.9.1"}, {"train"}, "extra train", "trl 0.9.1 (supported: "),
        ({"torch": ""}, {"train"}, "extra train", "not installed: torch"),
        ({"deepspeed": ""}, {"deepspeed"}, "extra deepspeed", "not installed: deepspeed"),
        ({"vllm": ""}, {"vllm"}, "extra vllm", "not installed: vllm"),
    ],
)
def test_packages_that_are_missing_or_out_of_range(versions, needed, what, said):
    def installed(name):
        if name in versions:
            return versions[name]
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            return ""

    found = {one.what: one for one in look_at_software(needed, installed)}
    assert found[what].verdict == "wrong" and said in found[what].found
    assert found[what].next == install_extra(what.removeprefix("extra "))


def test_what_is_typed_next_is_one_line_of_any_length(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    move = f"graphwalker graph build {'long' * 30} --out G"
    show_findings([wrong("a part", "gone", move)])
    assert f"next (a part): {as_typed(move)}\n" in capsys.readouterr().out


def test_a_model_that_comes_with_the_package_is_fine(capsys):
    assert look(capsys, "--model", "smollm2-graphwalker")[1]["model"][0] == "ok"


@pytest.mark.parametrize(
    ("file", "advice"),
    [
        ("GWBench.json", "graphwalker bench makes it"),
        ("graphroll.jsonl", "graphwalker experts makes it"),
        ("WebQSP.test.json", "download WebQSP: http"),
        ("ComplexWebQuestions_train.json", "download ComplexWebQuestions 1.1: http"),
        ("GRBench/dblp/graph.json", "download GRBench: http"),
        ("runs/paper/graphwalker-table2/a/graphroll.jsonl", "graphwalker reproduce graphwalker-ta"),
        ("mine.jsonl", "make it first, download it"),
    ],
)
def test_advice_for_a_file_that_is_not_there_fits_it(file, advice):
    (found,) = look_at_files("questions", [f"nowhere/data/{file}"])
    assert found.verdict == "wrong" and found.next.startswith(advice)


def test_a_model_that_a_chain_trains_is_said_to_be_trained_first():
    of_chain, own = (
        next(look_at_model(f"{run}/sft/final")) for run in ("runs/paper/x-y", "runs/a")
    )
    assert of_chain.next == "graphwalker reproduce x-y makes it"
    assert own.next == "train it first, or mend the path"


@pytest.fixture
def folder(tmp_path):
    """A server's folder; its process works in it, as a running server does."""
    process = subprocess.Popen(["sleep", "60"], cwd=tmp_path)
    server = {"folder": str(tmp_path), "pid": process.pid, "sql_port": 1, "http_port": 1}
    (tmp_path / STATE).write_text(json.dumps({**server, "password": "x"}))
    yield tmp_path
    process.kill()
    process.wait()


def test_down_without_isql_says_what_to_install(folder, monkeypatch):
    monkeypatch.setenv("PATH", str(folder))
    done = CliRunner().invoke(app, ["virtuoso", "down", str(folder)])
    assert isinstance(done.exception, UserError)
    assert "isql-vt not found; install it: apt-get install" in str(done.exception)
