"""Walks that may be asked about: streams that avoid what has its share, and plausible hops."""

import shutil
from pathlib import Path

import pytest

from data_pipeline.attempts import open_maker
from data_pipeline.config import SynthConfig
from data_pipeline.jobs import streams
from data_pipeline.jobs.streams import Stream, StreamOrder
from data_pipeline.outcomes import Drop, SampledWalk
from data_pipeline.synthesize import WALKS, make_questions, make_walks
from data_pipeline.verification.verify import verify_file
from data_pipeline.walks.plausibility import (
    Plausibility,
    PlausibilityConfig,
    company_of,
    truth_relations,
)
from graphwalker.files import read_jsonl
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.graphs.open import open_graph
from graphwalker.query.query import Hop, execute, parse_hop
from graphwalker.tools.listing import lister
from graphwalker.tools.settings import WalkerSettings

CONFIG = SynthConfig(count=60, mix={"4-hop": 1, "2I": 1})
FILES = (WALKS, "dropped.jsonl", "datacard.json")


def test_relations_that_lead_to_truth_values_alone_are_asked_by_nobody() -> None:
    facts = [("Ana", "is active", "True"), ("Ben", "is active", "False"), ("Ana", "sings", "True")]
    facts.append(("Ben", "sings", "Yesterday"))
    graph = MemoryGraph(facts, {node: node for head, _, tail in facts for node in (head, tail)})
    everyone = company_of(graph, [graph.entity_at(index).id for index in range(graph.size)])
    assert truth_relations(graph, everyone) == {"is active"}


@pytest.fixture
def soon(monkeypatch) -> None:
    monkeypatch.setattr(streams, "FULL", 2)
    monkeypatch.setattr(streams, "WINDOW", 6)


@pytest.fixture
def run(soon, graph, tmp_path) -> Path:
    make_walks(graph, CONFIG, tmp_path / "run")
    verdict = verify_file(open_graph(graph), tmp_path / "run" / WALKS)
    assert (verdict.records, verdict.failed) == (60, 0)
    return tmp_path / "run"


def drawn(graph: Path, structure: str, avoided: frozenset[str] = frozenset()) -> list[SampledWalk]:
    maker = open_maker(graph, SynthConfig())
    found = [maker.sample(structure, number, avoided) for number in range(20)]
    return [one for one in found if not isinstance(one, Drop)]


@pytest.mark.parametrize("structure", ["2-hop", "4-hop", "2I", "PI", "IP"])
def test_most_walks_that_are_sampled_may_be_asked_about(graph, structure):
    opened, found = open_graph(graph), drawn(graph, structure)
    assert len(found) > 12
    for one in found:
        assert one.walk.structure == structure and execute(opened, one.walk.query) == one.run
        assert one.run and one.run.widest <= 5


def test_a_walk_takes_no_relation_that_it_is_to_avoid(graph):
    avoided = frozenset(drawn(graph, "2-hop")[0].walk.query.relations)
    found = drawn(graph, "2-hop", avoided)
    assert found and all(avoided.isdisjoint(one.walk.query.relations) for one in found)


def test_a_stream_ends_where_relations_often_have_their_share(soon):
    order = StreamOrder(["4-hop", "2I"], 3, 1000)
    for number in range(7):
        order.add("4-hop", number, "" if number < 5 else "relation_share")
        order.add("2I", number, "" if number < 5 else "shortcut")
    assert (order.stream("4-hop"), order.stream("2I")) == ("4-hop+1", "2I")


def test_a_step_without_records_gives_way_to_the_next(soon):
    order = StreamOrder(["4-hop"], 2, 3)
    for number in range(3):
        order.add("4-hop", number, "dead_end")
    assert order.stream("4-hop") == str(Stream("4-hop", 1))
    for number in range(3):
        order.add("4-hop~1", number, "dead_end")
    assert order.stream("4-hop") is None


@pytest.mark.long
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_run_of_several_streams_is_resumed(graph, run, tmp_path, share):
    assert "+1/" in (run / "dropped.jsonl").read_text() + (run / WALKS).read_text()
    cut = tmp_path / "cut"
    shutil.copytree(run, cut)
    (cut / "datacard.json").unlink()
    lines = (cut / "attempts.jsonl").read_text().splitlines(keepends=True)
    (cut / "attempts.jsonl").write_text("".join(lines[: int(share * len(lines))]))
    make_walks(graph, CONFIG, cut)
    assert contents(cut) == contents(run)


def contents(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in FILES]


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
