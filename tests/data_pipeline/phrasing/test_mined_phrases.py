"""Phrases mined from questions: masked, counted, added to the words that a hop has."""

import json
import tomllib
from pathlib import Path

import pytest

from data_pipeline.config import PhrasesConfig
from data_pipeline.phrasing.mine import frame_of, from_questions
from data_pipeline.wording.vocabulary import lexicon_of
from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.query.query import Hop

WIFE = "people.person.spouse_s..people.marriage.spouse"
FROM = "people.person.place_of_birth"
GRAPH = MemoryGraph(
    [("a", WIFE, "b"), ("c", WIFE, "d"), ("a", FROM, "t"), ("c", FROM, "u"), ("e", "x.y.z", "t")],
    {"a": "Ken Barlow", "b": "Deirdre", "c": "Ann Lee", "d": "Bo", "t": "Ohio", "u": "York"},
)


def _questions(folder: Path, split: str, *rows: tuple[str, str, str, str]) -> Path:
    """Lines of topic, relation, answer, text."""
    path = folder / f"{split}.jsonl"
    lines = [
        {
            **{"id": f"q{number}", "question": text, "split": split, "dataset": "webqsp"},
            **{"topic_entities": {topic: GRAPH.name(topic)}, "relation_path": [relation]},
            **{"answers": [GRAPH.name(answer)], "answer_mids": [answer]},
        }
        for number, (topic, relation, answer, text) in enumerate(rows)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_the_topic_is_masked() -> None:
    for question, name, frame in [
        ("Who is Ken Barlow's wife?", "Ken Barlow", "who is {x}'s wife"),
        ("who did barlow marry", "Ken Barlow", "who did {x} marry"),
        ("where is The Band from", "The Band (group)", "where is {x} from"),
        ("when was the film made", "Ken Barlow", ""),
        ("Ken Barlow?", "Ken Barlow", ""),
        ("was Ken Barlow born in 1939", "Ken Barlow", ""),
    ]:
        assert frame_of(question, [name]) == frame


def test_questions_become_frames_of_their_hop_with_counts(tmp_path: Path) -> None:
    file = _questions(
        tmp_path,
        "train",
        ("a", WIFE, "b", "who is ken barlow hitched to"),
        ("c", WIFE, "d", "Who is Ann Lee hitched to?"),
        ("b", WIFE, "a", "who is deirdre york hitched to"),
        ("a", FROM, "t", "where is ken barlow from"),
        ("c", FROM, "t", "what about ann lee"),
    )
    out = tmp_path / "words.toml"
    facts = from_questions(GRAPH, out, [file], PhrasesConfig())
    assert facts["questions"] == 5 and facts["used"] == 4
    assert facts["not used"] == {"no_gold_answer": 1}
    rows = {row["id"]: row for row in tomllib.loads(out.read_text())["relation"]}
    # "york" is the rest of a name: nothing else has it, and an entity is called so.
    assert rows[WIFE]["out_casual"] == ["who is {x} hitched to"]
    assert rows[WIFE]["out_counts"] == [2]
    assert "train.jsonl: 4 of 5" in out.read_text()
    lexicon = lexicon_of(GRAPH, str(out))
    before = lexicon_of(GRAPH).entry(Hop(WIFE))
    entry = lexicon.entry(Hop(WIFE))
    assert set(entry.casual) == {"who is {x} hitched to", *before.casual}
    assert lexicon.entry(Hop(WIFE, Direction.IN)) is entry, "a marriage reads alike from both ends"
    assert entry.phrases == before.phrases and entry.questions == before.questions


def test_test_questions_are_not_mined(tmp_path: Path) -> None:
    file = _questions(tmp_path, "test", ("a", FROM, "t", "where is ken barlow from"))
    with pytest.raises(UserError, match="test questions"):
        from_questions(GRAPH, tmp_path / "words.toml", [file], PhrasesConfig())
    assert not (tmp_path / "words.toml").exists()
