"""Publishing: cards that the Hub reads, what is refused, a push, and names of the Hub as paths."""

import bz2
import gzip
import io
import lzma
import shlex
import shutil
import zipfile

import huggingface_hub
import pytest

from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.agents.model_environment import write_environment
from graphwalker.cli.runs.doors import publish
from graphwalker.datasets.base import load_questions
from graphwalker.errors import GraphWalkerError, UserError
from graphwalker.files import write_json, write_jsonl
from graphwalker.graphs.open import open_graph
from graphwalker.hub.cards import CARD, write_model_card
from graphwalker.hub.publish import plan_publication, push
from support.grpo_toy import questions
from support.hub_server import hub_server

CONFIG = (
    "model: HuggingFaceTB/SmolLM2-135M\ndata: [/home/ada/synth/graphsynth.jsonl]\nlr: 1.0e-05\n"
)
EVALUATIONS = [
    {"step": step, "em": em, "em_low": em - 0.1, "em_high": em + 0.1, "em_by_question": [1, 0]}
    for step, em in ((10, 0.5), (20, 0.25))
]


@pytest.fixture
def run(tmp_path):
    """The folder of a training run, with a card."""
    folder = tmp_path / "sft"
    write_environment(folder / "final", EnvironmentConfig(), format="qwen2.5")
    write_json(folder / "final/config.json", {"model_type": "llama"})
    (folder / "final/model.safetensors").write_bytes(bytes(100))
    (folder / "config.yaml").write_text(CONFIG)
    write_json(folder / "inputs.json", {"data[0]": "0123456789abcdef0123"})
    write_jsonl(folder / "evaluations.jsonl", EVALUATIONS)
    write_model_card(folder / "final", folder, step=10)
    return folder


def test_the_card_of_a_model_is_read_by_the_hub_s_own_library(run):
    card = huggingface_hub.ModelCard((run / "final" / CARD).read_text())
    assert card.data.base_model == "HuggingFaceTB/SmolLM2-135M"
    assert card.data.eval_results[0].metric_value == 0.5  # of the step that was chosen
    assert "0.500 [0.400, 0.600]" in card.text and "graphwalker, version" in card.text
    assert "synth/graphsynth.jsonl (0123456789abcdef)" in card.text and "/home" not in card.text


def test_a_plan_lists_the_files_of_the_model_and_hides_the_rest(run):
    (run / "final/.sizes.json").write_text("{}")
    plan = plan_publication(run, "ada/agent")
    files = ["config.json", "graphwalker.json", "model.safetensors"]
    assert [name for name, _ in plan.files] == files and plan.size > 100
    assert (plan.kind, plan.repo_type) == ("model", "model")


def test_the_command_that_sends_a_folder_runs_as_it_is_printed(run, capsys):
    publish(folder := run.rename(run.parent / "my run"), "ada/agent")
    assert shlex.join(["graphwalker", "publish", str(folder), "ada/agent", "--push"]) in (
        capsys.readouterr().out
    )


@pytest.mark.parametrize("name", ["optimizer.pt", "pytorch_model.bin", "rng_state.pth"])
def test_a_trainer_s_state_is_refused(run, name):
    (run / "final" / name).touch()
    with pytest.raises(UserError, match=f"{name}: is a trainer's state"):
        plan_publication(run, "ada/agent")


TOKEN = "hf_" + "a1" * 17


def zipped(text, name="notes.txt"):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, text)
    return packed.getvalue()


HIDDEN = {
    "a token": b"token: " + TOKEN.encode(),
    "a key across two pieces": b"x" * ((1 << 22) - 5) + b" sk-proj-" + b"b2" * 12,
    "an OpenSSH key": b"-----BEGIN OPENSSH PRIVATE KEY-----",
    "the value of a variable": b"the value of a variable",
    "a fine-grained token": b"github_pat_" + b"11ABCDEFG0" * 8,
    "a Google key": b"key=AIza" + b"SyA-_9xQ" * 4 + b"abc",
    "a GitLab token": b"glpat-" + b"x1" * 10,
    "a temporary AWS key": b"ASIA" + b"Q7" * 8,
    "a PGP key": b"-----BEGIN PGP PRIVATE KEY BLOCK-----",
    "gzip": gzip.compress(TOKEN.encode()),
    "bzip2": bz2.compress(TOKEN.encode()),
    "xz": lzma.compress(TOKEN.encode()),
    "zip": zipped(TOKEN),
    "gzip in a zip": zipped(gzip.compress(TOKEN.encode())),
    "UTF-16": TOKEN.encode("utf-16"),
    "UTF-32 in gzip": gzip.compress(TOKEN.encode("utf-32-be")),
    "UTF-16 of a value": b"\xff\xfe" + "value of a variable".encode("utf-16-le"),
    "the head of weights": (90).to_bytes(8, "little") + f'{{"a":"{TOKEN}"}}'.encode(),
}


@pytest.mark.parametrize("content", HIDDEN.values(), ids=HIDDEN)
def test_a_secret_is_refused_whatever_hides_it(run, content, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "value of a variable")
    (run / "final/notes").write_bytes(content)
    with pytest.raises(UserError, match=r"final/notes: holds what looks like a secret"):
        plan_publication(run, "ada/agent")


def test_a_file_of_secrets_is_refused_by_its_name(run):
    (run / "final/.env").touch()
    with pytest.raises(UserError, match="secret"):
        plan_publication(run, "ada/agent")


def test_what_is_no_secret_is_published(run):
    for number, text in enumerate(("sk-learn and task-oriented", "AIza and hf_home", "xoxo")):
        (run / f"final/{number}.txt.gz").write_bytes(gzip.compress(text.encode("utf-16")))
    assert not plan_publication(run, "ada/agent").unread


def test_a_file_that_cannot_be_searched_is_named(run, capsys):
    (run / "final/rows.parquet").write_bytes(b"PAR1" + bytes(20))
    (run / "final/broken.gz").write_bytes(gzip.compress(TOKEN.encode())[:20])
    publish(run, "ada/agent")
    shown = capsys.readouterr().err
    assert "rows.parquet was not searched for secrets: Parquet" in shown
    assert "broken.gz was not searched for secrets: an archive" in shown


def test_a_link_out_of_the_folder_is_refused(run):
    (run / "final/other.json").symlink_to(run / "config.yaml")
    with pytest.raises(UserError, match="leads out of the folder"):
        plan_publication(run, "ada/agent")


def test_a_push_is_private_and_carries_every_file(run, monkeypatch):
    with hub_server() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        monkeypatch.setenv("HF_TOKEN", hub.token)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        plan = plan_publication(run, "ada/agent")
        assert push(plan) == f"{hub.address}/ada/agent"
        push(plan)  # once more: the same repository
        assert hub.repos == {"models/ada/agent": True}
        assert hub.files[CARD].decode() == plan.card and len(hub.files) == 1 + len(plan.files)
        hub.repos["models/ada/agent"] = False
        with pytest.raises(UserError, match="is public already"):
            push(plan)
        monkeypatch.setenv("HF_TOKEN", "hf_wrong")
        with pytest.raises(GraphWalkerError, match="401"):
            push(plan)


def test_an_adapter_over_a_folder_of_this_machine_is_refused(run):
    write_json(run / "final/adapter_config.json", {"base_model_name_or_path": str(run)})
    with pytest.raises(UserError, match="graphwalker merge"):
        plan_publication(run, "ada/agent")


@pytest.fixture
def snapshot_folder(tmp_path, toy_folder, monkeypatch):
    """The snapshot of a data set that was downloaded before."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    repo = tmp_path / "hub/datasets--ada--world"
    (repo / "refs").mkdir(parents=True)
    (repo / "refs/main").write_text("c" * 40)
    snapshot = repo / "snapshots" / ("c" * 40)
    shutil.copytree(toy_folder, snapshot / "graph")
    write_jsonl(snapshot / "questions.jsonl", [one.to_json() for one in questions()])
    return snapshot


def test_a_name_of_the_hub_stands_where_a_path_may(snapshot_folder):
    assert load_questions("ada/world") == load_questions(snapshot_folder / "questions.jsonl")
    assert open_graph("ada/world").checksum == open_graph(snapshot_folder / "graph").checksum
    assert open_graph("ada/world/graph").size
    with pytest.raises(UserError, match=r"ada/world/none: the data set of the Hub has no none"):
        open_graph("ada/world/none")


@pytest.mark.parametrize("opened", [load_questions, open_graph])
def test_a_name_that_is_not_here_says_what_fetches_it(snapshot_folder, opened):
    with pytest.raises(UserError, match="hf download --repo-type dataset ada/other"):
        opened("ada/other")


def test_what_sparql_made_of_a_graph_is_left_out(toy_folder):
    open_graph(toy_folder).sparql("ASK { ?s ?p ?o }")
    files = [path for path, _ in plan_publication(toy_folder, "ada/graph").files]
    assert "graph.gwk" in files and not [path for path in files if "sparql" in path]
