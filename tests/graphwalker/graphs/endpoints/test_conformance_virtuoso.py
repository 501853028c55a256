"""Generated graphs read the same from a real Virtuoso, byte by byte."""

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_conformance import NODES, WORLDS, differences, topics

from graphwalker.errors import GraphError
from graphwalker.graphs.base import Entity
from graphwalker.graphs.conformance import check_graph
from graphwalker.graphs.sparql.graph import SparqlGraph
from graphwalker.graphs.virtuoso.load import load
from graphwalker.graphs.virtuoso.server import down, up
from support.backends import in_memory, write


@pytest.mark.virtuoso
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(WORLDS, min_size=4, max_size=4))
def test_any_graph_is_the_same_in_virtuoso(worlds):
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        server = start(stack, Path(folder) / "server")
        for number, world in enumerate(worlds):
            path = write(Path(folder) / str(number), *world)
            try:
                compare(server, path, number, world)
            except GraphError as error:
                # Virtuoso 7.2.5 has been seen to die of a segmentation fault after hundreds of
                # queries to several graphs. None that we send may kill a server that is fresh.
                if "Connection refused" not in str(error):
                    raise
                server = start(stack, Path(folder) / f"fresh-{number}")
                compare(server, path, number, world)


def start(stack: ExitStack, server: Path) -> Path:
    up(server, memory="200MB")
    stack.callback(down, server)
    return server


def compare(server: Path, path: Path, number: int, world: Any) -> None:
    facts, names, types = world
    held = load(server, [path], graph=f"http://example.org/g{number}")
    graph = SparqlGraph(held["endpoint"], default_graph=held["graph"])
    reference = in_memory(facts, names, types)
    assert list(differences(graph, reference, topics(names))) == []
    assert list(check_graph(graph, [Entity(i, names.get(i, "")) for i in NODES])) == []
