"""The tools over the Model Context Protocol, by the SDK's own client."""

import asyncio
import json
import subprocess
import sys

import pytest

pytest.importorskip("mcp")

import graphwalker as gw
from graphwalker.errors import UserError
from graphwalker.integrations.mcp_server import FIND, LONGEST, make_server
from graphwalker.question import Question
from graphwalker.tools.base import Call
from support.toy import toy_graph


def talk(server, *calls):
    """The tools that a client is shown, and (text, whether it is an error) of each call."""
    from mcp import Client

    async def run():
        async with Client(server) as client:
            tools = (await client.list_tools()).tools
            answers = [await client.call_tool(name, arguments) for name, arguments in calls]
            return tools, [(one.content[0].text, bool(one.is_error)) for one in answers]

    return asyncio.run(run())


def world(**settings):
    return gw.Environment(toy_graph(), gw.EnvironmentConfig(**settings))


def first_entity():
    graph = toy_graph()
    return next(graph.entity_at(number) for number in range(graph.size))


def test_a_client_sees_what_an_agent_sees():
    environment, topic = world(), first_entity()
    box = environment.toolbox(Question("q", "", (topic,)))
    listed = box.call(Call("get_relations", {"entity": topic.name})).text
    relation = listed.split(", ")[0]
    facts = box.call(Call("get_triples", {"entity": topic.name, "relations": [relation]})).text
    tools, answers = talk(
        make_server(environment),
        ("get_relations", {"entity": topic.name}),
        ("get_triples", {"entity": topic.name, "relations": [relation]}),
    )
    assert [tool.name for tool in tools] == [FIND, "get_relations", "get_triples"]
    assert answers == [(listed, False), (facts, False)]


def test_what_was_listed_stays_listed_under_any_question():
    entity, more = {"entity": first_entity().name}, {"question": "What is it?"}
    _, ((listed, _),) = talk(make_server(world()), ("get_relations", {**entity, "question": None}))
    facts = {**entity, "relations": [listed.split(", ")[0]]}
    for questions in ((more, more), ({}, more), (more, {"question": "Where?"})):
        first, second = (
            {**one, **two} for one, two in zip((entity, facts), questions, strict=True)
        )
        calls = ("get_relations", first), ("get_triples", second), ("get_triples", facts)
        _, answers = talk(make_server(world()), *calls)
        assert not any(failed for _, failed in answers), answers


def test_an_entity_is_found_by_a_part_of_its_name():
    name = first_entity().name
    _, [(text, failed)] = talk(make_server(world()), (FIND, {"text": name[:4]}))
    assert name in text and not failed


UNANSWERED = [
    ("no_tool", {}), ("get_relations", {}), ("get_relations", {"entity": "Nobody"}),
    ("get_relations", {"entity": "a\0yz"}), ("get_relations", {"entity": "\ud800x"}),
    (FIND, {"text": "x\0yz \udfff"}), ("get_relations", {"entity": 3}),
    ("get_relations", {"entity": "x" * LONGEST}), ("__init__", {"entity": "x"}),
    ("get_relations", {"entity": first_entity().name, "question": ["Who?"]}),
]  # fmt: skip


def test_what_cannot_be_answered_is_an_error_result():
    _, answers = talk(make_server(world()), *UNANSWERED)
    assert len(answers) == 10 and all(failed and text for text, failed in answers)


@pytest.mark.parametrize("preset", ["graphwalker-wide", "search-on-graph", "kg-r1"])
def test_other_presets_have_their_own_tools(preset):
    environment = world(preset=preset)
    tools, _ = talk(make_server(environment))
    assert [tool.name for tool in tools[1:]] == list(environment.tools)
    assert all(tool.input_schema["properties"] for tool in tools)


def test_tools_that_name_ids_take_a_name_or_the_id_that_was_found():
    search = {"direction": "outgoing", "properties_to_filter_for": ["film.director.film"]}
    _, answers = talk(
        make_server(world(preset="search-on-graph")),
        (FIND, {"text": "Ada Mbeki"}),
        ("search", {"entity": "m.0ada", **search}),
        ("search", {"entity": "Ada Mbeki", **search}),
    )
    (found, _), (by_id, failed), (by_name, _) = answers
    assert "m.0ada Ada Mbeki" in found
    assert by_id == by_name and "m.0film1|The Glass Harbor" in by_id and not failed


def test_a_namesake_is_found_with_its_id_and_called_so():
    film, city = "m.0film3", "m.0city1"
    _, answers = talk(
        make_server(world()),
        (FIND, {"text": "Springfield"}),
        *(("get_relations", {"entity": f"Springfield ({one})"}) for one in (film, city, "m.no")),
        *(("get_relations", {"entity": one}) for one in (film, city)),
    )
    (found, _), *spelled, (_, unknown), by_film, by_city = answers
    assert found.count("Springfield (m.0") == 1 and unknown
    assert spelled == [by_film, by_city] and by_film != by_city


def test_each_tool_and_argument_is_described():
    tools, _ = talk(make_server(world(preset="kg-r1")))
    assert tools[1].description == "The relations that lead out of an entity."
    tail = next(tool for tool in tools if tool.name == "get_tail_entities")
    assert "listed" in tail.input_schema["properties"]["relation"]["description"]


def test_a_set_of_graphs_is_refused_before_a_client_comes(tmp_path):
    node = ["a", ["Thing"], {"key": "a"}]
    line = {"name": "g1", "nodes": [node], "relationships": []}
    (tmp_path / "graphs.jsonl").write_text(json.dumps(line) + "\n")
    environment = gw.Environment(str(tmp_path), gw.EnvironmentConfig(preset="graphwalk"))
    with pytest.raises(UserError, match="names it"):
        make_server(environment)


def test_a_preset_that_plans_is_refused():
    with pytest.raises(UserError, match="no tools to call one by one"):
        make_server(world(preset="graphrunner"))


def test_the_command_speaks_over_the_standard_streams(toy_folder):
    from mcp import StdioServerParameters
    from mcp.client.stdio import stdio_client

    command = ["-m", "graphwalker", "mcp", "--graph", str(toy_folder)]
    server = stdio_client(StdioServerParameters(command=sys.executable, args=command))
    _, [(text, failed)] = talk(server, ("get_relations", {"entity": first_entity().name}))
    assert text and not failed


def test_a_line_that_the_sdk_cannot_read_is_answered_under_its_id(toy_folder):
    call = '{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "\\ud800"}}'
    odd = '{"jsonrpc": "2.0", "id": 8, "method": 3}'
    words = [sys.executable, "-m", "graphwalker", "mcp", "--graph", str(toy_folder)]
    lines = f"{call}\n{odd}\nnot json\n"
    done = subprocess.run(words, input=lines, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    codes = [(one["id"], one["error"]["code"]) for one in answers]
    assert codes == [(7, -32700), (8, -32600), (None, -32700)]
