"""get_relations and get_triples: what they show, what they refuse, and under which names."""

import pytest

from graphwalker.errors import GraphError
from graphwalker.graphs.base import Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.question import Question
from graphwalker.tools.base import Call
from graphwalker.tools.walker import WalkerSettings, WalkerTools

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
    "m.alien": "Alien",
    "m.alien2": "Alien",
    "m.blade": "Blade Runner",
    "m.scott": "Scott, Ridley",
    "m.cameron": "James Cameron",
    "m.shields": "South Shields",
    "m.sandy": "Sandy",
    "m.type": "Film",
}
QUESTION = Question("q", "Who directed the film Alien?", (Entity("m.alien", "Alien"),))


def tools(topics=QUESTION.topic_entities, triples=TRIPLES, names=NAMES, **settings):
    question = Question("q", QUESTION.text, tuple(topics))
    return WalkerTools(MemoryGraph(triples, names), question, WalkerSettings(**settings))


def relations(box, entity):
    return box.call(Call("get_relations", {"entity": entity}))


def triples(box, entity, *wanted):
    return box.call(Call("get_triples", {"entity": entity, "relations": list(wanted)}))


SCOTT = (Entity("m.scott", "Scott, Ridley"),)


def test_relations_of_both_directions_are_listed_best_first():
    seen = relations(tools(SCOTT), "Scott, Ridley")
    assert set(seen.relations) == {
        DIRECTED,
        BORN,
        MARRIED,
        "people.person.idol",
        "people.person.place_of_birth",
    }
    assert seen.relations[0] == DIRECTED
    assert seen.text == ", ".join(seen.relations)


def test_book_keeping_relations_are_skipped_and_can_be_configured():
    assert relations(tools(), "Alien").text == DIRECTED
    assert "type.object.type" in relations(tools(skip_relations=()), "Alien").relations


def test_only_the_top_relations_are_listed_and_the_rest_is_counted():
    seen = relations(tools(SCOTT, top_relations=2), "Scott, Ridley")
    assert len(seen.relations) == 2 and seen.hidden == 3
    assert seen.text.endswith(" (+3 more)")


def test_triples_stand_in_brackets_outgoing_first():
    box = tools(SCOTT)
    relations(box, "Scott, Ridley")
    seen = triples(box, "Scott, Ridley", BORN, DIRECTED)
    assert seen.text == (
        f'["Scott, Ridley", {BORN}, 1937-11-30], '
        f'[Alien, {DIRECTED}, "Scott, Ridley"], [Blade Runner, {DIRECTED}, "Scott, Ridley"]'
    )
    assert [entity.id for entity in seen.shown] == [
        "m.scott",
        '"1937-11-30"^^<date>',
        "m.alien",
        "m.blade",
    ]


def test_a_hop_through_a_cvt_shows_no_cvt_and_not_the_entity_itself():
    box = tools(SCOTT)
    relations(box, "Scott, Ridley")
    assert triples(box, "Scott, Ridley", MARRIED).text == f'["Scott, Ridley", {MARRIED}, Sandy]'


def test_a_relation_from_an_entity_to_itself_is_shown_once():
    box = tools(SCOTT)
    relations(box, "Scott, Ridley")
    seen = triples(box, "Scott, Ridley", "people.person.idol")
    assert seen.text.count("[") == 1 and seen.hidden == 0


def test_triples_beyond_the_limit_are_counted_per_relation_and_direction():
    facts = [(f"m.{i:02}", DIRECTED, "m.scott") for i in range(17)]
    facts += [("m.scott", "a.b.c", f"m.{i:02}") for i in range(6)]
    names = {"m.scott": "Scott", **{f"m.{i:02}": f"Film {i:02}" for i in range(17)}}
    box = tools((Entity("m.scott", "Scott"),), facts, names)
    relations(box, "Scott")
    seen = triples(box, "Scott", DIRECTED, "a.b.c")
    assert seen.text.endswith("[Scott, a.b.c, Film 04] (+1 more)")
    assert f"[Film 04, {DIRECTED}, Scott] (+12 more), [Scott, a.b.c, Film 00]" in seen.text
    assert seen.hidden == 13


def test_only_the_first_four_distinct_relations_are_used():
    facts = [("m.a", f"r.r.r{i}", "m.b") for i in range(6)]
    box = tools((Entity("m.a", "A"),), facts, {"m.a": "A", "m.b": "B"})
    relations(box, "A")
    wanted = ["r.r.r0", "r.r.r0", "r.r.r1", "r.r.r2", "r.r.r3", "r.r.r4"]
    seen = triples(box, "A", *wanted)
    assert seen.relations == ("r.r.r0", "r.r.r1", "r.r.r2", "r.r.r3")
    assert seen.text.endswith("\nOnly the first 4 relations were read")
    assert "Only" not in triples(box, "A", *wanted[:5]).text


def test_an_observation_is_cut_at_an_entry_and_says_what_is_missing():
    facts = [("m.a", "r.r.r", f"m.{i}") for i in range(5)]
    names = {"m.a": "A", **{f"m.{i}": f"Name {i}" for i in range(5)}}
    box = tools((Entity("m.a", "A"),), facts, names, max_observation_chars=64)
    relations(box, "A")
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
    box = tools()
    relations(box, "Alien")
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
    box = tools()
    relations(box, "Alien")
    assert triples(box, "Blade Runner", DIRECTED).error == ""


def test_an_unknown_relation_is_told_the_nearest_ones_here():
    box = tools(SCOTT)
    relations(box, "Scott, Ridley")
    seen = triples(box, "Scott, Ridley", "people.person.birth_place")
    assert seen.error == "unknown_relation"
    assert "copy one of people.person.place_of_birth, " in seen.text
    assert triples(box, "Scott, Ridley", seen.relations[0]).error == ""


def test_sound_relations_are_answered_beside_unknown_ones():
    box = tools()
    relations(box, "Alien")
    seen = triples(box, "Alien", "x.y.z", DIRECTED)
    first, second = seen.text.split("\n")
    assert first == f'[Alien, {DIRECTED}, "Scott, Ridley"]'
    assert second.startswith("Error unknown_relation: Alien has no x.y.z;")
    assert seen.error == "unknown_relation" and len(seen.shown) == 2


def test_a_value_is_no_entity_to_go_on_from():
    box = tools(SCOTT)
    relations(box, "Scott, Ridley")
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


class BrokenGraph(MemoryGraph):
    """A graph that is down."""

    def relations(self, entity_id, direction):
        raise GraphError("down")


def test_an_outage_is_never_an_observation():
    box = WalkerTools(BrokenGraph(TRIPLES, NAMES), QUESTION)
    with pytest.raises(GraphError):
        relations(box, "Alien")
