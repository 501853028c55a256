"""Plausible walks: what the listings of a graph say of a hop, and how the rule gives way."""

from data_pipeline.config import SynthConfig
from data_pipeline.synthesize import make_questions
from data_pipeline.walks.plausibility import Plausibility, PlausibilityConfig, company_of
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


def test_an_entity_is_left_by_what_it_is_about() -> None:
    hops = [Hop(BORN), Hop(TASTE), parse_hop(f"~{WORKS}")]
    assert judge().central("p0", hops) == hops
    assert Hop(TASTE) not in judge(min_domain_share=0.3).central("p0", hops)


def test_a_small_graph_does_not_starve_and_the_card_says_what_gave_way(graph, tmp_path) -> None:
    strict = PlausibilityConfig(min_together=1.0, max_fan_out=1.0, max_fan_in=1.0)
    config = SynthConfig(count=30, mix={"3-hop": 1}, max_attempts=60, plausibility=strict)
    card = make_questions(graph, config, tmp_path / "run")
    gave_way = card["plausibility_gave_way"]["3-hop"]
    rows = list(read_jsonl(tmp_path / "run/questions.jsonl"))
    assert card["count"] == 30 and {row["structure"] for row in rows} == {"3-hop"}
    assert sum(gave_way.values()) == sum("~" in row["unit"] for row in rows) > 0
