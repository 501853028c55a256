"""get_relations and get_triples: what they show, what they refuse, and under which names."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.protocols.tags import TagProtocol, neutral
from graphwalker.question import Question
from graphwalker.tools.base import Call
from graphwalker.tools.namebook import NameBook, quote
from graphwalker.tools.walker import EXAMPLES, Page, WalkerSettings, WalkerTools

DIRECTED, BORN = "film.film.directed_by", "people.person.date_of_birth"
MARRIED = "people.person.spouse_s..people.marriage.spouse"
TRIPLES = [
    ("m.alien", DIRECTED, "m.scott"),
    ("m.blade", DIRECTED, "m.scott"),
    ("m.alien2", DIRECTED, "m.cameron"),
    ("m.scott", "people.person.place_of_birth", "m.shields"),
    ("m.scott", "people.person.spouse_s", "m.cvt1"),
    ("m.cvt1", "people.marriage.spouse", "m.scott"),
    ("m.cvt1", "people.marriage.spouse", "m.sandy"),
    ("m.scott", BORN, '"1937-11-30"^^<date>'),
    ("m.alien", "type.object.type", "m.type"),
    ("m.scott", "common.topic.webpage..common.webpage.category", "m.type"),
    ("m.scott", "people.person.idol", "m.scott"),
]
NAMES = {
    "m.alien": "Alien", "m.alien2": "Alien", "m.blade": "Blade Runner", "m.scott": "Scott, Ridley",
    "m.cameron": "James Cameron", "m.shields": "South Shields", "m.sandy": "Sandy",
    "m.type": "Film",
}  # fmt: skip
QUESTION = Question("q", "Who directed the film Alien?", (Entity("m.alien", "Alien"),))


def tools(topics=QUESTION.topic_entities, triples=TRIPLES, names=NAMES, **settings):
    question = Question("q", QUESTION.text, tuple(topics))
    return WalkerTools(MemoryGraph(triples, names), question, WalkerSettings(**settings))


def looked(*topics, **settings):
    """Tools that have listed the relations of their first topic."""
    box = tools(*topics, **settings)
    relations(box, box.topic_names()[0])
    return box


def relations(box, entity):
    return box.call(Call("get_relations", {"entity": entity}))


def triples(box, entity, *wanted):
    return box.call(Call("get_triples", {"entity": entity, "relations": list(wanted)}))


SCOTT = (Entity("m.scott", "Scott, Ridley"),)


def test_relations_of_both_directions_are_listed_best_first():
    seen = relations(tools(SCOTT), "Scott, Ridley")
    others = {"people.person.idol", "people.person.place_of_birth"}
    assert set(seen.relations) == {DIRECTED, BORN, MARRIED, *others}
    assert seen.relations[0] == DIRECTED and seen.text == ", ".join(seen.relations)


def test_book_keeping_relations_are_skipped_and_can_be_configured():
    assert relations(tools(), "Alien").text == DIRECTED
    assert "type.object.type" in relations(tools(skip_relations=()), "Alien").relations


def test_only_the_top_relations_are_listed_and_the_rest_is_counted():
    seen = relations(tools(SCOTT, top_relations=2), "Scott, Ridley")
    assert len(seen.relations) == 2 and seen.hidden == 3
    assert seen.text.endswith(" (+3 more)")


def test_triples_stand_in_brackets_outgoing_first():
    seen = triples(looked(SCOTT), "Scott, Ridley", BORN, DIRECTED)
    assert seen.text == (
        f'["Scott, Ridley", {BORN}, 1937-11-30], '
        f'[Alien, {DIRECTED}, "Scott, Ridley"], [Blade Runner, {DIRECTED}, "Scott, Ridley"]'
    )
    ids = ["m.scott", '"1937-11-30"^^<date>', "m.alien", "m.blade"]
    assert [entity.id for entity in seen.shown] == ids


def test_a_hop_through_a_cvt_shows_no_cvt_and_not_the_entity_itself():
    assert (
        triples(looked(SCOTT), "Scott, Ridley", MARRIED).text
        == f'["Scott, Ridley", {MARRIED}, Sandy]'
    )


def test_a_relation_from_an_entity_to_itself_is_shown_once():
    seen = triples(looked(SCOTT), "Scott, Ridley", "people.person.idol")
    assert seen.text.count("[") == 1 and seen.hidden == 0


def test_triples_beyond_the_limit_are_counted_per_relation_and_direction():
    facts = [(f"m.{i:02}", DIRECTED, "m.scott") for i in range(17)]
    facts += [("m.scott", "a.b.c", f"m.{i:02}") for i in range(6)]
    names = {"m.scott": "Scott", **{f"m.{i:02}": f"Film {i:02}" for i in range(17)}}
    box = looked((Entity("m.scott", "Scott"),), facts, names)
    seen = triples(box, "Scott", DIRECTED, "a.b.c")
    assert seen.text.endswith("[Scott, a.b.c, Film 04] (+1 more)")
    assert f"[Film 04, {DIRECTED}, Scott] (+12 more), [Scott, a.b.c, Film 00]" in seen.text
    assert seen.hidden == 13


def test_only_the_first_four_distinct_relations_are_used():
    facts = [("m.a", f"r.r.r{i}", "m.b") for i in range(6)]
    box = looked((Entity("m.a", "A"),), facts, {"m.a": "A", "m.b": "B"})
    wanted = ["r.r.r0", "r.r.r0", "r.r.r1", "r.r.r2", "r.r.r3", "r.r.r4"]
    seen = triples(box, "A", *wanted)
    assert seen.relations == ("r.r.r0", "r.r.r1", "r.r.r2", "r.r.r3")
    assert seen.text.endswith("\nOnly the first 4 relations were read")
    assert "Only" not in triples(box, "A", *wanted[:5]).text


def test_an_observation_is_cut_at_an_entry_and_says_what_is_missing():
    facts = [("m.a", "r.r.r", f"m.{i}") for i in range(5)]
    names = {"m.a": "A", **{f"m.{i}": f"Name {i}" for i in range(5)}}
    box = looked((Entity("m.a", "A"),), facts, names, max_observation_chars=64)
    seen = triples(box, "A", "r.r.r")
    assert seen.text == "[A, r.r.r, Name 0], [A, r.r.r, Name 1] (+3 more)"
    assert seen.hidden == 3 and len(seen.shown) == 3
    assert box.entity_id("Name 1") == "m.1" and box.entity_id("Name 2") == ""


def test_namesakes_are_shown_distinct_and_understood():
    box = tools([Entity("m.alien", "Alien"), Entity("m.alien2", "Alien")])
    assert box.topic_names() == ("Alien", "Alien (m.alien2)")
    relations(box, "Alien (m.alien2)")
    seen = triples(box, "Alien (m.alien2)", DIRECTED)
    assert seen.text == f"[Alien (m.alien2), {DIRECTED}, James Cameron]"
    assert box.entity_id("Alien (m.alien2)") == "m.alien2"


def test_a_namesake_met_later_does_not_take_the_name():
    box = looked()
    triples(box, "Alien", DIRECTED)
    relations(box, "James Cameron")
    seen = triples(box, "James Cameron", DIRECTED)
    assert seen.text == f"[Alien (m.alien2), {DIRECTED}, James Cameron]"
    assert box.entity_id("Alien") == "m.alien"


def test_a_bare_id_counts_only_where_it_was_shown():
    box = tools([Entity("m.alien", "Alien"), Entity("m.alien2", "Alien")])
    assert relations(box, "m.alien2").error == ""
    assert relations(box, "m.alien").error == "unknown_entity"


def test_a_relation_shown_for_another_entity_may_be_used():
    assert triples(looked(), "Blade Runner", DIRECTED).error == ""


def test_an_unknown_relation_is_told_the_nearest_ones_here():
    box = looked(SCOTT)
    seen = triples(box, "Scott, Ridley", "people.person.birth_place")
    assert seen.error == "unknown_relation"
    assert "copy one of people.person.place_of_birth, " in seen.text
    assert triples(box, "Scott, Ridley", seen.relations[0]).error == ""


def test_sound_relations_are_answered_beside_unknown_ones():
    seen = triples(looked(), "Alien", "x.y.z", DIRECTED)
    first, second = seen.text.split("\n")
    assert first == f'[Alien, {DIRECTED}, "Scott, Ridley"]'
    assert second.startswith("Error unknown_relation: Alien has no x.y.z;")
    assert seen.error == "unknown_relation" and len(seen.shown) == 2


def test_a_value_is_no_entity_to_go_on_from():
    box = looked(SCOTT)
    triples(box, "Scott, Ridley", BORN)
    seen = relations(box, "1937-11-30")
    assert seen.error == "no_relations" and "is a value" in seen.text


FORM = 'write get_relations("entity")'
MISTAKES = [
    ("search", {"1": "x"}, "unknown_tool", "use get_relations("),
    ("get_relations", {}, "bad_arguments", FORM),
    ("get_relations", {"entity": ["Alien"]}, "bad_arguments", FORM),
    ("get_relations", {"entity": "Alien", "2": "x"}, "bad_arguments", FORM),
    ("get_triples", {"entity": "Alien"}, "bad_arguments", 'write get_triples("entity", ['),
    ("get_triples", {"entity": "Alien", "relations": DIRECTED}, "bad_arguments", "write get_"),
    ("get_triples", {"entity": "Alien", "relations": []}, "bad_arguments", "write get_triples("),
    ("get_triples", {"entity": "Alien", "relations": [DIRECTED]}, "not_listed_yet",
     'first get_relations("Alien")'),
    ("get_relations", {"entity": "Aliens"}, "unknown_entity", "copy Alien"),
    *(("get_relations", {"entity": odd}, "unknown_entity", "")
      for odd in ("", " ", "\x00", "x" * 100_000, "\u2028", "</information>")),
]  # fmt: skip


def test_a_mistake_is_told_with_the_next_move_and_echoed_short():
    for tool, arguments, kind, told in MISTAKES:
        seen = tools().call(Call(tool, arguments))
        assert (seen.error, told in seen.text, len(seen.text) < 600) == (kind, True, True), seen


ANY_NAME = st.text(st.sampled_from("ab ,[]\"\\<>\n'()é"), max_size=6)


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


@given(ANY_NAME, ANY_NAME)
def test_a_triple_can_be_taken_apart_whatever_its_names(head, tail):
    assert read_triple(f"[{quote(head)}, a.b.c, {quote(tail)}]") == [head, "a.b.c", tail]


@given(st.text(st.sampled_from('a<>|/s" ,\\'), max_size=8))
def test_a_name_can_be_copied_from_an_observation(name):
    observed = neutral(quote(f"{name}</answer>{name}"))
    assert json.loads(observed) == f"{name}</answer>{name}"
    bare = neutral(quote(name))
    assert (json.loads(bare) if bare.startswith('"') else bare) == name


@given(st.lists(ANY_NAME.filter(bool), min_size=2, max_size=5))
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


@given(st.lists(st.tuples(st.sampled_from(["m.1", "m.2", "m.3", "m.4"]), ANY_NAME), max_size=8))
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


class CountingPage(Page):
    """How often it writes triples out."""

    times = 0

    def write(self, *facts):
        self.times += 1
        return super().write(*facts)


@pytest.mark.parametrize("budget", [0, 12_000])
def test_triples_far_from_the_limit_are_written_out_once(budget):
    page = CountingPage(NameBook(MemoryGraph([], {})), budget)
    ends = [Entity(f"m.end{number}", f"End {number}") for number in range(5)]
    page.add(Entity("m.a", "Alien"), "a.b.c", Direction.OUT, ends, 5)
    assert (page.times, len(page.triples)) == (1, 5)
