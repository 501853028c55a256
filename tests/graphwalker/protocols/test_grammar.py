"""The grammar of constrained decoding: only what was shown, nothing twice, and readable."""

import json
import random
import re
from dataclasses import replace

import pytest

from graphwalker.graphs.base import Direction, Entity
from graphwalker.protocols.base import FinalAnswer
from graphwalker.protocols.grammar import Shown
from graphwalker.protocols.tags import TagProtocol
from graphwalker.query.query import Hop
from graphwalker.tools.base import Call, Listed
from graphwalker.tools.paged import PAGE
from graphwalker.tools.walker import EXAMPLES
from graphwalker.trajectory import Turn

TOPIC = Entity("m.1", 'Anna "Kö" Kovar')
FOUND = Entity("m.2", "Oslo </kg-query>")
DATE = Entity('"1999"', "1999")
LOOK = Turn(
    (),
    "",
    action={"tool": "get_relations", "arguments": {"entity": TOPIC.name}},
    listed=(Listed("m.1", (Hop("a.b", Direction.OUT), Hop("a.c", Direction.IN))),),
)
ASK = Turn(
    (),
    "",
    action={"tool": "get_triples", "arguments": {"entity": TOPIC.name, "relations": ["a.b"]}},
    shown=(TOPIC, FOUND, DATE),
)


def grammar(*turns: Turn, pages=False):
    shown = Shown({TOPIC.name: TOPIC.id})
    for turn in turns:
        shown.add(turn)
    return TagProtocol(EXAMPLES, PAGE if pages else None).grammar(shown)


def paged(turn: Turn, page: int) -> Turn:
    arguments = {**turn.action["arguments"], "page": page}
    return replace(turn, action={**turn.action, "arguments": arguments})


WRITTEN = re.compile(r'((?:[^"\\]|\\.)*")(.*)', re.DOTALL)


def after(made, opening: str) -> list[str]:
    return [text.decode() for text in made.continuations(opening.encode()) or ()]


def choices(made, opening: str) -> list[str]:
    """What the open string may be, with its quotes' end; `!` where nothing may be added to it."""
    ends: dict[str, list[str]] = {}
    for text in after(made, opening):
        name, end = WRITTEN.fullmatch(text).groups()
        ends.setdefault(opening.rpartition('"')[2] + name, []).append(end)
    listed = '["' in opening
    return [n + "!" * (listed and not any(e.endswith('"') for e in ends[n])) for n in ends]


def written(name: str) -> str:
    return (
        TagProtocol(EXAMPLES).render("", Call("get_relations", {"entity": name})).split('"', 1)[1]
    )


def test_a_thought_and_the_choice_of_an_action_are_free():
    unknown = b'<kg-query> look("x", '
    for text in (
        b"",
        b'<think> "Anna',
        b"<kg-query> get_",
        unknown,
        b'<answer> ["1999"] </answer>',
    ):
        assert grammar(LOOK, ASK).continuations(text) is None


def test_an_action_has_the_form_that_is_read():
    made, name = grammar(LOOK, ASK), '"Oslo \\u003c/kg-query>"'
    assert after(made, "<kg-query> get_relations(") == ['"']
    assert after(made, f"<kg-query> get_relations({name}") == [") </kg-query>"]
    assert after(made, f"<kg-query> get_relations({name}) </kg-") == ["query>"]
    assert after(made, f"<kg-query> get_triples({name}") == [', ["']
    assert after(made, f"<kg-query> get_triples({name},") == [' ["']
    assert after(made, f'<kg-query> get_triples({name}, ["a.b"') == ["]) </kg-query>", ', "']
    assert after(made, "<answer>") == [' ["', " [] </answer>"]
    assert after(made, '<answer> ["1999"') == ["] </answer>", ', "']
    assert after(made, '<answer> ["1999"]') == [" </answer>"]


def test_a_list_with_nothing_left_to_add_ends():
    made = TagProtocol(EXAMPLES).grammar(Shown({"Oslo": "m.1"}))
    assert after(made, '<answer> ["Oslo"') == ["] </answer>"]
    assert after(made, '<answer> ["') == ['Oslo"] </answer>']
    nothing = TagProtocol(EXAMPLES).grammar(Shown())
    assert after(nothing, "<answer>") == [" [] </answer>"]


def test_a_call_that_was_cut_names_its_next_page_and_no_other():
    cut = replace(ASK, hidden=3)
    opening = f'<kg-query> get_triples({json.dumps(TOPIC.name, ensure_ascii=False)}, ["a.'
    for turns, page in (((cut,), 2), ((cut, paged(cut, 2)), 3), ((cut, paged(cut, 3)), 4)):
        made = grammar(LOOK, *turns, pages=True)
        assert after(made, f'{opening}b"') == [f"], {page}) </kg-query>"]
        assert after(made, f'{opening}b"],') == [f" {page}) </kg-query>"]
        # A list holds what is on the same page: the other relation was not asked for yet.
        assert after(made, f'{opening}c"') == ["]) </kg-query>"]
        assert choices(made, opening) == ['a.b"!', 'a.c"!']
    whole = grammar(LOOK, cut, replace(paged(cut, 2), hidden=0), pages=True)
    assert choices(whole, opening) == ['a.c"!']
    unpaged = grammar(LOOK, replace(paged(cut, 2), action={**ASK.action}), pages=True)
    assert after(unpaged, f'{opening}b"') == ["], 2) </kg-query>"]
    assert after(made, '<kg-query> get_relations("1999"') == [") </kg-query>"]
    listed = grammar(replace(LOOK, hidden=9), pages=True)
    name = json.dumps(TOPIC.name, ensure_ascii=False)
    assert after(listed, f"<kg-query> get_relations({name}") == [", 2) </kg-query>"]


def test_a_call_without_an_entity_stops_nothing():
    made = grammar(LOOK, replace(ASK, hidden=3), pages=True)
    assert after(made, '<kg-query> get_triples([], ["a.b"') == ["]) </kg-query>", ', "']
    assert after(made, "<kg-query> get_triples([], [],") == [" 1) </kg-query>"]


@pytest.mark.parametrize("seed", range(20))
def test_what_is_written_by_the_grammar_is_read(seed):
    rng = random.Random(seed)
    made = grammar(LOOK, ASK)
    for opening in ("<answer>", "<kg-query> get_relations(", "<kg-query> get_triples("):
        text = opening
        while rest := after(made, text):
            text += rng.choice(rest)[: rng.randrange(1, 9)]
        assert text.endswith(("</answer>", "</kg-query>"))
        _, action = TagProtocol(EXAMPLES).parse(text)
        assert isinstance(action, Call | FinalAnswer)


def test_entities_are_those_shown_as_a_call_writes_them():
    first = choices(grammar(), '<kg-query> get_relations("')
    assert first == ['Anna \\"Kö\\" Kovar"']
    assert written(TOPIC.name).startswith(first[0])
    after = choices(grammar(LOOK, ASK), '<kg-query> get_relations("')
    assert after == ['Oslo \\u003c/kg-query>"']  # the topic was listed, a date has no relations
    assert written(FOUND.name).startswith(after[0])


def test_relations_are_those_listed_at_the_entity_and_not_asked_for_yet():
    opening = f'<kg-query> get_triples({json.dumps(TOPIC.name, ensure_ascii=False)}, ["'
    assert choices(grammar(LOOK), opening) == ['a.b"', 'a.c"']
    assert choices(grammar(LOOK, ASK), opening) == ['a.c"!']
    assert choices(grammar(LOOK), f'{opening}a.b", "') == ['a.c"!']


def test_an_entity_that_was_not_listed_takes_any_relation_seen():
    opening = '<kg-query> get_triples("Oslo \\u003c/kg-query>", ["'
    assert choices(grammar(LOOK, ASK), opening) == ['a.b"', 'a.c"']


def test_a_call_that_was_cut_is_made_again_only_for_its_next_page():
    cut = replace(LOOK, hidden=3)
    assert choices(grammar(cut, pages=True), '<kg-query> get_relations("')
    assert not choices(grammar(cut), '<kg-query> get_relations("')


def test_an_answer_names_each_entity_once_and_ends_after_the_last():
    opening = '<answer> ["Anna \\"Kö\\" Kovar", "'
    assert choices(grammar(LOOK, ASK), opening) == ['Oslo \\u003c/kg-query>"', '1999"']
    assert choices(grammar(LOOK, ASK), f'{opening}1999", "') == ['Oslo \\u003c/kg-query>"!']
