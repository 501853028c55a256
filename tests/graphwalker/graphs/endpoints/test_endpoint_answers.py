"""Odd answers of an endpoint: typed at the door, never taken for what the graph knows."""

import json

import pytest

from graphwalker.errors import GraphError
from graphwalker.graphs.base import Direction, Side, Step
from graphwalker.graphs.sparql.graph import SparqlGraph
from support.backends import to_ntriples
from support.faulty_endpoint import faulty
from support.oxigraph import load_store
from support.toy import TOY_NAMES, TOY_TRIPLES, TOY_TYPES

ADA, FILM = "m.0ada", "film.film.directed_by"
QUICK = {"first_pause_s": 0.001, "attempts": 2}


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


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("toy") / "toy.nt"
    path.write_text(to_ntriples(TOY_TRIPLES, TOY_NAMES, TOY_TYPES), encoding="utf-8")
    return load_store([path])


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_answer_is_a_graph_error_whatever_was_asked(store, odd):
    """A row may be odd for one question and all right for another; then both ask the same."""
    told = 0
    with faulty(store) as endpoint:
        for call in CALLS.values():
            endpoint.faults = [(200, {}, ODD[odd])] * 2
            graph = SparqlGraph(endpoint.address, **QUICK)
            try:
                call(graph)
            except GraphError as error:
                told += 1
                assert endpoint.address in str(error)
    assert told == len(CALLS)


@pytest.mark.parametrize("odd", ["no JSON", "an empty row", "a negative place", "null"])
def test_a_passing_odd_answer_is_asked_again(store, odd):
    with faulty(store) as endpoint:
        for call in CALLS.values():
            sound = call(SparqlGraph(endpoint.address, **QUICK))
            endpoint.faults = [(200, {}, ODD[odd])]
            assert call(SparqlGraph(endpoint.address, **QUICK)) == sound


@pytest.mark.parametrize("count", ["-3", "3.5", "many", "9" * 400, ""])
def test_a_count_that_is_none_is_refused(store, count):
    answer = rows({"k": K, "r": uri("http://x/y"), "n": N | {"value": count}})
    with faulty(store, [(200, {}, answer)] * 2) as endpoint:
        graph = SparqlGraph(endpoint.address, **QUICK)
        with pytest.raises(GraphError, match=r"its count \?n is"):
            graph.flat_relations(ADA, Direction.OUT)


def test_a_relation_that_was_counted_and_leads_nowhere_is_a_fault(store):
    with faulty(store) as endpoint:
        graph = SparqlGraph(endpoint.address, **QUICK)
        ((relation, _), *_) = graph.flat_relations(ADA, Direction.OUT)
        expected = graph.step(ADA, relation, Direction.OUT, 5)
        endpoint.faults = [(200, {}, rows()), None]
        assert graph.step(ADA, relation, Direction.OUT, 5) == expected  # a second look finds it
        endpoint.faults = [(200, {}, rows()), None] * 2
        with pytest.raises(GraphError, match=f"{relation} of {ADA} was counted and has no end"):
            graph.step_many([Step(ADA, relation, Direction.OUT, 5)])
        assert graph.step(ADA, "no.such.relation", Direction.OUT, 5) == []


def test_a_row_of_a_question_of_the_request_before_is_refused(store):
    """More questions than one request holds: the second one's answer speaks of the first's."""
    steps = [Step(f"m.{number}", FILM, Direction.IN, 3) for number in range(45)]
    early = rows({"k": K, "x": uri("http://x/y")})
    with faulty(store) as endpoint:
        endpoint.faults = [None, None, (200, {}, early), (200, {}, early)]  # the proof is second
        graph = SparqlGraph(endpoint.address, **QUICK)
        with pytest.raises(GraphError, match=r"a row of a question that was not asked \(0\)"):
            graph.neighbors_many(steps)
