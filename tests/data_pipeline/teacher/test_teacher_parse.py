"""A teacher's answers, read: tags, JSON, fences, cut-off ends, prose."""

import pytest

from data_pipeline.teacher.parse import Unreadable, read_score, read_text
from graphwalker.loose_json import string_list


@pytest.mark.parametrize(
    "answer",
    [
        "<question>Who wrote it?</question>",
        "Sure!\n<QUESTION>\n Who  wrote\nit?\n</QUESTION> Hope this helps.",
        "<think>Not <question>this?</question></think><question>Who wrote it?</question>",
        '{"question": "Who wrote it?"}',
        '```json\n{"question": "Who wrote it?",\n}\n```',
        '{"thinking": "easy", "question": "Who wrote it?"',
        "<question>No?</question> Better: <question>Who wrote it?</question>",
    ],
)
def test_a_question_is_found_in_whatever_form(answer: str):
    assert read_text(answer, "question") == "Who wrote it?"


@pytest.mark.parametrize(
    "answer",
    ["", "Who wrote it?", "<question>", "<question>Who wro", '{"question": "Who wro', "[1, 2]"],
)
def test_half_an_answer_is_none(answer: str):
    with pytest.raises(Unreadable):
        read_text(answer, "question")


@pytest.mark.parametrize("answer", ["<score>11</score>", "-1", "nine", '{"score": true}', ""])
def test_a_score_that_is_none_is_refused(answer: str):
    with pytest.raises(Unreadable):
        read_score(answer)


def test_relations_come_out_of_prose_and_fences():
    assert string_list('Here:\n```\n["a.b", "c.d",]\n```') == ["a.b", "c.d"]
    assert string_list('{"relations": ["a.b", 3]}') == ["a.b"]
    assert string_list("a.b and c.d") is None
