"""`graphwalker graph serve`: other people's clients, our own, and clients that mean no good."""

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from urllib.parse import urlencode, urlsplit

import pytest
from SPARQLWrapper import CSV, JSON, POST, XML, SPARQLWrapper

from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.graphs.conformance import check_graph
from graphwalker.graphs.sparql.graph import SparqlGraph
from graphwalker.graphs.sparql_engine.results import JSON as JSON_FORM
from graphwalker.graphs.sparql_engine.store import find_store
from graphwalker.graphs.virtuoso.load import load
from graphwalker.graphs.virtuoso.server import down, up
from graphwalker.sparql_server.workers import QueryWorkers, ServerLimits
from graphwalker.tools.transcript import differences
from support.backends import compiled_tsv
from support.sparql_queries import served_triples
from support.toy import TOY_NAMES, TOY_TRIPLES, TOY_TYPES, toy_graph

pytestmark = pytest.mark.long
TOY = (TOY_TRIPLES, TOY_NAMES, TOY_TYPES)
NS = "http://rdf.freebase.com/ns/"


@contextmanager
def server(folder, *options):
    """The address of a server process, and the process."""
    command = [sys.executable, "-m", "graphwalker", "graph", "serve", str(folder), "--port", "0"]
    how = {"text": True, "env": os.environ | {"PYTHONUNBUFFERED": "1"}}
    process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, **how)
    try:
        line = process.stdout.readline()
        yield re.fullmatch(r"serving: (\S+)\n", line)[1], process
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture(scope="module")
def graph(toy_folder):
    return open_compiled(toy_folder)


@pytest.fixture(scope="module")
def address(graph):
    options = ("--workers", "2", "--memory-mb", "400", "--max-rows", "5000")
    with server(graph.path, *options) as (found, _):
        yield found


class RivalClient:
    """Walks Freebase as published agents do: one query for each move, through SPARQLWrapper."""

    def __init__(self, endpoint):
        self.endpoint = endpoint

    def ask(self, query):
        wrapper = SPARQLWrapper(self.endpoint)
        wrapper.setQuery(f"PREFIX ns: <{NS}>\n{query}")
        wrapper.setReturnFormat(JSON)
        return wrapper.query().convert()["results"]["bindings"]

    def relations(self, entity):
        out = self.ask(f"SELECT ?relation WHERE {{\n ns:{entity} ?relation ?x .\n}}")
        into = self.ask(f"SELECT ?relation WHERE {{\n ?x ?relation ns:{entity} .\n}}")
        return [
            sorted({row["relation"]["value"].replace(NS, "") for row in rows})
            for rows in (out, into)
        ]

    def tails(self, entity, relation):
        rows = self.ask(f"SELECT ?tailEntity WHERE {{ ns:{entity} ns:{relation} ?tailEntity . }}")
        return sorted(row["tailEntity"]["value"].replace(NS, "") for row in rows)

    def name(self, entity):
        rows = self.ask(
            f"""SELECT DISTINCT ?tailEntity WHERE {{
            {{ ?entity ns:type.object.name ?tailEntity . FILTER(?entity = ns:{entity}) }} UNION
            {{ ?entity <http://www.w3.org/2002/07/owl#sameAs> ?tailEntity .
               FILTER(?entity = ns:{entity}) }} }}"""
        )
        return rows[0]["tailEntity"]["value"] if rows else "UnName_Entity"

    def walk(self):
        ends = self.tails("m.0ada", "people.person.children")
        dates = self.ask("SELECT ?x WHERE { ns:m.0ada ns:people.person.date_of_birth ?x }")
        names = [self.name(entity) for entity in (*ends, "m.0cvt1", "m.0none")]
        return self.relations("m.0ada"), ends, names, dates


def test_a_rivals_client_walks_our_endpoint(address):
    relations, ends, names, dates = RivalClient(address).walk()
    assert "people.person.spouse_s" in relations[0] and "film.film.directed_by" in relations[1]
    assert (ends, names) == (["m.0eve"], ["Eve Mbeki-Lindqvist", "UnName_Entity", "UnName_Entity"])
    kind = {"type": "typed-literal", "datatype": "http://www.w3.org/2001/XMLSchema#date"}
    assert dates[0]["x"] == {**kind, "value": "1961-08-04"}


@pytest.mark.virtuoso
def test_a_rivals_client_sees_what_it_sees_on_virtuoso(address, graph, tmp_path):
    lines = tmp_path / "served.nt"
    lines.write_text("\n".join(served_triples(graph, lambda i: NS + i if "://" not in i else i)))
    with ExitStack() as stack:
        server = up(tmp_path / "server", "200MB")
        stack.callback(down, tmp_path / "server")
        load(tmp_path / "server", [lines], as_is=True)
        assert RivalClient(address).walk() == RivalClient(server.endpoint).walk()


def test_our_own_client_shows_the_text_of_the_compiled_graph(address):
    topics = [toy_graph().entity_at(place) for place in range(0, 35, 3)]
    assert list(differences(SparqlGraph(address), toy_graph(), topics)) == []


@pytest.mark.parametrize("form", [JSON, XML, CSV])
@pytest.mark.parametrize("method", ["GET", POST])
def test_every_form_comes_by_get_and_by_post(address, form, method):
    wrapper = SPARQLWrapper(address, returnFormat=form, defaultGraph="http://rdf.freebase.com")
    wrapper.setMethod(method)
    wrapper.setQuery(f"SELECT ?x {{ <{NS}m.0ada> <{NS}people.person.children> ?x }}")
    found = wrapper.query()
    assert form in found.info()["content-type"] and b"m.0eve" in found.response.read()


def send(address, body, headers=(), method="POST", path="/sparql"):
    connection = HTTPConnection(urlsplit(address).netloc, timeout=60)
    given = {"Content-Type": "application/sparql-query", **dict(headers)}
    connection.request(method, path, body, given)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


EXPLOSIVE = {
    "product": "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } ORDER BY ?a",
    "paths": "SELECT DISTINCT ?a ?i { ?a (!<urn:x>)* ?b . ?d (!<urn:x>)* ?e . ?g (!<urn:x>)* ?i }",
    "sum": "SELECT (MAX(?n) AS ?m) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i BIND(STRLEN(STR(?a)) AS ?n) }",
}


@pytest.mark.parametrize("query", EXPLOSIVE.values(), ids=EXPLOSIVE)
def test_a_query_that_explodes_ends_and_the_next_is_answered(address, query):
    status, text = send(address, query, path="/sparql?timeout=1500")
    assert status == 500 and ("S1T00" in text or "42000" in text)
    assert send(address, "ASK { ?s ?p ?o }")[1] == '{"head": {"link": []}, "boolean": true}'


def abandon(address, query):
    """Ask, and go away before there is an answer."""
    connection = HTTPConnection(urlsplit(address).netloc, timeout=60)
    connection.request("POST", "/sparql", query, {"Content-Type": "application/sparql-query"})
    time.sleep(0.3)
    connection.close()


@pytest.mark.parametrize(
    "query",
    [
        f"ASK {{ FILTER(REGEX('{'a' * 40}b', '(a+)+$')) }}",
        "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n ?o }",
    ],
    ids=["regex", "cross product"],
)
def test_clients_that_went_away_hold_nobody_up(address, query):
    for _ in range(6):
        abandon(address, query)
    started = time.monotonic()
    assert json.loads(send(address, "ASK { ?s ?p ?o }")[1])["boolean"]
    assert time.monotonic() - started < 10  # each had 60 s


def test_a_killed_process_has_a_successor_at_once(graph):
    limits = ServerLimits(workers=1)
    request = {"query": "ASK { ?s ?p ?o }", "form": JSON_FORM, "graphs": [], "is_ours": False}
    bomb = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"

    async def play():
        with closing(QueryWorkers(find_store(graph), limits)) as workers:
            ended = await workers.ask({**request, "query": bomb}, 0.2)
            started = time.monotonic()
            answered = await workers.ask(request)
            return ended.status, answered.status, time.monotonic() - started

    ended, answered, seconds = asyncio.run(play())
    assert (ended, answered) == (500, 200) and seconds < 1


def test_rows_and_memory_are_bounded(address):
    assert send(address, "SELECT * { ?a ?b ?c . ?d ?e ?f }")[1].startswith("42000: more than 5,000")
    doubled = " ".join(f"BIND(CONCAT(?b{n}, ?b{n}) AS ?b{n + 1})" for n in range(40))
    query = f'SELECT (STRLEN(?b40) AS ?n) {{ BIND("abcdefgh" AS ?b0) {doubled} }}'
    status, text = send(address, query)
    assert status in (200, 500) and len(text) < 1000


def test_bad_requests_are_refused_in_a_line(address):
    assert send(address, "SELECT ?x { ?x ")[0] == 400
    assert send(address, "INSERT DATA { <a:b> <a:b> 1 }")[0] == 400
    update = urlencode({"update": "CLEAR ALL"})
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert send(address, update, form)[0] == 403
    assert send(address, "ASK {" + "{" * 5000)[0] == 400
    assert send(address, "ASK {}", {"Host": "evil.example"})[0] == 421
    assert send(address, None, method="GET")[0] == 400
    assert send(address, b"\xff\xfe")[0] == 400
    assert send(address, "ASK {}", path="/sparql?default-graph-uri=http://other.org/g")[0] == 400
    for wrong in ("%C2%B2", "9" * 5000, "-1", "abc", "1e3"):
        assert send(address, "ASK {}", path=f"/sparql?timeout={wrong}")[0] == 400


def test_a_body_of_100_mb_is_not_read(address):
    connection = HTTPConnection(urlsplit(address).netloc, timeout=60)
    connection.putrequest("POST", "/sparql")
    connection.putheader("Content-Length", str(100 << 20))
    connection.endheaders()
    assert connection.getresponse().status == 413


PLAIN_FACTS = [
    ("p0", "born in", "New Oslo"),
    ("Kismet (1930)", "directed by", "p0"),
    ("Kismet (1930)", "directed by", "A [b] <c>"),
    *(("A [b] <c>", "knows", end) for end in ("A! b", "A b", 'A"b', "A{b", "Azb", "50%", "_:b0")),
    ("a%20b", "knows", "http://x.org/p q"),
    ("a%20b", "knows", "http://x.org/[p]"),
    ("urn:graphwalker:z", "knows", "a%20b"),
    ("folded", "graph", "Zo\u00eb & Co."),
]


@pytest.mark.parametrize("options", [(), ("--base", "http://mine.org/x#")], ids=["plain", "base"])
def test_ids_of_every_kind_come_back_as_they_went_in(tmp_path, options):
    names = {one: one for h, _, t in PLAIN_FACTS for one in (h, t)}
    graph = compiled_tsv(tmp_path, PLAIN_FACTS, names)
    with server(graph.path, "--workers", "2", *options) as (address, process):
        assert process.stdout.readline().startswith("next: graphwalker graph conformance")
        served = SparqlGraph(address)
        entities = [graph.entity_at(place) for place in range(graph.size)]
        assert list(check_graph(served, entities)) == []
        assert list(differences(served, graph, entities)) == []


def test_without_its_extra_one_line_names_it(graph):
    without = "import sys; sys.modules['pyoxigraph'] = None; from graphwalker.cli import app; "
    command = [sys.executable, "-c", f"{without}app.main()", "graph", "serve", str(graph.path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and "[serve]" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_server_says_what_comes_next_and_ends_with_its_processes(graph):
    with server(graph.path, "--workers", "1") as (address, process):
        line = process.stdout.readline()
        assert line.startswith("next: graphwalker graph conformance --endpoint http://127.")
        assert json.loads(send(address, "ASK { ?s ?p ?o }")[1])["boolean"]
    assert process.returncode is not None
