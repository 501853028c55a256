"""The reader: planted faults are caught, by models that have not seen the question."""

import json
import random
from pathlib import Path

import numpy as np
import pytest

from data_pipeline.config import FilterConfig, SynthConfig
from data_pipeline.reading.alignment import Alignment
from data_pipeline.reading.config import ReaderConfig
from data_pipeline.reading.corpus import CorpusReader, ReadingSource
from data_pipeline.reading.detector import Detector
from data_pipeline.reading.faults import Faults
from data_pipeline.reading.fluency import Pairs, words_of
from data_pipeline.stages import filter_questions
from data_pipeline.synthesize import make_questions
from data_pipeline.wording.composition.questions import ProgrammaticTeacher
from data_pipeline.wording.quality import mentions
from data_pipeline.wording.vocabulary import lexicon_of
from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl, read_records
from graphwalker.graphs.open import open_graph
from graphwalker.question import Question
from graphwalker.tools.listing import lister
from graphwalker.world.generate import make_world

MIX = {"1-hop": 1, "2-hop": 2, "3-hop": 1, "2I": 2, "PI": 1}
KINDS = (
    "articles removed",
    "words shuffled",
    "a hop left out",
    "off topic",
    "another hop's words",
    "wrong topic",
)


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("world")
    make_world(1000, 0, out)
    make_questions(out / "graph", SynthConfig(count=200, mix=MIX), out / "q")
    return out


@pytest.fixture(scope="module")
def source(world) -> ReadingSource:
    graph = open_graph(world / "graph")
    return ReadingSource(graph, lister(graph, EnvironmentConfig()), lexicon_of(graph))


@pytest.fixture(scope="module")
def questions(world) -> list[Question]:
    return list(read_records(world / "q" / "questions.jsonl", Question.from_json))


@pytest.fixture(scope="module")
def reader(questions, source) -> CorpusReader:
    return CorpusReader(questions, source, ReaderConfig(enabled=True, planted=60, lose=0.1))


@pytest.mark.parametrize("kind", KINDS)
def test_a_planted_fault_is_what_it_says(kind, questions, source):
    faults = Faults(
        source.graph, source.listed, ProgrammaticTeacher(source.lexicon, 0.0), questions
    )
    pairs = list(faults.plant(kind, 20, random.Random(0)))
    assert len(pairs) == 20
    for one, spoiled in pairs:
        named = [topic.name for topic in one.topic_entities if mentions(spoiled.text, topic.name)]
        assert spoiled.query == one.query and spoiled.text != one.text
        if kind == "articles removed":
            assert not {"the", "a", "an"} & set(words_of(spoiled)) and len(spoiled.text) > 3
        elif kind == "words shuffled":
            assert sorted(words_of(spoiled)) == sorted(words_of(one))
        elif kind == "wrong topic":
            assert len(named) < len(one.topic_entities)
        elif kind == "a hop left out" and len(one.query.branches) == 2:
            assert named
        else:
            assert len(named) == len(one.topic_entities)


def test_planted_faults_are_caught_at_the_share_that_may_be_lost(reader):
    card = reader.card()["reader"]
    assert set(card["caught"]) == set(KINDS) == set(card["planted_of_each"])
    assert card["caught_overall"] >= 0.9 and min(card["caught"].values()) >= 0.6
    assert card["share_dropped"] <= 0.15 and card["dropped"] == len(reader.rejected())


def test_a_reader_has_not_seen_the_question_that_it_reads(questions, source, reader):
    """Its text changes nothing in the models that read it."""
    strange = [*questions[1:]]
    one = questions[0]
    other = Question(**{**{f: getattr(one, f) for f in one.__slots__}, "text": "Zyx qwv?"})
    again = CorpusReader(
        [other, *strange], source, ReaderConfig(enabled=True, planted=60, lose=0.1)
    )
    fold = reader.folds[one.id]
    words = words_of(one)
    assert reader.models[fold].alignment.evidence(words, one.query.hop_relations) == again.models[
        fold
    ].alignment.evidence(words, one.query.hop_relations)


@pytest.mark.slow
def test_the_filter_drops_what_is_not_read_and_the_card_says_what_is_caught(world, tmp_path):
    path = world / "q" / "questions.jsonl"
    texts = [row["question"] for row in read_jsonl(path)]
    rows = [{"question": text, "label": "natural"} for text in texts[:40]]
    rows += [{"question": text, "label": "nonsense"} for text in texts[40:50]]
    (tmp_path / "labels.json").write_text(json.dumps({"figures": {"texts": rows}}))
    labels = str(tmp_path / "labels.json")
    config = FilterConfig(reader=ReaderConfig(enabled=True, planted=60, lose=0.1, labels=labels))
    card = filter_questions(world / "graph", config, path, tmp_path / "out")
    assert card["dropped"]["filter: not_read"] == 200 - card["count"] > 0
    assert card["reader"]["labels"]["natural"]["texts"] == 40
    assert 0 < card["reader"]["labels"]["nonsense"]["share_kept"] <= 1
    again = filter_questions(world / "graph", config, path, tmp_path / "again")
    assert again == card
    with pytest.raises(UserError, match="'fine'; one of natural, stilted, nonsense is wanted"):
        (tmp_path / "labels.json").write_text('{"a": [{"question": "?", "label": "fine"}]}')
        filter_questions(world / "graph", config, path, tmp_path / "bad")


def test_any_setting_of_the_reader_enables_it():
    assert FilterConfig.model_validate({"reader": True}).reader == ReaderConfig(enabled=True)
    assert FilterConfig.model_validate({"reader": {"lose": 0.2}}).reader.enabled
    assert not FilterConfig().reader.enabled
    assert not FilterConfig.model_validate(
        {"reader": {"enabled": False, "lose": 0.2}}
    ).reader.enabled


def test_too_few_questions_are_told(questions, source):
    with pytest.raises(UserError, match="20 are too few"):
        CorpusReader(questions[:20], source, ReaderConfig(enabled=True))


def test_words_are_aligned_with_the_relations_that_they_speak_of():
    texts = [(["who", "directed", "@"], ["f.by"]), (["who", "wrote", "@"], ["f.pen"])] * 20
    learned = Alignment(texts)
    said = learned.evidence(["who", "directed", "@"], ["f.by"])
    other = learned.evidence(["who", "directed", "@"], ["f.pen"])
    assert said.hops[0] > 5 * max(0.1, other.hops[0]) and min(said.words) > min(other.words)


def test_a_missing_article_is_missed():
    pairs = Pairs([["^", "who", "is", "the", "head", "of", "the", "band", "@", "?", "$"]] * 9)
    right = pairs.missing_article(["^", "who", "is", "the", "head", "of", "the", "band", "@", "?"])
    wrong = pairs.missing_article(["^", "who", "is", "head", "of", "the", "band", "@", "?"])
    assert right < 0 < wrong


def test_a_detector_loses_no_more_good_ones_than_it_may():
    rng = np.random.default_rng(0)
    good, bad = rng.normal(0, 1, (400, 3)), rng.normal([-4, 0, 0], 1, (200, 3))
    detector = Detector.fit(good, bad, 0.05)
    assert detector.finds(good).mean() <= 0.05 and detector.finds(bad).mean() > 0.9
    assert detector.worst(np.array([-6.0, 0.0, 0.0])) == 0
