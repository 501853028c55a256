"""Chat formats against the models' own templates, over several kinds of tokenizers."""

import jinja2
import pytest

from graphwalker.errors import UserError
from graphwalker.tokens.auto import resolve_format
from graphwalker.tokens.formats import FORMATS, chat_format
from graphwalker.tokens.segments import extension_ids, prompt_ids, segment_messages
from graphwalker.trajectory import Message
from support.engine_toy import CHATML
from support.token_kinds import CUSTOM, byte_level, text_of

# What the models' chat templates write for messages without tools, as their tokenizer_config.json
# files have it (Qwen2.5-7B-Instruct, Qwen3-8B, Llama-3.1-8B-Instruct), told in few words.
QWEN25 = """\
{%- if messages[0].role != 'system' -%}
<|im_start|>system
You are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>{{ '\\n' }}
{%- endif -%}
{%- for m in messages -%}
{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif -%}
"""
QWEN3 = """\
{%- set ns = namespace(searching=true, query=messages|length - 1) -%}
{%- for m in messages[::-1] -%}
{%- if ns.searching and m.role == 'user' -%}
{%- set ns.searching = false %}{% set ns.query = messages|length - 1 - loop.index0 -%}
{%- endif -%}
{%- endfor -%}
{%- for m in messages -%}
{%- if m.role == 'tool' -%}
{{ '<|im_start|>user\\n<tool_response>\\n' + m.content + '\\n</tool_response><|im_end|>\\n' }}
{%- elif m.role == 'assistant' -%}
{%- set thought = '' %}{% set content = m.content -%}
{%- if '</think>' in content -%}
{%- set thought = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') -%}
{%- set content = content.split('</think>')[-1].lstrip('\\n') -%}
{%- endif -%}
{{ '<|im_start|>assistant\\n' }}
{%- if loop.index0 > ns.query and (loop.last or thought) -%}
{{ '<think>\\n' + thought.strip('\\n') + '\\n</think>\\n\\n' }}
{%- endif -%}
{{ content + '<|im_end|>\\n' }}
{%- else -%}
{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif -%}
"""
LLAMA31 = """\
{{- bos_token }}
{%- set system = '' -%}
{%- if messages[0].role == 'system' -%}
{%- set system = messages[0].content|trim %}{% set messages = messages[1:] -%}
{%- endif -%}
{{ '<|start_header_id|>system<|end_header_id|>\\n\\nCutting Knowledge Date: December 2023\\n' }}
{{- 'Today Date: 26 Jul 2024\\n\\n' + system + '<|eot_id|>' }}
{%- for m in messages -%}
{{ '<|start_header_id|>' + m.role + '<|end_header_id|>\\n\\n' + m.content|trim + '<|eot_id|>' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif -%}
"""
THINKS = '<think>\nAnna has spouses.\n</think>\n\n<kg-query> get_relations("Anna") </kg-query>'
ANSWERS = '<think>\nBob.\n</think>\n\n<answer> ["Bob"] </answer>'
ASKED = [Message("system", "Walk."), Message("user", "Who?")]
WALKED = [*ASKED, Message("assistant", THINKS), Message("user", "Bob")]
WALKED.append(Message("assistant", ANSWERS))


def rendered(template, messages, open_turn=False, tools=False):
    said = False
    spoken = []
    for message in messages:
        tool = tools and said and message.role == "user"
        spoken.append({"role": "tool" if tool else message.role, "content": message.content})
        said = said or message.role == "assistant"
    written = jinja2.Environment(trim_blocks=True, lstrip_blocks=True).from_string(template)
    opens = {"bos_token": "<|begin_of_text|>", "add_generation_prompt": open_turn}
    return written.render(messages=spoken, **opens)


TEMPLATES = [("qwen2.5", QWEN25, False), ("qwen3", QWEN3, True), ("llama3.1", LLAMA31, False)]
CASES = [(*template, start) for template in TEMPLATES for start in (0, 1)]  # with a system message
every_template = pytest.mark.parametrize(("name", "template", "tools", "start"), CASES)


@every_template
def test_a_conversation_reads_as_the_models_template_writes_it(
    name, template, tools, start, chat_tokenizer
):
    fmt, messages = FORMATS[name], WALKED[start:]
    segments = segment_messages(messages, fmt, chat_tokenizer)
    ours = text_of([i for s in segments for i in s.ids], chat_tokenizer) + fmt.after_turn
    assert ours == rendered(template, messages, tools=tools)


@every_template
@pytest.mark.parametrize("length", [2, 4])
def test_a_prompt_reads_as_the_models_template_opens_a_turn(
    name, template, tools, start, length, chat_tokenizer
):
    messages = WALKED[start:length]
    ours = text_of(prompt_ids(messages, FORMATS[name], chat_tokenizer), chat_tokenizer)
    assert ours == rendered(template, messages, open_turn=True, tools=tools)


def qwen3_text(messages, tokenizer):
    segments = segment_messages(messages, FORMATS["qwen3"], tokenizer)
    return text_of([i for s in segments for i in s.ids], tokenizer)


def test_our_thoughts_are_written_as_qwen3s_template_writes_them(chat_tokenizer):
    look = '<think> Anna has spouses. </think>\n<kg-query> get_relations("Anna") </kg-query>'
    say = '<think> Bob. </think>\n<answer> ["Bob"] </answer>'
    first, second = (Message("assistant", text) for text in (look, say))
    ours = qwen3_text([*ASKED, first, WALKED[3], second], chat_tokenizer)
    assert ours + "\n" == rendered(QWEN3, WALKED, tools=True)


def test_a_turn_without_a_thought_opens_with_qwen3s_empty_block(chat_tokenizer):
    """As the template writes the turn that comes last; of earlier ones it drops the block again."""
    messages = [*ASKED, Message("assistant", '<answer> ["Bob"] </answer>')]
    ours = qwen3_text(messages, chat_tokenizer) + "\n"
    assert ours == rendered(QWEN3, messages, tools=True)
    assert ours.endswith('<think>\n\n</think>\n\n<answer> ["Bob"] </answer><|im_end|>\n')


@pytest.mark.parametrize(("template", "end"), [(QWEN25, "<|im_end|>"), (LLAMA31, "<|eot_id|>")])
def test_a_template_file_gives_the_format_that_we_ship(template, end, tmp_path, chat_tokenizer):
    path = tmp_path / "chat.jinja"
    path.write_text(template)
    setting = {"template": str(path), "end_of_turn": end, "bos_token": "<|begin_of_text|>"}
    shipped = FORMATS["qwen2.5" if end == "<|im_end|>" else "llama3.1"]
    for messages in (WALKED[:4], WALKED[1:4]):
        read = prompt_ids(messages, chat_format(setting), chat_tokenizer)
        assert read == prompt_ids(messages, shipped, chat_tokenizer)


def test_a_template_that_drops_earlier_thoughts_is_refused(tmp_path):
    path = tmp_path / "qwen3.jinja"
    path.write_text(QWEN3)
    with pytest.raises(UserError, match="does not write messages one after another"):
        chat_format({"template": str(path), "end_of_turn": "<|im_end|>"})


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ({"user": "U{content}", "end_of_turn": "</s>"}, "assistant is missing"),
        ({**CUSTOM, "user": "U"}, r"user: 'U' must hold \{content\} once"),
        ({**CUSTOM, "assistant": "A{content}\n"}, "end_of_turn '</s>' must follow"),
        ({**CUSTOM, "sytem": "x"}, "sytem"),
        ({"template": "none.jinja", "end_of_turn": "</s>"}, "none.jinja: no such file"),
        ({"base": "alpaca"}, "'alpaca' is unknown; known: chatml"),
        ({"base": "chatml", "observations": "tool"}, "observations"),
    ],
)
def test_a_format_that_is_wrong_is_told_by_field(setting, told):
    with pytest.raises(UserError, match=told):
        chat_format(setting)


def test_a_template_with_an_error_is_told(tmp_path):
    path = tmp_path / "bad.jinja"
    path.write_text("{% for m in messages %}{{ m.content }}")
    with pytest.raises(UserError, match=r"template bad\.jinja"):
        chat_format({"template": str(path), "end_of_turn": "</s>"})


def test_a_role_that_a_format_lacks_is_named(chat_tokenizer):
    bare = {k: v for k, v in CUSTOM.items() if k != "system"}
    with pytest.raises(UserError, match="role 'system' is unknown; known: user, assistant"):
        prompt_ids(ASKED, chat_format(bare), chat_tokenizer)


def test_inline_observations_stand_in_one_assistant_message(chat_tokenizer):
    fmt = chat_format({"base": "qwen2.5", "observations": "inline"})
    segments = segment_messages(WALKED, fmt, chat_tokenizer)
    texts = [text_of(s.ids, chat_tokenizer) for s in segments[1:]]
    assert texts == [THINKS, "\nBob\n", ANSWERS + "<|im_end|>"]


def test_a_token_of_the_layout_that_is_not_called_special_stays_text():
    tokenizer, fmt = byte_level(), FORMATS["qwen3"]
    written = "a <tool_response> b <|im_end|>"
    ids = extension_ids([Message("user", written)], fmt, tokenizer)
    assert written in text_of(ids, tokenizer)
    layout = extension_ids([Message("user", "a")], fmt, tokenizer)
    for token in tokenizer.convert_tokens_to_ids(["<tool_response>", "<|im_end|>"]):
        assert ids.count(token) == layout.count(token)


@pytest.mark.parametrize("name", ["qwen3", "llama3"])
def test_a_tokenizer_that_opens_every_text_with_a_token_writes_the_same_row(name):
    """As those of Llama do."""
    from tokenizers.processors import TemplateProcessing

    tokenizer, fmt = byte_level(), FORMATS[name]
    said = "a <tool_response> b <|im_end|>"
    messages = [Message("system", said), Message("user", said), Message("assistant", said)] * 2
    plain = segment_messages(messages[:3] + messages[4:], fmt, tokenizer)
    opens = ("<s>", tokenizer.convert_tokens_to_ids("<s>"))
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<s> $A", special_tokens=[opens]
    )
    assert tokenizer.encode("a")[0] == opens[1]
    assert segment_messages(messages[:3] + messages[4:], fmt, tokenizer) == plain


def test_a_token_of_one_character_may_stand_in_a_text_too():
    """It cannot be cut, so the layout has to do without it."""
    tokenizer, fmt = byte_level(), chat_format(CUSTOM | {"user": "~ {content}\n"})
    tokenizer.add_tokens(["~"])
    ids = extension_ids([Message("user", "a ~ b")], fmt, tokenizer)
    assert text_of(ids, tokenizer) == "\nSEEN: a ~ b\nAGENT: "


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
