"""The lexicon: every hop can be worded, and a phrase knows what it may mean."""

import random
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from data_pipeline.wording.composition.openings import of_a_phrase
from data_pipeline.wording.ids import generated_entry
from data_pipeline.wording.lexicon import Lexicon, hand_written
from graphwalker.graphs.base import Direction
from graphwalker.query.query import Hop
from graphwalker.world.schema import relation_ids

WORLD = Lexicon.for_graph(relation_ids())


def test_a_hop_has_well_formed_phrases() -> None:
    for hop in sorted(hand_written()):
        for phrase in WORLD.entry(hop).phrases:
            assert phrase.startswith("the ") and phrase.count("{x}") == 1
            assert not re.search(r"[_?]|\.\.|  ", phrase)
        for clause in WORLD.entry(hop).clauses:
            assert clause.count("{x}") == 1 and not clause.startswith("the ")


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
        assert lexicon.entry(Hop(relation)).phrases[0] == out
        assert lexicon.entry(Hop(relation, Direction.IN)).phrases[0].startswith(into)


def test_kinds_of_the_fictional_world_are_wider_in_other_graphs() -> None:
    genre = Hop("music.artist.genre", Direction.IN)
    assert Lexicon.for_graph(["music.artist.genre"]).entry(genre).noun == "band"
    assert Lexicon.for_graph(["music.artist.genre", "x.y.z"]).entry(genre).noun == "artist"


def test_a_name_that_ends_in_a_full_stop_gets_no_second_one() -> None:
    texts = {
        of_a_phrase("the owner of Boreal, Inc.", "person", "Who", random.Random(seed), 1.0)
        for seed in range(40)
    }
    assert "Find the owner of Boreal, Inc." in texts
    assert not any(text.endswith("..") for text in texts)
