"""The scripted expert plays questions that somebody else wrote: a path or a query, no phrases."""

import json
from pathlib import Path
from typing import Any

import pytest

from data_pipeline.config import ExpertConfig
from data_pipeline.experts.experts import make_experts
from data_pipeline.verification.verify import verify_file
from graphwalker.config import parse_config
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl, read_records, write_jsonl
from graphwalker.graphs.open import open_graph
from graphwalker.question import Question
from graphwalker.trajectory import Trajectory
from support.backends import compiled
from support.commands import run
from support.oxigraph import load_store
from support.sparql_endpoint import EngineStore, serve

WIDE = {"preset": "graphwalker-wide", "top_relations": 2, "max_turns": 20}


@pytest.fixture(scope="module")
def published(exam) -> list[dict[str, Any]]:
    """The exam in the form of a published file: a gold path, no query and no phrases."""
    found = read_records(exam / "questions" / "questions.jsonl", Question.from_json)
    return [as_published(question) for question in found if question.structure != "2I"]


def as_published(question: Question) -> dict[str, Any]:
    assert question.query
    return {
        "id": question.id,
        "question": question.text,
        "topic_entities": {topic.id: topic.name for topic in question.topic_entities},
        "answers": [answer.name for answer in question.answers],
        "answer_mids": [answer.id for answer in question.answers],
        "relation_path": [hop.relation for hop in question.query.branches[0].hops],
    }


def play(exam: Path, out: Path, records: Any, graph: str = "", **values: Any) -> dict[str, Any]:
    out.mkdir(exist_ok=True)
    write_jsonl(out / "q.jsonl", records)
    settings = {"count": len(records), "mix": {}, "environment": WIDE, **values}
    config = parse_config(ExpertConfig, settings, "t")
    return make_experts(graph or exam / "graph", config, out / "q.jsonl", out / "made")


def kept(out: Path) -> list[Trajectory]:
    return list(read_records(out / "made" / "graphroll.jsonl", Trajectory.from_json))


def test_questions_that_the_mix_leaves_out_are_counted(exam, published, tmp_path, caplog):
    rows = {n: [row for row in published if len(row["relation_path"]) == n][:2] for n in (2, 3)}
    play(exam, tmp_path, [*rows[2], *rows[3]], mix={"2-hop": 1})
    told = "mix leaves out 2 of 4 questions (3-hop: 2), and 2 are too few for count=4; mix={} takes"
    assert told in caplog.text


def thoughts(out: Path) -> list[str]:
    return [turn.thought for one in kept(out) for turn in one.turns]


def test_questions_with_a_gold_path_are_played_with_errors_and_pages(exam, published, tmp_path):
    card = play(exam, tmp_path, published)
    made = kept(tmp_path)
    assert len(made) >= 0.9 * len(published) and card["with_an_error"] >= len(made) / 4
    calls = [turn.action["arguments"] for one in made for turn in one.turns[:-1]]
    assert any(call.get("page") == 2 for call in calls)


def test_a_structure_without_a_name_has_one_on_the_card(exam, published, tmp_path):
    ours = [
        {
            "id": row["id"],
            "question": row["question"],
            "topic_entities": [{"id": id_, "name": ""} for id_ in row["topic_entities"]],
            "answers": [{"id": id_, "name": ""} for id_ in row["answer_mids"]],
            "relation_path": row["relation_path"],
        }
        for row in published[:2]
    ]
    card = play(exam, tmp_path, ours, count=3)
    assert card["structures"] == card["splits"] == {"(none)": 2}
    assert card["too_few"] == {"(none)": {"asked": 3, "made": 2}}


def test_a_query_that_finds_more_than_the_gold_is_dropped_and_counted(exam, published, tmp_path):
    wide = next(record for record in published if len(record["answers"]) > 1)
    less = {key: wide[key][:1] for key in ("answers", "answer_mids")}
    card = play(exam, tmp_path, [*published[:3], {**wide, "id": "more", **less}])
    assert card["dropped"]["expert: superset"] == 1
    reasons = {line["id"]: line["reason"] for line in read_jsonl(tmp_path / "made/dropped.jsonl")}
    assert reasons["more#0"] == "superset"


def test_sparql_over_wikidatas_addresses_is_played_under_their_layer(tmp_path):
    item, direct = "http://www.wikidata.org/entity/", "http://www.wikidata.org/prop/direct/"
    label = "http://www.w3.org/2000/01/rdf-schema#label"
    names = {"Q1": "Ana", "Q2": "Oslo", "Q3": "Kim", "P19": "place of birth", "P9999": "shoe size"}
    lines = [f"<{item}{q}> <{direct}{p}> <{item}Q2> ." for q, p in (("Q1", "P19"), ("Q3", "P9999"))]
    lines += [f'<{item}{key}> <{label}> "{name}"@en .' for key, name in names.items()]
    (tmp_path / "g.nt").write_text("\n".join(lines) + "\n")
    run("graph", "build", "--triples", tmp_path / "g.nt", "--out", tmp_path / "graph")
    rows = [
        {"uid": q, "question": text, "paraphrased_question": "", "sparql_wikidata": sparql}
        for q, text, sparql in (
            (1, "Where was Ana born?", "select ?x where { wd:Q1 wdt:P19 ?x }"),
            (2, "Who has size Oslo?", "select ?x where { ?x wdt:P9999 wd:Q2 }"),
        )
    ]
    layers = {"preset": "graphwalker", "layers": {"wikidata": True}}
    play(tmp_path, tmp_path, rows, graph=tmp_path / "graph", environment=layers, error_rate=0.0)
    assert [one.answer for one in kept(tmp_path)] == [("Oslo",), ("Kim",)]
    said = " ".join(thoughts(tmp_path))
    assert "where this person was born" in said and "P9999" not in said
    verdict = verify_file(open_graph(tmp_path / "graph"), tmp_path / "made" / "graphroll.jsonl")
    assert (verdict.records, verdict.failed) == (2, 0), verdict.first


def test_a_file_without_an_answer_on_the_graph_is_refused(exam, tmp_path):
    sparql = "select ?x where { wd:Q1 wdt:P19 ?x }"
    row = {"uid": 1, "question": "Who?", "paraphrased_question": "", "sparql_wikidata": sparql}
    with pytest.raises(UserError, match=r"none of its questions has an answer on this graph"):
        play(exam, tmp_path, [row])


@pytest.mark.parametrize("searched", [0, 2])
def test_a_question_for_yes_or_no_is_played_by_its_query_alone(tmp_path, searched):
    (tmp_path / "g.csv").write_text("person,alive,home\nAna Brek,true,Oslo\nBen Dahl,false,Rome\n")
    run("graph", "build", tmp_path / "g.csv", "--columns", "table", "--out", tmp_path / "graph")
    asked = (("Is Ana Brek alive?", "yes", ["alive"]), ("Does Ana Brek live in Oslo?", "yes", []))
    rows = [
        {"question": text, "topic": "Ana Brek", "answer": answer, "relation_path": path}
        for text, answer, path in (*asked, ("Where is Ana Brek at home?", "Oslo", ["home"]))
    ]
    card = play(tmp_path, tmp_path, rows, graph=tmp_path / "graph", searched=searched)
    assert card["dropped"] == {"expert: yes_no": 1 + bool(searched)}
    assert "the alive of" not in " ".join(thoughts(tmp_path))


def test_a_file_without_any_query_is_refused_with_the_causes(exam, published, tmp_path):
    bare = [{**record, "relation_path": []} for record in published[:3]]
    with pytest.raises(UserError, match=r"\(3 no_path: the record has no relation path\): set"):
        play(exam, tmp_path, bare)


def test_questions_of_another_graph_are_said_to_be_so(exam, published, tmp_path):
    foreign = [{**record, "topic_entities": {"m.0xyz": "X"}} for record in published[:3]]
    with pytest.raises(UserError, match=r"no triple of the topic entities .* is it their graph"):
        play(exam, tmp_path, foreign)


def test_errors_of_a_given_question_are_a_json_text_of_a_list(exam, published, tmp_path):
    play(exam, tmp_path, published[:10], error_rate=1.0)
    rows = list(read_jsonl(tmp_path / "made" / "graphroll.jsonl"))
    assert all(isinstance(json.loads(row["provenance"]["errors"]), list) for row in rows)


def test_a_file_and_an_endpoint_give_the_same_thoughts(exam, published, tmp_path):
    play(exam, tmp_path / "file", published[:12])
    with serve(load_store(sorted(exam.glob("*.nt*")))) as address:
        play(exam, tmp_path / "endpoint", published[:12], graph=address)
    file, endpoint = (kept(tmp_path / name) for name in ("file", "endpoint"))
    assert [one.question.id for one in file] == [one.question.id for one in endpoint]
    assert thoughts(tmp_path / "file") == thoughts(tmp_path / "endpoint")


def test_the_oracle_as_the_expert_gives_reasons_in_the_words_of_the_bank(exam, published, tmp_path):
    play(exam, tmp_path, published[:12], policy={"model": "oracle"})
    assert any("would give the" in thought for thought in thoughts(tmp_path))
    assert not any("better than" in thought for thought in thoughts(tmp_path))


OFFICE = """
<urn:x:Ana> <urn:x:worksAt> <urn:x:Oslo_Office> .
<urn:x:Ben> <urn:x:worksAt> <urn:x:Rome_Office> .
<urn:x:Oslo_Office> <urn:x:ownedBy> <urn:x:Acme> .
<urn:x:Rome_Office> <urn:x:ownedBy> <urn:x:Borg> .
"""
OFFICES, FIRMS = ("Oslo_Office", "Rome_Office"), ("Acme", "Borg")
TYPES = {"Person": ("Ana", "Ben"), "Office": OFFICES, "Firm": FIRMS}


def write_office(path: Path) -> None:
    is_a = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    calls = "<http://www.w3.org/2000/01/rdf-schema#label>"
    named = [(kind, name) for kind, names in TYPES.items() for name in names]
    lines = [f"<urn:x:{name}> {is_a} <urn:x:{kind}> ." for kind, name in named]
    lines += [f'<urn:x:{name}> {calls} "{name}"@en .' for _, name in named]
    path.write_text(OFFICE + "\n".join(lines) + "\n", encoding="utf-8")


def test_an_endpoint_of_any_graph_has_the_words_of_its_file(tmp_path):
    write_office(tmp_path / "g.nt")
    graph = compiled(tmp_path / "g.nt")
    asked = {
        "question": "Who owns the office of Ana?",
        "topic_entities": {"urn:x:Ana": "Ana"},
        "answers": ["Acme"],
        "answer_mids": ["urn:x:Acme"],
        "relation_path": ["urn:x:worksAt", "urn:x:ownedBy"],
    }
    records = [{"id": str(n), **asked} for n in range(4)]
    play(tmp_path, tmp_path / "file", records)
    with serve(EngineStore(graph)) as address:
        play(tmp_path, tmp_path / "endpoint", records, graph=address)
    told, again = thoughts(tmp_path / "file"), thoughts(tmp_path / "endpoint")
    assert told == again
    assert any("the office that this person works at" in thought for thought in told)
