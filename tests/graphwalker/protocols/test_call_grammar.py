"""The grammar of calls as JSON: tools, arguments and values that exist, answers that were shown."""

import json
import random

import pytest

from graphwalker.protocols.answers import RowsForm
from graphwalker.protocols.call_grammar import CallGrammar
from graphwalker.protocols.functions import FunctionProtocol
from graphwalker.protocols.grammar import Shown
from graphwalker.tools.base import Call
from graphwalker.tools.functions import Function, Parameter

SIDES = Parameter("string", "", "out", ("out", "in"))
VALUE = Parameter(("string", "number", "boolean"), "", "x")
FUNCTIONS = (
    Function("look", "", {"place": Parameter("string", "", "Oslo"), "side": SIDES}),
    Function("list", "", {"value": VALUE, "some": Parameter("array", "", ["a"], required=False)}),
)
KNOWN = {"place": ["Oslo", 'a "b"', "c </tool_call>"], "value": [15, 156, 1.5, True, "15"],
         "some": ["a.b", "a.c"]}  # fmt: skip


def grammar(*names: str) -> CallGrammar:
    return CallGrammar(FUNCTIONS, lambda call, argument: KNOWN.get(argument), names)


def rest(body: str) -> list[str]:
    found = grammar().continuations(f"I look.\n<tool_call>\n{body}".encode())
    return [text.decode() for text in found or ()]


def test_thoughts_and_the_form_of_a_call_are_free():
    for text in ('"Os', '<tool_call>\n{"name"', '<tool_call>{"name": "look", "arg', "{Oslo"):
        assert grammar("Oslo").continuations(text.encode()) is None
    done = '<tool_call>\n{"name": "look", "arguments": {"place": "Oslo"}}\n</tool_call>\n"Os'
    assert grammar().continuations(done.encode()) is None


def test_tools_and_arguments_are_those_that_there_are_and_each_once():
    assert rest('{"name": "') == ['look"', 'list"']
    assert rest('{"name": "loo') == ['k"']
    assert rest('{"name": "look", "arguments": {"') == ['place"', 'side"']
    assert rest('{"name": "look", "arguments": {"side": "in", "') == ['place"']


def test_texts_are_written_as_a_call_writes_them():
    for place in KNOWN["place"]:
        call = FunctionProtocol(FUNCTIONS).render("", Call("look", {"place": place}))
        opening, value = call.split('"place": "')
        assert rest(f'{opening.removeprefix("<tool_call>")}"place": "')
        assert any(value.startswith(one) for one in rest(f'{opening[12:]}"place": "')), value


def test_numbers_are_whole_and_a_choice_of_the_schema_holds_where_the_tools_know_none():
    opening = '{"name": "list", "arguments": {"value": '
    assert rest(f"{opening}15") == [",", "}", "6,", "6}"]
    assert rest(f"{opening}1.") == ["5,", "5}"]
    assert rest(f'{opening}"') == ['15"']
    assert "true," in rest(opening) and ' "15"' in rest(opening.rstrip())
    assert rest('{"name": "look", "arguments": {"place": "Oslo", "side": "o') == ['ut"']


def test_a_list_holds_each_choice_once_and_what_stands_before_it_is_known():
    seen: list[tuple[dict[str, object], str]] = []

    def choices(call: Call, argument: str) -> list[str]:
        seen.append((call.arguments, argument))
        return ["a.b", "a.c"]

    made = CallGrammar(FUNCTIONS, choices)
    opening = '<tool_call>{"name": "list", "arguments": {"value": 3.5, "some": ['
    assert made.continuations(f'{opening}"a.'.encode()) == [b'b"', b'c"']
    assert made.continuations(f'{opening}"a.b", "'.encode()) == [b'a.c"']
    assert made.continuations(f'{opening}"a.b", '.encode()) is None
    assert seen[0] == ({"value": 3.5}, "some")


def test_an_answer_in_braces_names_what_was_shown_and_may_be_empty():
    made = grammar("Oslo", "Bergen", "a {b}")
    assert made.continuations(b"Final answer: {") == [
        b"Oslo}", b"Bergen}", b'"a \\u007bb\\u007d"}', b"}",
    ]  # fmt: skip
    assert made.continuations(b"So. **Final answer:** {Oslo} {B") == [b"ergen}"]
    assert b"Oslo}" not in (made.continuations(b"Final answer: {Oslo} {") or ())
    assert made.continuations(b"Final answer: {Oslo}") is None


def test_rows_are_free_as_nobody_says_their_columns():
    protocol = FunctionProtocol(FUNCTIONS, RowsForm())
    shown = Shown({"Oslo": "m.1"})
    assert protocol.grammar(shown).continuations(b'[{"name": "O') is None


@pytest.mark.parametrize("seed", range(30))
def test_any_text_is_read_without_a_fault(seed):
    rng = random.Random(seed)
    calls = ('{"name": "look", "arguments": {', '{"name": "list", "arguments": {"some": [')
    tags = ("<tool_call>", "</tool_call>", "Final answer: {", '"place": ')
    parts = [*'"\\[]{},: éa1.', *calls, *tags]
    made = grammar("Oslo")
    for _ in range(300):
        text = "".join(rng.choices(parts, k=rng.randrange(25))).encode()
        found = made.continuations(text[: rng.randrange(len(text) + 1)])
        assert found is None or all(found)


def test_a_number_too_large_and_a_list_too_deep_are_read_past():
    for odd in ("1" * 5000, "[" * 5000, '{"a": ' * 3000, "1e999"):
        text = f'<tool_call>{{"name": "list", "arguments": {{"value": {odd}, "'
        assert isinstance(json.dumps(str(grammar().continuations(text.encode()))), str)
