"""Which demonstrations the rows of WebQSP are trained on."""

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.webqsp_config import RowsConfig
from benchmarks.webqsp_demonstrations import (
    balanced,
    deepest_place,
    first_relations,
    repeated,
    ways_back,
)
from benchmarks.webqsp_types import _size, _topic, next_anywhere, next_relations
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.rollout import rollout
from graphwalker.config import parse_config
from graphwalker.errors import UserError
from graphwalker.files import read_records, write_jsonl
from graphwalker.graphs.base import Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.policies.scripted import ScriptedPolicy
from graphwalker.question import Question
from graphwalker.trajectory import Trajectory

GRAPH = MemoryGraph(
    [("m.a", f"r.r.to{k}", "m.b") for k in range(3)], {"m.a": "A", "m.b": "B", "m.c": "C"}
)
LOOK = '<kg-query> get_relations("A") </kg-query>'
DONE = '<answer> ["#1"] </answer>'


def walk(name: str, *lines: str, shown: int = 3) -> Trajectory:
    config = EnvironmentConfig(preset="graphwalker-wide", ranker="bm25", top_relations=shown)
    question = Question(name, "Where?", (Entity("m.a", "A"),))
    policy = ScriptedPolicy({name: [LOOK, *lines, DONE]})
    return next(iter(rollout([question], Environment(GRAPH, config), policy)))


def take(relation: str) -> str:
    return f'<kg-query> get_triples("A", ["{relation}"]) </kg-query>'


def test_the_place_of_a_relation_is_that_in_its_list():
    listed = walk("q").turns[0].listed[0].hops
    assert [deepest_place(walk("q", take(hop.relation))) for hop in listed] == [0, 1, 2]
    paged = walk("q", '<kg-query> get_relations("A", 2) </kg-query>', take("r.r.to2"), shown=1)
    assert deepest_place(paged) is None


def structured(one: Trajectory, structure: str, hops: int) -> Trajectory:
    return replace(one, question=replace(one.question, structure=structure, hops=hops))


def test_walks_are_left_out_until_the_first_relation_has_its_share(tmp_path: Path):
    listed = [hop.relation for hop in walk("q").turns[0].listed[0].hops]
    walks = [walk(f"f{k}", take(listed[0])) for k in range(6)]
    walks += [walk(f"l{k}", take(listed[1])) for k in range(6)] + [walk("d", take(listed[2]))]
    walks = [structured(one, "1-hop", 1) for one in walks]
    walks.append(structured(walk("f6", take(listed[0])), "type", 1))
    walks += [structured(walk(f"t{k}", take(listed[1])), "type", 1) for k in range(2)]
    walks.append(structured(walk("several", take(listed[2])), "type", 2))
    source, out = tmp_path / "all.jsonl", tmp_path / "kept.jsonl"
    write_jsonl(source, (one.to_json() for one in walks))
    assert balanced(source, out, 0.75, 2, 0) == {
        "first": 7,
        "later": 2,
        "several_hops": 1,
        "dropped": 1,
        "rows": 10,
    }
    first = out.read_bytes()
    balanced(source, out, 0.75, 2, 0)
    assert out.read_bytes() == first
    assert balanced(source, out, 0.75, 2, 0, structure_copies={"type": 3})["rows"] == 14


def test_walks_with_a_rare_relation_are_trained_on_several_times():
    walks = [walk(f"often{k}", take("r.r.to0")) for k in range(6)]
    walks += [walk(f"rarely{k}", take("r.r.to1")) for k in range(2)]
    walks += [walk("both", take("r.r.to0"), take("r.r.to2"))]
    rows = [one.question.id for one in repeated(walks, {1: 4, 2: 3}, 0)]
    counts = {"both": 4, "rarely0": 3, "rarely1": 3} | {f"often{k}": 1 for k in range(6)}
    assert {name: rows.count(name) for name in counts} == counts
    assert len(rows) == sum(counts.values()) and rows != sorted(rows)
    assert rows == [one.question.id for one in repeated(walks, {2: 3, 1: 4}, 0)]


def test_what_comes_before_a_way_back_is_not_learned(tmp_path: Path):
    one = walk("q", take("r.r.to1"))
    led = replace(one, provenance={**one.provenance, "way_back": 2})
    late = replace(one, provenance={**one.provenance, "way_back": 9})
    source, out = tmp_path / "all.jsonl", tmp_path / "led.jsonl"
    write_jsonl(source, (each.to_json() for each in (one, led, late)))
    assert ways_back(source, out) == {"walks": 3, "ways_back": 1}
    (kept,) = read_records(out, Trajectory.from_json)
    assert [error["turn"] for error in kept.provenance["errors"] if error["slip"]] == [0, 1]


def test_every_relation_of_the_graph_is_taken_from_the_first_place(tmp_path: Path):
    questions = [Question("q", "Where does A go?", (Entity("m.a", "A"),), structure="1-hop")]
    questions.append(Question("p", "Who?", (Entity("m.a", "A"),), structure="2-hop"))
    source, out, again = (tmp_path / name for name in ("q.jsonl", "1.jsonl", "2.jsonl"))
    write_jsonl(source, (one.to_json() for one in questions))
    config = EnvironmentConfig(preset="graphwalker-wide", ranker="bm25")
    there = Environment(GRAPH, config)
    assert first_relations(source, there, 6, 0, out) == {"walks": 6, "relations": 3}
    assert first_relations(source, there, 6, 0, again) == {"walks": 6, "relations": 3}
    assert out.read_bytes() == again.read_bytes()
    for one in read_records(out, Trajectory.from_json):
        (topic,) = one.question.topic_entities
        assert one.question.text == f"Where does {topic.name} go?"
        taken = one.turns[1].action["arguments"]["relations"]
        listed = [hop.relation for hop in one.turns[0].listed[0].hops]
        assert taken == listed[:1] and len(listed) == 3
        assert one.answer == ({"A": "B", "B": "A"}[topic.name],)


def test_the_next_relation_is_taken_where_the_one_before_leads_to_no_such_thing(tmp_path: Path):
    names = {"m.a": "A", "m.b": "Barland", "m.c": "Cole", "m.d": "Dorf"}
    types = {"m.b": ["location.country"], "m.c": ["film.film"], "m.d": ["location.citytown"]}
    types["m.a"] = ["location.location"]
    triples = [("m.a", "a.b.c1", "m.c"), ("m.a", "a.b.c2", "m.d"), ("m.a", "a.b.c3", "m.b")]
    graph = MemoryGraph(triples, names, types)
    config = EnvironmentConfig(
        preset="graphwalker-wide", ranker="bm25", options={"types": True, "show_types": True}
    )
    there = Environment(graph, config)
    relations = ("a.b.c1", "a.b.c2", "a.b.c3")
    asked = [
        Question(r, "what country?", (Entity("m.a", "A"),), structure="1-hop") for r in relations
    ]
    asked.append(replace(asked[2], id="who", text="who?"))
    policy = ScriptedPolicy(
        {q.id: [LOOK, take("a.b.c3" if q.id == "who" else q.id), DONE] for q in asked}
    )
    source, out = tmp_path / "all.jsonl", tmp_path / "next.jsonl"
    write_jsonl(source, (run.to_json() for run in rollout(asked, there, policy)))
    assert next_relations(source, there, out) == {"later": 1}
    (made,) = read_records(out, Trajectory.from_json)
    assert made.question.id == "a.b.c3" and made.answer == ("Barland",)
    taken = [turn.action["arguments"]["relations"] for turn in made.turns[1:-1]]
    assert taken == [["a.b.c1"], ["a.b.c2"], ["a.b.c3"]]
    kinds = [turn.observation.partition(" [")[0] for turn in made.turns[1:-1]]
    assert kinds == ["#1: (country: none)", "#2: (country: none)", "#3: (country: all)"]
    assert made.turns[-1].action == {"answer": ["#3"]}


def test_another_relation_is_moved_before_the_right_one_or_tried_in_vain(tmp_path: Path):
    types = {"m.b": ["book.book"], "m.c": ["film.film"], "m.a": ["location.location"]}
    triples = [("m.a", "a.b.c1", "m.b"), ("m.a", "a.b.c2", "m.c")]
    graph = MemoryGraph(triples, {"m.a": "A", "m.b": "Barland", "m.c": "Cole"}, types)
    config = EnvironmentConfig(
        preset="graphwalker-wide", ranker="bm25", options={"show_types": True}
    )
    there = Environment(graph, config)
    asked = [
        Question(text, text, (Entity("m.a", "A"),), structure="1-hop")
        for text in ("what book?", "what river?", "who?")
    ]
    policy = ScriptedPolicy({q.id: [LOOK, take("a.b.c1"), DONE] for q in asked})
    source, out = tmp_path / "all.jsonl", tmp_path / "next.jsonl"
    write_jsonl(source, (run.to_json() for run in rollout(asked, there, policy)))
    assert next_relations(source, there, out) == {"moved": 1, "in_vain": 1}
    moved, in_vain = read_records(out, Trajectory.from_json)
    assert [hop.relation for hop in moved.turns[0].listed[0].hops] == ["a.b.c2", "a.b.c1"]
    assert moved.turns[-1].action == {"answer": ["#2"]}
    assert in_vain.turns[-1].action == {"answer": ["#1"]} and len(in_vain.turns) == 4
    assert moved.answer == in_vain.answer == ("Barland",)


def test_a_question_for_a_type_takes_no_first_relation_where_types_are_shown(tmp_path: Path):
    texts = ("What city does A know?", "Where does A go?")
    questions = [Question(t, t, (Entity("m.a", "A"),), structure="1-hop") for t in texts]
    source, out = tmp_path / "q.jsonl", tmp_path / "first.jsonl"
    write_jsonl(source, (one.to_json() for one in questions))
    types = {"m.a": ["location.location"], "m.b": ["location.citytown"]}
    triples = [("m.a", f"r.r.to{k}", "m.b") for k in range(3)]
    graph = MemoryGraph(triples, {"m.a": "A", "m.b": "B"}, types)
    for shown, asked in ((False, {"What", "Where"}), (True, {"Where"})):
        options = {"show_types": shown}
        config = EnvironmentConfig(preset="graphwalker-wide", ranker="bm25", options=options)
        first_relations(source, Environment(graph, config), 12, 0, out)
        made = read_records(out, Trajectory.from_json)
        assert {walk.question.text.split()[0] for walk in made} == asked


def test_a_result_without_what_is_asked_for_is_not_answered_with(tmp_path: Path):
    names, types = {"m.a": "A", "m.b": "B"}, {"m.a": ["location.location"], "m.b": ["film.film"]}
    graph = MemoryGraph([("m.a", "r.r.to0", "m.b")], names, types)
    for shown, kept in ((False, 2), (True, 1)):
        options = {"show_types": shown}
        config = EnvironmentConfig(preset="graphwalker-wide", ranker="bm25", options=options)
        asked = [
            Question(text, text, (Entity("m.a", "A"),), structure="1-hop")
            for text in ("What city does A know?", "Whom does A know?")
        ]
        policy = ScriptedPolicy({q.id: [LOOK, take("r.r.to0"), DONE] for q in asked})
        source, out = tmp_path / "all.jsonl", tmp_path / "kept.jsonl"
        walks = rollout(asked, Environment(graph, config), policy)
        write_jsonl(source, (run.to_json() for run in walks))
        assert balanced(source, out, 1.0, 8, 0)["rows"] == kept


def test_the_list_is_gone_down_at_any_entity(tmp_path: Path):
    names = {f"m.{k}": f"Place {k}" for k in range(12)}
    types = {i: ["film.film" if int(i[2:]) % 3 else "location.country"] for i in names}
    triples = [
        (f"m.{k}", f"a.b.c{step}", f"m.{(k + step) % 12}")
        for k in range(12)
        for step in range(1, 7)
    ]
    options = {"types": True, "show_types": True}
    config = EnvironmentConfig(preset="graphwalker-wide", ranker="bm25", options=options)
    there = Environment(MemoryGraph(triples, names, types), config)
    asked = Question("q", "what country does Place 0 know?", (Entity("m.0", "Place 0"),))
    source, out, again = (tmp_path / name for name in ("q.jsonl", "1.jsonl", "2.jsonl"))
    write_jsonl(source, [replace(asked, structure="1-hop").to_json()])
    counts = next_anywhere(source, there, 60, 0, out)
    assert next_anywhere(source, there, 60, 0, again) == counts
    assert out.read_bytes() == again.read_bytes()
    walks = list(read_records(out, Trajectory.from_json))
    assert len(walks) == sum(counts.values()) and {"tries_1", "tries_2", "tries_5"} <= set(counts)
    for walk in walks:
        listed = list(dict.fromkeys(hop.relation for hop in walk.turns[0].listed[0].hops))
        taken = [turn.action["arguments"]["relations"][0] for turn in walk.turns[1:-1]]
        assert taken == listed[: len(taken)]
        shares = [turn.observation.partition(")")[0].split(": ")[2] for turn in walk.turns[1:-1]]
        (written,) = walk.turns[-1].action["answer"]
        assert set(shares[:-1]) <= {"none"}
        if shares[-1] == "none":
            assert written == "#1" and len(shares) == 5
        else:
            assert written.split()[0] == f"#{len(taken)}"
            assert (" " in written) is (shares[-1] != "all")


def test_further_pages_of_a_result_without_the_type_are_not_read(tmp_path: Path):
    names = {"m.a": "A", "m.b": "Barland"} | {f"m.f{k}": f"Film {k}" for k in range(30)}
    types = {i: ["film.film" if i[2] == "f" else "location.location"] for i in names}
    types["m.b"] = ["location.country"]
    triples = [("m.a", "a.b.c1", "m.b"), *(("m.a", "a.b.c2", f"m.f{k}") for k in range(30))]
    options = {"show_types": True}
    config = EnvironmentConfig(preset="graphwalker-wide", ranker="bm25", options=options)
    there = Environment(MemoryGraph(triples, names, types), config)
    asked = [Question("q", "what country?", (Entity("m.a", "A"),), structure="1-hop")]
    policy = ScriptedPolicy({"q": [LOOK, take("a.b.c1"), DONE]})
    source, out = tmp_path / "all.jsonl", tmp_path / "next.jsonl"
    write_jsonl(source, (run.to_json() for run in rollout(asked, there, policy)))
    assert next_relations(source, there, out)["moved"] == 1
    walk = next(iter(read_records(out, Trajectory.from_json)))
    taken = [turn.action["arguments"] for turn in walk.turns[1:-1]]
    assert [one["relations"] for one in taken] == [["a.b.c2"], ["a.b.c1"]]
    assert not any("page" in one for one in taken) and walk.turns[1].hidden


def test_further_pages_of_what_is_answered_with_are_read_where_they_are_wanted(tmp_path: Path):
    names = {"m.a": "A"} | {f"m.f{k}": f"Film {k}" for k in range(30)}
    types = {i: ["film.film" if i[2] == "f" else "location.location"] for i in names}
    triples = [("m.a", "a.b.c1", f"m.f{k}") for k in range(30)]
    options = {"types": True, "show_types": True}
    config = EnvironmentConfig(preset="graphwalker-wide", ranker="bm25", options=options)
    there = Environment(MemoryGraph(triples, names, types), config)
    asked = Question("q", "what films does A know?", (Entity("m.a", "A"),), structure="1-hop")
    source, out = tmp_path / "q.jsonl", tmp_path / "out.jsonl"
    write_jsonl(source, [asked.to_json()])
    next_anywhere(source, there, 20, 0, out)
    walks = [w for w in read_records(out, Trajectory.from_json) if "does A " in w.question.text]
    assert not any("films: all" in turn.observation for w in walks for turn in w.turns)
    next_anywhere(source, there, 20, 0, out, pages=True)
    walks = [w for w in read_records(out, Trajectory.from_json) if "does A " in w.question.text]
    paged = [w for w in walks if "films" in w.question.text]
    assert paged
    for walk in paged:
        pages = [turn.action["arguments"].get("page") for turn in walk.turns[1:-1]]
        assert pages == [None, 2] and len(walk.answer) == 30
        assert walk.turns[-1].action == {"answer": ["#1"]}


def test_every_second_or_third_entity_is_a_large_one():
    triples = [("m.s", "a.b.c", "m.s1"), *(("m.l", "a.b.c", f"m.l{k}") for k in range(30))]
    triples += [("m.h", "a.b.c", f"m.h{k}") for k in range(101)]
    triples += [("m.l", "a.b.d", f"m.d{k}") for k in range(80)]
    names = {one: f"The {one[2:]}" for triple in triples for one in triple[::2]}
    graph = MemoryGraph(triples, names)
    there = Environment(graph, EnvironmentConfig(preset="graphwalker-wide", ranker="bm25"))
    topics = {"m.s", "m.l", "m.h"}
    places = [k for k in range(graph.size) if graph.entity_at(k).id in topics]
    for pages in (False, True):
        drawn = [_topic(there, places, "a.b.c", random.Random(n), pages).id for n in range(300)]
        counts = Counter(drawn)
        # Any in every second or third; else the one of eight with the most triples, "m.l", or with
        # the most of this relation that can be read: "m.h" has more than five pages of it.
        assert counts["m.s"] + counts["m.h"] < 130 < counts["m.l"]
    assert _size(there, Entity("m.h", ""), "a.b.c") == 0
    assert _size(there, Entity("m.l", ""), "a.b.c") == 30


@pytest.mark.parametrize("field", ["balanced", "repeats"])
def test_a_set_that_no_demonstrations_are_of_is_named(field: str):
    given = ["synthesis", "webqps"] if field == "balanced" else {"webqps": 2}
    row = {"ranker": {"synthesis": 1.0}, "demonstrations": {"synthesis": 10}, field: given}
    with pytest.raises(UserError, match=f"rows.first: {field}: no demonstrations of webqps"):
        parse_config(RowsConfig, {"rows": {"first": row}}, "rows.yaml")
