"""A direction that is a plain text means what it says, or is refused: never the other one."""

import pytest

from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, Side, Step
from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.graphs.sparql.graph import SparqlGraph
from support.sparql_endpoint import serve
from support.toy import toy_graph


@pytest.fixture(scope="module", params=["memory", "compiled", "endpoint"])
def graph(request, toy_folder, toy_store):
    if request.param == "endpoint":
        with serve(toy_store) as address:
            yield SparqlGraph(address)
    else:
        yield toy_graph() if request.param == "memory" else open_compiled(toy_folder)


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
