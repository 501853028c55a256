"""Layers over any graph: Freebase by schema, whitelists, Wikidata, incomplete graphs."""

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, Entity, Side, Step
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.graphs.views.filtered import HiddenGraph, read_facts
from graphwalker.graphs.views.freebase import (
    FreebaseGraph,
    FreebaseSchema,
    load_predicates,
    load_schema,
)
from support.toy import toy_graph

SPOUSE = "people.person.spouse_s..people.marriage.spouse"
SCHEMA = FreebaseSchema(
    mediators=frozenset({"people.marriage"}),
    domains={"people.person.spouse_s": "people.person", "people.person.children": "people.person"},
    ranges={"people.person.spouse_s": "people.marriage", "people.person.children": "people.person"},
    inverses={
        "people.person.children": "people.person.parents",
        "people.person.parents": "people.person.children",
        "people.person.spouse_s": "people.marriage.spouse",
        "people.marriage.spouse": "people.person.spouse_s",
    },
)
OUT, IN = Direction.OUT, Direction.IN
CHILDREN = "people.person.children"


def ids(entities):
    return [entity.id for entity in entities]


def everything(graph, nodes):
    """All that the raw calls give for the nodes."""
    found = []
    for node in nodes:
        for side in (Side(node, OUT), Side(node, IN)):
            relations, limits = graph.relations(*side), (None, 1, 3)
            steps = [Step(*side[:1], r, side.direction, n) for r, _ in relations for n in limits]
            found.append((side, relations, graph.neighbors_many(steps), graph.triples_many([side])))
    return found


def test_an_unnamed_entity_is_an_entity_where_the_schema_knows_its_relation():
    graph = MemoryGraph([("m.1", CHILDREN, "m.2")], {"m.1": "Ada"})
    assert graph.flat_relations("m.1", OUT) == []
    known = FreebaseGraph(graph, SCHEMA)
    assert known.flat_relations("m.1", OUT) == [(CHILDREN, 1)]
    assert ids(known.step("m.1", CHILDREN, OUT)) == ["m.2"]


def test_a_named_mediator_is_crossed_where_the_schema_knows_it():
    facts = [("m.1", "people.person.spouse_s", "m.9"), ("m.9", "people.marriage.spouse", "m.2")]
    graph = MemoryGraph(facts, {"m.1": "Ada", "m.9": "Their marriage", "m.2": "Tom"})
    assert graph.flat_relations("m.1", OUT) == [("people.person.spouse_s", 1)]
    assert FreebaseGraph(graph, SCHEMA).flat_relations("m.1", OUT) == [(SPOUSE, 1)]


def test_relations_unknown_to_the_schema_fall_back_to_the_lack_of_a_name():
    facts = [("m.1", "x.y.z", "m.9"), ("m.9", "u.v.w", "m.2")]
    graph = MemoryGraph(facts, {"m.1": "A", "m.2": "B"})
    assert FreebaseGraph(graph, SCHEMA).flat_relations("m.1", OUT) == [("x.y.z..u.v.w", 1)]


def test_a_flattened_relation_passes_the_whitelist_by_its_halves():
    halves = SPOUSE.split("..")
    graph = FreebaseGraph(toy_graph(), predicates=set(halves))
    assert graph.flat_relations("m.0ada", OUT) == [(SPOUSE, 1)]
    native = MemoryGraph([("a", SPOUSE, "b")], {"a": "A", "b": "B"})
    assert FreebaseGraph(native, predicates=set(halves)).flat_relations("a", OUT) == [(SPOUSE, 1)]
    assert FreebaseGraph(native, predicates=set(halves[:1])).flat_relations("a", OUT) == []


def test_texts_of_other_languages_are_left_out():
    texts = '"Ada"@en', '"Ada die Erste"@de', '"Adèle"@fr'
    facts = [("m.1", "common.topic.alias", text) for text in texts]
    graph = FreebaseGraph(MemoryGraph(facts, {"m.1": "Ada M."}), languages=["en"])
    assert graph.count("m.1", "common.topic.alias", OUT) == 1
    assert ids(graph.neighbors("m.1", "common.topic.alias", OUT, 5)) == ['"Ada"@en']
    assert graph.aliases("m.1") == ["Ada"]


def test_two_roles_on_one_line_are_reported_and_set_aside(tmp_path, caplog):
    lines = [f"a.t{k} a.t{k}.r b.t" for k in range(300)]
    lines[7] += "c.t c.t.r d.t"
    (tmp_path / "roles.tsv").write_text("\n".join(lines))
    schema = load_schema(tmp_path)
    assert len(schema.ranges) == 299 and "a.t7.r" not in schema.ranges
    assert "roles.tsv:8: expected 3 columns, found 5" in caplog.text


def test_a_schema_folder_is_read_plain_or_compressed(tmp_path):
    (tmp_path / "cvt_types.txt").write_text("people.marriage\n")
    with gzip.open(tmp_path / "roles.tsv.gz", "wt") as out:
        out.write("people.person people.person.spouse_s people.marriage\n")
    (tmp_path / "reverse_properties.tsv").write_text(f"{CHILDREN}\tpeople.person.parents\n")
    schema = load_schema(tmp_path)
    assert schema.ends_at_cvts("people.person.spouse_s", OUT) is True
    assert schema.ends_at_cvts("people.person.spouse_s", IN) is False
    assert schema.ends_at_cvts("people.marriage.from", IN) is True
    assert schema.ends_at_cvts("people.marriage.from", OUT) is None
    assert schema.inverse_of("people.person.parents") == CHILDREN


def test_a_folder_without_a_schema_and_a_broken_line_are_named(tmp_path):
    with pytest.raises(UserError, match=r"expected cvt_types\.txt"):
        load_schema(tmp_path)
    (tmp_path / "roles.tsv").write_text("a b c\na b\n")
    with pytest.raises(UserError, match=r"roles\.tsv:2"):
        load_schema(tmp_path)


@pytest.mark.parametrize("content", [b"\x1f\x8b\x08broken", b"{}", b"[1]", b"nothing"])
def test_a_damaged_whitelist_is_refused_by_name(tmp_path, content):
    path = tmp_path / ("p.json.gz" if content.startswith(b"\x1f") else "p.json")
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"p\.json"):
        load_predicates(path)


NODES = ["a", "b", "c", "x", "y"]
KINDS = (NODES, ["r", "s", "r..s"], [*NODES, '"v"'])
FACTS = st.lists(st.tuples(*map(st.sampled_from, KINDS)), max_size=30)
NAMES = {"a": "A", "b": "B", "c": "C"}


@settings(max_examples=50, deadline=None)
@given(FACTS, st.floats(0, 1), st.integers(0, 5))
def test_a_hidden_graph_equals_a_graph_without_the_hidden_triples(facts, share, seed):
    hidden = HiddenGraph(MemoryGraph(facts, NAMES), share, seed)
    rest = MemoryGraph([fact for fact in facts if hidden.keeps(*fact)], NAMES)
    assert everything(hidden, NODES) == everything(rest, NODES)
    for node in NODES:
        for direction in Direction:
            listed = rest.flat_relations(node, direction)
            assert hidden.flat_relations(node, direction) == listed
            for relation, _ in listed:
                hop = (node, relation, direction, 2)
                assert hidden.step(*hop) == rest.step(*hop)


def test_about_the_asked_share_is_hidden_and_the_seed_chooses_which():
    facts = [(f"m.{i}", "r", f"m.{i + 1}") for i in range(2000)]
    graph = MemoryGraph(facts, {})
    kept = [{f for f in facts if HiddenGraph(graph, 0.4, seed).keeps(*f)} for seed in (1, 1, 2)]
    assert 1100 < len(kept[0]) < 1300 and kept[0] == kept[1] != kept[2]


def test_a_list_of_triples_is_read_from_a_file(tmp_path):
    path = tmp_path / "crucial.tsv"
    path.write_text("a\tr\tb\n\nc\tr\td\n")
    assert read_facts(path) == [("a", "r", "b"), ("c", "r", "d")]
    path.write_text("a\tr\n")
    with pytest.raises(UserError, match=r"crucial\.tsv:1"):
        read_facts(path)


def test_a_mediator_is_known_by_its_type_before_its_name():
    types = {"m.9": ["people.marriage"], "m.2": ["people.person"]}
    graph = MemoryGraph([], {"m.9": "Their marriage"}, types)
    known = FreebaseGraph(graph, SCHEMA)
    assert known.is_cvt(Entity("m.9", "Their marriage"))
    assert not known.is_cvt(Entity("m.2")) and known.is_cvt(Entity("m.3"))
