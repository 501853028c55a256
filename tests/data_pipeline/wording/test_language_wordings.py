"""Held-out wordings: said by nobody on the shown side, always where they can be on the other."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from data_pipeline.attempts import Maker
from data_pipeline.config import SplitConfig, SynthConfig
from data_pipeline.outcomes import SampledWalk
from data_pipeline.synthesize import make_questions
from data_pipeline.wording.lexicon import Lexicon
from data_pipeline.wording.paraphrases import held_out, with_wordings
from graphwalker.datasets.base import load_questions
from graphwalker.graphs.open import open_graph
from graphwalker.world.schema import relation_ids

LEXICON = Lexicon.for_graph(relation_ids())
HELD = held_out(LEXICON.entries.values(), 0.5, seed=0)
SPLITS = SplitConfig(wording_share=0.5)


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


def said(graph: Path, out: Path, **settings) -> set[str]:
    mix = {"2-hop": 1.0, "2I": 1.0}
    config = SynthConfig(count=60, mix=mix, vague=0.0, splits=SPLITS, **settings)
    make_questions(graph, config, out)
    questions = load_questions(out / "questions.jsonl")
    assert {q.split for q in questions} == {settings.get("split", "train")}
    found = {
        phrase
        for question in questions
        if question.wording
        for part in (*question.wording.phrases, question.wording.tail_phrases)
        for phrase in part
    }
    return found & texts(LEXICON)


def test_a_test_wording_question_starts_at_held_out_entities(graph, tmp_path) -> None:
    config = SynthConfig(split="test-wording", splits=SPLITS)
    maker = Maker(open_graph(graph), config)
    topics = [
        topic
        for index in range(20)
        if isinstance(found := maker.sample("2-hop", index), SampledWalk)
        for topic in found.walk.query.topics
    ]
    assert topics and all(maker._splits.entity_held_out(topic.id) for topic in topics)
