"""Calls that start at a result: what all of its entities lead to, and nothing else."""

import random
from collections.abc import Sequence

import pytest

from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.question import Question
from graphwalker.tools.base import Call, Frontiers, Observation
from graphwalker.tools.walker import WalkerSettings
from graphwalker.tools.wide.frontier import FrontierOptions, FrontierTools
from graphwalker.tools.wide.references import ReferenceTools

TRIPLES = [
    ("m.a", "x.y.made", "m.b"),
    ("m.a", "x.y.made", "m.c"),
    ("m.b", "x.y.kind", "m.d"),
    ("m.c", "x.y.kind", "m.d"),
    ("m.c", "x.y.kind", "m.e"),
    ("m.f", "x.y.likes", "m.c"),
    ("m.c", "x.y.part", "m.b"),
    ("m.d", "x.y.of", "m.a"),
]
NAMES = {
    "m.a": "Ann",
    "m.b": "Boat",
    "m.c": 'Car, "red"',
    "m.d": "Drama",
    "m.e": "Epic",
    "m.f": "Fay",
}
ANN = Entity("m.a", "Ann")


def tools(ends: int = 100, budget: int = 0, names: dict[str, str] = NAMES) -> FrontierTools:
    graph, question = MemoryGraph(TRIPLES, names), Question("q", "What kinds?", (ANN,))
    limits = WalkerSettings(max_observation_chars=budget)
    box = FrontierTools(graph, question, limits, options=FrontierOptions(ends=ends))
    look(box, "Ann")
    ask(box, "Ann", "made")
    return box


def look(box: FrontierTools, entity: str, page: int = 1) -> Observation:
    more = {"page": page} if page > 1 else {}
    return box.call(Call("get_relations", {"entity": entity, **more}))


def ask(box: FrontierTools, entity: str, *relations: str, page: int = 1) -> Observation:
    more = {"page": page} if page > 1 else {}
    wanted = [f"x.y.{relation}" for relation in relations]
    return box.call(Call("get_triples", {"entity": entity, "relations": wanted, **more}))


def test_a_result_has_the_relations_of_all_its_entities():
    seen = look(tools(), "#1")
    assert set(seen.text.split(", ")) == {"x.y.kind", "x.y.part", "x.y.likes", "x.y.made"}
    of = {one.entity_id: {hop.relation for hop in one.hops} for one in seen.listed}
    assert of["m.b"] == {"x.y.made", "x.y.kind", "x.y.part"}
    assert of["m.c"] == {"x.y.made", "x.y.kind", "x.y.part", "x.y.likes"}


def test_its_triples_are_their_ends_each_once():
    box = tools()
    look(box, "#1")
    seen = ask(box, "#1", "kind")
    assert seen.text == "#2: [#1, x.y.kind, [Drama, Epic]]"
    assert [(t.head.id, t.tail.id) for t in seen.triples] == [("m.b", "m.d"), ("m.c", "m.e")]
    assert box.resolve(["#2"]) == ("Drama", "Epic")
    assert ask(box, "#1", "likes").text == "#3: [[Fay], x.y.likes, #1]"
    assert ask(box, "#1", "part", "likes").text == (
        '#4: [#1, x.y.part, [Boat]], [["Car, \\"red\\""], x.y.part, #1], [[Fay], x.y.likes, #1]'
    )


def test_a_result_of_a_result_is_a_frontier_too_and_never_holds_the_topic():
    box = tools()
    look(box, "#1")
    ask(box, "#1", "kind")
    look(box, "#2")
    seen = ask(box, "#2", "of")
    assert seen.text == "#3: [#2, x.y.of, [Ann]]"
    alone = box.resolve(["#3"])
    assert isinstance(alone, Observation) and "entities of the question alone" in alone.text
    refused = look(box, "#3")
    assert refused.error == "unknown_reference" and "copy names" in refused.text


def test_one_entity_of_a_result_is_as_if_named():
    box = tools()
    named, pointed = look(box, "Boat"), look(box, "#1.1")
    assert named.text == pointed.text and named.listed == pointed.listed
    assert ask(box, "#1.1", "kind").text == "#2: [Boat, x.y.kind, Drama]"


@pytest.mark.parametrize(
    ("entity", "error", "says"),
    [
        ("#9", "unknown_reference", "#1 is the only one"),
        ("#1.7", "unknown_reference", "#1 leads to 2"),
        ("#0", "unknown_reference", "there is no #0"),
        ("#", "unknown_entity", "copy one of"),
        ("# 1", "unknown_entity", "no entity"),
    ],
)
def test_a_wrong_start_names_the_next_move(entity: str, error: str, says: str):
    seen = look(tools(), entity)
    assert seen.error == error and says in seen.text


def test_before_any_result_there_is_no_start():
    question = Question("q", "What kinds?", (ANN,))
    box = FrontierTools(MemoryGraph(TRIPLES, NAMES), question)
    assert "no triples were shown yet" in look(box, "#1").text


def test_a_shown_entity_of_such_a_name_goes_first():
    box = tools(names={**NAMES, "m.e": "#1"})
    look(box, "#1")
    ask(box, "#1", "kind")  # shows the entity that is called #1
    assert box.members("#1") == ()
    assert look(box, "#1").text == "x.y.kind"


def test_a_relation_that_none_of_them_has_is_refused_with_those_that_they_have():
    box = tools()
    look(box, "#1")
    seen = ask(box, "#1", "of", "died")
    assert seen.error == "unknown_relation" and "#1 has no " in seen.text
    assert {one.entity_id for one in seen.listed} == {"m.b", "m.c"}


def test_pages_show_every_end_once_and_join_one_result():
    box = tools(ends=1)
    look(box, "#1")
    first = ask(box, "#1", "kind")
    assert first.text == (
        '#2: [#1, x.y.kind, [Drama]] (+1 or more)\nMore: get_triples("#1", ["x.y.kind"], 2)'
    )
    assert first.hidden == 1 and box.resolve(["#2"]) == ("Drama",)
    second = ask(box, "#1", "kind", page=2)
    assert second.text.startswith("#2: [#1, x.y.kind, [Epic]]") and not second.hidden
    assert box.resolve(["#2"]) == ("Drama", "Epic")
    assert ask(box, "Ann", "made", page=2).error == "no_such_page"


def test_a_short_observation_is_cut_at_an_entity():
    box = tools(budget=56)
    look(box, "#1")
    seen = ask(box, "#1", "kind", "part")
    shown, _, rest = seen.text.partition(" (+")
    assert shown == "#2: [#1, x.y.kind, [Drama, Epic]], [#1, x.y.part, [Boat]]"
    assert rest == '1 more)\nMore: get_triples("#1", ["x.y.kind", "x.y.part"], 2)'
    second = ask(box, "#1", "kind", "part", page=2)
    assert second.text == '#2: [["Car, \\"red\\""], x.y.part, #1]'


def test_other_tools_have_no_frontiers():
    question = Question("q", "What kinds?", (ANN,))
    box = ReferenceTools(MemoryGraph(TRIPLES, NAMES), question)
    assert not isinstance(box, Frontiers) and isinstance(tools(), Frontiers)
    box.call(Call("get_relations", {"entity": "Ann"}))
    assert box.call(Call("get_relations", {"entity": "#1"})).error == "unknown_entity"


@pytest.mark.parametrize("seed", range(25))
def test_all_pages_together_are_what_the_entities_lead_to_one_by_one(seed: int):
    rng = random.Random(seed)
    nodes = [f"m.{i}" for i in range(14)]
    triples = [
        (rng.choice(nodes), f"x.y.r{rng.randrange(3)}", rng.choice(nodes)) for _ in range(90)
    ]
    graph = MemoryGraph(sorted(set(triples)), {node: f"N{node[2:]}" for node in nodes})
    topic = Entity("m.0", "N0")
    limits = WalkerSettings(triples_per_relation=50)
    options = FrontierOptions(ends=rng.randrange(1, 6))
    box = FrontierTools(graph, Question("q", "?", (topic,)), limits, options=options)
    relations = sorted(set(look(box, "N0").relations))
    start = rng.choice(relations)
    ask(box, "N0", start.removeprefix("x.y."))
    members = [entity.id for entity in box.members("#1")]
    relation = rng.choice(sorted(look(box, "#1").relations) or [""])
    if not members or not relation:
        return
    shown: list[str] = []
    page, hidden = 1, 1
    while hidden:
        seen = ask(box, "#1", relation.removeprefix("x.y."), page=page)
        assert not seen.error
        shown += [end.id for end in seen.shown]
        page, hidden = page + 1, seen.hidden
    one_by_one = _ends(graph, members, relation)
    assert set(shown) == one_by_one
    assert {graph.resolve(name)[0].id for name in _meant(box, "#2")} == one_by_one - {"m.0"}


def _ends(graph: MemoryGraph, members: Sequence[str], relation: str) -> set[str]:
    ends = (graph.step(m, relation, direction) for m in members for direction in Direction)
    return {end.id for found in ends for end in found}


def _meant(box: FrontierTools, name: str) -> Sequence[str]:
    meant = box.resolve([name])
    return () if isinstance(meant, Observation) else meant
