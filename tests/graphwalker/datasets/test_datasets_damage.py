"""Damaged files: each kind gives one line that names the file, the record, and what is wrong."""

import gzip
import json

import pytest

from graphwalker.datasets.base import load_questions
from graphwalker.errors import UserError
from support import dataset_toys as toys


def put(*path_and_value):
    *path, key, value = path_and_value

    def change(node):
        for step in path:
            node = node[step]
        node[key] = value

    return change


DAMAGE = {
    "webqsp without Parses": (put(1, "Parses", None), "record 2 (WebQTest-901): field 'Parses'"),
    "webqsp with an unknown answer type": (
        put(0, "Parses", 1, "Answers", 0, "AnswerType", "Thing"),
        "record 1 (WebQTest-900): field 'Parses[1].Answers[0].AnswerType' must be Entity or Value",
    ),
    "webqsp with a name for a MID": (
        put(0, "Parses", 0, "Answers", 0, "AnswerArgument", "Velish"),
        "field 'Parses[0].Answers[0].AnswerArgument' must be a Freebase id, not 'Velish'",
    ),
    "cwq_test_topic_entities.json with an empty answer": (
        put(0, "answer", ""), "record 1 (WebQTrn-1_00000001): field 'answer' is empty",
    ),
    "cwq_test_topic_entities.json with a topic entity that is no MID": (
        put(1, "topic_entity", {"Q1": "Luno"}),
        "field 'topic_entity.Q1' must be keyed by a Freebase id",
    ),
    "cwq with one id twice": (
        put(1, "ID", "WebQTrn-1_00000001"),
        "record 2 (WebQTrn-1_00000001): question id 'WebQTrn-1_00000001' stands there twice, "
        "first in record 1",
    ),
    "qald10 with an odd binding": (
        put(0, "answers", 0, "results", "bindings", 0, "x", "type", "bnode"),
        "record 1 (0): field 'answers[0].results.bindings[0].x.type' must be uri, literal or",
    ),
    "colota with yes as text": (
        put(0, "answer", "yes"), "record 1 (S900): field 'answer' must be true or false, not a",
    ),
    "ours without a topic entity": (
        put(0, "topic_entities", []), "record 1 (q1): has no topic entity",
    ),
}  # fmt: skip
"""By the toy that is damaged: what is done to its list of records, and what is told."""


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_gives_one_line_that_names_the_record(tmp_path, kind):
    (change, message), name = DAMAGE[kind], kind.split()[0]
    file, records = toys.FILES.get(name) or (name, toys.OTHERS[name][1])
    records = json.loads(json.dumps(records))  # no two records share a part
    change(next(v for v in records.values() if isinstance(v, list)) if "Questions" in records
           or "questions" in records else records)  # fmt: skip
    path = toys.write(tmp_path / file, records)
    with pytest.raises(UserError) as caught:
        load_questions(path, format=name if name in toys.FILES else "auto")
    text = str(caught.value)
    assert text.startswith(f"{path}: record ") and "\n" not in text and message in text


TEXTS = {
    "simplequestions with a column gone": (
        "\twhat kind of play is the quay?", "",
        "record 2: has 3 columns, not 4: subject, relation, object, question",
    ),
    "simplequestions with a name for a MID": (
        "www.freebase.com/m/0quay", "The Quay",
        "record 2: column 'subject' must be a Freebase id, not 'The Quay'",
    ),
    "metaqa without an answer": (
        "\tThe Quay", "\t", "record 2: column 'answers' has an empty answer",
    ),
    "metaqa without brackets": (
        "[Mira Tal]", "Mira Tal", "record 2: marks 0 entities in [brackets], not 1",
    ),
    "pathquestion with a broken path": (
        "#place#velin", "#place", "record 2: column 'path' must be subject#relation#entity",
    ),
    "pathquestion that ends elsewhere": (
        "#place#velin", "#place#brel",
        "record 2: column 'path' ends at 'brel', which is not among the answers",
    ),
    "cwq with an open quotation mark": (
        '"question": "Which cup did the team of mascot number 2', '"question: "X',
        "), in record 2",
    ),
    "webqsp with a bare word": ('"RawQuestion": "when', '"RawQuestion": when', "in record 2"),
    "grbench with an open quotation mark": (
        '{"qid": "1"', '{"qid": "1', "goodreads.jsonl:2: not JSON",
    ),
    "grbench that ends early": ('"answer": "2"}', '"answer": "2"', "), in record 2"),
}  # fmt: skip
"""By the toy that is damaged: a text of its file, what it becomes, and what is told."""


@pytest.mark.parametrize("kind", TEXTS)
def test_damaged_lines_and_broken_json_are_named_as_well(tmp_path, kind):
    (old, new, message), name = TEXTS[kind], kind.split()[0]
    path = toys.write(tmp_path / toys.FILES[name][0], toys.FILES[name][1])
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(UserError) as caught:
        load_questions(path, format=name)
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "\n \n", '{"questions": []}'])
def test_a_file_without_questions_is_refused(tmp_path, text):
    path = toys.write(tmp_path / "empty.json", text)
    with pytest.raises(UserError, match="holds no questions"):
        load_questions(path)


@pytest.mark.parametrize(
    "text",
    [
        '[{"q": "who", "a": "Ana"}]',
        "anna_brand\tspouse\tivo_tal\n" * 3,
        '{"trained": true, "loss": [1, 2]}',
        "# A page of documentation\n\nwith text",
        "\x00\x01\x02",
    ],
)
def test_a_wrong_file_is_refused_by_its_first_record(tmp_path, text):
    path = toys.write(tmp_path / "wrong.txt", text)
    with pytest.raises(
        UserError, match=r"record 1 fits no known format.*`graphwalker dataset list`"
    ) as caught:
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
    for name, word in (("cwq", b"mascot"), ("grbench", b"wrote"), ("metaqa", b"Mira")):
        path = toys.write(tmp_path / toys.FILES[name][0], toys.FILES[name][1])
        raw = path.read_bytes()
        spot = raw.rindex(word)
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


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"question,answer\n", "only a header"), ("question\nwho?\n".encode("utf-16"), "UTF-16")],
)
def test_a_table_of_a_header_alone_or_in_utf_16_is_one_line(tmp_path, content, told):
    path = tmp_path / "own.csv"
    path.write_bytes(content)
    with pytest.raises(UserError, match=told):
        load_questions(path)
