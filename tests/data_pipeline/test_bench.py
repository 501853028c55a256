"""GraphWalkerBench on any graph: its structures, its published form, nothing of training in it."""

from collections import Counter
from pathlib import Path

import pytest

from data_pipeline.config import TABLE_7, BenchConfig, SynthConfig
from data_pipeline.graphwalkerbench import Trained, make_bench
from data_pipeline.synthesize import make_questions
from graphwalker.datasets.base import load_dataset, load_questions
from graphwalker.errors import UserError
from graphwalker.files import read_json, read_jsonl, write_jsonl
from support.commands import code

COUNT = 24


@pytest.fixture(scope="module")
def world(graph, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("world")
    (out / "graph").symlink_to(graph)
    trained = SynthConfig(count=30, split="any", mix={"3-hop": 1, "2I": 1}, seed=0)
    make_questions(out / "graph", trained, out / "train")
    config = BenchConfig(count=COUNT, split="any", seed=0)
    make_bench(out / "graph", config, [out / "train/questions.jsonl"], out / "bench")
    return out


@pytest.mark.long
def test_the_mix_is_that_of_table_7(world):
    counts = Counter(row["structure"] for row in read_jsonl(world / "bench/questions.jsonl"))
    total = sum(TABLE_7.values())
    assert all(abs(counts[name] - COUNT * share / total) < 1 for name, share in TABLE_7.items())


def test_nothing_of_the_training_corpus_is_asked(world):
    train = list(read_jsonl(world / "train/questions.jsonl"))
    bench = list(read_jsonl(world / "bench/questions.jsonl"))
    topics = {topic["id"] for row in train for topic in row["topic_entities"]}
    assert not topics & {topic["id"] for row in bench for topic in row["topic_entities"]}
    card = read_json(world / "bench/datacard.json")
    shared = card["shared_with_training"]
    assert shared["question"] == shared["query"] == shared["topic"] == 0
    reasons = {row["reason"] for row in read_jsonl(world / "bench/dropped.jsonl")}
    assert any(reason.endswith("_in_training") for reason in reasons)
    assert card["unseen_structures"] == ["IP", "PI"]
    assert set(card["seen_structures"]) == {"3-hop", "4-hop", "5-hop", "2I"}


def test_the_published_form_says_what_ours_says(world):
    loaded = load_dataset(world / "bench/GWBench.json")
    ours = load_questions(world / "bench/questions.jsonl")
    assert loaded.dataset == "graphwalkerbench"
    for theirs, own in zip(loaded.questions, ours, strict=True):
        assert (theirs.text, theirs.structure) == (own.text, own.structure)
        assert theirs.topic_entities == own.topic_entities
        assert {a.id for a in theirs.answers} == {a.id for a in own.answers}
        paths = theirs.annotations["name_paths"]
        assert len(paths) == len(own.topic_entities)
        for path, topic, branch in zip(paths, own.topic_entities, own.query.branches, strict=True):
            start, *steps, end = path.split(" -> ")
            assert start == topic.name and end in {answer.name for answer in own.answers}
            assert steps[::2] == [*map(str, branch.hops), *map(str, own.query.tail)]


def test_a_structure_that_was_trained_on_is_not_called_unseen(world, tmp_path):
    rows = list(read_jsonl(world / "bench/questions.jsonl"))
    corpus = tmp_path / "corpus.jsonl"
    write_jsonl(corpus, rows)
    with pytest.raises(UserError, match="4 of its questions are IP, which is to be unseen"):
        make_bench(world / "graph", BenchConfig(count=6), [corpus], tmp_path / "out")
    assert Trained([corpus]).holds(rows[0]) == ("question_in_training", "")
    other = {**rows[0], "question": "Quite another?"}
    assert Trained([corpus]).holds(other) == ("query_in_training", "")


def test_a_corpus_of_another_kind_is_named(world, tmp_path, capsys):
    wrong = tmp_path / "wrong.jsonl"
    write_jsonl(wrong, [{"text": "no"}])
    where = ["--graph", world / "graph", "--out", tmp_path / "o", "--against", wrong]
    assert code("bench", *where) == 2
    said = f"{wrong}: record 1 is neither a question nor a trajectory of our form ('question'"
    assert said in capsys.readouterr().err


def test_a_finished_benchmark_is_not_made_again_against_another_corpus(world):
    with pytest.raises(UserError, match=r"against\.questions\.jsonl was"):
        make_bench(world / "graph", BenchConfig(count=COUNT, split="any"), [], world / "bench")
