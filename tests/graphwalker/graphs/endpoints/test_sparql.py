"""SparqlGraph against endpoints that fail, cut, stall and lie: never a wrong or empty answer."""

import gzip
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from graphwalker.errors import GraphError, UserError
from graphwalker.graphs.base import Direction, Entity, Side, Step
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.names import fold
from graphwalker.graphs.ntriples import FREEBASE
from graphwalker.graphs.sparql.graph import SparqlGraph
from graphwalker.graphs.sparql.terms import Vocabulary, text
from graphwalker.question import Question
from graphwalker.tools.base import Call
from graphwalker.tools.walker import WalkerTools
from support.faulty_endpoint import faulty
from support.oxigraph import load_store
from support.toy import HUB, TOY_NAMES, toy_graph

ADA = "m.0ada"
QUICK = {"first_pause_s": 0.001, "timeout_s": 5.0}


@pytest.fixture(scope="module")
def store(tmp_path_factory, toy_lines):
    """The toy graph with the index of folded names that `graphwalker virtuoso load` adds."""
    index = [
        f"<{FREEBASE}{i}> <{Vocabulary().folded}> {text(fold(name))} .\n"
        for i, name in TOY_NAMES.items()
    ]
    path = tmp_path_factory.mktemp("toy") / "toy.nt.gz"
    path.write_bytes(gzip.compress((toy_lines.read_text() + "".join(index)).encode()))
    return load_store([path])


@pytest.fixture(scope="module")
def reference():
    return toy_graph()


def films(graph):
    return graph.neighbors(ADA, "film.film.directed_by", Direction.IN)


def results(rows):
    return json.dumps({"head": {"vars": ["s"]}, "results": {"bindings": rows}}).encode()


CUT_SHORT = {"X-SQL-State": "S1TAT", "X-SQL-Message": "RC...: Returning incomplete results"}
CURABLE = {
    "500": (500, {}, b"Virtuoso 40001 Error SR172: Transaction deadlocked"),
    "502": (502, {"Content-Type": "text/html"}, b"<html>Bad Gateway</html>"),
    "503 with a wait": (503, {"Retry-After": "0"}, b""),
    "429": (429, {}, b"slow down"),
    "a reset": "reset",
    "half an answer": "cut",
    "a time-out": "mute",
    "half of the JSON": (200, {}, b'{"results": {"bindings": [{"k": {"ty'),
    "an answer after the endpoint's time was up": (200, CUT_SHORT, results([])),
}


@pytest.mark.parametrize("fault", CURABLE.values(), ids=CURABLE)
def test_a_passing_fault_is_asked_again(store, reference, fault):
    timeout_s = 1.0 if fault == "mute" else 30.0
    with faulty(store, [fault, fault], slow_s=1.5) as endpoint:
        graph = SparqlGraph(endpoint.address, **{**QUICK, "timeout_s": timeout_s})
        assert films(graph) == films(reference) and graph.client.counts["retries"] >= 2


@pytest.mark.parametrize("fault", CURABLE.values(), ids=CURABLE)
def test_a_lasting_fault_is_a_graph_error_and_never_an_empty_answer(store, fault):
    with faulty(store, [fault] * 2, slow_s=0.2) as endpoint:
        graph = SparqlGraph(endpoint.address, attempts=2, **{**QUICK, "timeout_s": 0.1})
        with pytest.raises(GraphError, match=r"sparql: .* \(after 2 attempts\)"):
            films(graph)


def test_an_answer_cut_at_the_endpoints_limit_is_reported_with_the_next_move(store):
    with faulty(store, headers={"X-SPARQL-MaxRows": "2"}) as endpoint:
        with pytest.raises(GraphError, match="cut at 2 rows; raise ResultSetMaxRows"):
            SparqlGraph(endpoint.address, **QUICK).relations(HUB, Direction.IN)
        assert len(endpoint.forms) == 1


def test_a_query_that_the_endpoint_refuses_is_not_asked_again(store):
    with faulty(store, [(400, {}, b"\nSPARQL compiler: syntax error")]) as endpoint:
        with pytest.raises(GraphError, match="HTTP 400: SPARQL compiler: syntax error"):
            films(SparqlGraph(endpoint.address, **QUICK))
        assert len(endpoint.forms) == 1


def test_a_wait_that_the_server_asks_for_is_kept_and_said(store, reference, caplog):
    with faulty(store, [(429, {"Retry-After": "1"}, b"slow down")]) as endpoint:
        started = time.monotonic()
        assert films(SparqlGraph(endpoint.address, **QUICK)) == films(reference)
        assert time.monotonic() - started >= 0.9
    assert "waiting 1 s, asked by the server (HTTP 429: slow down)" in caplog.text


def test_the_user_agent_and_headers_are_the_users(store, monkeypatch):
    with faulty(store) as endpoint:
        films(SparqlGraph(endpoint.address, **QUICK))
        assert endpoint.agents[-1] == "graphwalker-kgqa"
        monkeypatch.setenv("GRAPHWALKER_USER_AGENT", "Ana (ana@example.org)")
        monkeypatch.setenv("GRAPHWALKER_ENDPOINT_HEADERS", '{"X-Key": "abc"}')
        films(SparqlGraph(endpoint.address, **QUICK, headers={"x-more": "d"}))
        assert endpoint.agents[-1] == "Ana (ana@example.org)"
        assert (endpoint.sent["X-Key"], endpoint.sent["X-More"]) == ("abc", "d")
        monkeypatch.setenv("GRAPHWALKER_ENDPOINT_HEADERS", "X-Key: abc")
        with pytest.raises(UserError, match="GRAPHWALKER_ENDPOINT_HEADERS: not a JSON object"):
            SparqlGraph(endpoint.address, **QUICK)


def test_a_login_goes_into_a_header_and_never_into_the_address(store):
    with pytest.raises(UserError, match="no user or password; set GRAPHWALKER_END") as refused:
        SparqlGraph("http://localhost:1/sparql http://ana:pass@localhost:2/sparql")
    assert "pass@" not in str(refused.value)
    told = r"HTTP 401: who\?; set GRAPHWALKER_ENDPOINT_HEADERS="
    with faulty(store, [(401, {}, b"who?")]) as endpoint, pytest.raises(GraphError, match=told):
        films(SparqlGraph(endpoint.address, **QUICK))


def test_an_answer_too_large_to_hold_is_refused(store):
    with faulty(store) as endpoint, pytest.raises(GraphError, match="more than 100 bytes"):
        films(SparqlGraph(endpoint.address, max_bytes=100, **QUICK))


@pytest.mark.parametrize("address", ["localhost:8890", "ftp://x/y", "http://", ""])
def test_what_is_no_address_is_the_users_mistake(address):
    with pytest.raises(UserError):
        SparqlGraph(address)


def test_another_endpoint_takes_over_at_once(store, reference):
    with faulty(store, ["reset"] * 50) as broken, faulty(store) as sound:
        graph = SparqlGraph(f"{broken.address} {sound.address}", first_pause_s=60.0)
        started = time.perf_counter()
        assert [films(graph) for _ in range(5)] == [films(reference)] * 5
        assert time.perf_counter() - started < 30 and len(broken.forms) == 1
        assert set(graph.client.check().values()) != {""}


def test_an_endpoint_that_recovered_is_trusted_again_after_a_probe(store, reference):
    with faulty(store, ["reset"]) as first, faulty(store) as second:
        graph = SparqlGraph([first.address, second.address], **QUICK)
        films(graph)
        time.sleep(1.1)
        assert films(graph) == films(reference)
        assert graph.client.counts["probes"] == 2  # of the second one, and of the first one again
        assert len(first.forms) == 3  # refused, its sentinels, and the call
        assert graph.client.check() == {first.address: "", second.address: ""}


def test_a_connection_that_the_endpoint_closed_meanwhile_is_replaced(store, reference):
    with faulty(store, ["closed"]) as endpoint:
        graph = SparqlGraph(endpoint.address, attempts=1, **QUICK)
        films(graph)
        time.sleep(0.05)
        assert films(graph) == films(reference)


def test_a_tool_call_is_at_most_two_requests_and_with_cvt_nodes_three(store, reference):
    with faulty(store) as endpoint:
        graph = SparqlGraph(endpoint.address, **QUICK)
        for topic in (Entity(i, TOY_NAMES[i]) for i in (ADA, HUB, "m.0city1", "m.0film3")):
            tools = [
                WalkerTools(g, Question("q", "Who is married where?", (topic,)))
                for g in (graph, reference)
            ]
            call = Call("get_relations", {"entity": tools[0].topic_names()[0]})
            while call is not None:
                before = len(endpoint.forms)
                seen = [toolbox.call(call) for toolbox in tools]
                assert seen[0].text == seen[1].text
                assert len(endpoint.forms) - before <= 2
                call = _triples_of(call, seen[0])


def _triples_of(call, seen):
    if call.tool == "get_triples":
        return None
    return Call("get_triples", {**call.arguments, "relations": list(seen.relations)[:4]})


def test_a_batch_of_any_kind_is_one_request(store, reference):
    nodes = [*TOY_NAMES, "m.0cvt1", "m.nobody"]
    sides = [Side(node, direction) for node in nodes for direction in Direction]
    steps = [Step(node, "people.person.spouse_s", Direction.OUT) for node in nodes]
    for call in (
        lambda graph: graph.names_many(nodes),
        lambda graph: graph.relations_many(sides),
        lambda graph: graph.neighbors_many(steps),
        lambda graph: graph.triples_many(sides),
    ):
        with faulty(store) as endpoint:
            assert call(SparqlGraph(endpoint.address, **QUICK)) == call(reference)
            assert len(endpoint.forms) == 1


def test_without_an_index_only_exact_names_are_found_and_that_is_said(toy_store, caplog):
    with faulty(toy_store) as endpoint:
        graph = SparqlGraph(endpoint.address, **QUICK)
        assert [e.id for e in graph.resolve("Verria")] == [HUB]
        assert graph.resolve("VERRIA") == []
        assert caplog.text.count("no index of folded names") == 1


INJECTIONS = [
    "m.1> ?p ?o } ; DROP ALL ; SELECT * { <x> ?a ?b", "m.0ada> . ?s ?p ?o . <m.0ada", "m.1>.#",
    '"} UNION { ?s ?p ?o } #', 'Verria\\" } #', "Ver\nria", "?::v0", "\u202eairreV", "\0", '"""',
    "$1 %s {0}",
]  # fmt: skip


@pytest.mark.parametrize("hostile", INJECTIONS)
def test_no_text_of_an_agent_changes_what_is_asked(store, hostile):
    with faulty(store) as endpoint:
        before = len(store)
        graph = SparqlGraph(endpoint.address, **QUICK)
        assert graph.resolve(hostile) == []
        assert graph.name(hostile) == "" or is_literal(hostile)
        assert graph.types(hostile) == []
        assert graph.flat_relations_many([Side(hostile, Direction.OUT)]) == [[]]
        assert graph.step_many([Step(ADA, hostile, Direction.OUT, 5)]) == [[]]
        assert graph.step_many([Step(ADA, f"{hostile}..x.y", Direction.IN, 5)]) == [[]]
        assert graph.neighbors(hostile, hostile, Direction.OUT) == []
        assert graph.triples(ADA, [hostile], Direction.OUT, 3) == []
        assert graph.count(ADA, hostile, Direction.OUT) == 0 and len(store) == before


@pytest.mark.parametrize(
    "query",
    [
        "INSERT DATA { <a:b> <a:b> <a:b> }",
        "DELETE WHERE { ?s ?p ?o }",
        "DROP ALL",
        "# SELECT \nDROP ALL",
        "PREFIX x: <urn:SELECT> DELETE WHERE { ?s ?p ?o }",
    ],
)
def test_nothing_but_a_select_leaves_the_client(store, query):
    with faulty(store) as endpoint:
        graph = SparqlGraph(endpoint.address, **QUICK)
        with pytest.raises(GraphError, match="only SELECT"):
            graph.client.rows(query)
        assert endpoint.forms == []


def test_virtuoso_is_given_iris_as_parameters_once_it_is_known(store):
    with faulty(store, headers={"Server": "Virtuoso/07.20.3229 (Linux)"}) as endpoint:
        graph = SparqlGraph(endpoint.address, attempts=1, **QUICK)
        graph.name(ADA)
        endpoint.faults.append((200, {"Server": "Virtuoso"}, results([])))
        graph.neighbors(ADA, "film.film.directed_by", Direction.IN, 5)
        asked = endpoint.forms[1]
        assert "?::v0" in asked["query"][0] and [f"<{FREEBASE}{ADA}>"] in asked.values()


@pytest.mark.long
def test_64_episodes_over_a_slow_endpoint_that_drops_calls_see_nothing_wrong(store, reference):
    """A call that waits blocks nobody: they wait together, not one after the other."""
    topics = [Entity(i, name) for i, name in TOY_NAMES.items()] * 2
    topics = topics[:64]

    def walk(graph, topic):
        tools = WalkerTools(graph, Question("q", "Who is married where?", (topic,)))
        call = Call("get_relations", {"entity": tools.topic_names()[0]})
        first = tools.call(call)
        return first.text, tools.call(_triples_of(call, first)).text

    with faulty(store) as endpoint:
        graph = SparqlGraph(endpoint.address, **QUICK)
        drops, lock = [*([None] * 19), "reset"] * 100, threading.Lock()

        waiting = [0, 0]

        def slow_fault():
            with lock:
                waiting[0] += 1
                waiting[1] = max(waiting)
            time.sleep(0.3)
            with lock:
                waiting[0] -= 1
                return drops.pop()

        endpoint.next_fault = slow_fault
        with ThreadPoolExecutor(64) as pool:
            seen = list(pool.map(lambda topic: walk(graph, topic), topics))
        assert seen == [walk(reference, topic) for topic in topics]
        assert graph.client.counts["retries"] >= 1 and waiting[1] >= 16


def test_an_endpoint_that_moved_is_said_so(store):
    moved = (301, {"Location": "https://elsewhere.example/sparql"}, b"")
    told = r"moved to https://elsewhere\.example/sparql"
    with faulty(store, [moved]) as endpoint, pytest.raises(GraphError, match=told):
        films(SparqlGraph(endpoint.address, **QUICK))
