"""Damaged files: each kind gives one line that names the file, the record, and what is wrong."""

import copy
import gzip
import json

import pytest

from graphwalker.datasets.base import load_questions
from graphwalker.errors import UserError
from support import dataset_toys as toys


def damaged(name, change):
    """The toy file of a dataset after `change` was done to its list of records."""
    file, records = toys.FILES[name] if name in toys.FILES else (name, toys.OTHERS[name][1])
    records = copy.deepcopy(records)
    rows = records
    if isinstance(records, dict):
        rows = next(value for value in records.values() if isinstance(value, list))
    change(rows)
    return file, records


def put(*path_and_value):
    *path, key, value = path_and_value

    def change(node):
        for step in path:
            node = node[step]
        node[key] = value

    return change


def drop(*path):
    def change(node):
        for step in path[:-1]:
            node = node[step]
        del node[path[-1]]

    return change


DAMAGE = {
    "webqsp without Parses": ("webqsp", drop(1, "Parses"), "record 2 (WebQTest-901): has no field"),
    "webqsp with an unknown answer type": (
        "webqsp",
        put(0, "Parses", 1, "Answers", 0, "AnswerType", "Thing"),
        "record 1 (WebQTest-900): field 'Parses[1].Answers[0].AnswerType' must be Entity or Value",
    ),
    "webqsp with a name for a MID": (
        "webqsp",
        put(0, "Parses", 0, "Answers", 0, "AnswerArgument", "Velish"),
        "field 'Parses[0].Answers[0].AnswerArgument' must be a Freebase id, not 'Velish'",
    ),
    "cwq with an empty answer": (
        "cwq_test_topic_entities.json",
        put(0, "answer", ""),
        "record 1 (WebQTrn-1_00000001): field 'answer' is empty",
    ),
    "cwq with a topic entity that is no MID": (
        "cwq_test_topic_entities.json",
        put(1, "topic_entity", {"Q1": "Luno"}),
        "field 'topic_entity.Q1' must be keyed by a Freebase id",
    ),
    "cwq with one id twice": (
        "cwq",
        put(1, "ID", "WebQTrn-1_00000001"),
        "record 2 (WebQTrn-1_00000001): question id 'WebQTrn-1_00000001' stands there twice, "
        "first in record 1",
    ),
    "qald with an odd binding": (
        "qald10",
        put(0, "answers", 0, "results", "bindings", 0, "x", "type", "bnode"),
        "record 1 (0): field 'answers[0].results.bindings[0].x.type' must be uri, literal or",
    ),
    "colota with yes as text": (
        "colota",
        put(0, "answer", "yes"),
        "record 1 (S900): field 'answer' must be true or false, not a text",
    ),
    "our question without a topic entity": (
        "ours",
        put(0, "topic_entities", []),
        "record 1 (q1): has no topic entity",
    ),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_gives_one_line_that_names_the_record(tmp_path, kind):
    name, change, message = DAMAGE[kind]
    file, records = damaged(name, change)
    path = toys.write(tmp_path / file, records)
    with pytest.raises(UserError) as caught:
        load_questions(path, format=name if name in toys.FILES else "auto")
    text = str(caught.value)
    assert text.startswith(f"{path}: record ") and "\n" not in text
    assert message in text


LINES = {
    "simplequestions with a column gone": (
        "simplequestions",
        lambda text: text.replace("\twhat kind of play is the quay?", ""),
        "record 2: has 3 columns, not 4: subject, relation, object, question",
    ),
    "simplequestions with a name for a MID": (
        "simplequestions",
        lambda text: text.replace("www.freebase.com/m/0quay", "The Quay"),
        "record 2: column 'subject' must be a Freebase id, not 'The Quay'",
    ),
    "metaqa without an answer": (
        "metaqa",
        lambda text: text.replace("\tThe Quay", "\t"),
        "record 2: column 'answers' has an empty answer",
    ),
    "metaqa without brackets": (
        "metaqa",
        lambda text: text.replace("[Mira Tal]", "Mira Tal"),
        "record 2: marks 0 entities in [brackets], not 1",
    ),
    "pathquestion with a broken path": (
        "pathquestion",
        lambda text: text.replace("#place#velin", "#place"),
        "record 2: column 'path' must be subject#relation#entity",
    ),
    "pathquestion that ends elsewhere": (
        "pathquestion",
        lambda text: text.replace("#place#velin", "#place#brel"),
        "record 2: column 'path' ends at 'brel', which is not among the answers",
    ),
}


@pytest.mark.parametrize("kind", LINES)
def test_damaged_lines_are_named_as_well(tmp_path, kind):
    name, change, message = LINES[kind]
    file, text = toys.FILES[name]
    path = toys.write(tmp_path / file, change(text))
    assert path.read_text() != text
    with pytest.raises(UserError) as caught:
        load_questions(path, format=name)
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        (
            "cwq",
            '"question": "Which cup did the team of mascot number 2',
            '"question: "X',
            "record 2",
        ),
        ("webqsp", '"RawQuestion": "when', '"RawQuestion": when', "in record 2"),
        ("grbench", '{"qid": "1"', '{"qid": "1', "goodreads.jsonl:2: not JSON"),
        ("grbench", '"answer": "2"}', '"answer": "2"', "in record 2"),
    ],
)
def test_broken_json_names_the_line_and_the_record(tmp_path, name, old, new, message):
    file, records = toys.FILES[name]
    path = toys.write(tmp_path / file, records)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(UserError, match="not JSON") as caught:
        load_questions(path)
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "\n \n", '{"questions": []}'])
def test_a_file_without_questions_is_refused(tmp_path, text):
    path = toys.write(tmp_path / "empty.json", text)
    with pytest.raises(UserError, match="holds no questions"):
        load_questions(path)


@pytest.mark.parametrize(
    "text",
    [
        "anna_brand\tspouse\tivo_tal\n" * 3,
        '{"trained": true, "loss": [1, 2]}',
        "# A page of documentation\n\nwith text",
        "\x00\x01\x02",
    ],
)
def test_a_wrong_file_is_refused_by_its_first_record(tmp_path, text):
    path = toys.write(tmp_path / "wrong.txt", text)
    with pytest.raises(UserError, match=r"record 1 fits no known format") as caught:
        load_questions(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "file", "message"),
    [
        ("webqsp", "metaqa", "record 1 is not of WebQSP: the file holds lines of text"),
        ("cwq", "grailqa", "record 1 .*has no field"),
        ("freebaseqa", "cwq", "no question format is named 'freebaseqa'; known: ours, own, webqsp"),
    ],
)
def test_a_file_of_another_dataset_is_refused(tmp_path, name, file, message):
    path = toys.write(tmp_path / toys.FILES[file][0], toys.FILES[file][1])
    with pytest.raises(UserError, match=message):
        load_questions(path, format=name)


def test_deep_nesting_is_an_error_and_not_a_crash(tmp_path):
    path = toys.write(tmp_path / "deep.json", "[" + "[" * 200_000 + "]" * 200_000 + "]")
    with pytest.raises(UserError):
        load_questions(path)
    path = toys.write(tmp_path / "deep.jsonl", '{"a": ' + "[" * 200_000 + "]" * 200_000 + "}")
    with pytest.raises(UserError, match=r"deep.*not JSON \(nested too deeply\), in record 1"):
        load_questions(path)


def test_bytes_that_are_not_utf8_name_the_record(tmp_path):
    for name in ("cwq", "grbench", "metaqa"):
        file, records = toys.FILES[name]
        path = toys.write(tmp_path / file, records)
        raw = path.read_bytes()
        spot = raw.rindex(
            b"mascot" if name == "cwq" else b"wrote" if name == "grbench" else b"Mira"
        )
        path.write_bytes(raw[:spot] + b"\xff" + raw[spot + 1 :])
        with pytest.raises(UserError, match=r"not UTF-8 text, in record 2$"):
            load_questions(path)


def test_a_damaged_gzip_file_is_named(tmp_path):
    path = tmp_path / "q.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(toys.OURS[0]).encode() * 50)[:-12])
    with pytest.raises(UserError, match="damaged gzip file"):
        load_questions(path)


@pytest.mark.parametrize("name", ["many.json", "many.jsonl"])
def test_a_number_of_too_many_digits_is_an_error_and_not_a_crash(tmp_path, name):
    text = '{"a": ' + "9" * 5000 + "}"
    path = toys.write(tmp_path / name, f"[{text}]" if name.endswith("json") else text)
    with pytest.raises(UserError, match=r"many.*a number of too many digits.*record 1"):
        load_questions(path)
