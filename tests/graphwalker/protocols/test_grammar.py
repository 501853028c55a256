"""Grammars of constrained decoding: what protocols write, names that were shown, no call twice."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from graphwalker.graphs.base import Direction, Entity
from graphwalker.protocols.base import Calls, FinalAnswer
from graphwalker.protocols.functions import FunctionProtocol
from graphwalker.protocols.grammar import GrammarFacts
from graphwalker.protocols.tags import TagProtocol
from graphwalker.query.query import Hop
from graphwalker.tools.base import Call, Listed
from graphwalker.tools.functions import Function, Parameter
from graphwalker.tools.paged import PAGE
from graphwalker.tools.walker import EXAMPLES
from graphwalker.trajectory import Turn
from support.grammars import allows, begins

TOPIC = Entity("m.1", 'Anna "Kö" Kovar')
FOUND = Entity("m.2", "Oslo </kg-query>")
DATE = Entity('"1999"', "1999")
LISTED = (Listed("m.1", (Hop("a.b", Direction.OUT), Hop("a.c", Direction.IN))),)
HERE = {"entity": TOPIC.name}
LOOK = Turn((), "", action={"tool": "get_relations", "arguments": HERE}, listed=LISTED)
ASKED = {"tool": "get_triples", "arguments": {**HERE, "relations": ["a.b"]}}
ASK = Turn((), "", action=ASKED, shown=(TOPIC, FOUND, DATE))
TAGS, PAGED = TagProtocol(EXAMPLES), TagProtocol(EXAMPLES, PAGE)


def facts(*turns):
    shown = GrammarFacts({TOPIC.name: TOPIC.id})
    for turn in turns:
        shown.add(turn)
    return shown


def relations_of(entity, **more):
    return Call("get_relations", {"entity": entity.name, **more})


def triples(entity, *relations, **more):
    return Call("get_triples", {"entity": entity.name, "relations": [*relations], **more})


def may(action, *turns, protocol=TAGS):
    return allows(protocol.grammar(facts(*turns)), protocol.render("I look.", action))


def test_a_thought_is_free_and_may_be_left_out():
    made = TAGS.grammar(facts())
    call = TAGS.render("", relations_of(TOPIC))
    for thought in ("", "<think> 1 < 2, a <\\think> and {x} </think>\n", "<think></think>"):
        assert allows(made, thought + call)
    assert not begins(made, "I would say")


def test_entities_are_those_shown_whose_relations_are_not():
    assert may(relations_of(TOPIC)) and not may(relations_of(FOUND))
    assert may(relations_of(FOUND), LOOK, ASK)
    assert not may(relations_of(TOPIC), LOOK) and not may(relations_of(DATE), LOOK, ASK)


def test_relations_are_those_listed_at_the_entity_and_not_asked_for_yet():
    assert may(triples(TOPIC, "a.b", "a.c"), LOOK) and not may(triples(TOPIC, "a.d"), LOOK)
    assert may(triples(TOPIC, "a.c"), LOOK, ASK) and not may(triples(TOPIC, "a.b"), LOOK, ASK)
    assert may(triples(FOUND, "a.b"), LOOK, ASK), "nothing was listed there: any relation seen"


def test_a_list_is_not_longer_than_its_choices():
    assert not may(triples(TOPIC, "a.b", "a.c", "a.b"), LOOK)
    made = TAGS.grammar(facts(LOOK), True)
    assert begins(made, '<answer> ["Anna \\"Kö\\" Kovar"]')
    assert not begins(made, '<answer> ["Anna \\"Kö\\" Kovar", ')


def test_answers_name_what_results_have_shown():
    assert may(FinalAnswer((FOUND.name, DATE.name)), LOOK, ASK)
    for names in ((FOUND.name,), (TOPIC.name,), ("Name",)):
        assert not may(FinalAnswer(names), LOOK)


def test_no_answer_is_empty_before_relations_were_listed():
    for turns in ((), (LOOK,), (LOOK, ASK)):
        assert may(FinalAnswer(()), *turns) is bool(turns)
        assert allows(TAGS.grammar(facts(*turns), True), TAGS.render("", FinalAnswer(())))
    assert may(FinalAnswer(()), protocol=TagProtocol({})), "nothing can be called"


def test_a_forced_turn_has_an_answer_alone():
    made = TAGS.grammar(facts(LOOK), True)
    assert allows(made, TAGS.render("So.", FinalAnswer((TOPIC.name,))))
    assert not begins(made, "<kg-query>")


def test_a_call_that_was_cut_names_its_next_page_and_no_other():
    cut = replace(ASK, hidden=3)
    second = replace(cut, action={**ASKED, "arguments": {**ASKED["arguments"], "page": 2}})
    for turns, page in (((cut,), 2), ((cut, second), 3)):
        assert may(triples(TOPIC, "a.b", page=page), LOOK, *turns, protocol=PAGED)
        assert not may(triples(TOPIC, "a.b"), LOOK, *turns, protocol=PAGED)
        assert not may(triples(TOPIC, "a.b", page=page + 1), LOOK, *turns, protocol=PAGED)
        assert may(triples(TOPIC, "a.c"), LOOK, *turns, protocol=PAGED), "its first page"
    assert not may(triples(TOPIC, "a.b"), LOOK, cut), "there are no pages"
    assert may(relations_of(TOPIC, page=2), replace(LOOK, hidden=9), protocol=PAGED)


def test_a_call_without_an_entity_stops_nothing():
    odd = replace(ASK, action={"tool": "get_triples", "arguments": {"relations": 3, "page": "x"}})
    assert may(triples(TOPIC, "a.b"), LOOK, odd, replace(odd, hidden=1))


HOSTILE = st.text(st.sampled_from('ab"\\\n\t{}[]<>/|é日\x7f'), min_size=1, max_size=8)


@given(HOSTILE, HOSTILE)
def test_whatever_is_shown_can_be_named(name, relation):
    entity = Entity("m.1", name)
    listed = {relation: None}
    shown = GrammarFacts({name: "m.1"}, {name: None}, {"m.1": listed}, listed)
    made = TAGS.grammar(shown)
    for action in (relations_of(entity), triples(entity, relation), FinalAnswer((name,))):
        assert allows(made, TAGS.render("", action))


SIDES = Parameter("string", "", "out", ("out", "in"))
VALUE = Parameter(("string", "number", "boolean"), "", "x")
FUNCTIONS = (
    Function("look", "", {"place": Parameter("string", "", "Oslo"), "side": SIDES}),
    Function("list", "", {"value": VALUE, "some": Parameter("array", "", ["a"], required=False)}),
)
KNOWN = {"place": ["Oslo", 'a "b"', "c </tool_call>"], "value": [15, 156, 1.5, True, "15"],
         "some": ["a.b", "a.c"]}  # fmt: skip
CALLS = FunctionProtocol(FUNCTIONS)
NAMES = {"Oslo": "m.1", "Bergen": "m.2", "a {b}": "m.3"}


def calls_grammar(protocol=CALLS, choices=None, forced=False):
    choices = choices or (lambda call, argument: KNOWN.get(argument))
    found = dict.fromkeys(NAMES)
    return protocol.grammar(GrammarFacts(NAMES, found, choices=choices), forced)


def may_call(tool, protocol=CALLS, **arguments):
    text = protocol.render("I look.", Call(tool, arguments))
    return allows(calls_grammar(protocol), text)


def test_calls_name_tools_arguments_and_values_that_there_are():
    for place in KNOWN["place"]:
        assert may_call("look", place=place, side="in")
    assert not may_call("look", place="Rome", side="in") and not may_call("fly", place="Oslo")
    assert not may_call("look", place="Oslo") and not may_call("look", place="Oslo", side="up")


def test_values_keep_their_kinds_and_what_may_be_left_out_is_optional():
    assert all(may_call("list", value=value) for value in KNOWN["value"])
    assert not may_call("list", value=1) and not may_call("list", value="1.5")
    assert may_call("list", value=15, some=["a.b", "a.c"])
    assert not may_call("list", value=15, some=[])


def test_what_the_tools_do_not_know_is_free():
    made = calls_grammar(choices=lambda call, argument: None)
    for value in ('any "thing"', 3, -1.25, True):
        call = Call("list", {"value": value, "some": ["x", "y"]})
        assert allows(made, CALLS.render("", call))


def test_choices_depend_on_the_arguments_before_them():
    sides = {"Oslo": "in", 'a "b"': "out"}

    def choices(call, argument):
        return [*sides] if argument == "place" else [sides.get(call.arguments.get("place"), "x")]

    made = calls_grammar(choices=choices)
    for place, side in (("Oslo", "in"), ("Oslo", "out")):
        text = CALLS.render("", Call("look", {"place": place, "side": side}))
        assert begins(made, text) == (sides[place] == side)


def test_several_calls_stand_in_one_message_where_they_may():
    call = Call("list", {"value": True})
    two = CALLS.render("Both.", Calls((call, call)))
    assert allows(calls_grammar(), two)
    assert not begins(calls_grammar(FunctionProtocol(FUNCTIONS, parallel=False)), two)


def test_an_answer_in_braces_names_what_was_shown_and_is_not_empty_before_a_look():
    for names in (("Oslo", "Bergen"), ("a {b}",), ()):
        text = CALLS.render("So.", FinalAnswer(names))
        assert allows(calls_grammar(forced=True), text)
        assert allows(calls_grammar(), text) is (names != ())
    assert not begins(calls_grammar(), "So. {Rome}")
    assert not begins(calls_grammar(), "Final answer: {Rome}")
    assert not begins(calls_grammar(forced=True), "<tool_call>")
