"""Walks and certificates: what may be asked, and why the rest is dropped."""

import pytest

from data_pipeline.attempts import Maker
from data_pipeline.certificates import is_irregular, leaks, other_reading, walk_fault
from data_pipeline.config import SamplingConfig, SplitConfig, SynthConfig
from data_pipeline.outcomes import Drop
from data_pipeline.seeds.seeds import Seeds
from data_pipeline.splits import Splits
from data_pipeline.walks.sampler import STRUCTURES, Walk, Walker, WalkRules, walk_rng
from graphwalker.config import load_config
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.query.draft import Draft
from graphwalker.query.query import Branch, Hop, Query, execute, parse_hop
from support.toy import MARRIAGE, toy_graph

SPOUSE = "people.person.spouse_s..people.marriage.spouse"
GRAPH = toy_graph()


def walks(structure: str, rules: WalkRules | None = None, tries: int = 300) -> list[Walk]:
    walker = Walker(GRAPH, Seeds(GRAPH), rules or WalkRules())
    found = [walker.sample(structure, walk_rng(0, structure, i)) for i in range(tries)]
    return [walk for walk in found if isinstance(walk, Walk)]


def chain(topic: str, *hops: str) -> Query:
    return Query((Branch(Entity(topic, GRAPH.name(topic)), tuple(map(parse_hop, hops))),))


def fault(query: Query, max_answers: int = 5, max_frontier: int = 5) -> str:
    return walk_fault(GRAPH, query, execute(GRAPH, query), max_answers, max_frontier)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_walk_has_the_hops_of_its_structure_and_ends_where_it_says(structure):
    branches, tail = STRUCTURES[structure]
    made = walks(structure)
    assert made
    for walk in made:
        assert tuple(len(b.hops) for b in walk.query.branches) == branches
        assert len(walk.query.tail) == tail
        assert walk.visited[-1][-1] in execute(GRAPH, walk.query).answers


def test_a_walk_never_stands_on_a_cvt_node_nor_passes_a_hub():
    for walk in walks("3-hop"):
        assert MARRIAGE not in {entity.id for entity in walk.visited[0]}
        assert execute(GRAPH, walk.query).frontiers[0][1]
        assert parse_hop("~people.person.nationality") not in walk.query.branches[0].hops


def test_degrees_stay_within_the_bounds_of_equation_1():
    rules = WalkRules(min_degree=2, max_degree=3)
    made = walks("1-hop", rules)
    degrees = {len(execute(GRAPH, walk.query).answers) for walk in made}
    assert degrees == {2, 3}


def test_a_literal_is_an_answer_only_where_that_is_wanted():
    rules = WalkRules(literals=True)
    ends = {walk.visited[0][-1].id[0] for walk in walks("2-hop", rules, 600)}
    assert '"' in ends
    inner = {e.id[0] for walk in walks("2-hop", rules, 600) for e in walk.visited[0][:-1]}
    assert '"' not in inner
    assert all(walk.visited[0][-1].id[0] != '"' for walk in walks("2-hop"))


def test_a_composition_that_a_shorter_path_answers_is_dropped():
    parents = chain("m.0eve", "people.person.parents", SPOUSE)
    assert fault(parents) == "shortcut"


def test_two_topics_of_one_name_are_dropped():
    city = Branch(Entity("m.0city1", "Springfield"), (parse_hop("~people.person.place_of_birth"),))
    film = Branch(Entity("m.0film3", "Springfield"), (Hop("film.film.directed_by"),))
    facts = [("m.0zoe", "people.person.place_of_birth", "m.0city1")]
    facts += [("m.0film3", "film.film.directed_by", "m.0zoe")]
    names = {"m.0zoe": "Zoë", "m.0city1": "Springfield", "m.0film3": "Springfield"}
    graph = MemoryGraph(facts, names)
    query = Query((city, film))
    assert walk_fault(graph, query, execute(graph, query), 5, 5) == "topics_share_a_name"


def test_a_frontier_with_a_dead_entity_is_irregular():
    query = chain("m.0eve", "people.person.parents", "film.director.film")
    assert is_irregular(GRAPH, query, execute(GRAPH, query))


def test_a_question_that_names_its_answer_leaks():
    assert leaks("Who, if not Zoë O'Hara, made it?", [Entity("m.0zoe", "Zoë O'Hara")])
    assert not leaks("Which dramatic film?", [Entity("m.0genre1", "Drama")])


@pytest.mark.parametrize(("size", "kept"), [(512, True), (513, False), (600, False)])
def test_a_question_with_uncountable_readings_is_not_kept(size, kept):
    query = chain("m.0film2", "film.film.directed_by")
    readings = tuple(Hop(f"a.b.c{i}") for i in range(size))
    draft = Draft("Who made it?", (("the maker of {x}",),), (), ((readings,),))
    assert (other_reading(GRAPH, query, draft, execute(GRAPH, query)) == "") == kept


@pytest.mark.parametrize(
    ("hops", "rival"),
    [
        (("r.all", "~r.of"), ""),
        (("r.all", "r.some"), "r.next/r.some"),
        (("r.some", "~r.back"), "r.next/~r.back"),  # finds more
    ],
)
def test_a_reading_that_finds_a_part_is_no_rival_by_inverse_relations_alone(hops, rival):
    facts = [("t", "r.next", "m"), ("m", "r.all", "x"), ("m", "r.all", "y")]
    facts += [("x", "r.of", "m"), ("m", "r.some", "x"), ("x", "r.back", "m"), ("y", "r.back", "m")]
    graph = MemoryGraph(facts, {name: name for name in "tmxy"})
    first, (meant, other) = Hop("r.next"), map(parse_hop, hops)
    query = Query((Branch(Entity("t", "t"), (first, meant)),))
    draft = Draft("Who?", (("of {x}", "of {x}"),), (), (((first,), (meant, other)),))
    inverses = {Hop("r.all"): parse_hop("~r.of"), Hop("r.some"): parse_hop("~r.back")}
    assert other_reading(graph, query, draft, execute(graph, query), inverse=inverses.get) == rival


def test_a_question_is_in_one_split_whatever_inverse_it_is_written_with():
    inverses = {"film.film.directed_by": "~film.director.film"}
    inverses |= {value: key for key, value in inverses.items()}
    splits = Splits(SplitConfig(), lambda hop: parse_hop(inverses[str(hop)]))
    one, two = (chain("m.0film1", hop) for hop in inverses)
    assert splits.path(one) == splits.path(two) and splits.of(one) == splits.of(two)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("mix={6-hop: 1}", "unknown structure '6-hop'"),
        ("mix={}", "add up to 0"),
        ("splits.entity_share=1.5", r"splits\.entity_share"),
        ("max_degre=3", "did you mean max_degree"),
        ("environment.max_turn=3", r"did you mean environment\.max_turns"),
    ],
)
def test_a_wrong_setting_is_named(override, message):
    with pytest.raises(UserError, match=message):
        load_config(SynthConfig, None, [override])


def test_an_answer_beyond_the_triples_shown_is_unsolvable():
    names = {"m.t": "Topic", **{f"m.a{i}": f"Answer {i}" for i in range(4)}}
    graph = MemoryGraph([("m.t", "film.director.film", f"m.a{i}") for i in range(4)], names)
    config = SamplingConfig(split="any", environment={"triples_per_relation": 3})
    maker = Maker(graph, config)
    dropped = maker.attempt("1-hop", first_with(maker, 4)).drop
    assert dropped == Drop("certificate", "unsolvable", "not_shown")


def first_with(maker: Maker, answers: int) -> int:
    sampled = ((i, maker.sample("1-hop", i)) for i in range(200))
    return next(i for i, s in sampled if not isinstance(s, Drop) and len(s.answers) == answers)
