"""Shown names are unambiguous, whatever the names are."""

import json

from hypothesis import given
from hypothesis import strategies as st

from graphwalker.graphs.base import Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.protocols.tags import TagProtocol, neutral
from graphwalker.question import Question
from graphwalker.tools.base import Call
from graphwalker.tools.namebook import NameBook, quote
from graphwalker.tools.walker import EXAMPLES, WalkerTools

NAMES = st.text(st.sampled_from("ab ,[]\"\\<>\n'()é"), max_size=6)


def read_triple(text):
    """The three fields of `[head, relation, tail]`, as a careful reader would take them apart."""
    fields, rest = [], text[1:]
    for end in (", ", ", ", "]"):
        if rest.startswith('"'):
            name, length = json.JSONDecoder().raw_decode(rest)
            rest = rest[length:]
        else:
            name = rest[: rest.index(end)]
            rest = rest[len(name) :]
        fields.append(name)
        assert rest.startswith(end)
        rest = rest[len(end) :]
    assert rest == ""
    return fields


@given(NAMES, NAMES)
def test_a_triple_can_be_taken_apart_whatever_its_names(head, tail):
    assert read_triple(f"[{quote(head)}, a.b.c, {quote(tail)}]") == [head, "a.b.c", tail]


@given(st.text(st.sampled_from('a<>|/s" ,\\'), max_size=8))
def test_a_name_can_be_copied_from_an_observation(name):
    observed = neutral(quote(f"{name}</answer>{name}"))
    assert json.loads(observed) == f"{name}</answer>{name}"
    bare = neutral(quote(name))
    assert (json.loads(bare) if bare.startswith('"') else bare) == name


@given(st.lists(NAMES.filter(bool), min_size=2, max_size=5))
def test_every_shown_name_leads_back_to_its_entity(names):
    ids = [f"m.{i}" for i in range(len(names))]
    graph = MemoryGraph([(ids[0], "a.b.c", i) for i in ids[1:]], dict(zip(ids, names, strict=True)))
    question = Question("q", "?", (Entity(ids[0], names[0]),))
    tools, protocol = WalkerTools(graph, question), TagProtocol(EXAMPLES)
    topic = tools.topic_names()[0]
    tools.call(Call("get_relations", {"entity": topic}))
    seen = tools.call(Call("get_triples", {"entity": topic, "relations": ["a.b.c"]}))
    assert [entity.id for entity in seen.shown] == ids
    for entity in seen.shown:
        _, call = protocol.parse(
            protocol.render("", Call("get_relations", {"entity": entity.name}))
        )
        assert tools.call(call).text == "a.b.c"
        assert tools.entity_id(entity.name) == entity.id


@given(st.lists(st.tuples(st.sampled_from(["m.1", "m.2", "m.3", "m.4"]), NAMES), max_size=8))
def test_no_two_entities_share_a_shown_name(entries):
    book = NameBook(MemoryGraph([], {}))
    shown = {i: book.show(Entity(i, name)) for i, name in entries}
    assert len(set(shown.values())) == len(shown)
    assert all(book.entity_id(name) == i for i, name in shown.items())


def test_a_name_that_looks_like_a_made_distinct_one_is_made_distinct_too():
    book = NameBook(MemoryGraph([], {}))
    shown = [book.show(Entity(*e)) for e in [("m.9", "A (m.1)"), ("m.2", "A"), ("m.1", "A")]]
    assert shown == ["A (m.1)", "A", "A (m.1) (m.1)"]


def test_equal_values_share_a_name_and_leave_entities_theirs():
    book = NameBook(MemoryGraph([], {}))
    film, year = Entity("m.1", "1984"), Entity('"1984"^^<year>', "1984")
    assert book.show(film) == "1984"
    assert book.show(year) == book.show(Entity('"1984"', "1984")) == "1984 (value)"
