"""Endpoints prove that they hold the graph before an answer of theirs is believed."""

import time

import pytest

from graphwalker.errors import GraphError
from graphwalker.graphs.base import Direction
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


def test_a_store_that_was_restarted_with_other_data_is_not_believed(stored):
    other = to_ntriples([("m.x", "a.b.c", "m.y")], {"m.x": "X", "m.y": "Y"}, {})
    with faulty(stored()) as endpoint:
        graph = SparqlGraph(endpoint.address, **QUICK)
        assert ask(graph)
        endpoint.store, endpoint.faults = stored(other), ["reset", "reset"]
        with pytest.raises(GraphError, match="lacks triples that must be there"):
            ask(graph)


def test_nor_is_another_store_behind_a_connection_that_was_kept(stored):
    """The new server answers at once: the old one's end shows in its closed connection alone."""
    other = to_ntriples([("m.x", "a.b.c", "m.y")], {"m.x": "X", "m.y": "Y"}, {})
    with faulty(stored()) as endpoint:
        graph = SparqlGraph(endpoint.address, **QUICK)
        assert ask(graph)
        endpoint.store, endpoint.faults = stored(other), ["reset"]
        with pytest.raises(GraphError, match="lacks triples that must be there"):
            ask(graph)


def test_two_endpoints_of_other_fingerprints_are_told_apart(stored):
    first, second = (stored(mark=marks(f, 60, [SENTINEL])) for f in ("aa", "bb"))
    with faulty(first) as one, faulty(second) as other:
        graph = SparqlGraph([one.address, other.address], **QUICK)
        assert ask(graph)
        assert graph.client.proof.fingerprint == "aa"
        assert graph.client.check()[other.address].endswith("is not the one that was asked before")


def test_a_mark_without_its_triples_is_a_fault(stored):
    mark = marks("aa", 60, [SENTINEL, (f"{NS}m.lost", f"{NS}type.object.name")])
    with (
        faulty(stored(mark=mark)) as endpoint,
        pytest.raises(GraphError, match=r"lacks triples .*m\.lost"),
    ):
        ask(SparqlGraph(endpoint.address, **QUICK))


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


# --- a store that is empty for a while

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


@pytest.mark.parametrize("call", [
    lambda graph: graph.flat_relations(ADA, Direction.OUT),
    lambda graph: graph.relations(ADA, Direction.OUT),
    lambda graph: graph.count(ADA, FILM, Direction.IN),
    lambda graph: graph.resolve("Ada"),
    lambda graph: graph.name(ADA),
    ask,
    lambda graph: graph.info(),
])  # fmt: skip
def test_an_endpoint_that_stays_empty_is_a_failure_in_every_call(stored, call):
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
        assert ask(graph) == expected
        assert graph.client.counts["retries"] == 1
