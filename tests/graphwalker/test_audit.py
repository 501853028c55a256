"""`dataset audit`: gold queries executed on a graph, and what is odd about the questions."""

import json

import pytest

from graphwalker.audit.audit import NotExecutedError, audit, run_sparql, summarise_audit
from graphwalker.datasets.grounding import ground
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl, write_jsonl
from graphwalker.graphs.base import Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.graphs.sparql.graph import SparqlGraph
from graphwalker.question import Answer, Question
from support.backends import compiled, write
from support.commands import command
from support.oxigraph import load_store
from support.sparql_endpoint import serve

TRIPLES = [
    ("m.0ana", "people.person.place_of_birth", "m.0kes"),
    ("m.0kes", "location.location.containedby", "m.0nor"),
    ("m.0ana", "people.person.parents", "m.0ben"),
    ("m.0ben", "people.person.place_of_birth", "m.0var"),
    ("m.0kes", "location.location.area", '"12.5"^^<http://www.w3.org/2001/XMLSchema#double>'),
    ("m.0var", "location.location.area", '"40.0"^^<http://www.w3.org/2001/XMLSchema#double>'),
]
NAMES = {"m.0ana": "Ana", "m.0kes": "Kesterby", "m.0nor": "Norvania", "m.0ben": "Ben"}
NAMES["m.0var"] = "Varn"
GRAPH = MemoryGraph(TRIPLES, NAMES, {"m.0kes": ["location.town"], "m.0var": ["location.town"]})
BORN = """SELECT DISTINCT ?x WHERE { ns:m.0ana ns:people.person.place_of_birth ?c .
?c ns:location.location.containedby ?x . FILTER (?x != ns:m.0ana OR 1 = 2) }"""


def make_question(key, text, gold, **annotations):
    answers = tuple(Answer(str(NAMES.get(i, i)), i) for i in gold.split())
    topics = (Entity("m.0ana", "Ana"),)
    return Question(key, text, topics, answers, annotations=annotations)


def select(pattern):
    return f"SELECT ?x WHERE {{ {pattern} }}"


QUESTIONS = [
    make_question("equal", "in which country was she born", "m.0nor", sparql=BORN),
    make_question("partial", "where do they come from", "m.0nor m.0var", sparql=BORN),
    make_question("disjoint", "where else", "m.0var", sparql=BORN),
    make_question("empty", "where is kesterby", "m.0nor", sparql=select("ns:m.0kes ns:a.b.c ?x")),
    make_question("not in this graph", "who", "m.0nor", sparql=select("ns:m.0zzz ns:a.b.c ?x")),
    make_question("not in this graph!", "are they", "2", sparql="ASK { :m.0zz ?p ?y }"),
    make_question("not executed", "all of them", "m.0nor", sparql=select("?x ns:a.b.c")),
    make_question("no gold query", "who knows", "m.0nor"),
]


def test_each_question_gets_the_verdict_of_its_gold_query(tmp_path):
    for record in audit(QUESTIONS, GRAPH, tmp_path / "audit.jsonl"):
        assert record["verdict"] == record["id"].rstrip("!"), record


def test_conditions_counts_and_orders_of_sparql_are_executed():
    town = "?x :type.object.type :location.town . ?x :location.location.area ?a ."
    born = "{ :m.0ana :a.b.c ?x } UNION { :m.0ben :people.person.place_of_birth ?x }"
    ordered = select(":m.0ana ?p ?x . ?x :type.object.name ?n")
    for text, names in (
        (select(f"VALUES ?x {{ :m.0kes :m.0var }} {town} FILTER (?a > 20)"), ["Varn"]),
        (select(":m.0ana ?p ?x").replace("?x", "(COUNT(?x) AS ?n)", 1), ["4"]),
        (f"{ordered} ORDER BY ?n LIMIT 1", ["Ben"]),
        ("ASK { :m.0ana :people.person.parents :m.0ben }", ["True"]),
        (select(born), ["Varn"]),
        (select("OPTIONAL { :m.0ana :people.marriage.from ?from }"), []),
    ):
        assert [end.name for end in run_sparql(GRAPH, text)] == names, text


def test_what_cannot_be_run_says_why():
    for text, why in (
        ("SELECT ?x FROM <http://a> WHERE { ?x ?p ?y }", "more than to read"),
        ("SELECT ?x WHERE { SERVICE <http://a/> { ?x ?p ?y } }", "more than to read"),
        ("DELETE WHERE { ?x ?p ?y }", "more than to read"),
        ("SELECT ?x WHERE {", "not SPARQL 1.1"),
    ):
        with pytest.raises(NotExecutedError, match=why):
            run_sparql(GRAPH, text)


def test_a_relation_path_and_an_s_expression_are_gold_too(tmp_path):
    path = ["people.person.place_of_birth", "location.location.containedby"]
    expression = f"(JOIN (R {path[1]}) (JOIN (R {path[0]}) m.0ana))"
    questions = [
        make_question("path", "a?", "m.0nor", relation_path=path),
        make_question("expression", "b?", "m.0nor", s_expression=expression),
        make_question("nowhere", "c?", "m.0nor", relation_path=["a.b.c"]),
        make_question("wrong", "d?", "m.0var", relation_path=path),
    ]
    records = audit(questions, GRAPH, tmp_path / "audit.jsonl")
    assert [record["verdict"] for record in records] == ["equal", "equal", "empty", "disjoint"]
    ways = ["relation path", "sparql", "relation path", "relation path"]
    assert [record["by"] for record in records] == ways


def test_an_audit_that_was_stopped_goes_on_where_it_was(tmp_path):
    whole = audit(QUESTIONS, GRAPH, tmp_path / "whole.jsonl")
    lines = (tmp_path / "whole.jsonl").read_text().splitlines()
    (tmp_path / "half.jsonl").write_text("\n".join(lines[:3]) + "\n" + lines[3][:20])
    assert audit(QUESTIONS, GRAPH, tmp_path / "half.jsonl") == whole
    assert list(read_jsonl(tmp_path / "half.jsonl")) == whole
    with pytest.raises(UserError, match="an audit of another graph"):
        audit(QUESTIONS, MemoryGraph(TRIPLES[:2], NAMES), tmp_path / "half.jsonl")


def test_an_endpoint_runs_the_sparql_itself(tmp_path):
    path = write(tmp_path, TRIPLES, NAMES, {})
    with serve(load_store([path])) as address:
        graph = SparqlGraph(address)
        (end,) = run_sparql(graph, BORN.replace(" OR ", " || "))
        assert (end.id, end.name) == ("m.0nor", "Norvania")
        with pytest.raises(NotExecutedError, match="only SELECT"):
            run_sparql(graph, "ASK { ns:m.0ana ?p ?x }")


def test_the_command_prints_the_table_and_writes_the_records(tmp_path, capsys):
    file, out = tmp_path / "q.jsonl", tmp_path / "a.jsonl"
    compiled(write(tmp_path, TRIPLES, NAMES, {}))
    write_jsonl(file, [question.to_json() for question in QUESTIONS])
    given = ("dataset", "audit", file, "--graph", tmp_path / "graph", "--out", out)
    code, printed, _ = command(capsys, *given, "--json")
    summary = json.loads(printed)
    assert code == 0 and set(summary["verdicts"].values()) == {1, 2}
    assert summary["unwinnable"] >= 1 and "not in this graph" in command(capsys, *given)[1]
    assert len(list(read_jsonl(out))) == len(QUESTIONS)


def test_a_way_that_the_graph_holds_as_one_relation_is_found(tmp_path):
    graph = MemoryGraph([("m.0ana", "a.b.c..d.e.f", "m.0ben")], NAMES)
    way = select(":m.0ana :a.b.c ?y . ?y :d.e.f ?x")
    question = make_question("q", "who?", "m.0ben", sparql=way)
    (record,) = audit(ground([question], graph), graph, tmp_path / "audit.jsonl")
    assert (record["verdict"], record["by"]) == ("equal", "walk of the sparql")


def test_doubled_questions_and_answers_that_the_question_names_are_marked(tmp_path):
    questions = [
        make_question("a", "is Norvania where Ana was born", "m.0nor", sparql=BORN),
        make_question("b", "Is norvania where  Ana was born", "m.0nor", sparql=BORN),
        make_question("c", "what about Norvanians", "m.0nor", sparql=BORN),
    ]
    first, second, third = audit(questions, GRAPH, tmp_path / "audit.jsonl")
    assert first["answer_in_question"] == ["Norvania"] and "answer_in_question" not in third
    assert second["duplicate_of"] == "a" and "duplicate_of" not in first
    assert summarise_audit([first, second, third])["duplicate_of"] == 1
