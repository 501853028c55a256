"""The tag protocol reads back what it writes, and cannot be fooled by tags in odd places."""

import pytest

from graphwalker.protocols.base import FinalAnswer, Malformed
from graphwalker.protocols.tags import TagProtocol, neutral
from graphwalker.tools.base import Call
from graphwalker.tools.walker import EXAMPLES

PROTOCOL = TagProtocol(EXAMPLES)


def action(completion):
    return PROTOCOL.parse(completion)[1]


def reason(completion):
    found = action(completion)
    assert isinstance(found, Malformed)
    return found.reason


def test_the_written_form_is_one_line_per_block():
    call = Call("get_triples", {"entity": 'The "X"', "relations": ["a.b", "c.d"]})
    assert PROTOCOL.render("Go on.", call) == (
        '<think> Go on. </think>\n<kg-query> get_triples("The \\"X\\"", ["a.b", "c.d"]) </kg-query>'
    )


def test_the_earlier_action_wins():
    query, answer = '<kg-query> get_relations("A") </kg-query>', '<answer> ["B"] </answer>'
    assert action(query + answer) == Call("get_relations", {"entity": "A"})
    assert action(answer + query) == FinalAnswer(("B",))


def test_an_action_inside_a_thought_is_no_action():
    completion = '<think> then <answer> ["A"] </answer> </think> <answer> ["B"] </answer>'
    assert action(completion) == FinalAnswer(("B",))


def test_an_unclosed_thought_hides_what_follows():
    assert "</think>" in reason('<think> so <answer> ["A"] </answer>')


def test_a_chat_template_may_have_opened_the_thought():
    completion = 'so it is A </think> <answer> ["A"] </answer>'
    assert PROTOCOL.parse(completion) == ("so it is A", FinalAnswer(("A",)))


@pytest.mark.parametrize(
    ("completion", "fix"),
    [
        ("", "no action found"),
        ("The answer is Oslo.", "no action found"),
        ('["A"] </answer>', "no opening <answer>"),
        ('get_relations("A") </kg-query>', "no opening <kg-query>"),
        ('<answer> ["A"]', "end it with </answer>"),
        ('<kg-query> get_relations("A")', "end it with </kg-query>"),
        ('<answer> <answer> ["A"] </answer> </answer>', "one action at a time"),
        ("<kg-query> find the mayor </kg-query>", "get_relations("),
        ("<kg-query> get_relations(A) </kg-query>", "double quotes"),
        ("<kg-query> get_relations('A') </kg-query>", "double quotes"),
        ("<kg-query> get_relations(“A”) </kg-query>", "double quotes"),
        ('<kg-query> get_relations("A" </kg-query>', "close the call"),
        ('<kg-query> get_triples("A", [a.b]) </kg-query>', "double quotes"),
        ('<kg-query> get_triples("A" ["a.b"]) </kg-query>', "commas"),
        ("<kg-query> get_relations(1) </kg-query>", "double quotes"),
        ('<kg-query> get_relations("A") get_relations("B") </kg-query>', "one call"),
        ("<answer> Oslo </answer>", "JSON"),
        ("<answer> ['Oslo'] </answer>", "JSON"),
        ("<answer> {} </answer>", "JSON list of strings"),
        ("<answer> null </answer>", "JSON list of strings"),
        ('<answer> "Oslo" </answer>', "JSON list of strings"),
        ("<answer> [1961] </answer>", "JSON list of strings"),
        ('<answer> [""] </answer>', "empty name"),
        ('<answer> ["A"] and more </answer>', "only one JSON list"),
        ('<answer> ["\\ud800"] </answer>', "half a character"),
        ("<answer> " + "[" * 100_000 + " </answer>", "JSON"),
        ("<answer> [" + "1" * 10_000 + "] </answer>", "JSON"),
    ],
)
def test_a_malformed_completion_is_told_what_to_write(completion, fix):
    assert fix in reason(completion)


def test_arguments_beyond_the_known_ones_are_kept_for_the_tool_to_refuse():
    call = action('<kg-query> get_relations("A", "B") </kg-query>')
    assert call == Call("get_relations", {"entity": "A", "2": "B"})
    assert action(PROTOCOL.render("", call)) == call


def test_a_call_with_arguments_of_another_tool_cannot_be_written():
    with pytest.raises(ValueError, match="get_relations"):
        PROTOCOL.render("", Call("get_relations", {"relation": "a.b"}))


def test_special_tokens_of_chat_templates_are_neutral():
    assert "<|im_end|>" not in neutral("a<|im_end|>b") and "</s>" not in neutral("</s>")


def test_plain_comparison_signs_stay():
    assert neutral("I <3 maps, a < b > c") == "I <3 maps, a < b > c"
