"""SPARQL over a graph's store: what benchmarks and clients ask, and what is refused."""

import json
import multiprocessing
import random
import re
import sys
import time

import pytest
from pyoxigraph import QueryResultsFormat, RdfFormat, Store, parse_query_results

from graphwalker.errors import QueryLimitError, UserError
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.graphs.ntriples import FREEBASE
from graphwalker.graphs.open import open_graph
from graphwalker.graphs.sparql.terms import RDFS_LABEL
from graphwalker.graphs.sparql_engine.engine import engine_of
from graphwalker.graphs.sparql_engine.results import CSV, IDS, JSON, TSV, XML
from graphwalker.graphs.sparql_engine.store import find_store
from graphwalker.graphs.sparql_engine.worker import StoreReader
from support.backends import compiled, write
from support.sparql_queries import QueryMaker, rows_of, served_triples
from support.toy import TOY_NAMES, TOY_TRIPLES, TOY_TYPES

TOY = (TOY_TRIPLES, TOY_NAMES, TOY_TYPES)
XSD = "http://www.w3.org/2001/XMLSchema#"


@pytest.fixture(scope="module")
def graph(toy_folder):
    return open_graph(toy_folder)


@pytest.fixture(scope="module")
def reader(graph):
    return StoreReader(find_store(graph))


@pytest.fixture(scope="module")
def store(graph):
    lines = "\n".join(served_triples(graph, lambda i: i if "://" in i else FREEBASE + i))
    found = Store()
    found.load(lines.encode(), format=RdfFormat.N_TRIPLES)
    return found


def answer(reader, query, form=JSON, **more):
    asked = {"query": query, "form": form, "graphs": [], "is_ours": False, "max_rows": 10**6}
    status, _, body = reader.answer({**asked, **more})
    return status, body


def values(reader, query):
    """The rows of a SELECT as ids of the graph; whether an ASK holds."""
    status, body = answer(reader, query, IDS)
    assert status == 200, body
    return json.loads(body)


def ids(reader, query):
    """The first column."""
    return [next(iter(row.values())) for row in values(reader, query) if row]


NOT_A_TEXT = "FILTER (!isLiteral(?x) OR lang(?x) = '' OR langMatches(lang(?x), 'en'))"
WORDED = {
    "webqsp": f"""#MANUAL SPARQL
        PREFIX ns: <http://rdf.freebase.com/ns/> SELECT DISTINCT ?x WHERE {{
        FILTER (?x != ns:m.0ada) {NOT_A_TEXT} ns:m.0ada ns:people.person.children ?x .
        FILTER(NOT EXISTS {{ ?x ns:people.person.gone ?s }} ||
               EXISTS {{ ?x ns:people.person.gone ?t . FILTER(xsd:datetime(?t) >
               "2015-08-10"^^xsd:dateTime) }}) }}""",
    "cwq": f"""PREFIX ns: <http://rdf.freebase.com/ns/> SELECT DISTINCT ?x WHERE {{
        FILTER (?x != ?c) {NOT_A_TEXT} ?c ns:people.person.children ?x .
        ?c ns:people.person.date_of_birth ?born . }}
        ORDER BY DESC(xsd:datetime(?born)) LIMIT 1""",
    "grailqa": """PREFIX : <http://rdf.freebase.com/ns/> SELECT (?x0 AS ?value) WHERE {
        SELECT DISTINCT ?x0 WHERE { ?x0 :type.object.type :people.person .
        VALUES ?x1 { :m.0tom } ?x0 :people.person.parents ?x1 . FILTER ( ?x0 != ?x1 ) } }""",
    "tog": """PREFIX ns: <http://rdf.freebase.com/ns/> SELECT DISTINCT ?x WHERE {
        { ?x ns:people.person.parents ?y . FILTER(?y = ns:m.0ada) } UNION
        { ?x <http://www.w3.org/2002/07/owl#sameAs> ?y . FILTER(?y = ns:m.0ada) } }""",
    "virtuoso": """define input:inference "none" SELECT DISTINCT ?x FROM <http://rdf.freebase.com>
        WHERE { GRAPH <http://rdf.freebase.com> { /* no prefix */ ?x ns:people.person.parents ?y }
        ?y rdfs:label 'Ada Mbeki'@en }""",
}


@pytest.mark.parametrize("query", WORDED.values(), ids=WORDED)
def test_queries_of_benchmarks_and_clients_are_answered(reader, query):
    assert ids(reader, query) == ["m.0eve"]


@pytest.mark.parametrize(
    "condition",
    ["FILTER EXISTS { PATTERN }", "FILTER EXISTS { FILTER EXISTS { PATTERN } }",
     "BIND(EXISTS { PATTERN } AS ?e) FILTER(?e)"],
)  # fmt: skip
def test_a_filter_within_exists_is_tested(reader, condition):
    pattern = "?x ns:people.person.parents ?y FILTER(?y = ns:m.0nobody)"
    condition = condition.replace("PATTERN", pattern)
    query = f"SELECT ?x WHERE {{ ns:m.0ada ns:people.person.children ?x {condition} }}"
    assert ids(reader, query) == []
    assert "m.0eve" in ids(reader, query.replace("0nobody", "0ada"))


def test_a_filter_of_a_constant_counts(reader):
    where = "?x ns:people.person.parents ns:m.0ada"
    for constant, found in (("false", []), ('""', []), ("0", []), ("true", ["m.0eve"])):
        assert ids(reader, f"SELECT ?x WHERE {{ {where} FILTER({constant}) }}") == found
        inner = f"FILTER EXISTS {{ {where} FILTER({constant}) }}"
        assert ids(reader, f"SELECT ?x WHERE {{ {where} {inner} }}") == found


def test_a_count_without_a_name_gets_one(reader):
    query = "SELECT COUNT(?x) WHERE { ?x ns:people.person.nationality ns:m.0land }"
    assert values(reader, query) == [{"callret0": f'"24"^^<{XSD}integer>'}]


def test_a_partial_date_is_a_datetime(reader):
    query = """SELECT ?x { VALUES ?y { "1960"^^xsd:gYear "1970-05"^^xsd:gYearMonth "1962-01-02" }
        ?x ns:people.person.date_of_birth ?born
        FILTER (xsd:dateTime(?y) < xsd:dateTime(?born)) }"""
    assert ids(reader, query) == ["m.0ada"]


def test_exists_sees_the_row_in_all_of_its_pattern(reader):
    child = "ns:m.0ada ns:people.person.children ?x"
    for one, found in (("m.0eve", ["m.0eve"]), ("m.0tom", [])):
        inner = f"FILTER EXISTS {{ BIND(?x AS ?y) FILTER(?y = ns:{one}) }}"
        assert ids(reader, f"SELECT ?x {{ {child} {inner} }}") == found


@pytest.mark.parametrize(
    "head, given, found",
    [
        ("(MIN(?x) AS ?y)", "ns:b ns:a", "a"),
        ("(SUM(?x) AS ?y)", "", f'"0"^^<{XSD}integer>'),
        ("(SUM(?x) AS ?y)", "2 2 0.5", f'"4.5"^^<{XSD}decimal>'),
        ("(SUM(?x) AS ?y)", "2 UNDEF", None),
        ("(2 * 3 AS ?y)", "1", f'"6"^^<{XSD}integer>'),
        ("(1e0 / 0 AS ?y)", "1", f'"INF"^^<{XSD}double>'),
        ("('a' < 1 AS ?y)", "1", None),
        ("(xsd:dateTime('-0044') < '2000-01-01T00:00:00'^^xsd:dateTime AS ?y)", "1",
         f'"true"^^<{XSD}boolean>'),
        ("('1960'^^xsd:gYear < '1961-01-01'^^xsd:date AS ?y)", "1", None),
    ],
)  # fmt: skip
def test_values_are_those_of_oxigraph(reader, head, given, found):
    query = f"SELECT {head} {{ VALUES ?x {{ {given} }} }}"
    assert values(reader, query) == ([{"y": found}] if found else [{}])


@pytest.mark.parametrize(
    "query, words",
    [
        ("SELECT ?x { ?x ", "not SPARQL 1.1 at its end"),
        ("SELECT ?x { ?x zz:a ?y }", "zz: is not declared"),
        ("CONSTRUCT { ?x ?p ?y } WHERE { ?x ?p ?y }", "SELECT or ASK"),
        ("SELECT ?x { SERVICE <http://a.b> { ?x ?p ?y } }", "one graph"),
        ("SELECT ?x { ser\\u0076ice <http://a.b> { ?x ?p ?y } }", "a backslash"),
        ("SELECT ?x { ?x ?p ?y FILTER(bif:contains(?y, 'a')) }", "bif: is not declared"),
        (f"ASK {{ FILTER {'(' * 60}1{')' * 60} }}", "nested"),
        ("LOAD <http://a.b>", "LOAD is an update"),
        ("PREFIX a: <http://a/> WITH <a:b> DELETE { ?x ?p ?y } WHERE { ?x ?p ?y }", "an update"),
        ("INSERT DATA { <a:b> <a:b> 1 }", "INSERT is an update"),
        ("SELECT ?x FROM <http://nowhere.org/g> { ?x ?p ?y }", "there is one graph"),
        ("SELECT ?x FROM NAMED ns:m.0ada { ?x ?p ?y }", "there is one graph"),
        ("SELECT ?x { GRAPH <http://other.org/h> { ?x ?p ?y } }", "there is one graph"),
        ("SELECT ?x { GRAPH ?g { ?x ?p ?y } }", "there is one graph"),
        ("define input:default-graph-uri <http://a.b> SELECT ?x { ?x ?p ?y }", "there is one"),
        ("SELECT ?a (COUNT(?b) AS ?n) { ?a ?p ?b }", "not SPARQL 1.1"),
        ("SELECT * { ?a ?p ?b BIND(1 AS ?a) }", "not SPARQL 1.1"),
        ("SELECT (1 AS ?x) (2 AS ?x) {}", "Duplicated variable"),
        ("SELECT * { ?a ?p ?b FILTER(COUNT(*) > 1) }", "not SPARQL 1.1"),
        (f"SELECT * {{ ?a ?p ?b }} LIMIT {'9' * 5000}", "limit should be"),
        ("SELECT * { ?a ?p ?b } OFFSET 99999999999999999999", "offset should be"),
    ],
)  # fmt: skip
def test_what_is_not_served_is_refused_with_a_reason(reader, query, words):
    status, body = answer(reader, query)
    assert status == 400 and re.search(words, body.decode()), body


def test_values_that_no_number_can_be_are_answered(reader):
    for query in (
        'SELECT (xsd:decimal("1e999999999") AS ?x) {}',
        'SELECT * { VALUES ?x { "sNaN"^^xsd:decimal 1 } } ORDER BY ?x',
        'SELECT (SUM(?x) AS ?y) { VALUES ?x { "sNaN"^^xsd:decimal 1 } }',
        "SELECT * { ?a ?p ?b } LIMIT 9223372036854775809",
        "SELECT * { ?a ?p ?b } OFFSET 9223372036854775809",
    ):
        assert answer(reader, query)[0] == 200, query


def test_a_separator_is_a_text_whatever_it_spells(reader):
    given = "VALUES ?x { 'a' 'b' }"
    text = "\\u0027) AS ?y) { SERVICE <http://a.b> { ?x ?p ?o } } #"
    query = f"SELECT (GROUP_CONCAT(?x; SEPARATOR='{text}') AS ?y) {{ {given} }}"
    assert "SERVICE" in ids(reader, query)[0]


def test_the_graph_goes_by_its_own_names_only(reader):
    query = "SELECT ?x { ?x ns:people.person.parents ns:m.0ada }"
    for name in ("http://rdf.freebase.com", "http://rdf.freebase.com/ns/"):
        assert answer(reader, query, graphs=[name]) == answer(reader, query)
    assert answer(reader, query, graphs=["http://nowhere.org/g"])[0] == 400


def test_more_rows_than_may_be_are_refused(reader):
    query = "SELECT * { ?a ?b ?c . ?d ?e ?f }"
    status, body = answer(reader, query, max_rows=50)
    assert status == 500 and b"more than 50 rows" in body
    assert len(ids(reader, f"{query} LIMIT 3")) == 3


def test_all_variables_come_in_the_order_of_the_query(reader):
    status, body = answer(reader, "SELECT * { ?z ?a ?m } LIMIT 1")
    assert status == 200 and json.loads(body)["head"]["vars"] == ["z", "a", "m"]


@pytest.mark.parametrize(
    "form, known",
    [(JSON, QueryResultsFormat.JSON), (XML, QueryResultsFormat.XML), (TSV, QueryResultsFormat.TSV)],
)
def test_each_form_of_results_is_read_back_by_another_library(reader, store, form, known):
    query = f"SELECT ?s ?o {{ ?s <{FREEBASE}people.person.date_of_birth>|<{RDFS_LABEL}> ?o }}"
    read = parse_query_results(answer(reader, query, form)[1], format=known)
    assert {tuple(row) for row in read} == {tuple(row) for row in store.query(query)}


def test_csv_has_a_line_for_each_row(reader):
    query = "SELECT ?x ?y { ns:m.0ada ns:people.person.children ?x }"
    text = answer(reader, query, CSV)[1]
    assert text == b"x,y\r\nhttp://rdf.freebase.com/ns/m.0eve,\r\n"


def test_a_graph_answers_sparql_in_python(graph):
    (row,) = graph.sparql("SELECT ?x ?n { ?x ns:people.person.parents ns:m.0ada, ns:m.0tom }")
    assert (row["x"].id, row["x"].name) == ("m.0eve", TOY_NAMES["m.0eve"])
    assert graph.sparql("ASK { ns:m.0ada ?p ?o }") is True
    assert graph.sparql("ASK { ns:m.0none ?p ?o }") is False


def test_a_query_past_its_time_ends_and_the_next_is_answered(graph):
    started = time.monotonic()
    with pytest.raises(QueryLimitError, match=r"S1T00: the query took 0\.3 s"):
        graph.sparql("SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }", 0.3)
    assert time.monotonic() - started < 5
    assert graph.sparql("ASK { ns:m.0ada ?p ?o }") is True
    with pytest.raises(UserError, match="nested too deeply"):
        graph.sparql(f"ASK {{ FILTER({'!' * 200_000}true) }}")


def test_a_forked_process_asks_by_itself_and_ends_no_other(graph):
    query = "ASK { ns:m.0ada ?p ?o }"
    assert graph.sparql(query) is True
    engine = engine_of(graph)
    before = engine._worker
    forked = multiprocessing.get_context("fork").Process(target=graph.sparql, args=(query,))
    forked.start()
    forked.join(60)
    assert forked.exitcode == 0
    assert graph.sparql(query) is True and engine._worker is before


def test_a_graph_in_memory_answers_with_its_own_facts_alone():
    graph = MemoryGraph([("p0", "born in", "New Oslo")], {"p0": "Pia"}, {"p0": ["a person"]})
    query = "SELECT ?x ?n { ?x :born%20in ?y ; rdfs:label ?n ; a <urn:graphwalker:a%20person> }"
    (row,) = graph.sparql(query)
    assert (row["x"].id, row["n"].id) == ("p0", '"Pia"@en')


def test_without_oxigraph_one_line_names_the_extra(graph, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    fresh = MemoryGraph([("m.1", "a.b.c", "m.2")], {"m.1": "One"})
    with pytest.raises(UserError, match=r"needs pyoxigraph: pip install .*\[sparql\]"):
        fresh.sparql("ASK {}")


def test_ids_that_are_no_iris_get_a_base_and_come_back(tmp_path):
    path = tmp_path / "kb.tsv"
    path.write_text("Kismet (1930)\tdirected by\tJohn Dillon\nKismet (1930)\tyear\t50% off\n")
    graph = open_graph(path)
    (row,) = graph.sparql("SELECT ?x { ?x <urn:graphwalker:year> ?y }")
    assert row["x"].id == "Kismet (1930)"
    query = "SELECT ?y { <urn:graphwalker:Kismet%20(1930)> <urn:graphwalker:directed%20by> ?y }"
    assert [row["y"].id for row in graph.sparql(query)] == ["John Dillon"]


def test_values_keep_the_spelling_that_the_graph_has(tmp_path):
    written = ["1.50", "007", "1.0E3", "+5"]
    kinds = ["decimal", "integer", "double", "int"]
    facts = [("m.1", "a.b.c", f'"{v}"^^<{XSD}{k}>') for v, k in zip(written, kinds, strict=True)]
    facts.append(("m.1", "a.b.d", '"hi"@EN'))
    graph = compiled(write(tmp_path / "g", facts, {"m.1": "One"}, {}))
    found = graph.sparql("SELECT ?x { ns:m.1 ns:a.b.c|ns:a.b.d ?x }")
    assert sorted(row["x"].id for row in found) == sorted(fact[2] for fact in facts)


@pytest.fixture
def one_graph(tmp_path):
    return compiled(write(tmp_path / "g", [("m.1", "a.b.c", "m.2")], {"m.1": "One"}, {}))


def test_a_store_is_made_once_beside_its_graph_and_said(one_graph, caplog):
    first = find_store(one_graph)
    assert find_store(one_graph) == first and first.parent == one_graph.path.parent / "sparql"
    assert [record.message.split()[0] for record in caplog.records] == ["making", "made"]
    assert re.search(r"made .*: 3 triples, [\d.]+ MB, [\d.]+ s", caplog.text)
    assert find_store(one_graph, "http://mine.org/") != first


def test_what_a_killed_making_left_is_made_again(one_graph):
    place = one_graph.path.parent / "sparql"
    first = find_store(one_graph)
    first.rename(first.with_name(f"{first.name}.partial"))
    assert find_store(one_graph) == first
    assert sorted(path.name for path in place.iterdir()) == [".lock", first.name]


def test_a_graph_that_is_not_writable_has_its_store_in_the_cache(one_graph, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (one_graph.path.parent / "sparql").write_text("in the way")
    assert find_store(one_graph).is_relative_to(tmp_path / "cache")


def test_a_damaged_store_says_what_to_remove(one_graph):
    store = find_store(one_graph)
    for table in (store / "store").glob("*.sst"):
        table.write_bytes(b"nothing")
    with pytest.raises(UserError, match=f"remove {store}"):
        one_graph.sparql("ASK { ?s ?p ?o }")


def test_a_base_that_no_iri_begins_with_is_refused(one_graph):
    with pytest.raises(UserError, match="no IRI can begin so"):
        find_store(one_graph, "my base")


@pytest.mark.long
def test_generated_queries_have_oxigraphs_answers(reader, graph, store):
    lines = served_triples(graph, lambda i: i if "://" in i else FREEBASE + i)
    triples = [tuple(line[:-2].split(" ", 2)) for line in lines]
    triples = [one for one in triples if "w3.org" not in one[1]]
    for number in range(300):
        query = QueryMaker(triples, random.Random(f"engine-{number}")).query()
        expected = store.query(query).serialize(format=QueryResultsFormat.JSON)
        assert rows_of(json.loads(answer(reader, query)[1])) == rows_of(json.loads(expected)), query
