"""Question files: both forms load, and damage is named."""

import json

import pytest

from graphwalker.datasets.base import load_questions
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer, Question

OURS = Question("q1", "Who?", (Entity("m.1", "A"),), (Answer("B", "m.2", ("b",)),), hops=1)
MAPPED = {
    "id": "q2",
    "question": "who is it?",
    "topic_entities": {"m.1": "A"},
    "answers": ["B"],
    "answer_mids": ["m.2"],
    "answer_aliases": {"m.2": ["bee"]},
    "relation_path": ["a.b.c", "d.e.f"],
}


def write(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_both_forms_load_with_ids_and_aliases(tmp_path):
    first, second = load_questions(write(tmp_path / "q.jsonl", OURS.to_json(), MAPPED))
    assert first == OURS
    assert second.answers == (Answer("B", "m.2", ("bee",)),)
    assert (second.hops, second.structure) == (2, "2-hop")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "q1"}, "stands there twice"),
        ({"answer_mids": []}, "1 answers but 0 answer_mids"),
        ({"answers": None}, "record 2 .*field 'answers' is null"),
        ({"topic_entities": []}, "record 2"),
        ({"topic_entities": {}}, "record 2 .*has no topic entity"),
        ({"topic_entities": None}, "record 2"),
    ],
)
def test_a_damaged_record_is_named(tmp_path, change, message):
    path = write(tmp_path / "q.jsonl", OURS.to_json(), {**MAPPED, **change})
    with pytest.raises(UserError, match=message):
        load_questions(path)
