"""Merging a LoRA run: one folder that plain transformers loads, equal to base plus adapter."""

import json
from pathlib import Path

import peft
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from graphwalker.errors import UserError
from training.models.lora import merge_adapter

IDS = [[5, 9, 40, 7, 300, 12]]


def adapted(place: Path):
    """The base model with an adapter that changes what it says."""
    base = AutoModelForCausalLM.from_pretrained(place / "model")
    torch.manual_seed(0)
    model = peft.get_peft_model(base, peft.LoraConfig(r=4, target_modules="all-linear"))
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            parameter.data.normal_(std=0.1)
    return model


@pytest.fixture(scope="module")
def run(place) -> Path:
    """What a LoRA run leaves: `final/` with an adapter and the tokenizer."""
    adapted(place).save_pretrained(place / "adapted" / "final")
    AutoTokenizer.from_pretrained(place / "model").save_pretrained(place / "adapted" / "final")
    return place / "adapted"


def test_a_merged_folder_says_what_base_and_adapter_say_and_holds_no_adapter(run, tmp_path):
    out = merge_adapter(run, tmp_path / "merged")
    merged = AutoModelForCausalLM.from_pretrained(out)
    ids = torch.tensor(IDS)
    with torch.no_grad():
        theirs, ours = adapted(run.parent)(ids).logits, merged(ids).logits
        base = AutoModelForCausalLM.from_pretrained(run.parent / "model")(ids).logits
    assert float((ours - theirs).abs().max()) < 1e-5 < 0.01 < float((ours - base).abs().max())
    files = {path.name for path in out.iterdir()}
    assert files >= {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert not any("adapter" in name or name.endswith((".bin", ".pt")) for name in files)
    text = '<think>I look.</think>\n<kg-query>get_relations("Anna")</kg-query>'
    tokenizers = [AutoTokenizer.from_pretrained(folder) for folder in (out, run.parent / "model")]
    assert tokenizers[0](text).input_ids == tokenizers[1](text).input_ids


def test_the_merged_weights_keep_the_type_of_the_base(run, tmp_path):
    base = AutoModelForCausalLM.from_pretrained(run.parent / "model", dtype=torch.bfloat16)
    base.save_pretrained(tmp_path / "base")
    final = tmp_path / "run" / "final"
    adapted(run.parent).save_pretrained(final)
    facts = json.loads((final / "adapter_config.json").read_text())
    facts["base_model_name_or_path"] = str(tmp_path / "base")
    (final / "adapter_config.json").write_text(json.dumps(facts))
    AutoTokenizer.from_pretrained(run.parent / "model").save_pretrained(tmp_path / "base")
    merged = AutoModelForCausalLM.from_pretrained(
        merge_adapter(tmp_path / "run", tmp_path / "out"), dtype="auto"
    )
    assert {parameter.dtype for parameter in merged.parameters()} == {torch.bfloat16}


def test_what_cannot_be_merged_is_named(run, tmp_path):
    whole, gone = tmp_path / "run" / "final", tmp_path / "gone" / "final"
    AutoModelForCausalLM.from_pretrained(run.parent / "model").save_pretrained(whole)
    gone.mkdir(parents=True)
    facts = {"base_model_name_or_path": "/gone/base", "peft_type": "LORA"}
    (gone / "adapter_config.json").write_text(json.dumps(facts))
    for folder, out, message in (
        (whole.parent, tmp_path / "out", "whole model already"),
        (gone.parent, tmp_path / "out", "/gone/base: no such folder"),
        (run, tmp_path, "exists already"),
    ):
        with pytest.raises(UserError, match=message):
            merge_adapter(folder, out)
