"""An adapter and its base belong together, or are refused in one line."""

import json
import logging
import shutil
from pathlib import Path

import peft
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from typer.testing import CliRunner

from graphwalker.agents.model_environment import write_environment
from graphwalker.agents.policies import load_policy
from graphwalker.cli.app import app
from graphwalker.errors import UserError
from graphwalker.policies.config import PolicyConfig
from graphwalker.pretrained.adapters import weights_digest
from graphwalker.pretrained.load import check_pretrained, read_tokenizer
from support.grpo_toy import SMALL
from support.hostile_models import edit
from support.run_toys import sft_config
from training.models.lora import merge_adapter
from training.sft import run_sft


@pytest.fixture
def base(grpo_world, tmp_path) -> Path:
    return Path(shutil.copytree(grpo_world / "model", tmp_path / "base"))


@pytest.fixture
def adapter(base, tmp_path) -> Path:
    """An adapter as peft leaves it, without a tokenizer, that says what it was trained on."""
    settings = peft.LoraConfig(r=4, target_modules="all-linear")
    made = peft.get_peft_model(AutoModelForCausalLM.from_pretrained(base), settings)
    made.save_pretrained(tmp_path / "adapter")
    digest = weights_digest(base)
    write_environment(tmp_path / "adapter", SMALL, format="inline", base_weights=digest)
    return tmp_path / "adapter"


def train_again(base: Path) -> None:
    """Other weights of the same shape at the same place."""
    model = AutoModelForCausalLM.from_pretrained(base)
    with torch.no_grad():
        model.model.norm.weight.add_(0.25)
    model.save_pretrained(base)


def refused(adapter: Path, words: str) -> None:
    with pytest.raises(UserError, match=words) as error:
        check_pretrained(str(adapter))
    assert "\n" not in str(error.value)
    with pytest.raises(UserError, match=words):
        merge_adapter(adapter, adapter.parent / "merged")


def test_shards_of_the_same_weights_have_one_digest_and_other_weights_another(base, tmp_path):
    whole, cut = weights_digest(base), tmp_path / "cut"
    AutoModelForCausalLM.from_pretrained(base).save_pretrained(cut, max_shard_size="100KB")
    assert len(list(cut.glob("*.safetensors"))) > 1 and weights_digest(cut) == whole
    train_again(base)
    assert weights_digest(base) != whole


def test_a_digest_is_taken_once_for_the_same_file(base, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = weights_digest(base)
    (kept,) = (tmp_path / "cache").rglob("*.json")
    edit(kept, digest="from the cache")
    assert weights_digest(base) == "from the cache" != found
    train_again(base)
    assert weights_digest(base) not in ("from the cache", found)


def test_a_base_that_was_trained_again_is_refused_unless_it_is_forced(base, adapter):
    assert check_pretrained(str(adapter)) == adapter
    train_again(base)
    refused(adapter, "other weights .*--force-base .policy.force_base=true")
    forced = PolicyConfig(model=str(adapter), format="inline", force_base=True)
    assert load_policy(forced).name == "adapter"
    assert merge_adapter(adapter, adapter.parent / "merged", force_base=True).is_dir()


def test_ask_and_merge_take_force_base(base, adapter, grpo_world):
    train_again(base)
    ask = ["ask", "Which land is Ada Mbeki of?", "--topic", "Ada Mbeki", "--model", str(adapter),
           "--graph", str(grpo_world / "graph")]  # fmt: skip
    merge = ["merge", str(adapter), "--out", str(adapter.parent / "merged")]
    for line in (ask, merge):
        assert "other weights" in str(CliRunner().invoke(app, line).exception)
        assert CliRunner().invoke(app, [*line, "--force-base"]).exit_code == 0


def test_an_adapter_that_records_nothing_is_run_with_one_warning(adapter, caplog):
    (adapter / "graphwalker.json").unlink()
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            check_pretrained(str(adapter))
    assert sum("does not say which weights" in line for line in caplog.messages) == 1


def test_an_adapter_of_a_tiny_model_without_a_tokenizer_has_that_of_its_base(base, adapter):
    assert read_tokenizer(str(adapter)).get_vocab() == read_tokenizer(str(base)).get_vocab()
    AutoTokenizer.from_pretrained(base).save_pretrained(adapter)
    assert load_policy(PolicyConfig(model=str(adapter), format="inline")).name == "adapter"


def test_an_adapter_of_other_shapes_is_refused(base, adapter):
    edit(adapter / "adapter_config.json", r=8)
    refused(adapter, r"lora_A.weight has the shape \(4, .*of another base")


def test_an_adapter_of_another_model_is_refused(base, adapter):
    edit(adapter / "adapter_config.json", target_modules=["c_attn"])
    refused(adapter, "laying this adapter over .* fails .*Target modules")


def test_an_adapter_with_another_tokenizer_is_refused(base, adapter):
    tokenizer = AutoTokenizer.from_pretrained(base)
    tokenizer.save_pretrained(adapter)
    text = (adapter / "tokenizer.json").read_text()
    held = json.loads(text)["model"]["vocab"]
    one, two = sorted(held)[:2]
    swapped = {**held, one: held[two], two: held[one]}
    (adapter / "tokenizer.json").write_text(
        json.dumps({**json.loads(text), "model": {**json.loads(text)["model"], "vocab": swapped}})
    )
    refused(adapter, "its tokenizer is not that of")


@pytest.mark.parametrize("key", ["target_modules", "exclude_modules", "rank_pattern"])
def test_a_hostile_pattern_of_an_adapter_ends_at_once(base, adapter, key):
    pattern = "(.*)*(.*)*(.*)*(.*)*x"
    edit(adapter / "adapter_config.json", **{key: {pattern: 2} if "rank" in key else pattern})
    refused(adapter, "takes more than .* s of computing")


def test_an_adapter_may_name_no_module_to_import(base, adapter):
    edit(adapter / "adapter_config.json", megatron_config={}, megatron_core="evil")
    refused(adapter, "names code to run .megatron_core: evil")


def test_a_base_on_the_hub_that_is_not_here_is_named(base, adapter):
    edit(adapter / "adapter_config.json", base_model_name_or_path="owner/base")
    refused(adapter, "owner/base: no such folder, nor a Hub model .*hf download owner/base")


def test_an_adapter_of_an_adapter_and_a_folder_with_both_are_refused(base, adapter, tmp_path):
    upper = Path(shutil.copytree(adapter, tmp_path / "upper"))
    edit(upper / "adapter_config.json", base_model_name_or_path=str(adapter))
    refused(upper, "is an adapter, too")
    shutil.copy(base / "config.json", adapter)
    refused(adapter, "holds a model and an adapter")


def test_pickled_weights_of_an_adapter_are_refused(base, adapter):
    (adapter / "adapter_model.safetensors").rename(adapter / "adapter_model.bin")
    refused(adapter, "adapter_model.bin: pickled weights can run code")


def test_vllm_names_where_an_adapter_is_given(base, adapter):
    with pytest.raises(UserError, match=r"give its base as policy.model and policy.vllm.lora="):
        load_policy(PolicyConfig(model=str(adapter), engine="vllm"))


def test_training_records_the_weights_of_the_base(place, tmp_path):
    lora = {"r": 4, "alpha": 8}
    config = sft_config(place, tmp_path / "run", lora=lora, max_steps=1, save_steps=1)
    final = run_sft(config)
    for folder in (final, tmp_path / "run" / "checkpoint-1"):
        record = json.loads((folder / "graphwalker.json").read_text())
        assert record["base_weights"] == weights_digest(place / "model")
    assert load_policy(PolicyConfig(model=str(final))).name == "run/final"
