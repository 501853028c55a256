"""Every backend keeps every rule and shows an agent the very same text."""

import gzip
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from graphwalker.cli.app import app
from graphwalker.graphs.base import Entity
from graphwalker.graphs.conformance import check_graph
from graphwalker.graphs.literals import literal_id
from graphwalker.graphs.sparql.graph import SparqlGraph
from graphwalker.graphs.views.filtered import HiddenGraph
from graphwalker.tools.transcript import differences, transcript
from support.backends import compiled, in_memory, write
from support.oxigraph import load_store
from support.paths import DATA
from support.sparql_endpoint import EngineStore, serve
from support.toy import TOY_NAMES, TOY_TRIPLES, TOY_TYPES

pytestmark = pytest.mark.long

TOY = (TOY_TRIPLES, TOY_NAMES, TOY_TYPES)
XSD = "http://www.w3.org/2001/XMLSchema#"
PITFALLS = (
    [
        # A loop through a CVT node; a CVT node behind a CVT node.
        ("m.a", "x.y.spouse", "m.cvt1"),
        ("m.cvt1", "x.marriage.of", "m.a"),
        ("m.cvt1", "x.marriage.of", "m.b"),
        ("m.cvt1", "x.marriage.next", "m.cvt2"),
        ("m.cvt2", "x.marriage.of", "m.c"),
        # A relation to itself; the same fact both ways; a native pair beside its halves.
        ("m.a", "x.y.knows", "m.a"),
        ("m.a", "x.y.children", "m.b"),
        ("m.b", "x.y.parents", "m.a"),
        ("m.a", "x.y.spouse..x.marriage.of", "m.c"),
        # An entity that has no name, with facts of its own.
        ("m.a", "x.y.friend", "m.unnamed"),
        ("m.unnamed", "x.y.lives_in", "m.c"),
        # A relation that leads to CVT nodes, to entities and to values.
        *(("m.b", "x.y.mixed", f"m.cvt{i}") for i in range(1, 9)),
        ("m.b", "x.y.mixed", "m.z1"),
        ("m.b", "x.y.mixed", literal_id("1999-12-31", f"^^<{XSD}date>")),
        # The same text in several languages, plain, and typed.
        *(("m.c", "x.y.motto", literal_id("Onward", tag)) for tag in ("@en", "@de", "@en-GB", "")),
        ("m.c", "x.y.motto", literal_id('say "hi", \\o/\n\tbye', "@en")),
        ("m.c", "x.y.born", literal_id("1961", f"^^<{XSD}gYear>")),
        *(("m.hub", "x.y.member", f"m.p{i:03d}") for i in range(300)),
    ],
    {
        "m.a": 'Ann "A", [Jr.] <x>\\',
        "m.b": "O'Neil, Bob",
        "m.c": "Zoe\u0301 & Co.",
        "m.z1": "springfield",
        "m.z2": "Springfield",
        "m.z3": "SPRINGFIELD ",
        "m.hub": "Hub {?x} %s $1",
        "m.named_by_id": "m.0abc",
        **{f"m.p{i:03d}": f"Member {i % 150}" for i in range(300)},
    },
    {"m.z2": ["a.b", "a.c"], "m.z1": ["a.b"], "m.cvt1": ["x.marriage"]},
)
FB15K = DATA / "fb15k"


def through_http(path, stack):
    """The graph behind a SPARQL endpoint."""
    return SparqlGraph(stack.enter_context(serve(load_store([path]))), attempts=1)


def through_our_engine(path, stack):
    """The compiled graph behind the engine of `graph serve`."""
    address = stack.enter_context(serve(EngineStore(compiled(path))))
    return SparqlGraph(address, attempts=1)


BACKENDS = {
    "compiled": lambda path, stack: compiled(path),
    "sparql": through_http,
    "served": through_our_engine,
}


def topics(names):
    return [Entity(i, name) for i, name in sorted(names.items())]


def observations(graph, entities):
    """Everything the two tools say about the entities, each in an episode of its own."""
    return [seen for topic in entities for _, seen in transcript(graph, topic)]


@pytest.fixture(scope="module", params=BACKENDS)
def backend(request, tmp_path_factory):
    """Opens graphs on one backend; closes them when the module is done."""
    with ExitStack() as stack:

        def open_backend(*parts):
            path = write(tmp_path_factory.mktemp("conformance") / "g", *parts)
            return BACKENDS[request.param](path, stack)

        yield open_backend


@pytest.mark.parametrize("parts", [TOY, PITFALLS], ids=["toy", "pitfalls"])
def test_a_backend_keeps_every_rule(backend, parts):
    nodes = [*topics(parts[1]), Entity("m.cvt1"), Entity("m.unnamed"), Entity("m.nobody")]
    assert list(check_graph(backend(*parts), nodes[:12] + nodes[-3:])) == []


@pytest.mark.parametrize("parts", [TOY, PITFALLS], ids=["toy", "pitfalls"])
def test_a_backend_shows_what_the_reference_shows(backend, parts):
    entities = [e for e in topics(parts[1]) if not e.id.startswith("m.p1")]
    seen = observations(backend(*parts), entities)
    assert seen == observations(in_memory(*parts), entities)


def test_an_incomplete_graph_is_the_same_on_a_backend(backend):
    entities = topics(TOY_NAMES)[:12]
    views = [HiddenGraph(graph, 0.4, seed=3) for graph in (backend(*TOY), in_memory(*TOY))]
    assert observations(views[0], entities) == observations(views[1], entities)


def test_the_first_in_order_of_two_english_names_is_shown(backend):
    graph = backend([("m.1", "a.b.c", "m.2")], {"m.1": "One"}, {}, [("m.1", "Another one", "en")])
    assert graph.name("m.1") == "Another one"


NODES = ["a", "b", "c", "x", "y"]
RELATIONS = ["r.r.r", "s.s.s", "r.r.r..s.s.s"]
VALUES = [literal_id(text, tag) for text in ("v", 'q"\\') for tag in ("", "@en", f"^^<{XSD}date>")]
FACT = st.tuples(*map(st.sampled_from, (NODES, RELATIONS, NODES + VALUES)))
SOME, NAME = st.sampled_from("abc"), st.sampled_from(["N", "n", 'N"', "N\\", "m.0x", "ß SS"])
TYPES = st.lists(st.sampled_from(["t.u", "t.v"]), max_size=2)
WORLDS = st.tuples(
    st.lists(FACT, min_size=1, max_size=24),
    st.dictionaries(SOME, NAME),
    st.dictionaries(SOME, TYPES),
)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(WORLDS)
def test_any_graph_is_the_same_on_every_backend(world):
    facts, names, types = world
    entities = [Entity(i, names.get(i, "")) for i in NODES]
    reference = in_memory(facts, names, types)
    expected = observations(reference, topics(names))
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        path = write(Path(folder) / "g", facts, names, types)
        for name, open_backend in BACKENDS.items():
            graph = open_backend(path, stack)
            assert observations(graph, topics(names)) == expected, name
            assert list(check_graph(graph, entities)) == [], name


def read_fb15k():
    """Triples, names and types of the real slice."""

    def rows(name):
        with gzip.open(FB15K / name, "rt", encoding="utf-8") as lines:
            return [line.rstrip("\n").split("\t") for line in lines]

    types = {}
    for mid, kind in rows("entity_types.tsv.gz"):
        types.setdefault(mid, []).append(kind)
    names = {row[0]: row[1] for row in rows("entities.tsv.gz")[1:]}
    return [tuple(row) for row in rows("triples.tsv.gz")], names, types


@pytest.mark.slow
@pytest.mark.skipif(not FB15K.is_dir(), reason=f"no FB15k slice at {FB15K}; set GRAPHWALKER_DATA")
def test_the_real_slice_is_the_same_on_every_backend(tmp_path):
    parts = read_fb15k()
    reference = in_memory(*parts)
    chosen = [reference.entity_at(place) for place in range(7, reference.size, 500)]
    path = write(tmp_path / "g", *parts)
    with ExitStack() as stack:
        for open_backend in BACKENDS.values():
            graph = open_backend(path, stack)
            assert list(differences(graph, reference, chosen)) == []
            assert list(check_graph(graph, chosen[:5])) == []


def test_a_graph_that_breaks_a_rule_is_found_out():
    class Shuffled(HiddenGraph):
        def relations_many(self, sides):
            return [found[::-1] for found in super().relations_many(sides)]

        def count(self, entity_id, relation, direction):
            return super().count(entity_id, relation, direction) + 1

        def neighbors_many(self, steps):
            return [found[::-1] for found in super().neighbors_many(steps)]

    found = {f.check for f in check_graph(Shuffled(in_memory(*TOY)), topics(TOY_NAMES)[:3])}
    assert {"relations", "neighbors", "hostile texts"} <= found


def run(*arguments):
    return CliRunner().invoke(app, ["graph", "conformance", *map(str, arguments)])


def test_people_check_their_endpoint_from_the_command_line(tmp_path):
    path = write(tmp_path / "g", *TOY)
    compiled(path)
    with serve(load_store([path])) as address:
        result = run("--endpoint", address, "--reference", tmp_path / "g/graph", "--entities", 3)
        alone = run("--endpoint", address, "--entities", 2)
        by_id = run("--endpoint", address, "--entity", "/m/0ada")
    assert result.exit_code == alone.exit_code == by_id.exit_code == 0, result.output
    assert "same text        ok" in result.output
    assert "conforms at 3 entities" in result.output


def test_an_endpoint_with_another_graph_does_not_conform(tmp_path):
    compiled(write(tmp_path / "g", *TOY))
    other = write(tmp_path / "other", TOY_TRIPLES[5:], TOY_NAMES, TOY_TYPES)
    with serve(load_store([other])) as address:
        asked = ("--endpoint", address, "--reference", tmp_path / "g/graph")
        result = run(*asked, "--entity", "m.0ada")
    assert result.exit_code == 1 and "same text        findings: 1" in result.output
