"""Calls that start at results show the same on every backend, and CVT nodes nowhere."""

import pytest

from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.compiled.open import open_compiled
from graphwalker.graphs.sparql.graph import SparqlGraph
from graphwalker.graphs.virtuoso.load import load
from graphwalker.graphs.virtuoso.server import down, up
from graphwalker.question import Question
from graphwalker.tools.base import Call, Observation
from graphwalker.tools.wide.frontier import FrontierOptions, FrontierTools
from support.backends import in_memory, to_ntriples
from support.oxigraph import load_store
from support.sparql_endpoint import serve
from support.toy import MARRIAGE, TOY_NAMES, TOY_TRIPLES, TOY_TYPES

REFERENCE = in_memory(TOY_TRIPLES, TOY_NAMES, TOY_TYPES)


VIRTUOSO = pytest.param("virtuoso", marks=pytest.mark.virtuoso)


@pytest.fixture(scope="module", params=["compiled", "endpoint", VIRTUOSO])
def graph(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy")
    (folder / "toy.nt").write_text(to_ntriples(TOY_TRIPLES, TOY_NAMES, TOY_TYPES), encoding="utf-8")
    if request.param == "compiled":
        build_graph([folder / "toy.nt"], folder / "graph")
        yield open_compiled(folder / "graph")
        return
    if request.param == "virtuoso":
        up(folder / "server", "200MB")
        held = load(folder / "server", [folder / "toy.nt"], graph="urn:test:toy")
        yield SparqlGraph(held["endpoint"], default_graph=held["graph"])
        down(folder / "server")
        return
    with serve(load_store([folder / "toy.nt"])) as address:
        yield SparqlGraph(address)


def two_hops(graph, topic) -> list[Observation]:
    """All that one relation of the topic leads to, and where all of those lead, page by page."""
    seen: list[Observation] = []
    options = FrontierOptions(ends=2)
    for relation in (
        FrontierTools(REFERENCE, Question("q", "Who?", (topic,)))
        .call(Call("get_relations", {"entity": topic.name}))
        .relations
    ):
        box = FrontierTools(graph, Question("q", "Who?", (topic,)), options=options)
        calls = [("get_relations", topic.name), ("get_triples", topic.name, relation)]
        seen += [box.call(_call(*one)) for one in calls]
        listed = box.call(_call("get_relations", "#1"))
        seen.append(listed)
        for second in dict.fromkeys(listed.relations):
            page, hidden = 1, 1
            while hidden:
                seen.append(box.call(_call("get_triples", "#1", second, page)))
                page, hidden = page + 1, seen[-1].hidden
    return seen


def _call(tool: str, entity: str, relation: str = "", page: int = 1) -> Call:
    more = {"relations": [relation]} if relation else {}
    return Call(tool, {"entity": entity, **more, **({"page": page} if page > 1 else {})})


@pytest.mark.long
def test_backends_show_the_same(graph):
    for index in range(REFERENCE.size):
        topic = REFERENCE.entity_at(index)
        assert two_hops(graph, topic) == two_hops(REFERENCE, topic), topic


@pytest.mark.long
def test_no_cvt_node_is_ever_shown(graph):
    for index in range(REFERENCE.size):
        for seen in two_hops(graph, REFERENCE.entity_at(index)):
            assert MARRIAGE not in seen.text
            assert MARRIAGE not in [entity.id for entity in seen.entities]
