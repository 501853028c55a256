"""The tools of GraphWalker's released client: its limits, where they differ from the paper's."""

from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.graphs.base import Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.question import Question
from graphwalker.tools.base import Call
from support.toy import toy_graph

HUB = MemoryGraph(
    [
        *(("m.a", "r.r.out", f"m.b{k:02d}") for k in range(25)),
        *((f"m.c{k:02d}", "r.r.into", "m.a") for k in range(25)),
        *(("m.a", f"r.r.x{k:03d}", "m.z") for k in range(150)),
    ],
    {"m.a": "A", "m.z": "Z"}
    | {f"m.b{k:02d}": f"B{k}" for k in range(25)}
    | {f"m.c{k:02d}": f"C{k}" for k in range(25)},
)


def box(graph, topic):
    env = Environment(graph, EnvironmentConfig(preset="graphwalker-code"))
    return env.toolbox(Question("q", "Whom did she marry?", (topic,)))


def triples(tools, name, *relations):
    return tools.call(Call("get_triples", {"entity": name, "relations": list(relations)}))


def test_ten_relations_are_listed_of_the_first_hundred_of_each_side():
    seen = box(HUB, Entity("m.a", "A")).call(Call("get_relations", {"entity": "A"}))
    assert len(seen.relations) == 10 and seen.hidden == 100 + 1 - 10


def test_ten_tails_and_twenty_heads_are_shown():
    tools = box(HUB, Entity("m.a", "A"))
    assert len(triples(tools, "A", "r.r.out").triples) == 10
    listed = tools.call(Call("get_relations", {"entity": "C3"}))
    assert listed.relations == ("r.r.into",)
    assert len(triples(tools, "A", "r.r.into").triples) == 20


def test_a_relation_is_not_checked_on_the_first_turn_and_then_it_is():
    tools = box(HUB, Entity("m.a", "A"))
    assert triples(tools, "A", "r.r.out").triples
    assert triples(tools, "A", "r.r.into").error == "not_listed_yet"


def test_relations_are_listed_plain_and_followed_through_cvt_nodes():
    ada = Entity("m.0ada", "Ada Mbeki")
    tools = box(toy_graph(), ada)
    listed = tools.call(Call("get_relations", {"entity": "Ada Mbeki"})).relations
    assert "people.person.spouse_s" in listed
    assert not any(".." in relation for relation in listed)
    seen = triples(tools, "Ada Mbeki", "people.person.spouse_s")
    assert "people.person.spouse_s..people.marriage.spouse" in seen.relations
    assert "Tom Lindqvist" in seen.text
