"""A model folder is data: none of it runs, and what is wrong with it is one line, at once."""

import ast
from pathlib import Path

import pytest
from typer.testing import CliRunner

from graphwalker.cli.app import app
from graphwalker.errors import UserError
from graphwalker.pretrained.folders import refuse_foreign_modules
from graphwalker.pretrained.load import check_pretrained, read_model
from support.code import label, nodes_of, sources
from support.hostile_models import FOLDERS, LOOP, TEMPLATES, copy_model, edit, template
from support.run_toys import sft_config
from training.models.lora import merge_adapter
from training.sft import run_sft

COMMANDS = ("eval", "ask", "serve")


def refusal(command, world, model):
    """What a command says of a model, with `y` for every question that it might ask."""
    words = {
        "eval": ["--questions", f"{world}/questions.jsonl", "--count", "1", "--out", "out"],
        "ask": ["Which land is Ada Mbeki of?", "--topic", "Ada Mbeki"],
        "serve": ["--port", "0"],
    }[command]
    line = [command, *words, "--graph", str(world / "graph"), "--model", str(model)]
    done = CliRunner().invoke(app, line, input="y\n" * 9)
    assert isinstance(done.exception, UserError), (done.output, done.exception)
    return str(done.exception)


@pytest.fixture(autouse=True)
def nothing_ran(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    yield
    assert not Path("RAN").exists()


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_that_runs_code_or_does_not_fit_is_refused_in_one_line(grpo_world, name):
    change, said = FOLDERS[name]
    folder = copy_model(grpo_world / "model", Path("hostile"), change)
    with pytest.raises(UserError, match=said) as refused:
        read_model(str(folder))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_takes_a_model_refuses_code(grpo_world, command):
    change, said = FOLDERS["a tokenizer's code"]
    folder = copy_model(grpo_world / "model", Path("hostile"), change)
    assert said in refusal(command, grpo_world, folder)


def test_training_and_merging_refuse_code_too(grpo_world, tmp_path):
    change, said = FOLDERS["a config's code"]
    folder = copy_model(grpo_world / "model", tmp_path / "hostile", change)
    Path("walks.jsonl").touch()
    with pytest.raises(UserError, match=said):
        run_sft(sft_config(tmp_path, tmp_path / "run", model=str(folder)))
    Path("adapter").mkdir()
    edit(Path("adapter/adapter_config.json"), base_model_name_or_path=str(folder))
    with pytest.raises(UserError, match=said):
        merge_adapter(Path("adapter"), tmp_path / "merged")


@pytest.mark.parametrize("text", TEMPLATES)
def test_a_template_that_does_not_end_or_breaks_is_refused_in_one_line(grpo_world, text):
    from graphwalker.agents.policies import load_policy
    from graphwalker.policies.config import PolicyConfig

    folder = copy_model(grpo_world / "model", Path("hostile"), template(text))
    with pytest.raises(UserError, match=TEMPLATES[text]) as refused:
        load_policy(PolicyConfig(model=str(folder)))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_renders_a_template_without_end(grpo_world, command):
    folder = copy_model(grpo_world / "model", Path("hostile"), template(LOOP))
    assert "takes more than 1 s" in refusal(command, grpo_world, folder)


def test_a_template_of_ones_own_that_does_not_end_is_refused(tmp_path):
    from graphwalker.tokens.formats import chat_format

    (tmp_path / "t.jinja").write_text(LOOP)
    with pytest.raises(UserError, match=r"template t.jinja takes more than 1 s"):
        chat_format({"template": "t.jinja", "end_of_turn": "<|im_end|>"})


def test_an_entry_that_names_nothing_is_no_code(grpo_world):
    folder = grpo_world / "model"
    assert '"AutoTokenizer": [' in (folder / "tokenizer_config.json").read_text()
    assert check_pretrained(str(folder)) == folder


def test_a_sentence_encoder_may_not_bring_a_class(tmp_path):
    (tmp_path / "modules.json").write_text('[{"type": "evil.X"}]')
    with pytest.raises(UserError, match=r"names code to run .type: evil.X"):
        refuse_foreign_modules(tmp_path)


def test_a_file_of_gguf_names_what_runs_it(tmp_path):
    (tmp_path / "small.gguf").touch()
    with pytest.raises(UserError, match=r"llama-server -m small.gguf.*graphwalker model get"):
        check_pretrained("small.gguf")


DOOR = "graphwalker/pretrained/"
LOADS = {"from_pretrained", "from_config", "load_adapter", "SentenceTransformer", "load_file"}


def test_nothing_is_loaded_outside_the_door():
    for path in (path for path in sources() if not label(path).startswith(DOOR)):
        for node in nodes_of(path):
            if isinstance(node, ast.Call):
                called = getattr(node.func, "attr", getattr(node.func, "id", ""))
                assert called not in LOADS, f"{label(path)}: {called}"
                whole = ast.unparse(node.func) if called == "load" else ""
                assert whole not in ("torch.load", "pickle.load"), f"{label(path)}: {whole}"


def test_code_is_never_trusted():
    for path in sources():
        for node in nodes_of(path):
            if isinstance(node, ast.keyword) and node.arg == "trust_remote_code":
                assert ast.unparse(node.value) == "False", label(path)
