"""Contamination inside `synth`: what comes too close to a test question is replaced."""

from pathlib import Path

import pytest

from data_pipeline.config import BenchConfig, SynthConfig
from data_pipeline.contamination.facts import KnownFacts, as_question
from data_pipeline.synthesize import filter_questions, make_questions, make_walks, synthesize
from graphwalker.errors import UserError
from graphwalker.files import read_json, read_jsonl, write_jsonl
from graphwalker.graphs.base import Direction
from graphwalker.query.query import Hop

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
    assert {row["detail"] for row in dropped} == {f"test/{n} of test.jsonl" for n in range(24)}
    synthesize(graph, SynthConfig(count=COUNT, mix=MIX), tmp_path)
    kept = {r["unit"] for r in read_jsonl(clean / "graphsynth.jsonl")}
    without = {r["unit"] for r in read_jsonl(tmp_path / "graphsynth.jsonl")}
    assert not kept & {row["id"] for row in dropped} and without & {row["id"] for row in dropped}


def names(folder):
    return ("walks.jsonl", "questions.jsonl", "graphsynth.jsonl", "dropped.jsonl", "datacard.json")


def same(one, other):
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in names(one))


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
