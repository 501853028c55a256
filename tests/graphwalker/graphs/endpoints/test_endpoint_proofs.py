"""Endpoints prove that they hold the graph; their odd answers are typed at the door."""

import json
import time

import pytest

from graphwalker.errors import GraphError
from graphwalker.graphs.base import Direction, Side, Step
from graphwalker.graphs.sparql.client import marks
from graphwalker.graphs.sparql.graph import SparqlGraph
from support.backends import to_ntriples
from support.faulty_endpoint import faulty
from support.oxigraph import load_store
from support.toy import TOY_NAMES, TOY_TRIPLES, TOY_TYPES

ADA, FILM = "m.0ada", "film.film.directed_by"
NS = "http://rdf.freebase.com/ns/"
QUICK = {"first_pause_s": 0.001, "timeout_s": 5.0, "attempts": 3}
TOY = to_ntriples(TOY_TRIPLES, TOY_NAMES, TOY_TYPES)
SENTINEL = (f"{NS}{ADA}", f"{NS}type.object.name")


@pytest.fixture
def stored(tmp_path):
    def store(lines=TOY, mark=None):
        written = lines + "".join(f"{line}\n" for line in mark or ())
        (tmp_path / "toy.nt").write_text(written or "\n", encoding="utf-8")
        return load_store([tmp_path / "toy.nt"])

    return store


def ask(graph):
    return graph.neighbors(ADA, FILM, Direction.IN, 3)


def test_an_endpoint_without_triples_is_refused_by_name(stored):
    with faulty(stored("")) as endpoint:
        graph = SparqlGraph(endpoint.address, default_graph="http://typo", **QUICK)
        with pytest.raises(GraphError, match=r"its graph <http://typo> holds no triples: load it"):
            ask(graph)
        assert len(endpoint.forms) == 1


@pytest.mark.parametrize("faults", [["reset", "reset"], ["reset"]], ids=["restarted", "at once"])
def test_another_store_behind_the_address_is_not_believed(stored, faults):
    """A new server may answer at once: the old one's end shows in its closed connection alone."""
    other = to_ntriples([("m.x", "a.b.c", "m.y")], {"m.x": "X", "m.y": "Y"}, {})
    with faulty(stored()) as endpoint:
        graph = SparqlGraph(endpoint.address, **QUICK)
        assert ask(graph)
        endpoint.store, endpoint.faults = stored(other), list(faults)
        with pytest.raises(GraphError, match="lacks triples that must be there"):
            ask(graph)


def test_two_endpoints_of_other_fingerprints_are_told_apart(stored):
    first, second = (stored(mark=marks(f, 60, [SENTINEL])) for f in ("aa", "bb"))
    with faulty(first) as one, faulty(second) as other:
        graph = SparqlGraph([one.address, other.address], **QUICK)
        assert ask(graph) and graph.client.proof.fingerprint == "aa"
        assert graph.client.check()[other.address].endswith("is not the one that was asked before")


def test_a_mark_without_its_triples_is_a_fault(stored):
    mark = marks("aa", 60, [SENTINEL, (f"{NS}m.lost", f"{NS}type.object.name")])
    with faulty(stored(mark=mark)) as one, pytest.raises(GraphError, match=r"lacks .*m\.lost"):
        ask(SparqlGraph(one.address, **QUICK))


def test_marks_are_nothing_that_an_agent_sees(stored):
    with faulty(stored(mark=marks("aa", 60, [SENTINEL]))) as marked, faulty(stored()) as plain:
        graphs = [SparqlGraph(endpoint.address, **QUICK) for endpoint in (marked, plain)]
        for entity in TOY_NAMES:
            seen = [[graph.flat_relations(entity, d) for d in Direction] for graph in graphs]
            assert seen[0] == seen[1]


def test_a_proof_is_asked_for_once_and_again_after_a_failure(stored):
    with faulty(stored()) as endpoint:
        graph = SparqlGraph(endpoint.address, **QUICK)
        for _ in range(5):
            ask(graph)
        assert len(endpoint.proofs) == 1
        endpoint.faults = ["reset", "reset"]
        ask(graph)
        time.sleep(0.01)
        assert len(endpoint.proofs) == 2


EMPTY = (200, {"Content-Type": "application/sparql-results+json"},
         b'{"head": {"vars": []}, "results": {"bindings": []}}')  # fmt: skip


def test_an_empty_answer_counts_where_the_endpoint_shows_a_triple_that_it_had(stored):
    with faulty(stored()) as endpoint:
        graph = SparqlGraph(endpoint.address, **QUICK)
        assert ask(graph)
        before = len(endpoint.forms)
        assert graph.flat_relations("m.unknown", Direction.OUT) == []
        assert graph.client.counts["probes"] == 2
        asked = len(endpoint.forms) - before
        assert asked == 2  # the question, and one triple beside it


def test_an_endpoint_that_is_empty_for_a_while_is_asked_again(stored):
    with faulty(stored()) as endpoint:
        graph = SparqlGraph(endpoint.address, **QUICK)
        expected = [graph.flat_relations(ADA, d) for d in Direction]
        fresh = SparqlGraph(endpoint.address, **QUICK)
        assert ask(fresh)
        endpoint.faults = [EMPTY, EMPTY]
        assert [fresh.flat_relations(ADA, d) for d in Direction] == expected


def test_an_endpoint_that_stays_empty_is_a_failure_in_every_call(stored):
    for call in (*CALLS.values(), lambda graph: graph.info()):
        with faulty(stored()) as endpoint:
            graph = SparqlGraph(endpoint.address, **QUICK)
            assert ask(graph)
            endpoint.store = stored("")
            with pytest.raises(GraphError, match="holds no triples: load it"):
                call(graph)


def test_an_answer_just_before_the_graph_came_back_is_asked_for_again(stored):
    with faulty(stored()) as endpoint:
        graph = SparqlGraph(endpoint.address, **QUICK)
        assert ask(graph)
        # An empty answer and a canary that is missing, then an empty answer and a full canary.
        endpoint.faults = [EMPTY, EMPTY, EMPTY]
        assert ask(graph)


def test_an_outage_that_ends_before_the_canary_leaves_no_empty_answer(stored):
    """An empty store answers and is replaced by a full one, which the canary finds."""
    with faulty(stored()) as endpoint:
        graph = SparqlGraph(endpoint.address, **QUICK)
        expected = ask(graph)
        endpoint.faults = ["restarted"]
        assert ask(graph) == expected and graph.client.counts["retries"] == 1


TWICE = {"first_pause_s": 0.001, "attempts": 2}


def uri(value):
    return {"type": "uri", "value": value}


def rows(*bindings):
    return json.dumps({"head": {}, "results": {"bindings": list(bindings)}}).encode()


K, N = {"type": "literal", "value": "0"}, {"type": "literal", "value": "3"}


FULL = {"k": K, "n": N} | {v: uri("http://x/y") for v in "rscqxt"}


ODD = {
    "no JSON": b"nonsense",
    "an empty body": b"",
    "a list": b"[]",
    "null": b"null",
    "no results": b'{"head": {}}',
    "results that are a list": b'{"results": []}',
    "bindings that are null": b'{"results": {"bindings": null}}',
    "an answer to ASK": b'{"head": {}, "boolean": true}',
    "rows that are numbers": rows(1, 2),
    "an empty row": rows({}),
    "a row without its place": rows({v: FULL[v] for v in "nrsx"}),
    "a place out of range": rows(FULL | {"k": K | {"value": "99"}}),
    "a negative place": rows(FULL | {"k": K | {"value": "-1"}}),
    "a place of 400 digits": rows(FULL | {"k": K | {"value": "1" * 400}}),
    "a place in other digits": rows(FULL | {"k": K | {"value": "\u0661"}}),
    "a value that is null": rows(FULL | {"r": None, "s": None, "x": None}),
    "a value without a value": rows(FULL | {v: {"type": "uri"} for v in "rsx"}),
    "a value of an unknown type": rows(FULL | {v: {"type": "x", "value": "y"} for v in "rsx"}),
    "a value that is a number": rows(FULL | {v: {"type": "uri", "value": 3} for v in "rsx"}),
    "deep nesting": b"[" * 100_000,
    "a number of 5,000 digits": b'{"results": {"bindings": [' + b"1" * 5000 + b"]}}",
    "half a character": b'{"results": {"bindings": ["\xff"]}}',
}


CALLS = {
    "name": lambda graph: graph.name(ADA),
    "names": lambda graph: graph.names_many([ADA, "m.1"]),
    "relations": lambda graph: graph.relations(ADA, Direction.OUT),
    "count": lambda graph: graph.count(ADA, FILM, Direction.IN),
    "neighbors": lambda graph: graph.neighbors(ADA, FILM, Direction.IN, 3),
    "triples": lambda graph: graph.triples_many([Side(ADA, Direction.IN)]),
    "listing": lambda graph: graph.flat_relations(ADA, Direction.OUT),
    "step": lambda graph: graph.step(ADA, FILM, Direction.IN, 3),
    "resolve": lambda graph: graph.resolve("Ada Weber"),
    "types": lambda graph: graph.types(ADA),
}


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_answer_is_a_graph_error_whatever_was_asked(toy_store, odd):
    """A row may be odd for one question and all right for another; then both ask the same."""
    told = 0
    with faulty(toy_store) as endpoint:
        for call in CALLS.values():
            endpoint.faults = [(200, {}, ODD[odd])] * 2
            graph = SparqlGraph(endpoint.address, **TWICE)
            try:
                call(graph)
            except GraphError as error:
                told += 1
                assert endpoint.address in str(error)
    assert told == len(CALLS)


@pytest.mark.parametrize("odd", ["no JSON", "an empty row", "a negative place", "null"])
def test_a_passing_odd_answer_is_asked_again(toy_store, odd):
    with faulty(toy_store) as endpoint:
        for call in CALLS.values():
            sound = call(SparqlGraph(endpoint.address, **TWICE))
            endpoint.faults = [(200, {}, ODD[odd])]
            assert call(SparqlGraph(endpoint.address, **TWICE)) == sound


@pytest.mark.parametrize("count", ["-3", "3.5", "many", "9" * 400, ""])
def test_a_count_that_is_none_is_refused(toy_store, count):
    answer = rows({"k": K, "r": uri("http://x/y"), "n": N | {"value": count}})
    with faulty(toy_store, [(200, {}, answer)] * 2) as endpoint:
        graph = SparqlGraph(endpoint.address, **TWICE)
        with pytest.raises(GraphError, match=r"its count \?n is"):
            graph.flat_relations(ADA, Direction.OUT)


def test_a_relation_that_was_counted_and_leads_nowhere_is_a_fault(toy_store):
    with faulty(toy_store) as endpoint:
        graph = SparqlGraph(endpoint.address, **TWICE)
        ((relation, _), *_) = graph.flat_relations(ADA, Direction.OUT)
        expected = graph.step(ADA, relation, Direction.OUT, 5)
        endpoint.faults = [(200, {}, rows()), None]
        assert graph.step(ADA, relation, Direction.OUT, 5) == expected  # a second look finds it
        endpoint.faults = [(200, {}, rows()), None] * 2
        with pytest.raises(GraphError, match=f"{relation} of {ADA} was counted and has no end"):
            graph.step_many([Step(ADA, relation, Direction.OUT, 5)])
        assert graph.step(ADA, "no.such.relation", Direction.OUT, 5) == []


def test_a_row_of_a_question_of_the_request_before_is_refused(toy_store):
    """More questions than one request holds: the second one's answer speaks of the first's."""
    steps = [Step(f"m.{number}", FILM, Direction.IN, 3) for number in range(45)]
    early = rows({"k": K, "x": uri("http://x/y")})
    with faulty(toy_store) as endpoint:
        endpoint.faults = [None, None, (200, {}, early), (200, {}, early)]  # the proof is second
        graph = SparqlGraph(endpoint.address, **TWICE)
        with pytest.raises(GraphError, match=r"a row of a question that was not asked \(0\)"):
            graph.neighbors_many(steps)
