"""Search-on-Graph's tool: rows, the property view, filters, ids, flavours and what it refuses."""

import json
import re
from dataclasses import replace

import pytest

from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.policies import load_policy
from graphwalker.agents.rollout import rollout
from graphwalker.graphs.base import Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.policies.config import PolicyConfig
from graphwalker.protocols.base import FinalAnswer
from graphwalker.query.query import Branch, Hop, Query
from graphwalker.question import Answer, Question
from graphwalker.scoring import score
from graphwalker.tools.base import Call
from support.toy import HUB, MARRIAGE, TOY_NAMES, toy_graph

ADA = Question("q", "Whom did Ada marry?", (Entity("m.0ada", "Ada Mbeki"),))


def world(*, graph=None, settings=None, **options):
    config = EnvironmentConfig(preset="search-on-graph", options=options, **(settings or {}))
    return Environment(graph or toy_graph(), config)


def seen(entity, direction="outgoing", *wanted, question=ADA, box=None, **options):
    arguments = {"entity": entity, "direction": direction}
    arguments |= {"properties_to_filter_for": list(wanted)} if wanted else {}
    return (box or world(**options).toolbox(question)).call(Call("search", arguments))


def test_a_search_shows_the_rows_of_one_side_in_order_of_relation_and_id():
    found = seen("m.0ada", "outgoing", "film.director.film", "people.person.date_of_birth")
    assert found.text == (
        "3 rows:\n"
        "property|propertyLabel|value|valueLabel\n"
        "--|--|--|--\n"
        "film.director.film||m.0film1|The Glass Harbor\n"
        "film.director.film||m.0film2|Night, Again\n"
        "people.person.date_of_birth||1961-08-04|"
    )
    assert [t.tail.id for t in found.triples][:2] == ["m.0film1", "m.0film2"]
    no_filter = {"entity": "m.0ada", "direction": "outgoing", "properties_to_filter_for": None}
    assert world().toolbox(ADA).call(Call("search", no_filter)).text == seen("m.0ada").text


def test_a_cvt_node_has_no_label_and_is_walked_by_its_id():
    assert f"people.person.spouse_s||{MARRIAGE}|\n" in seen("m.0ada").text + "\n"
    through = seen(MARRIAGE, "outgoing")
    assert "people.marriage.spouse||m.0tom|Tom Lindqvist" in through.text


def test_many_rows_are_shown_as_their_properties_until_they_are_filtered():
    many = seen(HUB, "incoming", rows_without_filter=10)
    assert many.text.splitlines()[0].endswith("search again with some of these in "
                                              "properties_to_filter_for.")  # fmt: skip
    assert not many.triples and len(many.listed[0].hops) == int(
        many.text.splitlines()[1].split()[0]
    )
    chosen = many.listed[0].hops[0].relation
    assert seen(HUB, "incoming", chosen, rows_without_filter=10).triples
    assert seen(HUB, "incoming", rows_without_filter=10, property_view=False).triples


def test_a_constrained_search_names_ids_that_were_shown_and_properties_that_were_listed():
    box = world(rows_without_filter=10).toolbox(ADA)
    place = {"entity": "m.0ada", "direction": "outgoing"}
    wanted = "properties_to_filter_for"
    assert box.choices(Call("search"), "entity") == ["m.0ada"]
    assert box.choices(Call("search", place), wanted) is None
    listed = seen("m.0ada", box=box).listed[0].hops
    assert box.choices(Call("search", place), wanted) == [hop.relation for hop in listed]
    shown = box.choices(Call("search"), "entity")
    assert MARRIAGE in shown and not any(one.startswith('"') for one in shown)


def test_beyond_the_most_rows_the_first_are_shown_and_the_others_counted():
    cut = seen(HUB, "incoming", rows_without_filter=99, most_rows=4)
    assert len(cut.triples) == 4 and cut.hidden > 10
    assert f"(+{cut.hidden} more)" in cut.text
    assert int(cut.text.split()[0]) == 4 + cut.hidden


def test_the_json_form_is_what_a_sparql_server_answers():
    made = seen("m.0ada", "outgoing", "people.person.date_of_birth", output="json")
    (row,) = json.loads(made.text.split("\n", 1)[1])["results"]["bindings"]
    assert row["property"] == {"type": "uri", "value": "people.person.date_of_birth"}
    assert row["value"] == {"type": "literal", "value": "1961-08-04"}


def test_a_name_that_would_break_a_row_stands_in_quotes():
    graph = MemoryGraph([("m.a", "r.r.to", "m.b")], {"m.a": "A", "m.b": 'x|y\n"z"'})
    text = seen("m.a", graph=graph, question=Question("q", "?", (Entity("m.a", "A"),))).text
    assert text.splitlines()[-1] == r'r.r.to||m.b|"x\u007cy\n\"z\""'


MISTAKES = [
    ("find", {}, "unknown_tool", "use search"),
    ("search", {"entity": "m.0ada"}, "bad_arguments",
     "missing: the arguments are entity, direction, properties_to_filter_for (optional)"),
    ("search", {"entity": "m.0ada", "direction": "both"}, "bad_arguments", "incoming"),
    ("search", {"entity": "m.none", "direction": "incoming"}, "unknown_entity", "m.0ada"),
    ("search", {"entity": "Ada Mbeki", "direction": "incoming"}, "unknown_entity",
     "its id is 'm.0ada'"),
    ("search", {"entity": '"1961"', "direction": "incoming"}, "no_relations", "a value"),
    ("search", {"entity": "m.0genre1", "direction": "outgoing"}, "no_triples", "try incoming"),
    ("search", {"entity": "m.0ada", "direction": "outgoing",
                "properties_to_filter_for": ["film.film"]}, "unknown_relation",
     "film.director.film"),
]  # fmt: skip


def test_a_mistake_is_told_with_the_next_move():
    for tool, arguments, kind, told in MISTAKES:
        found = world().toolbox(ADA).call(Call(tool, arguments))
        assert (found.error, told in found.text) == (kind, True), found.text


def test_answers_resolve_by_label_or_by_id():
    box = world().toolbox(ADA)
    seen("m.0ada", box=box)
    assert box.entity_id("The Glass Harbor") == "m.0film1"
    assert box.entity_id(MARRIAGE) == MARRIAGE
    assert box.entity_id("m.0bob") == ""  # never shown


def wikidata():
    base = "http://www.wikidata.org/"
    entity, direct = f"{base}entity/Q", f"{base}prop/direct/P"
    facts = [
        (f"{entity}20", f"{direct}36", f"{entity}585"),
        (f"{entity}20", f"{base}prop/P6", f"{base}entity/statement/s1"),
        (f"{base}entity/statement/s1", f"{base}prop/qualifier/P580", '"2021"'),
    ]
    names = {f"{entity}20": "Norway", f"{entity}585": "Oslo", f"{base}entity/P36": "capital"}
    return MemoryGraph(facts, names)


def test_wikidata_is_written_with_its_prefixes_and_statements_are_walked():
    asked = Question("q", "?", (Entity("Q20", "Norway"),))
    env = world(graph=wikidata(), settings={"layers": {"wikidata": True}})
    box = env.toolbox(asked)
    assert box.topic_text() == "{'Norway': 'wd:Q20'}"
    for name in ("wd:Q20", "Q20"):
        assert "wdt:P36|capital|wd:Q585|Oslo" in seen(name, "outgoing", "wdt:P36", box=box).text
    rows = seen("wd:Q20", box=box)
    (statement,) = [t.tail.id for t in rows.triples if t.relation.startswith("p.P6")]
    assert "pq:P580|start time|2021|" in seen(statement, box=box).text
    query = Query((Branch(asked.topic_entities[0], (Hop("wdt.P36.capital"),)),))
    question = replace(asked, answers=(Answer("Oslo", "Q585"),), query=query)
    (done,) = rollout([question], env, load_policy(PolicyConfig(model="oracle"), environment=env))
    assert done.answer == ("Oslo",) and done.answer_ids == ("Q585",)
    assert done.turns[0].action["arguments"]["entity"] == "wd:Q20"


@pytest.mark.parametrize("dataset", ["simpleqa", "webqsp", "cwq", "grailqa", "qald"])
def test_exemplars_are_written_as_the_agent_writes_and_reads(dataset):
    env = world(exemplars=5, exemplars_of=dataset)
    _, examples = env.agent.prompt.system.split("Examples:\n\n")
    assert examples.count("Question: ") == 5 and "{exemplars}" not in env.agent.prompt.system
    for one in examples.split("\n\n"):
        *_, last = one.split("</tool_response>\n")
        assert isinstance(env.protocol.parse(last)[1], FinalAnswer)
        for call in re.findall("<tool_call>.*?</tool_call>", one, re.DOTALL):
            assert isinstance(env.protocol.parse(call)[1], Call)


def by_oracle(topic, hop, **options):
    """The oracle's episode of a question that one hop answers."""
    env, start = world(**options), Entity(topic, TOY_NAMES[topic])
    gold = tuple(Answer(e.name, e.id) for e in env.graph.step(topic, hop.relation, hop.direction))
    question = Question("q", "Who?", (start,), gold, query=Query((Branch(start, (hop,)),)))
    (done,) = rollout([question], env, load_policy(PolicyConfig(model="oracle"), environment=env))
    assert gold and score(done)["em"] == 1.0
    return done


def test_the_oracle_walks_a_cvt_node_and_counts_no_way_back():
    done = by_oracle("m.0ada", Hop("people.person.spouse_s..people.marriage.spouse"))
    assert done.answer_ids == ("m.0tom",)
    assert [t.action["arguments"]["entity"] for t in done.turns[:-1]] == ["m.0ada", MARRIAGE]


def test_the_oracle_filters_where_the_rows_are_too_many():
    hop = seen(HUB, "incoming", rows_without_filter=5).listed[0].hops[0]
    done = by_oracle(HUB, hop, rows_without_filter=5)
    assert "properties_to_filter_for" in done.turns[1].action["arguments"]
