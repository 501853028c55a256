"""The form protocol: what is rendered is read back, and what is no form says what to write."""

import pytest

from graphwalker.protocols.base import FinalAnswer, Malformed
from graphwalker.protocols.forms import FormProtocol
from graphwalker.tools.base import Call

FORMS = {
    "reason": {"triples": ["ab12"], "implication": "what follows", "continue": True},
    "anchor": {"anchor": "Name"},
    "score": {"relations": [{"relation": "r", "score": 0.5}]},
}
PROTOCOL = FormProtocol(FORMS)


@pytest.mark.parametrize(
    "value, names",
    [("true", ("True",)), ("null", ("None",)), ('"Oslo"', ("Oslo",)), ("[false]", ("False",))],
)
def test_a_verdict_is_a_name(value: str, names: tuple[str, ...]):
    assert PROTOCOL.parse(f'{{"answer": {value}}}')[1] == FinalAnswer(names)


@pytest.mark.parametrize(
    "completion",
    [
        '```json\n{"anchor": "Oslo"}\n```',
        '<think>{"anchor": "Bergen"}</think> {"anchor": "Oslo"}',
        'Sure: {"anchor": "Oslo"} is it.',
    ],
)
def test_what_chat_models_put_around_a_form_does_not_matter(completion: str):
    assert PROTOCOL.parse(completion)[1] == Call("anchor", {"anchor": "Oslo"})


@pytest.mark.parametrize(
    "completion, why",
    [
        ("", "write one JSON object"),
        ("[1]", "write one JSON object"),
        ('{"anchor": 3}', '"anchor" must be a text'),
        ('{"triples": ["a"], "implication": "x"}', "no 'continue' in it"),
        ('{"triples": [1], "implication": "x", "continue": true}', '"triples[0]" must be a text'),
        ('{"triples": [], "implication": "x", "continue": 1}', "must be true or false"),
        ('{"answer": [" "]}', '"answer" must be'),
        ('{"anchor": "\\ud800"}', "half a character"),
        ('{"anchor": "Os', "write one JSON object"),
        ("{" * 5000, "write one JSON object"),
    ],
)
def test_what_is_no_form_says_what_to_write(completion: str, why: str):
    action = PROTOCOL.parse(completion)[1]
    assert isinstance(action, Malformed) and why in action.reason
