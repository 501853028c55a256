"""SPARQL over a compiled graph: what benchmarks and clients ask, and Oxigraph's answers."""

import json
import random
import re

import pytest
from pyoxigraph import QueryResultsFormat, RdfFormat, Store, parse_query_results

from graphwalker.errors import QueryLimitError, UserError
from graphwalker.graphs.ntriples import FREEBASE
from graphwalker.graphs.open import open_graph
from graphwalker.graphs.sparql.terms import RDFS_LABEL
from graphwalker.graphs.sparql_engine.engine import QueryLimits, SparqlEngine
from graphwalker.graphs.sparql_engine.results import CSV, JSON, TSV, XML, write_results
from support.backends import compiled, write
from support.sparql_queries import QueryMaker, rows_of, served_triples
from support.toy import TOY_NAMES, TOY_TRIPLES, TOY_TYPES

TOY = (TOY_TRIPLES, TOY_NAMES, TOY_TYPES)


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    return compiled(write(tmp_path_factory.mktemp("sparql") / "g", *TOY))


@pytest.fixture(scope="module")
def engine(graph):
    return SparqlEngine(graph)


@pytest.fixture(scope="module")
def store(engine):
    lines = "\n".join(served_triples(engine.graph.graph, engine.graph.iri))
    found = Store()
    found.load(lines.encode(), format=RdfFormat.N_TRIPLES)
    return found


def ids(engine, query):
    """The first column, as ids of the graph."""
    found = engine.query(query)
    firsts = [row.get(found.variables[0]) for row in found.rows]
    return [engine.graph.id_of_term(term) for term in firsts if term is not None]


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
def test_queries_of_benchmarks_and_clients_are_answered(engine, query):
    assert ids(engine, query) == ["m.0eve"]


@pytest.mark.parametrize(
    "condition",
    ["FILTER EXISTS { PATTERN }", "FILTER EXISTS { FILTER EXISTS { PATTERN } }",
     "BIND(EXISTS { PATTERN } AS ?e) FILTER(?e)"],
)  # fmt: skip
def test_a_filter_within_exists_is_tested(engine, condition):
    pattern = "?x ns:people.person.parents ?y FILTER(?y = ns:m.0nobody)"
    condition = condition.replace("PATTERN", pattern)
    where = f"ns:m.0ada ns:people.person.children ?x {condition}"
    prefix = "PREFIX ns: <http://rdf.freebase.com/ns/>"
    assert ids(engine, f"{prefix} SELECT ?x WHERE {{ {where} }}") == []
    found = ids(engine, f"{prefix} SELECT ?x WHERE {{ {where.replace('0nobody', '0ada')} }}")
    assert "m.0eve" in found


def test_a_filter_of_a_constant_counts(engine):
    where = "?x ns:people.person.parents ns:m.0ada"
    for constant, found in (("false", []), ('""', []), ("0", []), ("true", ["m.0eve"])):
        assert ids(engine, f"SELECT ?x WHERE {{ {where} FILTER({constant}) }}") == found
        inner = f"FILTER EXISTS {{ {where} FILTER({constant}) }}"
        assert ids(engine, f"SELECT ?x WHERE {{ {where} {inner} }}") == found


def test_a_count_without_a_name_gets_one(engine):
    query = "SELECT COUNT(?x) WHERE { ?x ns:people.person.nationality ns:m.0land }"
    assert list(map(str, engine.query(query).variables)) == ["callret0"]
    assert ids(engine, query)[0].startswith('"24"')


def test_a_partial_date_is_a_datetime(engine):
    query = """SELECT ?x { VALUES ?y { "1960"^^xsd:gYear "1970-05"^^xsd:gYearMonth "1962-01-02" }
        ?x ns:people.person.date_of_birth ?born
        FILTER (xsd:dateTime(?y) < xsd:dateTime(?born)) }"""
    assert ids(engine, query) == ["m.0ada"]


def test_exists_sees_the_row_in_all_of_its_pattern(engine):
    where = (
        "ns:m.0ada ns:people.person.children ?x FILTER EXISTS { BIND(?x AS ?y) FILTER(?y = ID) }"
    )
    assert ids(engine, f"SELECT ?x {{ {where.replace('ID', 'ns:m.0eve')} }}") == ["m.0eve"]
    assert ids(engine, f"SELECT ?x {{ {where.replace('ID', 'ns:m.0tom')} }}") == []


@pytest.mark.parametrize(
    "head, values, found",
    [
        ("(MIN(?x) AS ?y)", "ns:b ns:a", "<http://rdf.freebase.com/ns/a>"),
        ("(SUM(?x) AS ?y)", "1 'a'", ""),
        ("(SUM(?x) AS ?y)", "", "0"),
        ("(SUM(DISTINCT ?x) AS ?y)", "2 2 UNDEF 0.5", "2.5"),
        ("(MAX(?x) AS ?y)", "'1960-01-01'^^xsd:date '1961'^^xsd:gYear", "1961"),
        ("(2 * 3 AS ?y)", "1", "6"),
        ("(1e0 / 0 AS ?y)", "1", "INF"),
        ("(!(?u && false) AS ?y)", "1", "true"),
        ("(1 IN (?u, 1.0) AS ?y)", "1", "true"),
        ("('a' < 1 AS ?y)", "1", ""),
        ("('2000-01-01T00:00:00' < xsd:dateTime('-0044') AS ?y)", "1", ""),
        ("(xsd:dateTime('-0044') < '0001-01-01'^^xsd:date AS ?y)", "1", "true"),
        ("(YEAR('-0044'^^xsd:gYear) AS ?y)", "1", "-44"),
    ],
)
def test_values_are_those_of_the_standard_and_of_virtuosos_casts(engine, head, values, found):
    (row,) = engine.query(f"SELECT {head} {{ VALUES ?x {{ {values} }} }}").rows
    assert [one.n3() if "//" in one else str(one) for one in row.values()] == [found][: bool(found)]


def test_rows_that_have_no_value_to_sort_by_come_first_and_groups_of_nothing_are_none(engine):
    query = "SELECT ?x { VALUES ?x { '1961' 'a' '1960' } } ORDER BY xsd:dateTime(?x)"
    assert ids(engine, query) == ['"a"', '"1960"', '"1961"']
    assert ids(engine, "SELECT ?x { ?x ns:none ?y } GROUP BY ?x") == []


@pytest.mark.parametrize(
    "query, words",
    [
        ("SELECT ?x { ?x ", "not SPARQL"),
        ("SELECT ?x { ?x zz:a ?y }", "zz: is not declared"),
        ("CONSTRUCT { ?x ?p ?y } WHERE { ?x ?p ?y }", "SELECT or ASK"),
        ("SELECT ?x { SERVICE <http://a.b> { ?x ?p ?y } }", "one graph"),
        ("SELECT ?x { ?x ?p ?y FILTER(bif:contains(?y, 'a')) }", "bif: is not declared"),
        (f"ASK {{ FILTER {'(' * 60}1{')' * 60} }}", "nested"),
    ],
)
def test_what_is_not_served_is_refused_with_a_reason(engine, query, words):
    with pytest.raises(UserError, match=words):
        engine.query(query)


def test_limits_end_a_query_that_explodes(engine):
    query = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"
    with pytest.raises(QueryLimitError, match="S1T00"):
        list(engine.query(query, QueryLimits(0.2)).rows)
    with pytest.raises(QueryLimitError, match="holds more than 1,000 rows"):
        list(engine.query(f"{query} ORDER BY ?a", QueryLimits(60, 1000)).rows)
    with pytest.raises(QueryLimitError, match="more than 50 rows"):
        write_results(engine.query(query), JSON, 50)


def test_a_limit_stops_early(engine):
    query = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } LIMIT 3"
    assert len(list(engine.query(query, QueryLimits(5)).rows)) == 3


@pytest.mark.parametrize(
    "form, known",
    [(JSON, QueryResultsFormat.JSON), (XML, QueryResultsFormat.XML), (TSV, QueryResultsFormat.TSV)],
)
def test_each_form_of_results_is_read_back_by_another_library(engine, store, form, known):
    query = f"SELECT ?s ?o {{ ?s <{FREEBASE}people.person.date_of_birth>|<{RDFS_LABEL}> ?o }}"
    read = parse_query_results(write_results(engine.query(query), form, 100), format=known)
    assert {tuple(row) for row in read} == {tuple(row) for row in store.query(query)}


def test_csv_has_a_line_for_each_row(engine):
    query = "SELECT ?x ?y { ns:m.0ada ns:people.person.children ?x }"
    text = write_results(engine.query(query), CSV, 9)
    assert text == b"x,y\r\nhttp://rdf.freebase.com/ns/m.0eve,\r\n"


def test_a_graph_answers_sparql_in_python(graph):
    (row,) = graph.sparql("SELECT ?x ?n { ?x ns:people.person.parents ns:m.0ada, ns:m.0tom }")
    assert (row["x"].id, row["x"].name) == ("m.0eve", TOY_NAMES["m.0eve"])
    assert graph.sparql("ASK { ns:m.0ada ?p ?o }") is True


def test_ids_that_are_no_iris_get_a_base_and_come_back(tmp_path):
    path = tmp_path / "kb.tsv"
    path.write_text("Kismet (1930)\tdirected by\tJohn Dillon\nKismet (1930)\tyear\t50% off\n")
    engine = SparqlEngine(open_graph(path))
    (head,) = ids(engine, "SELECT ?x { ?x <urn:graphwalker:year> ?y }")
    iri = engine.graph.iri(head)
    assert not re.search(r"[ ()]\s", iri) and engine.graph.id_of_iri(iri) == head
    assert ids(engine, f"SELECT ?y {{ <{iri}> <urn:graphwalker:directed%20by> ?y }}")


@pytest.mark.long
def test_generated_queries_have_oxigraphs_answers(engine, store):
    triples = [
        tuple(line[:-2].split(" ", 2))
        for line in served_triples(engine.graph.graph, engine.graph.iri)
    ]
    triples = [one for one in triples if "w3.org" not in one[1]]
    for number in range(300):
        query = QueryMaker(triples, random.Random(f"engine-{number}")).query()
        answer = write_results(engine.query(query, QueryLimits(20)), JSON, 10**6)
        expected = store.query(query).serialize(format=QueryResultsFormat.JSON)
        assert rows_of(json.loads(answer)) == rows_of(json.loads(expected)), query
