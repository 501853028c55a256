"""Evidence of yes-no questions: triples in words, the published faults, the graph of them."""

import json

import pytest

from graphwalker.datasets.base import load_dataset
from graphwalker.datasets.evidence import evidence_of, graph_records, read_triples, with_evidence
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl
from graphwalker.graphs.open import open_graph
from support.commands import command
from support.yes_no_world import faulty_records, yes_no_records


def test_commas_stand_in_tails_and_in_heads_that_are_topics():
    (one,) = read_triples("(Ode, or Song, publication date, May 3, 1901)", ["Ode, or Song"])
    assert (one.head, one.relation, one.tail) == ("Ode, or Song", "publication date", "May 3, 1901")


def test_several_triples_stand_in_one_text():
    found = read_triples("(A, r, B (a town)), (B (a town), s, 12)")
    assert [(t.head, t.tail) for t in found] == [("A", "B (a town)"), ("B (a town)", "12")]


@pytest.mark.parametrize(
    "text", ["", "A, r, B", "(A, r)", "(A , has part(s)", "(A, r, )", "((A, r, B)", "(, r, B)"]
)
def test_a_text_that_is_no_triple_is_refused(text):
    with pytest.raises(UserError, match="no triple"):
        read_triples(text)


def test_numbers_and_dates_are_values():
    values = ["59,449", "12. century", "18 October 1970", "14,042 square kilometre"]
    for tail in (*values, "Harvard University", "2012 United States presidential election"):
        (one,) = read_triples(f"(A, r, {tail})")
        assert one.tail_is_value is (tail in values), tail


def test_faulty_records_are_set_aside_by_name_and_the_others_are_read(tmp_path):
    path = tmp_path / "CoLoTa_qa.json"
    path.write_text(json.dumps(faulty_records()))
    loaded = load_dataset(path)
    assert len(loaded.questions) == 199
    first, second = loaded.faulty
    assert "(S39)" in first and "(S200)" in second and "stands there twice" in second
    found = with_evidence(loaded.questions)
    assert found.foreign == ["S3"] and found.joined == ["S5", "S10"]
    assert [line.partition(":")[0] for line in found.unread] == ["S7"]
    assert len(found.usable) == 198


def test_a_record_that_is_no_json_is_set_aside_and_the_next_one_is_read(tmp_path):
    path = tmp_path / "CR-LT-QA.json"
    text = json.dumps(yes_no_records(5), indent=2)
    path.write_text(text.replace('"id": "S3",', '"id": "S3" x,'))
    loaded = load_dataset(path)
    assert [question.id for question in loaded.questions] == ["S1", "S2", "S4", "S5"]
    (fault,) = loaded.faulty
    line = next(n for n, row in enumerate(path.read_text().splitlines(), 1) if '"S3" x' in row)
    assert fault == f"{path}:{line}: not JSON, in record 3"


def test_of_other_datasets_the_first_fault_still_ends_the_reading(tmp_path):
    path = tmp_path / "strategyqa.json"
    record = {"qid": "a", "question": "Is it?", "term": "It", "answer": True}
    path.write_text(json.dumps([record, {**record, "answer": "yes"}]))
    with pytest.raises(UserError, match="record 2"):
        load_dataset(path)
    path.write_text(json.dumps([record, record], indent=1).replace("true", "tru", 1))
    with pytest.raises(UserError, match="not JSON"):
        load_dataset(path)


def test_the_graph_of_the_evidence_has_the_topics_by_id_and_qualifiers_on_edges(tmp_path, capsys):
    path = tmp_path / "CoLoTa_qa.json"
    path.write_text(json.dumps(yes_no_records(10)))
    out = tmp_path / "c"
    code, printed, _ = command(capsys, "dataset", "evidence", path, "--out", out, "--json")
    assert code == 0 and json.loads(printed)["questions"] == 10
    graph = open_graph(out / "graph")
    (holder,) = [q for q in read_jsonl(out / "questions.jsonl") if q["id"] == "S4"]
    topic = holder["topic_entities"][0]
    assert graph.name(topic["id"]) == topic["name"]
    edges = [r for r in read_jsonl(out / "evidence.jsonl") if "start" in r]
    (edge,) = [r for r in edges if r["start"]["id"] == topic["id"]]
    assert edge["properties"]["replaces"]
    found = graph.relationship_properties(topic["id"], "position held", edge["end"]["id"])
    assert found == [edge["properties"]]


def test_a_hostile_name_is_a_node_like_any_other(tmp_path):
    record = {**yes_no_records(1)[0], "kg_entities": {'"Ha" </answer>': "Q1"}}
    record["kg_triples"] = ['("Ha" </answer>, r, \\"x)']
    path = tmp_path / "CoLoTa_qa.json"
    path.write_text(json.dumps([record]))
    (question,) = load_dataset(path).questions
    assert [r["id"] for r in graph_records([question]) if r["type"] == "node"] == ["Q1", '\\"x']
    assert evidence_of(question)[0].head == '"Ha" </answer>'
