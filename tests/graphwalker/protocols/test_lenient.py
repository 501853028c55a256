"""Answers of baselines and chat models in other forms: read where a person would be sure."""

import pytest

from graphwalker.protocols.answers import read_lenient
from graphwalker.protocols.base import PLACEHOLDER, FinalAnswer, Malformed
from graphwalker.protocols.tags import TagProtocol
from graphwalker.tools.base import Call
from graphwalker.tools.walker import EXAMPLES

STRICT, LENIENT = TagProtocol(EXAMPLES), TagProtocol(EXAMPLES, lenient=True)
FORMS = {
    "<answer> Oslo </answer>": ["Oslo"],
    '<answer>"Oslo"</answer>': ["Oslo"],
    "<answer>**Oslo**.</answer>": ["Oslo"],
    "<answer>Oslo, Rome, and Bern</answer>": ["Oslo", "Rome", "Bern"],
    "<answer>Oslo | Rome</answer>": ["Oslo", "Rome"],
    "<answer>\n- Oslo\n2. Rome\n</answer>": ["Oslo", "Rome"],
    '<answer>["Oslo", "Rome",]</answer>': ["Oslo", "Rome"],
    "<answer>['Oslo', 'Rome']</answer>": ["Oslo", "Rome"],
    '<answer>```json\n["Oslo"]\n```</answer>': ["Oslo"],
    '<answer>{"answer": ["Oslo"]}</answer>': ["Oslo"],
    '<answer>{"answer": "Oslo"}</answer>': ["Oslo"],
    "<answer>[1961]</answer>": ["1961"],
    '<answer>The answer is ["Oslo"].</answer>': ["Oslo"],
    "<answer>The answer is Oslo.</answer>": ["Oslo"],
    '<answer>["Oslo"': ["Oslo"],
    "So it is \\boxed{Oslo}": ["Oslo"],
    "I looked.\n**Final answer:** Oslo": ["Oslo"],
    "<think> Rome? </think> Answer: Oslo": ["Oslo"],
    '{"answer": ["Oslo", "Rome"]}': ["Oslo", "Rome"],
    '```json\n{"answers": ["Oslo"]}\n```': ["Oslo"],
}
UNSURE = (
    "",
    "I think that it could be Oslo.",
    "<answer> </answer>",
    f"<answer> {PLACEHOLDER} </answer>",
    "<answer>" + "so it may well be " * 5 + "</answer>",
    "<think> Answer: Oslo",
    "<answer>" + "[" * 100_000,
    '["film.directed_by"]',
    '{"relation": ["film.directed_by"]}',
)


def test_a_form_that_a_person_understands_is_read_and_named():
    for text, names in FORMS.items():
        answer = LENIENT.parse(text)[1]
        assert answer == FinalAnswer(tuple(names)), text
        assert isinstance(answer, FinalAnswer) and answer.read, text


def test_a_mere_list_is_an_answer_where_there_is_nothing_to_call():
    answers = TagProtocol({}, lenient=True)
    assert answers.parse('["Oslo", "Rome"]')[1] == FinalAnswer(("Oslo", "Rome"))


def test_training_stays_strict():
    assert all(isinstance(STRICT.parse(text)[1], Malformed) for text in FORMS)


def test_what_is_unsure_stays_malformed():
    for text in UNSURE:
        assert isinstance(LENIENT.parse(text)[1], Malformed), text[:80]


@pytest.mark.parametrize("protocol", [STRICT, LENIENT])
def test_what_is_written_as_asked_is_read_as_before(protocol):
    for action in (FinalAnswer(("Oslo, Norway",)), Call("get_relations", {"entity": "Oslo"})):
        found = protocol.parse(protocol.render("", action))[1]
        assert found == action and not getattr(found, "read", "")


def test_a_malformed_call_is_no_answer():
    assert read_lenient("<kg-query> get_relations(Oslo) </kg-query>") is None
