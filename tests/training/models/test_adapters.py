"""An adapter and its base belong together or are refused in one line, and merge into one folder."""

import logging
import shutil
from pathlib import Path

import peft
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from graphwalker.agents.model_environment import write_environment
from graphwalker.agents.policies import load_policy
from graphwalker.errors import UserError
from graphwalker.files import read_json
from graphwalker.policies.config import PolicyConfig
from graphwalker.pretrained.adapters import weights_digest
from graphwalker.pretrained.load import check_pretrained, read_tokenizer
from support.commands import run
from support.grpo_toy import SMALL
from support.hostile_models import edit
from support.poison import refusal
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
    ask = ["ask", "Which land is Ada Mbeki of?", "--topic", "Ada Mbeki", "--model", adapter,
           "--graph", grpo_world / "graph"]  # fmt: skip
    merge = ["merge", adapter, "--out", adapter.parent / "merged"]
    for line in (ask, merge):
        assert "other weights" in refusal(*line)
        run(*line, "--force-base")


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


@pytest.fixture
def impatient(monkeypatch):
    """Two seconds in place of eight: what they are spent on never ends."""
    monkeypatch.setattr("graphwalker.pretrained.rehearsal.ADAPT_S", 2.0)


HOSTILE, SLOW = "(.*)*(.*)*(.*)*(.*)*x", "takes (?:more|longer) than .* s"
UNFIT = [
    ({"r": 8}, r"lora_A.weight has the shape \(4, .*of another base"),
    ({"target_modules": ["c_attn"]}, "laying this adapter over .* fails .*Target modules"),
    ({"megatron_config": {}, "megatron_core": "evil"}, "names code to run .megatron_core: evil"),
    ({"base_model_name_or_path": "o/b"}, "o/b: no such folder, nor a Hub .*hf download o/b"),
    ({"target_modules": HOSTILE}, SLOW),
]


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(("change", "said"), UNFIT, ids=lambda value: next(iter(value)))
def test_an_adapter_whose_settings_do_not_fit_is_refused(adapter, change, said):
    edit(adapter / "adapter_config.json", **change)
    refused(adapter, said)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("change", [{"exclude_modules": HOSTILE}, {"rank_pattern": {HOSTILE: 2}}])
def test_a_hostile_pattern_elsewhere_ends_at_once_too(adapter, change):
    edit(adapter / "adapter_config.json", **change)
    with pytest.raises(UserError, match=SLOW):
        check_pretrained(str(adapter))


def test_an_adapter_with_another_tokenizer_is_refused(base, adapter):
    AutoTokenizer.from_pretrained(base).save_pretrained(adapter)
    model = read_json(adapter / "tokenizer.json")["model"]
    one, two = sorted(model["vocab"])[:2]
    model["vocab"] |= {one: model["vocab"][two], two: model["vocab"][one]}
    edit(adapter / "tokenizer.json", model=model)
    refused(adapter, "its tokenizer is not that of")


@pytest.mark.long
def test_a_vocabulary_as_large_as_those_of_qwen_and_llama_has_its_time(base, tmp_path):
    parts = read_json(base / "tokenizer.json")["model"]
    first = max(parts["vocab"].values()) + 1000  # after the added tokens
    words = {f"{n:b}": first + n for n in range(150_000)}
    parts["merges"] += [[word[:-1], word[-1]] for word in words if len(word) > 1]
    edit(base / "tokenizer.json", model={**parts, "vocab": {**words, **parts["vocab"]}})
    grown = AutoModelForCausalLM.from_pretrained(base)
    grown.resize_token_embeddings(first + len(words), mean_resizing=False)
    grown.save_pretrained(base)
    made = peft.get_peft_model(grown, peft.LoraConfig(r=4, target_modules="all-linear"))
    made.save_pretrained(tmp_path / "adapter", save_embedding_layers=False)
    AutoTokenizer.from_pretrained(base).save_pretrained(tmp_path / "adapter")
    assert check_pretrained(str(tmp_path / "adapter")) == tmp_path / "adapter"


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
        record = read_json(folder / "graphwalker.json")
        assert record["base_weights"] == weights_digest(place / "model")
    assert load_policy(PolicyConfig(model=str(final))).name == "run/final"


IDS = [[5, 9, 40, 7, 300, 12]]


def adapted(place: Path):
    base = AutoModelForCausalLM.from_pretrained(place / "model")
    torch.manual_seed(0)
    model = peft.get_peft_model(base, peft.LoraConfig(r=4, target_modules="all-linear"))
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            parameter.data.normal_(std=0.1)
    return model


@pytest.fixture(scope="module")
def adapted_run(place) -> Path:
    adapted(place).save_pretrained(place / "adapted" / "final")
    AutoTokenizer.from_pretrained(place / "model").save_pretrained(place / "adapted" / "final")
    return place / "adapted"


def test_a_merged_folder_says_what_base_and_adapter_say_and_holds_no_adapter(adapted_run, tmp_path):
    out = merge_adapter(adapted_run, tmp_path / "merged")
    merged = AutoModelForCausalLM.from_pretrained(out)
    ids = torch.tensor(IDS)
    with torch.no_grad():
        theirs, ours = adapted(adapted_run.parent)(ids).logits, merged(ids).logits
        base = AutoModelForCausalLM.from_pretrained(adapted_run.parent / "model")(ids).logits
    assert float((ours - theirs).abs().max()) < 1e-5 < 0.01 < float((ours - base).abs().max())
    files = {path.name for path in out.iterdir()}
    assert files >= {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert not any("adapter" in name or name.endswith((".bin", ".pt")) for name in files)
    text = '<think>I look.</think>\n<kg-query>get_relations("Anna")</kg-query>'
    tokenizers = [
        AutoTokenizer.from_pretrained(folder) for folder in (out, adapted_run.parent / "model")
    ]
    assert tokenizers[0](text).input_ids == tokenizers[1](text).input_ids


def test_the_merged_weights_keep_the_type_of_the_base(adapted_run, tmp_path):
    base = AutoModelForCausalLM.from_pretrained(adapted_run.parent / "model", dtype=torch.bfloat16)
    base.save_pretrained(tmp_path / "base")
    final = tmp_path / "run" / "final"
    adapted(adapted_run.parent).save_pretrained(final)
    edit(final / "adapter_config.json", base_model_name_or_path=str(tmp_path / "base"))
    AutoTokenizer.from_pretrained(adapted_run.parent / "model").save_pretrained(tmp_path / "base")
    out = merge_adapter(tmp_path / "run", tmp_path / "out")
    merged = AutoModelForCausalLM.from_pretrained(out, dtype="auto")
    assert {parameter.dtype for parameter in merged.parameters()} == {torch.bfloat16}


def test_what_cannot_be_merged_is_named(adapted_run, tmp_path):
    whole = tmp_path / "run" / "final"
    AutoModelForCausalLM.from_pretrained(adapted_run.parent / "model").save_pretrained(whole)
    with pytest.raises(UserError, match="whole model already"):
        merge_adapter(whole.parent, tmp_path / "out")
    with pytest.raises(UserError, match="exists already"):
        merge_adapter(adapted_run, tmp_path)
