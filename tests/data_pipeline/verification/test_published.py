"""Records of published questions hold as their authors wrote them; what is ours is held to more."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from data_pipeline.config import ExpertConfig
from data_pipeline.experts.experts import make_experts
from data_pipeline.verification.verify import verify_file
from graphwalker.files import read_jsonl, write_jsonl
from graphwalker.graphs.open import open_graph

Record = dict[str, Any]


def first(made: Path) -> Record:
    """A question of the corpus, without our words for it: as somebody else wrote it."""
    record = next(row for row in read_jsonl(made / "questions.jsonl") if row["hops"] == 2)
    del record["query"]["said"], record["query"]["sparql"]
    return record


def rename_answer(record: Record) -> None:
    name = record["answers"][0]["name"]
    record["answers"][0].update(name=f"{name} the Great", aliases=[name])


def rename_topic(record: Record) -> None:
    for topic in (record["topic_entities"][0], record["query"]["branches"][0]["topic"]):
        topic["name"] = "Somebody Else"


def name_answer(record: Record) -> None:
    record["question"] += f" I mean {record['answers'][0]['name']}."


OWN_WAYS = {
    "answers differ": rename_answer,
    "topic entity renamed": rename_topic,
    "answer in question": name_answer,
    "structure differs": lambda record: record.update(structure="3-hop"),
    "sparql differs": lambda record: record["query"].update(sparql="SELECT ?x WHERE { }"),
}
"""What a benchmark may do, by what is wrong with a question of ours that does it."""


@pytest.mark.parametrize("reason", OWN_WAYS)
def test_what_a_benchmark_may_do_is_wrong_in_a_question_of_ours_alone(
    reason: str, made: Path, world: Path, tmp_path: Path
) -> None:
    graph, path = open_graph(world / "graph"), tmp_path / "q.jsonl"
    ours = next(row for row in read_jsonl(made / "questions.jsonl") if row["hops"] == 2)
    for record, found in ((first(made), []), (ours, [reason])):
        record.pop("digest", None)
        OWN_WAYS[reason](record)
        write_jsonl(path, [record])
        assert [failure.reason for failure in verify_file(graph, path).first] == found


def test_other_ids_than_the_query_finds_never_hold(made, world, tmp_path) -> None:
    record = first(made)
    record["answers"][0]["id"] = "m.0nobody"
    write_jsonl(tmp_path / "q.jsonl", [record])
    verdict = verify_file(open_graph(world / "graph"), tmp_path / "q.jsonl")
    assert [failure.reason for failure in verdict.first] == ["answers differ"]


CHANGES: dict[str, Callable[[Record], Any]] = {
    "other names": rename_answer,
    "a renamed topic": rename_topic,
    "no query": lambda record: record.update(query={}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_trajectories_of_such_questions_hold_with_and_without_a_query(
    change: str, made: Path, world: Path, tmp_path: Path
) -> None:
    record = first(made)
    CHANGES[change](record)
    write_jsonl(tmp_path / "q.jsonl", [record])
    config = ExpertConfig(count=1, mix={}, searched=2 * (change == "no query"))
    make_experts(world / "graph", config, tmp_path / "q.jsonl", tmp_path / "made")
    verdict = verify_file(open_graph(world / "graph"), tmp_path / "made" / "graphroll.jsonl")
    assert (verdict.records, verdict.failed, verdict.replayed) == (1, 0, 1), verdict.first
    assert any("no query" in note for note in verdict.notes) == (change == "no query")


def test_a_wrong_episode_without_a_query_does_not_hold(made, world, tmp_path) -> None:
    record = {**first(made), "query": {}}
    write_jsonl(tmp_path / "q.jsonl", [record])
    make_experts(world / "graph", ExpertConfig(count=1, mix={}, searched=2),
                 tmp_path / "q.jsonl", tmp_path / "made")  # fmt: skip
    (line,) = (tmp_path / "made" / "graphroll.jsonl").read_text().splitlines()
    wrong = json.loads(line)
    wrong["question"]["answers"].append({"id": "m.0x", "name": "Nobody", "aliases": []})
    write_jsonl(tmp_path / "t.jsonl", [wrong])
    verdict = verify_file(open_graph(world / "graph"), tmp_path / "t.jsonl")
    assert [failure.reason for failure in verdict.first] == ["trajectory answers differ"]
