"""Plausible walks: what the listings of a graph say of a hop, and how the rule gives way."""

import random

from data_pipeline.config import SynthConfig
from data_pipeline.seeds.seeds import Seeds
from data_pipeline.synthesize import make_questions
from data_pipeline.walks.plausibility import (
    STEPS,
    Plausibility,
    PlausibilityConfig,
    company_of,
    describing,
    keeps_apart,
    stands_alone,
)
from data_pipeline.walks.sampler import Walker, WalkRules
from graphwalker.files import read_jsonl
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.query.query import Hop, parse_hop
from graphwalker.tools.listing import lister
from graphwalker.tools.settings import WalkerSettings

WORKS, BORN, TASTE = "film.film.director", "people.person.birthplace", "base.odd.person.taste"
FACTS = [
    *((f"f{i}", WORKS, f"p{i % 20}") for i in range(60)),
    *((f"p{i}", BORN, f"c{i % 4}") for i in range(20)),
    ("p0", TASTE, "t0"),
]
NAMES = {end: end.upper() for s, _, o in FACTS for end in (s, o)}
GRAPH = MemoryGraph(FACTS, NAMES)


def judge(**settings) -> Plausibility:
    company = company_of(GRAPH, sorted(NAMES))
    config = PlausibilityConfig(**{"worded_only": False, **settings})
    listed = lister(GRAPH, WalkerSettings())
    return Plausibility(config, listed, company, (), None, None, lambda hop: None)


def test_what_few_of_a_kind_have_is_beside_the_point() -> None:
    directed = Hop(WORKS)
    assert judge().follows(directed, Hop(BORN))
    assert not judge().follows(directed, Hop(TASTE))
    assert judge(min_together=0.01).follows(directed, Hop(TASTE))


def test_a_walk_does_not_lead_back() -> None:
    assert not judge().follows(Hop(WORKS), parse_hop(f"~{WORKS}"))


def test_what_may_follow_a_hop_is_known_without_a_look_at_entities() -> None:
    places = Walker(GRAPH, Seeds(GRAPH), WalkRules(), plausibility=judge()).places
    behind: dict[Hop, set[Hop]] = {}
    for place in map(places.at, NAMES):
        for hop in places.onward(place, None, False, False):
            for end in places.way(place, hop).ids:
                after = places.onward(places.at(end), hop, True, False)
                behind.setdefault(hop.hop, set()).update(one.hop for one in after)
    unknown = parse_hop(f"~{TASTE}")  # one fact does not tell
    assert judge().followers(unknown) is None and behind.pop(unknown)
    told = {hop: places.followers(places.known_hop(hop)) or () for hop in behind}
    assert behind == {hop: {one.hop for one in after} for hop, after in told.items()}
    assert behind[Hop(WORKS)] == {Hop(BORN)} and not behind[Hop(BORN)]


def test_what_many_share_describes_nothing() -> None:
    assert judge().describes(Hop(BORN)) and not judge(max_fan_in=4).describes(Hop(BORN))
    assert not judge(max_fan_out=2).describes(parse_hop(f"~{WORKS}"))


def test_an_entity_is_left_by_what_it_is_about() -> None:
    hops = [Hop(BORN), Hop(TASTE), parse_hop(f"~{WORKS}")]
    assert judge().central("p0", hops) == hops
    assert Hop(TASTE) not in judge(min_domain_share=0.3).central("p0", hops)


def test_a_hub_is_no_middle() -> None:
    assert judge().between("c0", Hop(BORN))
    assert not judge(max_middle_shared=3).between("c0", Hop(BORN))
    assert not judge(max_middle_degree=2).between("c0", Hop(BORN))


def test_walks_keep_to_the_rule_until_it_gives_way() -> None:
    strict = judge(max_fan_in=1.0)
    rules = WalkRules()

    def found(step: int) -> int:
        walker = Walker(GRAPH, Seeds(GRAPH), rules, plausibility=strict.step(step))
        walks = [walker.sample("2-hop", random.Random(i)) for i in range(50)]
        return sum(not isinstance(walk, str) for walk in walks)

    assert found(0) < found(STEPS - 1)


def test_the_lists_are_read() -> None:
    assert parse_hop("film.film.directed_by") in describing()
    assert stands_alone(Hop("food.food.nutrients"))
    assert not stands_alone(Hop("film.film.directed_by"))
    time_zones = Hop("location.location.time_zones")
    assert keeps_apart(Hop("location.country.capital"), time_zones)
    assert not keeps_apart(Hop("people.person.place_of_birth"), time_zones)


def test_a_small_graph_does_not_starve_and_the_card_says_what_gave_way(graph, tmp_path) -> None:
    strict = PlausibilityConfig(min_together=1.0, max_fan_out=1.0, max_fan_in=1.0)
    config = SynthConfig(count=30, mix={"3-hop": 1}, max_attempts=60, plausibility=strict)
    card = make_questions(graph, config, tmp_path / "run")
    gave_way = card["plausibility_gave_way"]["3-hop"]
    rows = list(read_jsonl(tmp_path / "run/questions.jsonl"))
    assert card["count"] == 30 and {row["structure"] for row in rows} == {"3-hop"}
    assert sum(gave_way.values()) == sum("~" in row["unit"] for row in rows) > 0
