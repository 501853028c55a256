"""The fictional world: deterministic, Freebase-shaped, the same in both of its formats."""

import gzip
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction
from graphwalker.graphs.compiled.graph import CompiledGraph
from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.world.facts import entity_triples
from graphwalker.world.generate import make_world
from graphwalker.world.kinds import KINDS, World
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


def test_it_has_the_asked_number_of_named_entities(graph: CompiledGraph) -> None:
    assert graph.size == 1000


def test_it_has_at_least_sixty_relations_over_ten_domains(graph: CompiledGraph) -> None:
    relations = graph.relation_ids()
    assert len(relations) >= 60
    wanted = {"people", "film", "location", "organization", "sports", "music", "book"}
    assert wanted | {"education", "government", "award"} <= {r.split(".")[0] for r in relations}


def test_every_relation_of_the_schema_occurs(graph: CompiledGraph) -> None:
    assert set(graph.relation_ids()) == set(relation_ids())


def test_the_same_seed_writes_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    make_world(1000, 7, tmp_path)
    for name in ("triples.tsv.gz", "names.tsv.gz", "types.tsv.gz", "triples.nt.gz"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_another_seed_makes_another_world() -> None:
    first, second = World(1000, 1), World(1000, 2)
    assert list(entity_triples(first, "film", 3)) != list(entity_triples(second, "film", 3))


def test_an_entity_does_not_depend_on_the_others() -> None:
    world, again = World(5000, 3), World(5000, 3)
    whole = [list(entity_triples(world, "person", offset)) for offset in range(60)]
    assert list(entity_triples(again, "person", 59)) == whole[59]


def test_both_formats_hold_the_same_triples(folder: Path, tmp_path: Path) -> None:
    from graphwalker.graphs.build.build import build_graph

    info = build_graph([folder / "triples.nt.gz"], tmp_path / "nt")
    same = open_compiled(folder / "graph").info()
    for key in ("entities", "triples", "relations", "types", "literals", "nodes"):
        assert info[key] == same[key]


def test_no_triple_is_written_twice(folder: Path) -> None:
    counts = Counter(map(tuple, _rows(folder / "triples.tsv.gz")))
    assert max(counts.values()) == 1


def test_every_inverse_is_stored_both_ways(folder: Path) -> None:
    rows = {tuple(row) for row in _rows(folder / "triples.tsv.gz")}
    inverses = {fact.relation: fact.inverse for fact in (*FACTS, PARENTS) if fact.inverse}
    for head, relation, tail in rows:
        if relation in inverses:
            assert (tail, inverses[relation], head) in rows


def test_mediator_nodes_have_no_name(folder: Path, graph: CompiledGraph) -> None:
    named = {row[0] for row in _rows(folder / "names.tsv.gz")}
    nodes = {r[2] for r in _rows(folder / "triples.tsv.gz") if r[1] == "film.film.starring"}
    assert nodes and not nodes & named
    assert graph.name(nodes.pop()) == ""


def test_a_marriage_is_seen_from_both_sides(folder: Path) -> None:
    rows = list(_rows(folder / "triples.tsv.gz"))
    couples: dict[str, set[str]] = {}
    for head, relation, tail in rows:
        if relation == "people.marriage.spouse":
            couples.setdefault(head, set()).add(tail)
    sides = Counter(tail for _, relation, tail in rows if relation == "people.person.spouse_s")
    assert couples and all(len(both) == 2 for both in couples.values())
    assert set(sides.values()) == {2}


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


def test_dates_and_numbers_are_typed_literals(folder: Path) -> None:
    tails = [row[2] for row in _rows(folder / "triples.tsv.gz") if row[2].startswith('"')]
    kinds = {tail.rpartition("#")[2].rstrip(">") for tail in tails}
    assert kinds == {"date", "gYear", "integer", "decimal"}


def test_there_are_hubs(graph: CompiledGraph) -> None:
    capital = World(1000, 7).entity_id("country", 0)
    assert graph.count(capital, "people.person.nationality", Direction.IN) > 30


def test_some_names_are_shared_and_most_are_not(folder: Path) -> None:
    names = Counter(row[1] for row in _rows(folder / "names.tsv.gz"))
    shared = sum(count for count in names.values() if count > 1)
    assert 4 < shared < 250


def test_names_are_a_few_words_of_letters(folder: Path) -> None:
    for _, name in _rows(folder / "names.tsv.gz"):
        assert 1 <= len(name.split()) <= 3
        assert all(letter.isalpha() or letter in " '" for letter in name)


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


def test_about_half_of_the_directors_have_any_given_fact() -> None:
    world = World(3000, 0)
    having = [
        any(r == "people.person.education" for _, r, _ in entity_triples(world, "person", offset))
        for offset in range(2, 960, 24)
    ]
    assert 0.25 < sum(having) / len(having) < 0.75


def test_large_worlds_need_no_list_of_entities() -> None:
    world = World(10_000_000, 0)
    assert sum(span.count for span in world.spans.values()) == 10_000_000
    assert list(entity_triples(world, "film", 999_999))
    assert len(world.words.first) < 20_000


def test_every_kind_has_entities() -> None:
    assert all(World(1000, 0).spans[kind].count > 0 for kind in KINDS)


@pytest.mark.parametrize("entities", [0, 999, 10_000_001])
def test_a_size_out_of_range_is_refused(entities: int, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="1000 to 10000000"):
        make_world(entities, 0, tmp_path)


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("x")
    with pytest.raises(UserError, match="is a file"):
        make_world(1000, 0, tmp_path / "taken")
