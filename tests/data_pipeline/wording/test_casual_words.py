"""Casual words: in no question by default, in each question of a config that asks for them."""

import random

import pytest

from data_pipeline.config import SynthConfig
from data_pipeline.synthesize import make_questions
from data_pipeline.wording.casual import in_casual_words
from data_pipeline.wording.composition.questions import ProgrammaticTeacher
from data_pipeline.wording.lexicon import Lexicon, hand_written
from graphwalker.datasets.base import load_questions
from graphwalker.graphs.base import Direction, Entity
from graphwalker.query.query import Branch, Hop, Query
from graphwalker.world.generate import make_world
from graphwalker.world.schema import relation_ids

LEXICON = Lexicon.for_graph(relation_ids())
SPOUSE = Hop("people.person.spouse_s..people.marriage.spouse", Direction.OUT)
COMPOSER = Hop("film.film.music", Direction.OUT)
BORN = Hop("people.person.date_of_birth", Direction.OUT)  # has no casual words
CASUAL = {
    phrase.text
    for entry in LEXICON.entries.values()
    for phrase in (*entry.casual_phrases, *entry.casual_clauses)
}


def query(*hops: Hop) -> Query:
    return Query((Branch(Entity("m.1", "Ada"), hops),))


def test_casual_words_are_none_of_the_teachers() -> None:
    own = {
        text
        for entry in LEXICON.entries.values()
        for text in (*(p.text for p in (*entry.phrases, *entry.clauses)), *entry.questions)
    }
    assert len(CASUAL) > 200 and not CASUAL & own


def test_the_hop_that_a_casual_phrase_words_is_its_first_reading() -> None:
    for hop, entry in LEXICON.entries.items():
        for phrase in (*entry.casual_phrases, *entry.casual_clauses):
            assert hop in LEXICON.readings(phrase.text), (hop, phrase.text)


def test_real_graphs_keep_the_words_of_the_bank() -> None:
    assert not any(entry.casual_phrases for entry in hand_written(wide=True).values())


def test_one_hop_at_least_is_in_casual_words() -> None:
    for seed in range(20):
        words = in_casual_words(LEXICON, query(COMPOSER, SPOUSE), 0.01, random.Random(seed))
        assert words is not None
        changed = [h for h in (COMPOSER, SPOUSE) if words.entry(h) != LEXICON.entry(h)]
        assert len(changed) == 1
        assert {p.text for p in words.entry(changed[0]).phrases} <= CASUAL
    everything = in_casual_words(LEXICON, query(COMPOSER, SPOUSE), 1.0, random.Random(0))
    assert everything is not None
    assert all(everything.entry(h) != LEXICON.entry(h) for h in (COMPOSER, SPOUSE))


def test_a_question_without_a_casual_hop_is_not_asked() -> None:
    teacher = ProgrammaticTeacher(LEXICON, casual=0.5)
    assert teacher.ask(query(BORN), (), random.Random(0)) is None


def test_questions_are_casual_where_the_config_says_so(tmp_path) -> None:
    make_world(1000, 0, tmp_path / "world")
    settings = {"count": 12, "mix": {"2-hop": 1.0, "2I": 1.0}, "max_degree": 3, "seed": 1}

    def asked(name: str, **more) -> list:
        config = SynthConfig(**settings, **more)
        make_questions(tmp_path / "world/graph", config, tmp_path / name)
        return load_questions(tmp_path / name / "questions.jsonl")

    def casual(question) -> bool:
        draft = question.wording
        return bool(CASUAL & {p for part in (*draft.phrases, draft.tail_phrases) for p in part})

    assert not any(casual(question) for question in asked("plain"))
    tested = asked("casual", casual=0.5, split="test-wording")
    assert all(casual(question) for question in tested)
    assert {question.split for question in tested} == {"test-wording"}


def test_held_out_words_need_words_to_hold_out() -> None:
    with pytest.raises(ValueError, match="no wording is held out"):
        SynthConfig(split="test-wording")
