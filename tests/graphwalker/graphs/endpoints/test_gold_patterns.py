"""Gold patterns of WebQSP on FB15k: the compiled graph, its store and a Virtuoso find the same."""

import gzip
import json
from contextlib import ExitStack
from itertools import islice

import pytest

from graphwalker.graphs.base import Direction
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.graphs.ntriples import FREEBASE
from graphwalker.graphs.sparql.graph import SparqlGraph
from graphwalker.graphs.virtuoso.load import load
from graphwalker.graphs.virtuoso.server import down, up
from support.paths import DATA

FB15K, WEBQSP = DATA / "fb15k", DATA / "webqsp_on_fb15k/train.jsonl.gz"
PATTERNS = 400

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not WEBQSP.is_file(), reason=f"no {WEBQSP}; set GRAPHWALKER_DATA"),
]


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fb15k") / "graph"
    build_graph([FB15K / "triples.tsv.gz"], folder, FB15K / "entities.tsv.gz")
    return open_compiled(folder)


@pytest.fixture(scope="module")
def patterns(graph):
    """The triple patterns of each question; ways through a CVT node as FB15k holds them."""
    stored = set(graph.relation_ids())

    def joined(parts):
        if len(parts) == 2 and parts[0][2] == parts[1][0]:
            native = f"{parts[0][1]}..{parts[1][1]}"
            return [[parts[0][0], native, parts[1][2]]] if native in stored else parts
        return parts

    with gzip.open(WEBQSP, "rt", encoding="utf-8") as lines:
        read = [json.loads(line)["sparql_patterns"] for line in islice(lines, PATTERNS)]
    return [joined(parts) for parts in read]


def by_steps(graph, parts):
    """The values of `?x` by look-ups of the compiled graph, one pattern after the other."""
    rows = [{}]
    for head, relation, tail in parts:
        found = []
        for row in rows:
            here, there = row.get(head, head), row.get(tail, tail)
            back = here.startswith("?")
            start, direction = (there, Direction.IN) if back else (here, Direction.OUT)
            ends = [end.id for end in graph.neighbors(start, relation, direction)]
            open_end = here if back else there
            if open_end.startswith("?"):
                found += [{**row, open_end: end} for end in ends]
            elif open_end in ends:
                found.append(row)
        rows = found
    return sorted({row["?x"] for row in rows})


def query(parts):
    lines = (
        " ".join(one if one[0] == "?" else f"<{FREEBASE}{one}>" for one in part) for part in parts
    )
    return f"SELECT DISTINCT ?x WHERE {{ {' . '.join(lines)} }}"


def test_the_store_finds_what_the_compiled_graph_holds(graph, patterns):
    found = [sorted(row["x"].id for row in graph.sparql(query(one))) for one in patterns]
    assert found == [by_steps(graph, one) for one in patterns]
    assert len(found) == PATTERNS and sum(map(bool, found)) > 300


@pytest.mark.virtuoso
def test_virtuoso_finds_the_same(graph, patterns, tmp_path):
    with ExitStack() as stack:
        up(tmp_path / "server", "400MB")
        stack.callback(down, tmp_path / "server")
        held = load(tmp_path / "server", [FB15K / "triples.tsv.gz"])
        server = SparqlGraph(held["endpoint"], default_graph=held["graph"])
        for one in patterns:
            found = sorted(row["x"].id for row in server.sparql(query(one)))
            assert found == by_steps(graph, one), one
