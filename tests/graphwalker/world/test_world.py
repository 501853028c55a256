"""The fictional world: deterministic, Freebase-shaped, the same in both of its formats."""

import gzip

import pytest

from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction
from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.world.facts import entity_triples
from graphwalker.world.generate import make_world
from graphwalker.world.kinds import World
from graphwalker.world.schema import FACTS, PARENTS, relation_ids


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("world")
    make_world(1000, 7, out)
    return out


@pytest.fixture(scope="module")
def graph(folder):
    return open_compiled(folder / "graph")


def test_every_relation_of_the_schema_occurs(graph):
    assert set(graph.relation_ids()) == set(relation_ids())


def test_the_same_seed_writes_the_same_bytes(folder, tmp_path):
    make_world(1000, 7, tmp_path)
    for name in ("triples.tsv.gz", "names.tsv.gz", "types.tsv.gz", "triples.nt.gz"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_both_formats_hold_the_same_triples(folder, tmp_path):
    from graphwalker.graphs.build.build import build_graph

    info = build_graph([folder / "triples.nt.gz"], tmp_path / "nt")
    same = open_compiled(folder / "graph").info()
    for key in ("entities", "triples", "relations", "types", "literals", "nodes"):
        assert info[key] == same[key]


def test_every_inverse_is_stored_both_ways(folder):
    text = gzip.decompress((folder / "triples.tsv.gz").read_bytes()).decode()
    rows = {tuple(line.split("\t")) for line in text.strip("\n").split("\n")}
    inverses = {fact.relation: fact.inverse for fact in (*FACTS, PARENTS) if fact.inverse}
    for head, relation, tail in rows:
        if relation in inverses:
            assert (tail, inverses[relation], head) in rows


def test_symmetric_relations_look_the_same_from_either_end(graph):
    pairs = (
        "people.person.spouse_s..people.marriage.spouse",
        "people.person.sibling_s..people.sibling_relationship.sibling",
        "location.location.adjoin_s..location.adjoining_relationship.adjoins",
    )
    found = 0
    for i in range(graph.size):
        for pair in pairs:
            out = graph.step(graph.entity_at(i).id, pair, Direction.OUT)
            assert out == graph.step(graph.entity_at(i).id, pair, Direction.IN)
            found += len(out)
    assert found > 100


def test_parents_are_older_than_their_children():
    world = World(2000, 0)
    facts = [f for p in range(world.people) for f in entity_triples(world, "person", p)]
    born = {h: int(t[1:5]) for h, r, t in facts if r == "people.person.date_of_birth"}
    pairs = [(h, t) for h, r, t in facts if r == PARENTS.relation and h in born and t in born]
    assert len(pairs) > 100
    assert all(born[parent] + 15 <= born[child] for child, parent in pairs)


def test_large_worlds_need_no_list_of_entities():
    world = World(10_000_000, 0)
    assert sum(span.count for span in world.spans.values()) == 10_000_000
    assert list(entity_triples(world, "film", 999_999))
    assert len(world.words.first) < 20_000


@pytest.mark.parametrize("entities", [0, 999, 10_000_001])
def test_a_size_out_of_range_is_refused(entities, tmp_path):
    with pytest.raises(UserError, match="1000 to 10000000"):
        make_world(entities, 0, tmp_path)
