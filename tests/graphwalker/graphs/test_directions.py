"""A direction that is a plain text means what it says, or is refused: never the other one."""

import pytest

from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, Side, Step
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.graphs.sparql.graph import SparqlGraph
from support.backends import in_memory, to_ntriples
from support.oxigraph import load_store
from support.sparql_endpoint import serve
from support.toy import TOY_NAMES, TOY_TRIPLES, TOY_TYPES


@pytest.fixture(scope="module", params=["memory", "compiled", "endpoint"])
def graph(request, tmp_path_factory):
    if request.param == "memory":
        yield in_memory(TOY_TRIPLES, TOY_NAMES, TOY_TYPES)
        return
    folder = tmp_path_factory.mktemp("toy")
    (folder / "toy.nt").write_text(to_ntriples(TOY_TRIPLES, TOY_NAMES, TOY_TYPES), encoding="utf-8")
    if request.param == "compiled":
        build_graph([folder / "toy.nt"], folder / "graph")
        yield open_compiled(folder / "graph")
        return
    with serve(load_store([folder / "toy.nt"])) as address:
        yield SparqlGraph(address)


def calls(graph, direction):
    listed = graph.flat_relations_many([Side("m.0ada", direction)])[0]
    steps = [Step("m.0ada", relation, direction, 3) for relation, _ in listed]
    return [
        listed,
        graph.flat_relations("m.0ada", direction),
        graph.relations("m.0ada", direction),
        graph.step_many(steps),
        [graph.neighbors("m.0ada", relation, direction) for relation, _ in listed],
        [graph.count("m.0ada", relation, direction) for relation, _ in listed],
        graph.triples("m.0ada", [relation for relation, _ in listed], direction),
    ]


@pytest.mark.parametrize("direction", list(Direction))
def test_a_plain_text_is_that_direction(graph, direction):
    assert calls(graph, direction.value) == calls(graph, direction)


@pytest.mark.parametrize("odd", ["OUT", "outgoing", "", "both", None, True])
def test_any_other_text_is_refused(graph, odd):
    for call in (graph.relations, graph.flat_relations):
        with pytest.raises(UserError, match=r"give Direction\.OUT or Direction\.IN"):
            call("m.0ada", odd)
    with pytest.raises(UserError, match=r"give Direction\.OUT or Direction\.IN"):
        graph.neighbors("m.0ada", "film.film.directed_by", odd)
