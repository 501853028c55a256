"""The tag protocol reads back what it writes, and cannot be fooled by tags in odd places."""

import pytest

from graphwalker.protocols.answers import read_lenient
from graphwalker.protocols.base import PLACEHOLDER, FinalAnswer, Malformed
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
    assert "</think>" in reason('<think> so <answer> ["A"] </answer>')  # it is not closed


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


def test_special_tokens_of_chat_templates_are_neutral_and_comparison_signs_stay():
    assert "<|im_end|>" not in neutral("a<|im_end|>b") and "</s>" not in neutral("</s>")
    assert neutral("I <3 maps, a < b > c") == "I <3 maps, a < b > c"


LENIENT = TagProtocol(EXAMPLES, lenient=True)
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
    "", "I think that it could be Oslo.", "<answer> </answer>", "<think> Answer: Oslo",
    f"<answer> {PLACEHOLDER} </answer>", "<answer>" + "so it may well be " * 5 + "</answer>",
    "<answer>" + "[" * 100_000, '["film.directed_by"]', '{"relation": ["film.directed_by"]}',
)  # fmt: skip


def test_a_form_that_a_person_understands_is_read_and_named():
    for text, names in FORMS.items():
        answer = LENIENT.parse(text)[1]
        assert answer == FinalAnswer(tuple(names)), text
        assert isinstance(answer, FinalAnswer) and answer.read, text


def test_a_mere_list_is_an_answer_where_there_is_nothing_to_call():
    answers = TagProtocol({}, lenient=True)
    assert answers.parse('["Oslo", "Rome"]')[1] == FinalAnswer(("Oslo", "Rome"))


def test_what_is_unsure_stays_malformed_and_training_stays_strict():
    for text in (*UNSURE, *FORMS):
        protocol = PROTOCOL if text in FORMS else LENIENT
        assert isinstance(protocol.parse(text)[1], Malformed), text[:80]


@pytest.mark.parametrize("protocol", [PROTOCOL, LENIENT])
def test_what_is_written_as_asked_is_read_as_before(protocol):
    for action in (FinalAnswer(("Oslo, Norway",)), Call("get_relations", {"entity": "Oslo"})):
        found = protocol.parse(protocol.render("", action))[1]
        assert found == action and not getattr(found, "read", "")


def test_a_malformed_call_is_no_answer():
    assert read_lenient("<kg-query> get_relations(Oslo) </kg-query>") is None
