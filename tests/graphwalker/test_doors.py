"""Foreign bytes at their doors: terminals, files, configs, a model's stuttering."""

import gzip
import json
import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_pipeline.verification.verdict import numbered_lines
from graphwalker import files
from graphwalker.cli.app import run
from graphwalker.cli.shared import json_text
from graphwalker.config import Config, load_config
from graphwalker.console import console
from graphwalker.console.settings import Setting
from graphwalker.console.terminal import PrintableConsole
from graphwalker.datasets.files import open_file
from graphwalker.errors import GraphError, UserError
from graphwalker.files import dumps, dumps_bytes, read_columns, read_json, read_jsonl
from graphwalker.protocols.base import FinalAnswer
from graphwalker.protocols.tags import TagProtocol
from graphwalker.question import Question
from graphwalker.tokens.loose_json import string_list

ESCAPES = {
    "a title": "\x1b]0;owned\x07",
    "a clear screen": "\x1b[2J\x1b[H",
    "the clipboard": "\x1b]52;c;cm0gLXJm\x07",
    "a link": "\x1b]8;;http://evil\x1b\\here\x1b]8;;\x1b\\",
    "a C1 command": "\x9b2J\x9d0;x\x9c",
    "bidirectional text": "abc\u202edcba\u2066x",
    "a bell and backspaces": "real\x08\x08\x08\x08fake\x07\x7f",
    "a carriage return": "error: all is lost\rok",
    "half a character": "x\ud83dy",
}
COMMANDS = ("\x1b", "\x9b", "\x9d", "\x07", "\x08", "\r", "\x7f", "\u202e", "\u2066", "\ud83d")


@pytest.mark.parametrize("hostile", ESCAPES.values(), ids=ESCAPES)
def test_no_escape_of_a_name_reaches_the_terminal(hostile, capsys, monkeypatch):
    for name in ("out", "err"):
        fresh = PrintableConsole(stderr=name == "err", width=60, color_system=None)
        monkeypatch.setattr(console, name, fresh)
    console.note(f"note {hostile} end")
    console.facts(f"title {hostile}", {f"key {hostile}": f"value {hostile}", "list": [hostile]})
    console.settings([Setting(hostile, hostile, hostile, hostile)])
    console.echo(f"line {hostile}")
    console.echo(json_text({hostile: hostile}))
    with console.progress(hostile) as tick:
        tick(1, 2)

    def fails():
        raise GraphError(f"http://x said {hostile}")

    assert run(fails) == 1
    seen = "".join(capsys.readouterr())
    assert "end" in seen and not [command for command in COMMANDS if command in seen]


def test_colours_of_our_own_still_reach_a_terminal(capsys):
    PrintableConsole(force_terminal=True, color_system="standard").print("[bold]x[/] \x1b[2J")
    seen = capsys.readouterr().out
    assert "\x1b[1m" in seen and "\x1b[2J" not in seen


def test_json_in_a_terminal_is_the_same_json(capsys):
    rows = {"name": "a\x9b2J\u202e\ud83d\x1b é", "n": [1]}
    assert json.loads(json_text(rows)) == rows and "é" in json_text(rows)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"a": 1}\n'.encode("utf-16"), r"UTF-16 text; save it as UTF-8 \(iconv"),
        (b'{"a": "x\x00y"}\n', r"q\.jsonl:1: not JSON \(holds a NUL character\)"),
        (b'{"a": 1}\n' + b'{"a": ' + b"[" * 100_000, r"q\.jsonl:2: not JSON \(nested too deeply\)"),
        (b'{"a": ' + b"1" * 5000 + b"}", r"q\.jsonl:1: not JSON \(a number of too many digits"),
        (b'{"a": NaN}', r"q\.jsonl:1: not JSON \(NaN is no JSON number\)"),
        (b'{"a": "\xff"}', "not UTF-8 text .*save it as UTF-8"),
        (b"[1]", r"q\.jsonl:1: a record must be a JSON object"),
    ],
)
def test_a_file_that_is_no_jsonl_is_told_with_its_line(tmp_path, content, told):
    (tmp_path / "q.jsonl").write_bytes(content)
    with pytest.raises(UserError, match=told):
        list(read_jsonl(tmp_path / "q.jsonl"))


def test_a_damaged_archive_is_told_wherever_it_is_damaged(tmp_path):
    path = tmp_path / "q.jsonl.gz"
    whole = gzip.compress(b'{"a": 1}\n' * 200 + b'{"b": 2}\n', mtime=0)
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            list(read_jsonl(path))
        except UserError as error:
            assert str(path) in str(error)


def test_a_folder_is_no_file_and_a_deep_card_is_damaged(tmp_path):
    with pytest.raises(UserError, match="a folder, not a file"):
        list(read_jsonl(tmp_path))
    (tmp_path / "card.json").write_text("[" * 100_000)
    with pytest.raises(UserError, match=r"card\.json: damaged"):
        read_json(tmp_path / "card.json")


class Address(Config):
    url: str = ""
    parts: tuple[str, ...] = ()


SECRETS = """http://host/${oc.env:OPENAI_API_KEY}/v1 ${oc.env:OPENAI_API_KEY,none}
${oc.decode:${oc.env:OPENAI_API_KEY}} ${oc.env:${name}} ${oc.create:x}"""


@pytest.mark.parametrize("value", SECRETS.split())
def test_a_config_reads_no_secret_of_the_environment(tmp_path, monkeypatch, value):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    (tmp_path / "c.yaml").write_text(json.dumps({"url": value, "parts": [value]}))
    (tmp_path / "s.yaml").write_text(json.dumps({"shared": {"url": value}, "one": {"parts": []}}))
    files = (tmp_path / "c.yaml",), (f"{tmp_path}/s.yaml#one",)
    for arguments in (*files, (None, [f"url={value}"])):
        with pytest.raises(UserError) as told:
            load_config(Address, *arguments)
        assert "sk-secret" not in str(told.value)


def test_a_config_may_name_a_place_and_other_settings(tmp_path, monkeypatch):
    monkeypatch.setenv("SCRATCH", "/scratch/me")
    (tmp_path / "c.yaml").write_text('url: "${oc.env:SCRATCH}/runs"\nparts: ["${url}/a"]\n')
    read = load_config(Address, tmp_path / "c.yaml")
    assert (read.url, read.parts) == ("/scratch/me/runs", ("/scratch/me/runs/a",))


@pytest.mark.parametrize("text", ["[" * 5000, "a: " + "{b: " * 5000, "url: " + "[" * 5000])
def test_a_deep_yaml_is_one_line(tmp_path, text):
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(UserError, match=r"c\.yaml: not a valid config"):
        load_config(Address, tmp_path / "c.yaml")


PROTOCOL = TagProtocol({"get_relations": {"entity": "Name"}})
STUTTERS = {
    "thoughts": "<think></think>",
    "thoughts with actions": "<think><answer></think>",
    "answers": "<answer>",
    "calls": "<kg-query>",
    "fields": '{"a":',
    "fences": "```json ",
}


@pytest.mark.parametrize("stutter", STUTTERS.values(), ids=STUTTERS)
def test_a_model_that_stutters_is_read_in_linear_time(stutter):
    started = time.process_time()
    PROTOCOL.parse(stutter * 20_000)
    string_list(stutter * 20_000)
    string_list(f"<think>{stutter * 20_000}</think>")
    assert time.process_time() - started < 10


def test_an_action_behind_many_thoughts_is_found():
    thoughts, answer = "<think>no <answer> here</think>" * 500, '<answer> ["Oslo"] </answer>'
    assert PROTOCOL.parse(thoughts + answer)[1] == FinalAnswer(("Oslo",))


@pytest.mark.parametrize("field", ["hops", "answers", "topic_entities", "query", "facets", "gold"])
@pytest.mark.parametrize("value", [1e999, [None], {"a": None}, "x", -1, [[]], True])
def test_a_question_with_an_odd_field_is_read_or_refused(field, value):
    record = {"id": "q1", "question": "Who?", "topic_entities": [{"id": "m.1", "name": "Ada"}]}
    try:
        Question.from_json({**record, "answers": [{"id": "m.2", "name": "Oslo"}], field: value})
    except UserError as error:
        assert "q1" in str(error) or "no field" in str(error)


@pytest.mark.parametrize("read", [read_jsonl, open_file, numbered_lines, read_columns])
def test_a_line_that_would_fill_the_memory_is_refused_early(tmp_path, monkeypatch, read):
    monkeypatch.setattr(files, "LINE_LIMIT", 10_000)
    path = tmp_path / "q.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"id": "' + b"a" * 1_000_000 + b'"}\n'))
    with pytest.raises(UserError, match=r"q\.jsonl\.gz:1: a line of more than 10,000 characters"):
        list(read(path))


NAMED = {n: "${v" + str(n) + "}" for n in range(13)}
GROWING = "".join(f"v{n + 1}: '{NAMED[n] * 10}'\n" for n in range(12))
SECTIONS = "".join(f"v{n + 1}: {json.dumps([NAMED[n]] * 10)}\n" for n in range(12))


@pytest.mark.parametrize("text", [GROWING, SECTIONS, GROWING.replace("v0", "..parts[0]")])
def test_settings_that_name_each_other_do_not_fill_the_memory(tmp_path, text):
    (tmp_path / "c.yaml").write_text(f"url: ${{v12}}\nparts: [aaaa]\nv0: aaaa\n{text}")
    (tmp_path / "s.yaml").write_text(f"one: {{url: a}}\nparts: [aaaa]\nv0: aaaa\n{text}")
    for name in ("c.yaml", "s.yaml#one"):
        with pytest.raises(UserError, match=r"settings that name others become [\d,]+ characters"):
            load_config(Address, f"{tmp_path}/{name}")


def test_many_settings_may_name_one(tmp_path):
    parts = json.dumps(["${url}/x"] + ["${url}"] * 500)
    (tmp_path / "c.yaml").write_text(f'url: "http://host"\nparts: {parts}\n')
    assert load_config(Address, tmp_path / "c.yaml").parts[0] == "http://host/x"


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner) | st.tuples(inner, inner),
)


@pytest.mark.long
@given(VALUES)
def test_bytes_are_those_of_the_text(value):
    assert dumps_bytes({"value": value}) == dumps({"value": value}).encode()


@pytest.mark.parametrize("small", [1e-5, -9.9e-05, 1.5e-4, 5e-324, 1e-4, 0.00001234])
def test_small_numbers_are_spelled_as_python_spells_them(small):
    assert dumps_bytes([small, math.inf]) == dumps([small, math.inf]).encode()


def test_half_a_character_is_refused():
    with pytest.raises(ValueError, match="surrogate"):
        dumps_bytes({"name": "\ud800"})
