"""Where thoughts begin and end, in every mark that templates and servers use."""

import pytest

from graphwalker.protocols.base import FinalAnswer
from graphwalker.protocols.forms import FormProtocol
from graphwalker.protocols.functions import FunctionProtocol
from graphwalker.protocols.tags import TagProtocol
from graphwalker.tokens.reasoning import action_end, leaves_open, without_reasoning
from graphwalker.tools.base import Call
from graphwalker.tools.walker import EXAMPLES
from support.scripted_play import environment_of, scripts

PROTOCOL = TagProtocol(EXAMPLES)
STOPS = PROTOCOL.stop
WRONG = 'It may be <answer> ["Wrong"] </answer>, but the question is another.'
RIGHT = '<answer> ["Oslo"] </answer>'
FINAL = "<|channel|>final<|message|>"
MARKS = {
    "DeepSeek": ("<think>", "</think>\n"),
    "opened by the template": ("", "</think>\n\n"),
    "Magistral": ("[THINK]", "[/THINK]"),
    "Magistral, opened by the template": ("", "[/THINK]"),
    "Gemini": ("<thought>\n", "</thought>\n"),
    "Claude": ("<thinking>", "</thinking>"),
    "Seed-OSS": ("<seed:think>", "</seed:think>"),
    "LongCat": ("<longcat_think>", "</longcat_think>"),
    "Kimi-VL": ("◁think▷", "◁/think▷"),
    "Command A": ("<|START_THINKING|>", "<|END_THINKING|>"),
    "Sky-T1": ("<|begin_of_thought|>", "<|end_of_thought|>"),
    "Apertus": ("<|inner_prefix|>", "<|inner_suffix|>"),
    "Gemma": ("<|channel>thought\n", "<channel|>"),
    "gpt-oss": ("<|channel|>analysis<|message|>", f"<|end|><|start|>assistant{FINAL}"),
    "gpt-oss without special tokens": ("analysis", "assistantfinal"),
    "Granite": ("Here is my thought process:\n", "Here is my response:\n"),
}


@pytest.mark.parametrize("marks", MARKS.values(), ids=MARKS)
def test_an_action_within_a_thought_is_none_whatever_marks_it(marks):
    text = f"{marks[0]}{WRONG}{marks[1]}{RIGHT}"
    assert action_end(f"{text} and more", STOPS) == len(text)
    assert PROTOCOL.parse(text)[1] == FinalAnswer(("Oslo",))
    if marks[1] != "</thought>\n":
        assert without_reasoning(text) == RIGHT


def test_the_first_action_behind_a_thought_counts_and_not_what_was_made_up_after_it():
    query = '<kg-query> get_relations("Oslo") </kg-query>'
    made_up = "<information> Norway </information> <think> So. </think> <answer> [] </answer>"
    for thought in ("", "<think> I look. </think>\n"):
        assert action_end(f"{thought}{query}\n{made_up}", STOPS) == len(thought + query)
        more = f"{thought}{query}\n{made_up.replace('<think>', '')}"
        assert action_end(more, STOPS) == len(thought + query)


def test_a_thought_that_names_its_own_end_goes_on():
    text = f"<think> I write </think> and then {WRONG} </think> {RIGHT}"
    assert action_end(text, STOPS) == len(text)


def test_a_thought_that_is_never_closed_holds_no_action():
    assert action_end(f"<think> {WRONG}", STOPS) is None
    assert action_end(f"{WRONG} {RIGHT}", STOPS, opened=True) is None
    assert action_end(f"{WRONG} [/THINK] {RIGHT}", STOPS, opened=True) is not None


def test_an_end_of_thought_behind_the_last_action_changes_nothing():
    assert PROTOCOL.parse(f"{RIGHT} </think>")[1] == FinalAnswer(("Oslo",))


@pytest.mark.parametrize("name", ["[THINK] me", "no [/THINK]", "a </thinking> b", "<thinking>"])
def test_a_mark_within_a_name_is_a_part_of_the_name(name):
    call = Call("get_relations", {"entity": name})
    text = PROTOCOL.render("I look.", call)
    assert PROTOCOL.parse(text)[1] == call and action_end(text, STOPS) == len(text)


def test_other_protocols_read_what_follows_the_thoughts_too():
    functions, forms = FunctionProtocol([]), FormProtocol({"anchor": {"anchor": "Name"}})
    for opening, end in (("[THINK]", "[/THINK]"), ("", "</think>")):
        text = f"{opening}Final answer: {{Bern}}? No.{end}Final answer: {{Oslo}}"
        assert functions.parse(text)[1] == FinalAnswer(("Oslo",))
        text = f'{opening}Or {{"anchor": "Bern"}}? {end}{{"anchor": "Oslo"}}'
        assert forms.parse(text)[1] == Call("anchor", {"anchor": "Oslo"})


def test_a_template_that_opens_a_thought_is_known():
    assert leaves_open("<|Assistant|><think>\n") and leaves_open("[/INST][THINK]")
    assert not leaves_open("<|im_start|>assistant\n")
    assert not leaves_open("<|im_start|>assistant\n<think>\n\n</think>\n\n")


@pytest.mark.parametrize("preset", ["graphwalker", "graphwalker-wide", "kg-r1"])
def test_what_agents_are_taught_ends_where_it_ended_when_every_stop_string_counted(preset):
    environment = environment_of(preset)
    protocol = environment.protocol
    taught = [line for _, lines in scripts(environment, 30) for line in lines]
    assert len(taught) > 30
    for text in taught:
        assert action_end(text, protocol.stop) == min(
            text.index(stop) + len(stop) for stop in protocol.stop if stop in text
        )
        assert protocol.render(*protocol.parse(text)) == text
