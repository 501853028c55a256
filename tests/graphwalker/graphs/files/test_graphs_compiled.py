"""The compiled graph: equal to the graph in memory, and refused when it is not sound."""

import multiprocessing
import os
import pickle
import random
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, KnowledgeGraph, Side, Step
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.compiled.graph import CompiledGraph
from graphwalker.graphs.compiled.local import local_copy
from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.graphs.literals import literal_id
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.graphs.names import local_name
from graphwalker.graphs.open import open_graph
from support.backends import compiled_tsv
from support.toy import TOY_NAMES, TOY_TRIPLES, TOY_TYPES, toy_graph

Facts = list[tuple[str, str, str]]


@pytest.fixture(scope="module")
def toy(toy_folder):
    return open_compiled(toy_folder)


def assert_equal(compiled, memory, nodes):
    assert isinstance(compiled, KnowledgeGraph)
    everyone = range(memory.size)
    assert [*map(compiled.entity_at, everyone)] == [*map(memory.entity_at, everyone)]
    assert compiled.size == memory.size
    assert compiled.relation_ids() == memory.relation_ids()
    relations = [*memory.relation_ids(), "no.such.relation", ""]
    for node in {*nodes, "nobody", "", "\ud800", '"nothing"'}:
        name = memory.name(node)
        assert compiled.name(node) == name
        assert compiled.types(node) == memory.types(node)
        for asked in {name, name.upper(), name.lower(), f" {name} ", node}:
            assert compiled.resolve(asked) == memory.resolve(asked)
        for way in Direction:
            assert compiled.relations(node, way) == memory.relations(node, way)
            assert compiled.flat_relations(node, way) == memory.flat_relations(node, way)
            for limit in (None, 0, 1, 2):
                ask = (node, relations, way, limit)
                assert compiled.triples(*ask) == memory.triples(*ask)
            for relation in relations:
                hop = (node, relation, way)
                assert compiled.count(*hop) == memory.count(*hop)
                assert compiled.neighbors(*hop, 1) == memory.neighbors(*hop, 1)
                assert compiled.step(*hop) == memory.step(*hop)
    assert_batches_equal(compiled, memory, sorted(nodes), relations)
    for relation in relations:
        for way in Direction:
            assert compiled.leads_to_cvts(relation, way) == memory.leads_to_cvts(relation, way)


def assert_batches_equal(compiled, memory, nodes, relations):
    asked = [*nodes, "nobody", *nodes[:1]]
    sides = [Side(node, way) for node in asked for way in Direction]
    assert compiled.relations_many(sides) == memory.relations_many(sides)
    assert compiled.names_many(asked) == memory.names_many(asked)
    for limit in (None, 0, 1):
        steps = [Step(*side[:1], r, side.direction, limit) for side in sides for r in relations]
        assert compiled.neighbors_many(steps) == memory.neighbors_many(steps)
        assert compiled.step_many(steps) == memory.step_many(steps)
        for wanted in (None, relations):
            asked_for = (sides, wanted, limit)
            assert compiled.triples_many(*asked_for) == memory.triples_many(*asked_for)


def nodes_of(facts):
    return {head for head, _, _ in facts} | {tail for _, _, tail in facts}


def test_the_toy_graph_is_the_same_compiled(toy):
    assert_equal(toy, toy_graph(), nodes_of(TOY_TRIPLES) | set(TOY_NAMES))


SAFE = st.characters(exclude_categories=["Cs"], exclude_characters="\t\r\n\0")
TEXT = st.text(st.one_of(st.sampled_from("aAbß\"',[]\\ é\u0301İſ"), SAFE), min_size=1, max_size=4)
IDS = st.one_of(
    TEXT.filter(lambda t: not t.startswith('"')), st.sampled_from(["m.0", "m.1", "g.2"])
)
LITERALS = TEXT.map(literal_id)


@st.composite
def worlds(draw):
    ids = draw(st.lists(IDS, min_size=1, max_size=6, unique=True))
    tails = ids + draw(st.lists(LITERALS, max_size=3))
    relations, entity = ["r", "s", "r..s", "é.\U0001f600"], st.sampled_from(ids)
    fact = st.tuples(entity, st.sampled_from(relations), st.sampled_from(tails))
    facts = draw(st.lists(fact, min_size=1, max_size=25))
    names = draw(st.dictionaries(entity, st.one_of(TEXT, st.sampled_from(["Ann", "ann"]))))
    kinds = st.lists(st.sampled_from(["a.b", "c.d", "é"]), min_size=1, max_size=3)
    return facts, names, draw(st.dictionaries(entity, kinds))


@pytest.mark.long
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(world=worlds())
def test_any_graph_is_the_same_compiled(world, tmp_path_factory):
    facts, names, types = world
    compiled = compiled_tsv(tmp_path_factory.mktemp("any"), facts, names, types)
    assert_equal(compiled, MemoryGraph(*world), nodes_of(facts) | set(names) | set(types))


def test_hops_through_many_cvt_nodes_are_the_same_compiled(tmp_path):
    rng = random.Random(0)
    named, cvts = [f"e{i:02d}" for i in range(12)], [f"m.{i:04d}" for i in range(1200)]
    facts = [("e00", "r", cvt) for cvt in cvts]
    facts += [(rng.choice(cvts), rng.choice("rst"), rng.choice(named + cvts)) for _ in range(3000)]
    facts += [(rng.choice(named), rng.choice("rst"), rng.choice(named + cvts)) for _ in range(60)]
    names = {node: node.upper() for node in named}
    compiled, memory = compiled_tsv(tmp_path, facts, names, {}), MemoryGraph(facts, names)
    assert_equal(compiled, memory, {*named, *cvts[:5]})
    for node in named:
        for way in Direction:
            for relation, _ in compiled.flat_relations(node, way):
                assert compiled.step(node, relation, way) == memory.step(node, relation, way) != []


def test_the_order_of_lines_does_not_change_a_byte(tmp_path, toy):
    facts, names = list(TOY_TRIPLES), list(TOY_NAMES.items())
    random.Random(0).shuffle(facts)
    random.Random(1).shuffle(names)
    (tmp_path / "again").mkdir()
    again = compiled_tsv(tmp_path / "again", facts * 2, dict(names), TOY_TYPES)
    assert again.checksum == toy.checksum


def test_threads_share_one_open_graph(toy):
    sides = [Side(node, way) for node in sorted(nodes_of(TOY_TRIPLES)) for way in Direction]
    alone = toy.triples_many(sides)
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda _: [toy.triples_many(sides) for _ in range(4)], range(8))
    assert all(again == alone for many in found for again in many)


def test_a_forked_process_goes_on_with_the_graph_of_its_parent(toy):
    with multiprocessing.get_context("fork").Pool(2) as pool:
        names = pool.map(toy.name, sorted(TOY_NAMES))
    assert names == [TOY_NAMES[node] for node in sorted(TOY_NAMES)]


def test_a_graph_goes_to_another_process_by_its_path(toy):
    again = pickle.loads(pickle.dumps(toy))
    assert (type(again), again.checksum) == (CompiledGraph, toy.checksum)


def test_a_folder_without_a_graph_says_how_to_make_one(tmp_path):
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(UserError, match="graphwalker graph build"):
            open_compiled(path)


def test_a_graph_without_names_may_take_them_from_ids(tmp_path):
    anna, bo = "http://x.org/Anna_Weber", "http://x.org/Bo"
    (triples := tmp_path / "kb.tsv").write_text(f"{anna}\tknows\t{bo}\n{bo}\tknows\t_:b0\n")
    said = []
    build_graph([triples], tmp_path / "whole", progress=said.append)
    build_graph([triples], tmp_path / "last", names_from_ids=True)
    whole, last = open_compiled(tmp_path / "whole"), open_compiled(tmp_path / "last")
    assert any("--names-from-ids" in text for text in said)
    assert whole.resolve("Anna Weber") == []
    assert [entity.id for entity in last.resolve("anna weber")] == [anna]
    assert last.names_many(["_:b0"]) == [""]


@pytest.mark.parametrize(
    ("entity_id", "name"),
    [
        ("http://x.org/r/Anna_Weber", "Anna Weber"),
        ("http://x.org/r#Z%C3%BCrich", "Zürich"),
        ("http://x.org/", "x.org"),
        ("/c/en/cutting_wood/v", "cutting wood"),
        ("dbr:Anna_Weber", "Anna Weber"),
        ("m.0abc", ""),
        ("_:b0", ""),
    ],
)
def test_the_last_part_of_an_id_can_be_a_name(entity_id, name):
    assert local_name(entity_id) == name


@pytest.fixture
def graph(toy_folder, tmp_path):
    return shutil.copytree(toy_folder, tmp_path / "graph")


def test_it_is_copied_once_and_anew_when_it_has_changed(graph, tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHWALKER_LOCAL_DISK", str(tmp_path / "disk"))
    opened = open_graph(graph)
    assert opened.path is not None and str(opened.path).startswith(str(tmp_path / "disk"))
    first = local_copy(graph)
    assert first == local_copy(graph) and (first / "build.json").is_file()
    assert (first / "graph.gwk").read_bytes() == (graph / "graph.gwk").read_bytes()
    os.utime(graph / "graph.gwk", ns=(1, 1))
    assert local_copy(graph) != first


def test_a_disk_that_cannot_be_written_is_named(graph, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GRAPHWALKER_LOCAL_DISK", str(tmp_path / "file"))
    with pytest.raises(UserError, match=r"GRAPHWALKER_LOCAL_DISK=.*cannot be copied there"):
        local_copy(graph)
