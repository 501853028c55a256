"""Contamination: copies, near copies and likeness to test questions, found and left out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_pipeline.contamination.check import CloseRules, check
from data_pipeline.contamination.embed import NgramIndex, jaccard, open_embedder, shingles
from graphwalker.cli.app import app, run
from graphwalker.files import dumps, read_jsonl

TEST = [
    "Who directed the film The Silent Harbour?",
    "Which genre does the band Iron Meadow play?",
    "In which city was the author of Long Winter born?",
]
CORPUS = [
    "who directed the film *The Silent Harbour*",
    "In which city was the author of the Long Winter born?",
    "What language is spoken where the river Ost ends?",
]


def record(number: int, text: str) -> dict[str, Any]:
    topic = [{"id": f"m.{text}", "name": f"Anna of {text}"}]
    return {"id": f"q{number}", "question": text, "topic_entities": topic, "answers": topic}


def write(path: Path, texts: Sequence[str]) -> Path:
    path.write_text("".join(dumps(record(n, t)) + "\n" for n, t in enumerate(texts)))
    return path


@pytest.fixture
def report(tmp_path) -> dict[str, Any]:
    corpus, test = write(tmp_path / "corpus.jsonl", CORPUS), write(tmp_path / "test.jsonl", TEST)
    return check(corpus, [test], tmp_path / "out", None, CloseRules(jaccard=0.5))


def test_what_is_too_close_is_left_out_with_its_reasons(report, tmp_path):
    flagged = {r["id"]: r["reasons"] for r in read_jsonl(tmp_path / "out/flagged.jsonl")}
    assert "test.jsonl: the same question" in flagged["q0"]
    assert any("trigrams" in reason for reason in flagged["q1"])
    assert list(read_jsonl(tmp_path / "out/clean.jsonl")) == [record(2, CORPUS[2])]
    assert report["flagged"] == 2 and report["exact"] == {"test.jsonl": 1}


def test_hostile_names_stay_text(tmp_path):
    corpus = write(tmp_path / "corpus.jsonl", CORPUS)
    test = write(tmp_path / "<script>|&.jsonl", TEST)
    check(corpus, [test], tmp_path / "out", None, CloseRules(jaccard=0.5))
    text = (tmp_path / "out/contamination.md").read_text()
    assert "&lt;script&gt;\\|&amp;.jsonl" in text and "<script>" not in text


words = st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta", "eps", "zeta"]), min_size=1)


@settings(max_examples=40, deadline=None)
@given(st.lists(words, min_size=1, max_size=8), words)
def test_the_index_finds_what_comparing_all_pairs_finds(others: list[list[str]], one: list[str]):
    texts = [" ".join(other) for other in others]
    best = max(jaccard(shingles(" ".join(one)), shingles(text)) for text in texts)
    found = NgramIndex(texts).nearest(" ".join(one), 0.7)[0]
    assert found == (best if best >= 0.7 else 0.0)


def command(*arguments: str | Path) -> int:
    return run(lambda: app(["contamination", *map(str, arguments)], standalone_mode=False))


@pytest.mark.parametrize(
    ("corpus", "test", "more", "message"),
    [
        ('{"id": "a"}\n', None, [], "corpus.jsonl: record 1 has no field 'question'"),
        ("", None, [], "corpus.jsonl: holds no questions"),
        ("not json\n", None, [], "corpus.jsonl:1: not JSON"),
        (None, '{"hello": "world"}\n', [], "test.jsonl"),
        (None, "\x00\x01", [], "test.jsonl"),
        (None, None, ["--threshold", "85"], "--threshold 85"),
        (None, None, ["--sweep", "high"], "--sweep 'high'"),
        (None, None, ["--embedding", "/nowhere/at/all"], "--embedding /nowhere/at/all"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(tmp_path, capsys, corpus, test, more, message):
    questions, against = tmp_path / "corpus.jsonl", tmp_path / "test.jsonl"
    write(questions, CORPUS)
    write(against, TEST)
    for path, text in ((questions, corpus), (against, test)):
        if text is not None:
            path.write_text(text)
    options = ["--questions", questions, "--against", against, "--out", tmp_path / "out"]
    assert command(*options, *more) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert message in lines[-1]
    assert not (tmp_path / "out").exists()


def test_without_the_papers_model_there_is_no_embedding_and_a_notice(monkeypatch, caplog):
    import data_pipeline.contamination.embed as module

    monkeypatch.setattr(module, "PAPER", "/nowhere/bge-m3")
    assert open_embedder() is None
    assert "paraphrases that share no words are not seen" in caplog.text


def test_without_an_embedding_there_is_no_table_of_similarities(report, tmp_path):
    assert report["embedding"] == "" and report["thresholds"] == {}
    assert "at least" not in (tmp_path / "out/contamination.md").read_text()
