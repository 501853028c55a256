"""The lexicon: every hop can be worded, and a phrase knows what it may mean."""

import random
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from data_pipeline.wording.composition.openings import of_a_phrase
from data_pipeline.wording.ids import generated_entry, word_hop
from data_pipeline.wording.lexicon import Lexicon, hand_written
from data_pipeline.wording.predicates import Nouns
from graphwalker.graphs.base import FLATTENED, Direction
from graphwalker.query.query import Hop, parse_hop
from graphwalker.world.schema import FACTS, MARRIAGE, MEDIATED, PARENTS, SIBLINGS, relation_ids

WORLD = Lexicon.for_graph(relation_ids())
WORDABLE = {fact.relation for fact in (*FACTS, PARENTS)} | {
    f"{row.relation}{FLATTENED}{slot.relation}"
    for row in (*MEDIATED, MARRIAGE, SIBLINGS)
    for slot in row.slots
}


def test_every_relation_of_the_world_is_written_by_hand_in_both_directions() -> None:
    for relation in WORDABLE:
        for direction in Direction:
            assert hand_written()[Hop(relation, direction)].phrases


def test_a_hop_has_well_formed_phrases() -> None:
    for hop in sorted(hand_written()):
        for phrase in WORLD.phrases(hop):
            assert phrase.text.startswith("the ") and phrase.text.count("{x}") == 1
            assert not re.search(r"[_?]|\.\.|  ", phrase.text)
        for clause in WORLD.clauses(hop):
            assert clause.clause and clause.text.count("{x}") == 1
            assert not clause.text.startswith("the ")


def test_a_vague_phrase_has_at_least_two_meanings() -> None:
    for hop in hand_written():
        for phrase in (*WORLD.phrases(hop), *WORLD.clauses(hop)):
            if phrase.vague:
                facts = {WORLD.inverse(r) or r for r in WORLD.readings(phrase.text)}
                assert len(facts) > 1


def test_an_inverse_is_the_same_fact_the_other_way_round() -> None:
    assert WORLD.inverse(Hop("film.film.directed_by")) == parse_hop("~film.director.film")
    assert WORLD.inverse(parse_hop("~film.director.film")) == Hop("film.film.directed_by")
    assert WORLD.inverse(Hop("film.film.genre")) is None


def test_a_graph_without_a_relation_does_not_mean_it() -> None:
    lexicon = Lexicon.for_graph(["film.film.directed_by"])
    assert lexicon.readings("the person behind {x}") == (Hop("film.film.directed_by"),)
    assert lexicon.readings("the spouse of {x}") == ()


@settings(deadline=None)  # the first one loads inflect
@given(st.text(max_size=40), st.sampled_from(list(Direction)))
def test_any_relation_id_at_all_can_be_said(relation: str, direction: Direction) -> None:
    words = generated_entry(relation.replace("{x}", ""), direction)
    assert words.phrase.startswith("the ") and words.phrase.count("{x}") == 1
    assert words.noun.strip()


def test_labels_of_many_shapes_read_well() -> None:
    for relation, out, into in (
        ("x.sport.countries_played_in", "the country that {x} was played in", "the sport that was"),
        ("x.song.lists_featured_in", "the list that {x} is featured in", "the song that is featur"),
        ("x.place.suburb_of", "the thing that {x} is a suburb of", "the suburb of {x}"),
        ("x.prize.fields_or_topics", "the field or topic of {x}", "the prize whose field or topic"),
        ("x.event.includes_event", "the event that {x} includes", "the event that includes"),
        ("in", "the thing that {x} is in", "the one that is in {x}"),
        ("BY", "the thing that {x} is by", "the one that is by {x}"),
        ("http://x.org/r#placeOfBirth", "the place of birth of {x}", "the thing whose place of b"),
        ("x.a.joined..y.b.long_served_group", "the long served group of {x}", "the a whose long"),
    ):
        lexicon = Lexicon.for_graph([relation])
        assert lexicon.phrases(Hop(relation))[0].text == out
        assert lexicon.phrases(Hop(relation, Direction.IN))[0].text.startswith(into)


def test_freebase_relations_have_words_of_their_own() -> None:
    relation = "location.hud_foreclosure_area.hhuniv..measurement_unit.dated_integer.source"
    lexicon = Lexicon.for_graph([relation])
    assert lexicon.phrases(Hop(relation))[0].text == "the source of household data of {x}"
    inverse = lexicon.phrases(Hop(relation, Direction.IN))[0].text
    assert inverse == "the area whose source of household data is {x}"


def test_kinds_of_the_fictional_world_are_wider_in_other_graphs() -> None:
    genre = Hop("music.artist.genre", Direction.IN)
    assert Lexicon.for_graph(["music.artist.genre"]).entry(genre).noun == "band"
    assert Lexicon.for_graph(["music.artist.genre", "x.y.z"]).entry(genre).noun == "artist"


def test_a_question_for_people_begins_with_who() -> None:
    for relation, nouns, question in (
        ("friend of", Nouns("person", "person"), "Who is {x} a friend of?"),
        ("capital of", Nouns("city", "country"), "Which country is {x} the capital of?"),
        ("knows", Nouns("person", "person"), "Who does {x} know?"),
        ("works for", Nouns("person", "company"), "Which company does {x} work for?"),
        ("married to", Nouns("person", "person"), "Who is {x} married to?"),
    ):
        words = relation.split()
        assert word_hop(words, Direction.OUT, nouns).question == question


def test_a_name_that_ends_in_a_full_stop_gets_no_second_one() -> None:
    texts = {
        of_a_phrase("the owner of Boreal, Inc.", "person", "Who", random.Random(seed), 1.0)
        for seed in range(40)
    }
    assert "Find the owner of Boreal, Inc." in texts
    assert not any(text.endswith("..") for text in texts)
