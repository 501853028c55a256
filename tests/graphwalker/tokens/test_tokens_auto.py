"""`format: auto`: the layout of the tokenizer's chat template, or a refusal that names it."""

import pytest

from graphwalker.errors import UserError
from graphwalker.tokens.auto import resolve_format
from graphwalker.tokens.formats import chat_format
from support.engine_toy import CHATML
from support.token_kinds import byte_level

# As the models' own files have them, in few words: Llama 3, SmolLM2.
LLAMA3 = (
    "{% for m in messages %}{% if loop.first %}{{ '<|begin_of_text|>' }}{% endif %}"
    "{{ '<|start_header_id|>' + m.role + '<|end_header_id|>\n\n' + m.content | trim }}"
    "{{ '<|eot_id|>' }}{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"
)
SMOLLM2 = (
    "{% if messages[0].role != 'system' %}{{ '<|im_start|>system\nBe Smol.<|im_end|>\n' }}"
    "{% endif %}" + CHATML
)
# It drops what an agent thought before the last message: sampled ids could not be kept.
FORGETS = CHATML.replace(
    "m.content", "(m.content if loop.last else m.content.split('</think>')[-1])"
)


@pytest.fixture(scope="module")
def tokenizer():
    return byte_level()


def resolved(tokenizer, template):
    tokenizer.chat_template = template
    return resolve_format("auto", tokenizer, "runs/model")


def test_a_known_layout_is_recognised_by_what_its_template_writes(tokenizer):
    assert resolved(tokenizer, CHATML) == "chatml"
    assert resolved(tokenizer, LLAMA3) == "llama3"


def test_another_layout_is_read_off_and_keeps_its_own_system_message(tokenizer):
    found = resolved(tokenizer, SMOLLM2)
    assert chat_format(found).default_system == "<|im_start|>system\nBe Smol.<|im_end|>\n"
    assert chat_format(found).end_of_turn == "<|im_end|>"


def test_a_template_that_cannot_be_reproduced_is_refused_with_the_setting(tokenizer):
    with pytest.raises(UserError, match=r"runs/model: .* id for id .*: set format to"):
        resolved(tokenizer, FORGETS)


def test_a_tokenizer_without_a_template_is_refused_with_the_setting(tokenizer):
    with pytest.raises(UserError, match="no chat template: set format to one of chatml"):
        resolved(tokenizer, None)


def test_a_tiny_models_template_is_the_inline_layout():
    from training.tiny.make import make_tokenizer

    tokenizer = make_tokenizer(["<think> Anna has spouses. </think>"] * 9, ["film.genre"], 400)
    assert resolve_format("auto", tokenizer, "tiny") == "inline"
