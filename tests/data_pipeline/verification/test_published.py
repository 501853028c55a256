"""Published questions hold as their authors wrote them; queries give the same in SPARQL."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from data_pipeline.config import ExpertConfig
from data_pipeline.experts.experts import make_experts
from data_pipeline.verification.verify import verify_file
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl, write_jsonl
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.open import open_graph
from graphwalker.query.query import Branch, Hop, Query, execute
from graphwalker.query.sparql import render
from support.backends import in_memory, write
from support.oxigraph import load_store, node_id

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
def test_what_a_benchmark_may_do_is_wrong_in_a_question_of_ours(reason, made, world, tmp_path):
    graph, path = open_graph(world / "graph"), tmp_path / "q.jsonl"
    ours = next(row for row in read_jsonl(made / "questions.jsonl") if row["hops"] == 2)
    for record, found in ((first(made), []), (ours, [reason])):
        record.pop("digest", None)
        OWN_WAYS[reason](record)
        write_jsonl(path, [record])
        assert [failure.reason for failure in verify_file(graph, path).first] == found


NAMES: dict[str, Callable[[str], Record]] = {
    "an alias": lambda name: {"name": f"{name} the Great", "aliases": [name]},
    "in capitals": lambda name: {"name": name.upper()},
    "with other spaces": lambda name: {"name": f" {name}  ".replace(" ", "\u00a0")},
}


@pytest.mark.parametrize("spelling", NAMES)
def test_answers_without_ids_hold_by_any_of_their_names(spelling, made, world, tmp_path):
    record = first(made)
    del record["digest"]
    record["answers"] = [NAMES[spelling](answer["name"]) for answer in record["answers"]]
    write_jsonl(tmp_path / "q.jsonl", [record])
    assert verify_file(open_graph(world / "graph"), tmp_path / "q.jsonl").first == []


def test_answers_with_and_without_ids_hold_in_one_question(made, world, tmp_path) -> None:
    record = next(row for row in read_jsonl(made / "questions.jsonl") if len(row["answers"]) > 1)
    del record["query"]["said"], record["query"]["sparql"], record["answers"][0]["id"]
    del record["digest"]
    write_jsonl(tmp_path / "q.jsonl", [record])
    assert verify_file(open_graph(world / "graph"), tmp_path / "q.jsonl").first == []


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
def test_trajectories_of_such_questions_hold_without_a_query_too(change, made, world, tmp_path):
    record = first(made)
    CHANGES[change](record)
    write_jsonl(tmp_path / "q.jsonl", [record])
    config = ExpertConfig(count=1, mix={}, searched=2 * (change == "no query"))
    make_experts(world / "graph", config, tmp_path / "q.jsonl", tmp_path / "made")
    verdict = verify_file(open_graph(world / "graph"), tmp_path / "made" / "graphroll.jsonl")
    assert (verdict.records, verdict.failed, verdict.replayed) == (1, 0, 1), verdict.first
    assert any("no query" in note for note in verdict.notes) == (change == "no query")


@pytest.mark.parametrize(("field", "reason"), [("", ""), ("topic_entities", "topic entity unknown"),
                                               ("answers", "answers unknown")])  # fmt: skip
def test_a_question_without_a_query_is_judged_by_topics_and_answers(
    field, reason, made, world, tmp_path
):
    record = {**first(made), "query": {}}
    record.pop("digest", None)
    record |= {field: [{"id": "m.0nobody", "name": "Nobody"}]} if field else {}
    write_jsonl(tmp_path / "q.jsonl", [record])
    verdict = verify_file(open_graph(world / "graph"), tmp_path / "q.jsonl")
    assert [failure.reason for failure in verdict.first] == [reason] * bool(reason)
    assert any("no query" in note for note in verdict.notes) == (field != "topic_entities")


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


STORED = "x.y.spouse..x.marriage.of"
# A pair that is stored as such beside its halves; names that name nothing; a loop through a CVT.
MIXED = (
    [
        ("m.a", "x.y.spouse", "m.cvt1"),
        ("m.cvt1", "x.marriage.of", "m.a"),
        ("m.cvt1", "x.marriage.of", "m.b"),
        ("m.a", STORED, "m.c"),
        ("m.b", "x.y.spouse", "m.cvt2"),
        ("m.cvt2", "x.marriage.of", "m.c"),
        ("m.cvt2", "x.marriage.of", "m.named_by_id"),
        ("m.a", "x.y.mixed", "m.cvt1"),
        ("m.a", "x.y.mixed", "m.b"),
        ("m.a", "x.y.mixed", "m.named_by_id"),
        ("m.a", "x.y.mixed", '"1999"^^<http://www.w3.org/2001/XMLSchema#gYear>'),
    ],
    {"m.a": 'Ann "A"', "m.b": "Bob", "m.c": "Cy", "m.named_by_id": "m.0abc"},
    {},
)


def ask(store, sparql):
    return {node_id(row["x"]) for row in store.query(sparql)}


def ids(entities):
    return {entity.id for entity in entities}


def test_the_sparql_of_every_record_gives_its_answers_on_another_store(made, store):
    structures = Counter()
    for record in read_jsonl(made / "questions.jsonl"):
        assert ask(store, record["query"]["sparql"]) == {a["id"] for a in record["answers"]}
        structures[record["structure"]] += 1
    assert structures == {"1-hop": 3, "2-hop": 6, "3-hop": 6, "2I": 6, "PI": 3, "IP": 3}


@pytest.mark.parametrize("schema", [True, False])
@pytest.mark.parametrize("relation", ["x.y.spouse", "x.marriage.of", "x.y.mixed", STORED])
@pytest.mark.parametrize("direction", list(Direction))
@pytest.mark.parametrize("topic", ["m.a", "m.b", "m.c", "m.cvt1"])
def test_a_hop_means_the_same_in_sparql(topic, relation, direction, schema, tmp_path):
    graph, store = in_memory(*MIXED), load_store([write(tmp_path, *MIXED)])
    query = Query((Branch(Entity(topic, ""), (Hop(relation, direction),)),))
    known = {r for _, r, _ in MIXED[0]} if schema else None
    assert ask(store, render(query, known)) == ids(execute(graph, query).answers)


def test_hostile_ids_cannot_leave_their_iri():
    for hostile in ("m.1> ?p ?o } #", "m.1 m.2", 'm."', "", "_:b"):
        with pytest.raises(UserError, match="cannot be an IRI"):
            render(Query((Branch(Entity(hostile), (Hop("a.b"),)),)))
        with pytest.raises(UserError, match="cannot be an IRI"):
            render(Query((Branch(Entity("m.1"), (Hop(hostile),)),)))
