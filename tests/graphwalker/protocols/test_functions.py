"""The protocols of functions and of forms: what is read back, and what is wrong with the rest."""

import pytest

from graphwalker.protocols.base import FinalAnswer, Malformed
from graphwalker.protocols.forms import FormProtocol
from graphwalker.protocols.functions import MOST_CALLS, FunctionProtocol
from graphwalker.tools.base import Call
from graphwalker.tools.functions import Function, Parameter, refusal_of

SEARCH = Function(
    "search",
    "The triples of an entity.",
    {
        "entity": Parameter("string", "An id.", "m.1"),
        "direction": Parameter("string", "Which way.", "outgoing", ("outgoing", "incoming")),
        "only": Parameter("array", "Relations.", ["a.b"], required=False),
        "limit": Parameter(("integer", "boolean"), "How many.", 3, required=False),
    },
)
PROTOCOL = FunctionProtocol([SEARCH])


def action(completion, protocol=PROTOCOL):
    return protocol.parse(completion)[1]


def call(body):
    return f"<tool_call>{body}</tool_call>"


def test_what_a_model_wrote_stands_in_a_complaint_without_tags():
    found = action(call('{"name": "search", "arguments": {}, "</tool_response><|im_end|>": 1}'))
    assert isinstance(found, Malformed) and "belongs into arguments" in found.reason
    assert "<|im_end" not in found.reason and "</tool_response>" not in found.reason


def test_calls_and_answers_inside_thinking_do_not_count():
    text = f"<think>{call('x')} Final answer: {{B}}</think>So.\nFinal answer: {{A}}"
    assert PROTOCOL.parse(text)[1] == FinalAnswer(("A",))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Final answer: {A}", ("A",)),
        ("**Final answer:** {A} {B}", ("A", "B")),
        ("So the final answer: {A}, {A}.", ("A",)),
        ("Final Answer: \\boxed{A}", ("A",)),
        ("Final answer: {}", ()),
        ('Final answer: {"a \\u007bb\\u007d"} {"c"}', ("a {b}", "c")),
        ("Final answer: {A}\nFinal answer: {B}", ("B",)),
    ],
)
def test_answers_stand_in_braces(text, names):
    assert action(text) == FinalAnswer(names)


@pytest.mark.parametrize(
    ("completion", "fix"),
    [
        ("", "no call and no answer found"),
        ("I would say Oslo.", "Final answer: {NAME OF AN ANSWER}"),
        ("Final answer: Oslo", "braces"),
        ('Final answer: {"Oslo", "Bergen"}', "one name"),
        ("</tool_call>", "has no opening <tool_call>"),
        ('<tool_call>{"name": "a"}', "end it with </tool_call>"),
        (call("<tool_call>"), "nothing may open inside"),
        (call("search(1)"), "double quotes"),
        (call("{'name': 'a'}"), "double quotes"),
        (call('{"name": "a"} {"name": "b"}'), "nothing may follow"),
        (call('{"name": "a", "arguments": "x"}'), "arguments must be JSON"),
        (call('{"name": "a", "arguments": [1]}'), "one JSON object"),
        (call('{"arguments": {}}'), "needs the name"),
        (call('{"name": "search", "entity": "m.1"}'), '"entity" belongs into arguments'),
        (call('{"name": "a", "arguments": {"x": NaN}}'), "double quotes"),
        (call('{"name": "a", "arguments": {"x": 1e999}}'), "too large"),
        (call('{"name": "a", "arguments": {"x": "\\ud800"}}'), "half a character"),
        (call("[" * 100_000), "double quotes"),
        ("<think> so Final answer: {A}", "</think>"),
        ("\n".join([call('{"name": "a"}')] * (MOST_CALLS + 1)), "at most 16 calls"),
    ],
)
def test_a_malformed_completion_is_told_what_to_write(completion, fix):
    found = action(completion)
    assert isinstance(found, Malformed) and fix in found.reason
    assert "Final answer: {" in found.reason  # the form of a call or an answer is always named


def test_a_text_ends_at_its_first_call_where_calls_are_not_parallel():
    assert FunctionProtocol([SEARCH], parallel=False).stop == ("</tool_call>",)
    assert PROTOCOL.stop == ()


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (Call("search", {"entity": "m.1", "direction": "outgoing"}), ""),
        (Call("search", {"entity": "m.1", "direction": "incoming", "limit": True}), ""),
        (Call("find", {}), "there is no"),
        (Call("search", {"entity": "m.1"}), "direction is missing"),
        (Call("search", {"entity": 1, "direction": "outgoing"}), "entity must be a string"),
        (Call("search", {"entity": "m.1", "direction": "up"}), '"outgoing" or "incoming"'),
        (Call("search", {"entity": "a", "direction": "outgoing", "only": [1]}), "list of strings"),
        (Call("search", {"entity": "a", "direction": "outgoing", "limit": 1.5}), "an integer or"),
        (Call("search", {"name": "a"}), 'no argument "name"'),
    ],
)
def test_a_wrong_call_is_told_what_to_write(given, problem):
    found = refusal_of(given, [SEARCH])
    assert problem in found.text if problem else found is None


FORMS = {
    "reason": {"triples": ["ab12"], "implication": "what follows", "continue": True},
    "anchor": {"anchor": "Name"},
    "score": {"relations": [{"relation": "r", "score": 0.5}]},
}


FORM_PROTOCOL = FormProtocol(FORMS)


@pytest.mark.parametrize(
    "value, names",
    [
        *(("true", ("True",)), ("null", ("None",)), ('"Oslo"', ("Oslo",)), ("[false]", ("False",))),
        *(("3", ("3",)), ("[3, 2.5]", ("3", "2.5"))),
    ],
)
def test_a_verdict_and_a_number_are_names(value, names):
    assert FORM_PROTOCOL.parse(f'{{"answer": {value}}}')[1] == FinalAnswer(names)


@pytest.mark.parametrize(
    "completion",
    [
        '```json\n{"anchor": "Oslo"}\n```',
        '<think>{"anchor": "Bergen"}</think> {"anchor": "Oslo"}',
        'Sure: {"anchor": "Oslo"} is it.',
    ],
)
def test_what_chat_models_put_around_a_form_does_not_matter(completion):
    assert FORM_PROTOCOL.parse(completion)[1] == Call("anchor", {"anchor": "Oslo"})


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
        ('{"answer": 1e999}', '"answer" must be'),
        ('{"anchor": "\\ud800"}', "half a character"),
        ('{"anchor": "Os', "write one JSON object"),
        ("{" * 5000, "write one JSON object"),
    ],
)
def test_what_is_no_form_says_what_to_write(completion, why):
    action = FORM_PROTOCOL.parse(completion)[1]
    assert isinstance(action, Malformed) and why in action.reason
