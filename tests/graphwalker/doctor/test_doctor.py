"""Broken set-ups are named with the next move, before a run meets them."""

import json
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from graphwalker.cli.app import app, run
from graphwalker.doctor.places import promised_gpus
from graphwalker.doctor.software import look_at_software
from support.backends import write
from support.http_server import QuietHandler, listening
from support.toy import TOY_NAMES, TOY_TRIPLES, TOY_TYPES


class Empty(QuietHandler):
    """A SPARQL endpoint that is up and holds nothing."""

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = json.dumps({"head": {"vars": ["s"]}, "results": {"bindings": []}}).encode()
        self.send(200, body, "application/sparql-results+json")

    do_GET = do_POST = _answer


@pytest.fixture(scope="module")
def empty_endpoint() -> Iterator[str]:
    with listening(Empty) as address:
        yield f"{address}/sparql"


@pytest.fixture(scope="module")
def graph(tmp_path_factory) -> str:
    from graphwalker.graphs.build.build import build_graph

    folder = tmp_path_factory.mktemp("toy")
    build_graph([write(folder / "source", TOY_TRIPLES, TOY_NAMES, TOY_TYPES)], folder / "graph")
    return str(folder / "graph")


def look(capsys, *words: str) -> tuple[int, dict[str, tuple[str, str, str]]]:
    """Exit code, and (verdict, found, next) of everything that was looked at."""
    ended: list[int | None] = []
    assert run(lambda: ended.append(app(["doctor", *words, "--json"], standalone_mode=False))) == 0
    rows = json.loads(capsys.readouterr().out)
    return ended[0] or 0, {row["what"]: (row["verdict"], row["found"], row["next"]) for row in rows}


def test_a_whole_set_up_is_fine(capsys, graph, tmp_path, monkeypatch):
    for name in ("SLURM_GPUS_ON_NODE", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    code, found = look(capsys, "--graph", graph, "--out", str(tmp_path))
    assert "wrong" not in {verdict for verdict, _, _ in found.values()} and code == 0
    assert "entities" in found["graph"][1]


def test_a_graph_that_is_not_there(capsys, tmp_path):
    code, found = look(capsys, "--graph", str(tmp_path / "none"))
    assert code == 1 and found["graph"][0] == "wrong" and "graph build" in found["graph"][2]


def test_an_endpoint_that_is_down(capsys):
    code, found = look(capsys, "--graph", "http://127.0.0.1:9/sparql")
    assert code == 1 and found["graph"][0] == "wrong" and "refused" in found["graph"][1]


def test_an_endpoint_that_is_up_but_empty(capsys, empty_endpoint):
    code, found = look(capsys, "--graph", empty_endpoint)
    assert code == 1 and "holds no triple" in found["graph"][1]


def test_a_misspelt_setting(capsys):
    code, found = look(capsys, "sft", "lrr=3")
    assert code == 1 and found["config"][0] == "wrong" and "mean lr?" in found["config"][1]


def test_a_model_folder_without_a_tokenizer(capsys, tmp_path):
    (tmp_path / "config.json").write_text("{}")
    code, found = look(capsys, "--model", str(tmp_path))
    assert code == 1 and "lacks tokenizer.json, *.safetensors" in found["model"][1]


def test_a_model_that_is_not_there(capsys, tmp_path):
    code, found = look(capsys, "--model", str(tmp_path / "none"))
    assert code == 1 and "no such folder" in found["model"][1]


def test_a_chat_server_without_its_key_and_one_that_is_down(capsys, graph, monkeypatch, tmp_path):
    monkeypatch.delenv("DOCTOR_KEY", raising=False)
    words = ["policy.model=m", "policy.api.base_url=http://127.0.0.1:9/v1"]
    words += ["policy.api.api_key_env=DOCTOR_KEY", "questions=q.jsonl"]
    code, found = look(capsys, "eval", "--graph", graph, "--out", str(tmp_path), *words)
    assert code == 1 and found["policy.api's key"][:2] == ("wrong", "DOCTOR_KEY is not set")
    assert found["policy.api"][0] == "wrong"
    monkeypatch.setenv("DOCTOR_KEY", "sk-secret")
    _, found = look(capsys, "eval", "--graph", graph, "--out", str(tmp_path), *words)
    assert found["policy.api's key"][0] == "ok" and "sk-secret" not in json.dumps(found)


def test_a_folder_that_cannot_be_written(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    code, found = look(capsys, "--out", str(tmp_path / "file" / "run"))
    assert code == 1 and found["disk"][0] == "wrong"


def test_files_that_are_missing_or_empty(capsys, graph, tmp_path):
    (tmp_path / "empty.jsonl").touch()
    words = ["model=m/n", f"data=[{tmp_path}/empty.jsonl,{tmp_path}/none.jsonl]"]
    code, found = look(capsys, "sft", "--out", str(tmp_path), *words)
    assert code == 1 and "none.jsonl: no such file" in found["data"][1]
    assert "empty.jsonl: empty" in found["data"][1]
    words = ["model=m/n", "questions=q.jsonl"]
    code, found = look(capsys, "grpo", "--graph", graph, "--out", str(tmp_path), *words)
    assert code == 1 and found["questions"][0] == "wrong"


def test_a_layout_for_gpus_and_a_torch_for_cpus(capsys, monkeypatch):
    torch = pytest.importorskip("torch")
    if torch.version.cuda is not None:
        pytest.skip("this torch is built for GPUs")
    for name in ("SLURM_GPUS_ON_NODE", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    code, found = look(capsys, "--layout", "ddp")
    assert code == 1 and "layout ddp is for GPUs" in found["GPUs"][1]


def test_what_is_typed_next_is_never_cut(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    run(lambda: app(["doctor"], standalone_mode=False))
    assert "…" not in capsys.readouterr().out


def test_gpus_that_were_promised_and_are_not_there(capsys, monkeypatch):
    torch = pytest.importorskip("torch")
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
    def installed(name: str) -> str:
        if name in versions:
            return versions[name]
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            return ""

    found = {one.what: one for one in look_at_software(needed, installed)}
    assert found[what].verdict == "wrong" and said in found[what].found
    assert "pip install 'graphwalker-kgqa[" in found[what].next


def test_what_no_stage_needs_is_only_noted():
    def nothing(name: str) -> str:
        return ""

    assert {one.verdict for one in look_at_software(set(), nothing)} == {"ok", "note"}


def test_the_stages_settings_say_what_is_needed(capsys, graph, tmp_path):
    words = ["model=m/n", "questions=q.jsonl", "--layout", "zero3", "engine=vllm"]
    _, found = look(capsys, "grpo", "--graph", graph, "--out", str(tmp_path), *words)
    if not _installed("vllm"):
        assert found["extra vllm"][0] == "wrong"
    assert found["extra deepspeed"][0] == ("ok" if _installed("deepspeed") else "wrong")
    assert Path(graph).exists()


def _installed(name: str) -> bool:
    try:
        return bool(metadata.version(name))
    except metadata.PackageNotFoundError:
        return False
