"""Pages of the walker's tools: nothing is out of reach, and a wrong page names the next move."""

from dataclasses import replace

import pytest

from graphwalker.graphs.base import Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.protocols.base import Malformed
from graphwalker.protocols.tags import TagProtocol
from graphwalker.question import Question
from graphwalker.tools.base import Call
from graphwalker.tools.paged import PAGE, PagedTools
from graphwalker.tools.walker import EXAMPLES, WalkerSettings, WalkerTools

TRIPLES = [
    *(("m.a", "x.y.likes", f"m.b{i}") for i in range(7)),
    *((f"m.b{i}", "x.y.knows", "m.a") for i in range(3)),
    *(("m.a", f"x.y.r{i}", "m.b0") for i in range(5)),
]
NAMES = {"m.a": "Ann, A.", **{f"m.b{i}": f"Bob {i}" for i in range(7)}}
QUESTION = Question("q", "Whom does she like?", (Entity("m.a", "Ann, A."),))


def tools(**settings):
    limits = WalkerSettings(**{"top_relations": 3, "triples_per_relation": 3, **settings})
    return PagedTools(MemoryGraph(TRIPLES, NAMES), QUESTION, limits)


def plain_tools():
    return WalkerTools(
        MemoryGraph(TRIPLES, NAMES), QUESTION, WalkerSettings(triples_per_relation=20)
    )


def relations(box, page=None):
    more = {} if page is None else {"page": page}
    return box.call(Call("get_relations", {"entity": "Ann, A.", **more}))


def triples(box, page=None, *wanted):
    more = {} if page is None else {"page": page}
    names = list(wanted or ["x.y.likes"])
    return box.call(Call("get_triples", {"entity": "Ann, A.", "relations": names, **more}))


def test_the_pages_of_a_list_hold_every_relation_once_and_name_the_next_page():
    box = tools()
    first, second, third = relations(box), relations(box, 2), relations(box, 3)
    shown = [r for page in (first, second, third) for r in page.relations]
    assert sorted(shown) == sorted({relation for _, relation, _ in TRIPLES}) and len(shown) == 7
    assert first.text.endswith(' (+4 more: get_relations("Ann, A.", 2))') and first.hidden == 4
    assert (second.hidden, third.hidden) == (1, 0) and "more" not in third.text
    assert relations(box, 1).text == first.text


@pytest.mark.parametrize("budget", [0, 120])
def test_the_pages_of_triples_hold_every_triple_once(budget):
    box = tools(max_observation_chars=budget)
    relations(box), relations(box, 2), relations(box, 3)
    shown, number = [], 1
    while True:
        page = triples(box, number, "x.y.likes", "x.y.knows")
        shown += page.triples
        number += 1
        if not page.hidden:
            break
        rest = page.text.splitlines()[-1]
        assert rest.startswith('More: get_triples("Ann, A.", ["x.y.likes"') or not budget
        assert rest.endswith(f", {number})")
    assert len(shown) == len(set(shown)) == 10 and "More" not in page.text


def test_a_page_that_is_not_there_names_the_last_one():
    box = tools()
    assert relations(box, 9).text == (
        'Error no_such_page: there is no page 9; the last one is get_relations("Ann, A.", 3)'
    )
    relations(box), relations(box, 2), relations(box, 3)
    seen = triples(box, 10**30)
    assert seen.error == "no_such_page"
    assert seen.text.endswith('the last one is get_triples("Ann, A.", ["x.y.likes"], 3)')


@pytest.mark.parametrize("page", [0, -1, "2", True, 1.5, ["2"]])
def test_what_is_no_page_is_refused(page):
    seen = relations(tools(), page)
    assert seen.error == "bad_arguments" and 'write get_relations("entity", 2)' in seen.text
    assert triples(tools(), page).error == "bad_arguments"


def test_a_call_without_a_page_shows_what_it_showed_where_nothing_is_cut():
    box, plain = tools(top_relations=20, triples_per_relation=20), plain_tools()
    for call in (
        Call("get_relations", {"entity": "Ann, A."}),
        Call("get_triples", {"entity": "Ann, A.", "relations": ["no.such"]}),
        Call("get_relations", {"entity": "Nobody"}),
        Call("get_relations", {}),
        Call("fly", {"page": 2}),
    ):
        assert box.call(call) == plain.call(call)


def test_triples_of_one_relation_and_direction_are_one_with_a_list_like_an_answer():
    box, plain = tools(top_relations=20, triples_per_relation=20), plain_tools()
    call = Call("get_triples", {"entity": "Ann, A.", "relations": ["x.y.likes", "x.y.knows"]})
    for each in (box, plain):
        each.call(Call("get_relations", {"entity": "Ann, A."}))
    seen, apart = box.call(call), plain.call(call)
    assert seen.text.startswith('["Ann, A.", x.y.likes, ["Bob 0", "Bob 1", ')
    assert seen.text.endswith('"Bob 2"], x.y.knows, "Ann, A."]')
    assert replace(seen, text="") == replace(apart, text="")


def test_pages_are_numbers_in_a_call_of_their_tools_only():
    paged, plain = TagProtocol(EXAMPLES, PAGE), TagProtocol(EXAMPLES)
    for call in (
        Call("get_relations", {"entity": "A", "page": 2}),
        Call("get_triples", {"entity": "A", "relations": ["r"], "page": 12}),
        Call("get_triples", {"entity": "A", "relations": ["r"]}),
    ):
        assert paged.parse(paged.render("Why.", call)) == ("Why.", call)
    text = '<kg-query> get_relations("A", 2) </kg-query>'
    assert isinstance(plain.parse(text)[1], Malformed)
    assert isinstance(paged.parse(text.replace("get_relations", "fly"))[1], Malformed)
    assert isinstance(paged.parse(text.replace("2", "true"))[1], Malformed)
    assert paged.hint("get_relations") == 'get_relations("Name")'
