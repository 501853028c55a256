"""The fictional world: deterministic, Freebase-shaped, the same in both of its formats."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction
from graphwalker.graphs.compiled.graph import CompiledGraph
from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.world.facts import entity_triples
from graphwalker.world.generate import make_world
from graphwalker.world.kinds import World
from graphwalker.world.schema import FACTS, PARENTS, relation_ids


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("world")
    make_world(1000, 7, out)
    return out


@pytest.fixture(scope="module")
def graph(folder: Path) -> CompiledGraph:
    return open_compiled(folder / "graph")


def _rows(path: Path) -> Iterator[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield line.rstrip("\n").split("\t")


def test_every_relation_of_the_schema_occurs(graph: CompiledGraph) -> None:
    assert set(graph.relation_ids()) == set(relation_ids())


def test_the_same_seed_writes_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    make_world(1000, 7, tmp_path)
    for name in ("triples.tsv.gz", "names.tsv.gz", "types.tsv.gz", "triples.nt.gz"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_both_formats_hold_the_same_triples(folder: Path, tmp_path: Path) -> None:
    from graphwalker.graphs.build.build import build_graph

    info = build_graph([folder / "triples.nt.gz"], tmp_path / "nt")
    same = open_compiled(folder / "graph").info()
    for key in ("entities", "triples", "relations", "types", "literals", "nodes"):
        assert info[key] == same[key]


def test_every_inverse_is_stored_both_ways(folder: Path) -> None:
    rows = {tuple(row) for row in _rows(folder / "triples.tsv.gz")}
    inverses = {fact.relation: fact.inverse for fact in (*FACTS, PARENTS) if fact.inverse}
    for head, relation, tail in rows:
        if relation in inverses:
            assert (tail, inverses[relation], head) in rows


def test_symmetric_relations_look_the_same_from_either_end(graph: CompiledGraph) -> None:
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


def test_parents_are_older_than_their_children() -> None:
    world = World(3000, 0)
    born = {p: _birth_year(world, p) for p in range(world.people)}
    ids = {world.entity_id("person", p): p for p in range(world.people)}
    pairs = [
        (ids[head], ids[tail])
        for p in range(world.people)
        for head, relation, tail in entity_triples(world, "person", p)
        if relation == PARENTS.relation
    ]
    assert len(pairs) > 100
    assert all(
        born[parent] + 15 <= born[child] for child, parent in pairs if born[parent] and born[child]
    )


def _birth_year(world: World, person: int) -> int:
    for _, relation, tail in entity_triples(world, "person", person):
        if relation == "people.person.date_of_birth":
            return int(tail[1:5])
    return 0


def test_large_worlds_need_no_list_of_entities() -> None:
    world = World(10_000_000, 0)
    assert sum(span.count for span in world.spans.values()) == 10_000_000
    assert list(entity_triples(world, "film", 999_999))
    assert len(world.words.first) < 20_000


@pytest.mark.parametrize("entities", [0, 999, 10_000_001])
def test_a_size_out_of_range_is_refused(entities: int, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="1000 to 10000000"):
        make_world(entities, 0, tmp_path)
