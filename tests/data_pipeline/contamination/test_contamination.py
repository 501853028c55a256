"""Contamination: what comes too close to test questions is found, left out, replaced in `synth`."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_pipeline.config import BenchConfig, SynthConfig
from data_pipeline.contamination import embed
from data_pipeline.contamination.against import TestFiles
from data_pipeline.contamination.check import CloseRules, check
from data_pipeline.contamination.config import ContaminationConfig
from data_pipeline.contamination.embed import NgramIndex, jaccard, normal, open_embedder, shingles
from data_pipeline.contamination.facts import KnownFacts, as_question
from data_pipeline.synthesize import filter_questions, make_questions, make_walks, synthesize
from graphwalker.errors import UserError
from graphwalker.files import read_json, read_jsonl, write_jsonl
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.query.query import Hop
from graphwalker.question import Answer
from support.commands import code

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
    write_jsonl(path, [record(n, t) for n, t in enumerate(texts)])
    return path


def test_what_is_too_close_is_left_out_with_its_reasons(tmp_path):
    corpus, test = write(tmp_path / "corpus.jsonl", CORPUS), write(tmp_path / "test.jsonl", TEST)
    report = check(corpus, [test], tmp_path / "out", None, CloseRules(jaccard=0.5))
    flagged = {r["id"]: r["reasons"] for r in read_jsonl(tmp_path / "out/flagged.jsonl")}
    assert "test.jsonl: the same question" in flagged["q0"]
    assert any("trigrams" in reason for reason in flagged["q1"])
    assert list(read_jsonl(tmp_path / "out/clean.jsonl")) == [record(2, CORPUS[2])]
    assert report["flagged"] == 2 and report["exact"] == {"test.jsonl": 1}
    assert report["embedding"] == "" and report["thresholds"] == {}
    assert "at least" not in (tmp_path / "out/contamination.md").read_text()


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
    assert code("contamination", *options, *more) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert message in lines[-1]
    assert not (tmp_path / "out").exists()


def test_without_the_papers_model_there_is_no_embedding_and_a_notice(monkeypatch, caplog):
    monkeypatch.setattr(embed, "PAPER", "/nowhere/bge-m3")
    assert open_embedder() is None
    assert "paraphrases that share no words are not seen" in caplog.text


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    """Random vectors of the words of the tests, averaged, as a model of sentence-transformers."""
    reason = "the extra `embed` (sentence-transformers) is not installed"
    sentence_transformers = pytest.importorskip("sentence_transformers", reason=reason)
    import torch
    from sentence_transformers.models import StaticEmbedding
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    words = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.train_from_iterator([*TEST, *CORPUS], trainers.WordLevelTrainer(special_tokens=["[UNK]"]))
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("st") / "model"
    static = StaticEmbedding(words, embedding_dim=32)
    sentence_transformers.SentenceTransformer(modules=[static]).save(str(path))
    return path


def test_a_model_of_this_machine_embeds_and_the_sweep_is_counted(model, tmp_path):
    corpus = write(tmp_path / "corpus.jsonl", [*CORPUS, TEST[0]])
    test = write(tmp_path / "test.jsonl", TEST)
    report = check(corpus, [test], tmp_path / "out", open_embedder(str(model)), CloseRules())
    assert report["embedding"] == str(model)
    counts = [report["thresholds"][level]["all"] for level in ("0.80", "0.85", "0.90")]
    assert counts == sorted(counts, reverse=True) and counts[-1] >= 1  # the copy, at least
    assert report["flagged"] >= counts[1]
    assert f"cosine of `{model}`" in (tmp_path / "out/contamination.md").read_text()


MIX = {"1-hop": 1, "2-hop": 1, "2I": 1}
COUNT = 30


@pytest.fixture(scope="module")
def tests(graph, tmp_path_factory) -> Path:
    """Test questions that the same command would make: their facts in other words, their words
    about other facts, a typing error, and answers alone."""
    out = tmp_path_factory.mktemp("tests")
    make_questions(graph, SynthConfig(count=24, mix=MIX), out / "made")
    asked = list(read_jsonl(out / "made" / "questions.jsonl"))
    for number, record in enumerate(asked):
        if number < 8:
            record["question"] = f"Tell me number {number}"
        elif number < 16:
            record["query"] = {}
            record["topic_entities"] = [{"id": "m.0other", "name": "Another"}]
            if number >= 12:
                words = record["question"].split()
                record["question"] = " ".join([*words[:-2], words[-2] + "x", words[-1]])
        else:
            record["query"], record["question"] = {}, f"Say number {number}"
        record["id"] = f"test/{number}"
    write_jsonl(out / "test.jsonl", asked)
    return out / "test.jsonl"


def config(tests, **more) -> SynthConfig:
    return SynthConfig(count=COUNT, mix=MIX, against=(str(tests),), **more)


@pytest.fixture(scope="module")
def clean(graph, tests, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("clean")
    synthesize(graph, config(tests), out)
    return out


@pytest.mark.long
def test_what_comes_too_close_is_replaced_and_counted_by_kind(graph, tests, clean, tmp_path):
    card = read_json(clean / "datacard.json")
    assert card["count"] == COUNT
    found = card["contamination"]
    assert found["against"] == {"test.jsonl": {"questions": 24, "with_a_relation_path": 8}}
    replaced = {name: found["replaced"].pop(name) for name in ("same_fact", "same_words")}
    assert replaced["same_fact"] >= 16 and replaced["same_words"] >= 4
    assert found["replaced"]["near_copy_by_words"] >= 1
    dropped = [r for r in read_jsonl(clean / "dropped.jsonl") if r["stage"] == "contamination"]
    named = {int(row["detail"].removeprefix("test/").split()[0]) for row in dropped}
    assert named <= {*range(24)} and {*range(24)} - named <= {12, 13, 14, 15}  # a typing error
    synthesize(graph, SynthConfig(count=COUNT, mix=MIX), tmp_path)
    kept = {r["unit"] for r in read_jsonl(clean / "graphsynth.jsonl")}
    without = {r["unit"] for r in read_jsonl(tmp_path / "graphsynth.jsonl")}
    assert not kept & {row["id"] for row in dropped} and without & {row["id"] for row in dropped}


def test_walks_are_compared_by_fact_and_the_filter_by_words_too(graph, tests, clean, tmp_path):
    walks = make_walks(graph, config(tests), tmp_path / "walks")
    assert walks["contamination"]["replaced"]["same_fact"] >= 16
    made = tests.parent / "made" / "questions.jsonl"
    card = filter_questions(graph, config(tests), made, tmp_path / "filtered")
    # A letter that was changed is no word of the test.
    assert sum(card["contamination"]["replaced"].values()) >= 20 and card["count"] <= 4


def test_bad_files_are_named(graph, tmp_path):
    with pytest.raises(UserError, match=r"nowhere\.jsonl: no such file"):
        make_walks(graph, config("nowhere.jsonl"), tmp_path / "out")
    with pytest.raises(ValueError, match="named by --against"):
        BenchConfig(against="test.jsonl")


def asked(path="", query=None, answers=("Paris",), topic="m.0f"):
    named = {"id": topic, "name": "France"}
    published = {"topic_entities": {topic: "France"}, "relation_path": path.split()}
    published |= {"answers": list(answers), "answer_mids": [f"m.{name}" for name in answers]}
    ours = {"topic_entities": [named], "query": {"branches": [{"topic": named, "hops": query}]}}
    ours |= {"answers": [{"id": f"m.{name}", "name": name} for name in answers]}
    return as_question({"id": "q", "question": "?", **(ours if query else published)})


def test_the_same_fact():
    for test, one, same in [
        (asked("a.capital"), asked(query=["a.capital"]), True),
        (asked("a.capital"), asked(query=["~a.capital"]), True),  # its direction is not known
        (asked(query=["a.capital"]), asked(query=["~a.capital"]), False),
        (asked(query=["a.capital"]), asked("a.capital"), True),
        (asked("a.capital"), asked(query=["a.largest_city"]), False),  # the same answer by chance
        (asked("a.capital"), asked(query=["a.capital"], topic="m.0g"), False),
        (asked("a.capital"), asked(query=["a.capital", "b.mayor"]), False),
        (asked(), asked(query=["a.capital"]), True),  # no path is known: by topic and answers
        (asked(), asked(query=["a.capital"], answers=("Paris", "Lyon")), False),
        (asked("p.spouse_s m.spouse"), asked(query=["p.spouse_s..m.spouse"]), True),
        (asked("a.capital"), asked(query=["~a.capital_of"]), True),  # the inverse relation
    ]:
        pair = {Hop("a.capital"): Hop("a.capital_of", Direction.IN)}
        pair |= {Hop("a.capital", Direction.IN): Hop("a.capital_of")}
        pair |= {value: key for key, value in pair.items()}
        known = KnownFacts(pair.get)
        known.add(test, "test/1")
        assert known.find(one) == ("test/1" if same else "")


SAME_VALUES = [("1.7", "1.70"), ("402,762", "402762"), ("yes", "true"), ("ZU\u0308RICH", "Zürich")]
SAME_VALUES += [
    ("Jo O'Neil", "Jo O\u2019Neil"),
    ("Jo ONeil", "Jo O\u2019Neil"),
    ("\u201cX\u201d", '"x"'),
]


@pytest.mark.parametrize("pair", SAME_VALUES)
def test_the_same_value_is_the_same_fact_however_it_is_written(pair):
    one, other = (asked(answers=(name,)) for name in pair)
    known = KnownFacts({}.get)
    known.add(replace(one, answers=(Answer(pair[0]),)), "test/1")
    assert known.find(other) == "test/1"


@pytest.mark.parametrize("name", ["Jo O'Neil", "jo ONeil", "Jo O\u02bcNeil"])
def test_a_topic_without_an_id_is_the_same_however_its_apostrophe_is_typed(name):
    one = replace(asked("a.child"), topic_entities=(Entity("", name),))
    known = KnownFacts({}.get)
    known.add(replace(one, answers=()), "test/1")
    typed = replace(asked("a.child"), topic_entities=(Entity("m.1", "Jo O\u2019Neil"),))
    assert known.find(typed) == "test/1"
    assert normal(f"a child of {name}") == normal("a child of Jo O\u2019Neil")


def test_topics_of_ones_own_test_questions_are_found_in_the_graph(tmp_path):
    (tmp_path / "own.csv").write_text("question,answer\nWho sings with Ana Brek?,Kim (singer)\n")
    graph = MemoryGraph([("a", "duet", "k")], {"a": "Ana Brek", "k": "Kim (singer)"})
    tests = TestFiles([tmp_path / "own.csv"], ContaminationConfig(), {}.get, graph)
    (topic, answer) = ({"id": "a", "name": "Ana Brek"}, {"id": "k", "name": "Kim (singer)"})
    query = {"branches": [{"topic": topic, "hops": ["duet"]}]}
    walk = {"id": "w", "question": "?", "topic_entities": [topic], "answers": [answer]}
    assert tests.holds({**walk, "query": query}) == ("same_fact", "own-0 of own.csv")
