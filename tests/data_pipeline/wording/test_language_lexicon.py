"""The lexicon: every hop has words, a phrase knows what it may mean, some are held out."""

import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from data_pipeline.attempts import Maker
from data_pipeline.config import SplitConfig, SynthConfig
from data_pipeline.outcomes import SampledWalk
from data_pipeline.synthesize import make_questions
from data_pipeline.wording.composition.openings import of_a_phrase
from data_pipeline.wording.ids import generated_entry
from data_pipeline.wording.lexicon import Lexicon, hand_written
from data_pipeline.wording.paraphrases import held_out, with_wordings
from data_pipeline.wording.type_nouns import nouns_of
from graphwalker.files import read_records
from graphwalker.graphs.base import Direction
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.graphs.open import open_graph
from graphwalker.query.query import Hop
from graphwalker.question import Question
from graphwalker.world.schema import relation_ids
from support.backends import compiled_tsv

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


@pytest.mark.parametrize("relation", ["interacts_with", "borders", "twinned_with", "sibling"])
def test_a_phrase_that_fits_both_ends_may_mean_the_hop_from_either(relation):
    lexicon, hop = Lexicon.for_graph([relation, "parent"]), Hop(relation)
    phrase = lexicon.entry(hop).phrases[0]
    assert Hop(relation, Direction.IN) in lexicon.readings_of(phrase, hop)
    parent = lexicon.entry(Hop("parent")).phrases[0]
    assert lexicon.readings_of(parent, Hop("parent")) == (Hop("parent"),)


def test_no_question_has_other_answers_when_it_is_read_the_other_way(tmp_path: Path):
    towns = [f"Town {k}" for k in range(40)]
    facts = [(town, "borders", towns[(k + 1) % 40]) for k, town in enumerate(towns)]
    facts += [(town, "lies_on", f"River {k % 5}") for k, town in enumerate(towns)]
    facts += [("Ayton", "borders", "Beeton"), ("Beeton", "borders", "Ayton")]
    compiled_tsv(tmp_path, facts, {end: end for head, _, tail in facts for end in (head, tail)})
    config = SynthConfig(count=30, mix={"1-hop": 1.0}, split="any", max_attempts=300)
    make_questions(tmp_path / "graph", config, tmp_path / "q")
    made = list(read_records(tmp_path / "q/questions.jsonl", Question.from_json))
    asked = [question.query.branches[0] for question in made if question.query]
    both = [branch for branch in asked if branch.hops[0].relation == "borders"]
    assert {branch.topic.name for branch in both} == {"Ayton", "Beeton"}
    assert len(asked) > len(both)


LEXICON = Lexicon.for_graph(relation_ids())
HELD = held_out(LEXICON.entries.values(), 0.5, seed=0)


def texts(lexicon: Lexicon) -> set[str]:
    return {
        text
        for entry in lexicon.entries.values()
        for text in (*entry.phrases, *entry.clauses, *entry.questions)
    }


def test_about_that_share_is_held_out_and_never_all_of_a_hop() -> None:
    assert 0.25 < len(HELD) / len(texts(LEXICON)) < 0.5
    shown = with_wordings(LEXICON, "shown", 0.5, 0)
    assert all(entry.phrases for entry in shown.entries.values())
    assert texts(shown) == texts(LEXICON) - HELD


def test_held_out_words_need_a_share() -> None:
    for asked in ({"wordings": "held-out"}, {"split": "test-wording"}):
        with pytest.raises(ValidationError, match=r"splits\.wording_share"):
            SynthConfig.model_validate(asked)


def test_a_test_wording_question_starts_at_held_out_entities(graph) -> None:
    splits = SplitConfig(wording_share=0.5)
    maker = Maker(open_graph(graph), SynthConfig(split="test-wording", splits=splits))
    topics = [
        topic
        for index in range(20)
        if isinstance(found := maker.sample("2-hop", index), SampledWalk)
        for topic in found.walk.query.topics
    ]
    assert topics and all(maker._splits.entity_held_out(topic.id) for topic in topics)


def test_what_two_things_are_to_each_other_is_not_what_they_are() -> None:
    clubs = [(f"c{n}", "rival_of", f"c{(n + 1) % 4}") for n in range(4)]
    players = [(f"p{n}", "plays_for", f"c{n}") for n in range(4)]
    names = {node: f"The {node}" for triple in clubs for node in (triple[0], f"p{triple[0][1:]}")}
    graph = MemoryGraph([*clubs, *players], names)
    nouns = nouns_of(graph, {"rival_of": "rival of", "plays_for": "plays for"})
    assert nouns["plays_for"].object == ""
