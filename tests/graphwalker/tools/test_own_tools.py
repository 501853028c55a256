"""Tools of the user's own: functions that a model calls beside the tools of a preset."""

import json
import logging
import subprocess
import sys
import time

import pytest

from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.rollout import rollout
from graphwalker.errors import GraphError, UserError
from graphwalker.files import read_jsonl, write_jsonl
from graphwalker.graphs.base import Entity
from graphwalker.integrations.tool_schemas import tool_schemas
from graphwalker.policies.base import Sampling
from graphwalker.policies.scripted import ScriptedPolicy
from graphwalker.protocols.base import FinalAnswer
from graphwalker.protocols.grammar import episode_facts
from graphwalker.question import Answer, Question
from graphwalker.tools import own
from graphwalker.tools.base import Call
from support.chat_server import Act, serve
from support.commands import command
from support.grammars import allows
from support.paths import ROOT
from support.toy import toy_graph

CODE = '''
import time
import graphwalker as gw
from graphwalker.errors import GraphError

ADA = gw.Entity("m.0ada", "Ada Mbeki")
def population(city: gw.Entity) -> str:
    """How many people live in a city.

    city: A city of the question.
    """
    return f"{len(city.name)} million"
def mayors(cities: list[gw.Entity], count: int = 1, share: float = 0.5) -> list[gw.Entity]:
    """The mayors of cities."""
    return [ADA] * count if share >= 0.5 else []
def twice(text: str, numbers: list[int]) -> str | None:
    """A text, and the double of numbers."""
    return f"{text}: {[2 * number for number in numbers]}"
def degree(graph: gw.KnowledgeGraph, node: gw.Entity) -> int:
    """How many relations lead out of an entity."""
    return len(graph.relations(node.id))
def broken(city: gw.Entity) -> str:
    """Fails."""
    return {}[city.name]
def odd(city: gw.Entity):
    """Returns what no tool may."""
    return {"city": city}
def endless(city: gw.Entity) -> str:
    """Never ends."""
    while True:
        pass
def offline(city: gw.Entity) -> str:
    """Asks a graph that is not there."""
    raise GraphError("the endpoint is down")
def get_relations(entity: gw.Entity) -> str:
    """Hides ours."""
    return ""
def bare(city) -> str:
    """Has no annotation."""
    return ""
def wrong(when: dict) -> str:
    """Takes a dictionary."""
    return ""
def several(*cities: gw.Entity) -> str:
    """Takes any number."""
    return ""
def returns_set(city: gw.Entity) -> set:
    """Returns a set."""
    return set()
def silent(city: gw.Entity) -> str:
    return ""
limit = 3
'''
TOOLS = ("population", "mayors", "twice", "degree")
CITY = Entity("m.0city2", "Port Sable")
QUESTION = Question(
    "q1", "Who is the mayor of Port Sable?", (CITY,), (Answer("Ada Mbeki", "m.0ada"),)
)
PRESETS = ("graphwalker", "graphwalker-wide", "graphwalker-code", "kg-r1", "search-on-graph")
HERE = {"search-on-graph": "m.0city2"}
"""How a call names the city; by its name where nothing stands here."""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The user's folder, with the module of the tools."""
    (tmp_path / "city_tools.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("city_tools", None)
    return tmp_path


def named(*names):
    return tuple(f"city_tools:{name}" for name in names)


def world(*names, preset="graphwalker", **more):
    config = EnvironmentConfig(preset=preset, tools=named(*(names or TOOLS)), **more)
    return Environment(toy_graph(), config)


def seen(name, names=TOOLS, **arguments):
    return world(*names).toolbox(QUESTION).call(Call(name, arguments))


def completions(environment):
    """Ask for the mayor, and answer with the one shown."""
    city = HERE.get(environment.name, CITY.name)
    call = Call("mayors", {"cities": [city], "count": 1})
    return [environment.protocol.render("", one) for one in (call, FinalAnswer(("Ada Mbeki",)))]


def play(environment):
    policy = ScriptedPolicy({"q1": completions(environment)})
    return next(iter(rollout([QUESTION], environment, policy, Sampling())))


@pytest.mark.parametrize("preset", PRESETS)
def test_a_function_is_shown_called_and_recorded_beside_the_tools_of_a_preset(preset):
    played = play(world(preset=preset))
    assert "The mayors of cities." in played.turns[0].context[0].content
    assert played.turns[0].shown == (Entity("m.0ada", "Ada Mbeki"),)
    assert played.answer_ids == ("m.0ada",) and played.stop == "answered"
    recorded = json.loads(played.provenance["tools"])
    assert [*recorded] == [*named(*TOOLS)] and len(recorded["city_tools:mayors"]) == 16


@pytest.mark.parametrize("prompt", ["compact", "graphwalker"])
def test_a_prompt_shows_the_tools_with_a_place_for_them_or_without(prompt):
    text = "".join(m.content for m in play(world(prompt=prompt)).turns[0].context)
    assert text.count('population("city"): How many people live in a city.') == 1


def test_the_schema_is_made_of_the_annotations_and_the_docstring():
    schemas = {s.name: s for s in tool_schemas(world(preset="search-on-graph"))}
    assert schemas["population"].parameters["properties"] == {
        "city": {"type": "string", "description": "A city of the question."}
    }
    mayors = schemas["mayors"].parameters
    assert mayors["required"] == ["cities"]
    assert mayors["properties"]["cities"]["items"] == {"type": "string"}
    assert [mayors["properties"][n]["type"] for n in ("count", "share")] == ["integer", "number"]
    assert tool_schemas(world())[-4:] == tool_schemas(world(preset="search-on-graph"))[-4:]


def test_numbers_texts_lists_and_the_graph_reach_the_function():
    assert seen("twice", text="a, b", numbers=[1, 20]).text == "a, b: [2, 40]"
    assert seen("degree", node="Port Sable").text.isdigit()
    assert seen("mayors", cities=["port sable"], share=0).text == "no result"
    assert seen("population", city="PORT SABLE").text == "10 million"
    assert seen("mayors", cities=["Port Sable"], count=None, share=None).text == "Ada Mbeki"


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (Call("population", {"city": 3}), "bad_arguments: city must be a string"),
        (Call("population", {"city": None}), "bad_arguments: city must be a string"),
        (Call("population", {}), "bad_arguments: city is missing"),
        (Call("population", {"city": "Port Sabel"}), "unknown_entity: no entity Port Sabel; copy"),
        (Call("twice", {"text": "a", "numbers": ["1"]}), "numbers must be a list of integers"),
        (Call("twice", {"text": "a", "numbers": [True]}), "numbers must be a list of integers"),
        (Call("mayors", {"cities": [], "share": float("inf")}), "share must be a number"),
        (Call("broken", {"city": "Port Sable"}), "tool_failed: broken failed: KeyError"),
        (Call("odd", {"city": "Port Sable"}), "tool_failed: odd returned a dict"),
        (Call("mayor", {}), "unknown_tool: there is no mayor; use get_relations"),
    ],
)
def test_what_a_function_cannot_do_is_an_observation(call, told):
    observation = world(*TOOLS, "broken", "odd").toolbox(QUESTION).call(call)
    assert told in observation.text and observation.error


def test_a_call_that_does_not_end_is_an_observation_and_its_thread_ends(monkeypatch):
    monkeypatch.setattr(own, "TIMEOUT_S", 0.2)
    before = set(sys._current_frames())
    observation = seen("endless", ("endless",), city="Port Sable")
    assert "took more than 0.2 s" in observation.text and observation.error == "tool_failed"
    deadline = time.monotonic() + 10
    while set(sys._current_frames()) - before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert set(sys._current_frames()) <= before


def test_a_function_that_sleeps_in_c_does_not_keep_the_program_from_ending():
    code = "import time; from graphwalker.tools.own import run_within; "
    code += "print(run_within(lambda: time.sleep(60), 0.1).failure)"
    words, how = [sys.executable, "-c", code], {"capture_output": True, "text": True}
    done = subprocess.run(words, cwd=ROOT, timeout=30, **how)
    assert done.stdout == "took more than 0.1 s\n" and done.returncode == 0


def test_an_outage_of_the_graph_in_a_function_is_never_an_observation():
    with pytest.raises(GraphError, match="endpoint is down"):
        seen("offline", ("offline",), city="Port Sable")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("get_relations", "there is a tool get_relations already; rename it"),
        ("bare", "bare: parameter city has no annotation; annotate it as Entity, str"),
        ("wrong", "wrong: parameter when is dict; annotate it as Entity, str, int"),
        ("several", "several: parameter cities has no name in a call"),
        ("returns_set", "returns_set: returns set; return Entity, str"),
        ("silent", "silent: has no docstring"),
        ("limit", "limit: not a function"),
        ("popullation", "has no popullation \\(did you mean population"),
    ],
)
def test_a_function_that_is_no_tool_is_refused_by_its_name(name, told):
    with pytest.raises(UserError, match=told):
        world(name)


def test_a_tool_is_given_once_and_to_agents_that_call_tools():
    with pytest.raises(UserError, match="a tool population already"):
        world("population", "population")
    with pytest.raises(UserError, match="agent of tog asks for decisions"):
        world(preset="tog")
    with pytest.raises(UserError, match="agent of io-prompt asks"):
        world(preset="io-prompt")


@pytest.mark.parametrize("preset", ["graphwalker", "graphwalker-wide", "kg-r1", "search-on-graph"])
def test_the_grammar_names_what_was_shown_in_calls_of_ones_own(preset):
    environment = world(preset=preset, constrained=True)
    box, protocol = environment.toolbox(QUESTION), environment.protocol
    grammar = protocol.abilities.grammar(episode_facts(box, ()), False)
    here = HERE.get(preset, CITY.name)
    calls = [
        ("population", {"city": here}, True),
        ("mayors", {"cities": [here]}, True),
        ("mayors", {"cities": [here], "count": 2}, True),
        ("mayors", {"cities": [here], "count": 2, "share": -0.25}, True),
        ("twice", {"text": "any", "numbers": [1, 0, -20]}, True),
        ("population", {"city": f"{here}x"}, False),
        ("mayors", {"cities": [f"{here}x"]}, False),
        ("twice", {"text": "any", "numbers": ["1"]}, False),
        ("mayors", {"cities": [here], "count": 0.5}, False),
    ]
    for tool, arguments, may in calls:
        text = protocol.render("I look.", Call(tool, arguments))
        assert allows(grammar, text) is may, text


def test_commands_play_verify_and_name_a_tool(folder, capsys, caplog):
    """A chat server calls the tool; the record is verified with the same code, and with other."""
    write_jsonl("questions.jsonl", [QUESTION.to_json()])
    acts = [Act(text=text) for text in completions(world())]
    tools = f"environment.tools=[{','.join(named(*TOOLS))}]"
    graph = ["--graph", "support.toy:toy_graph"]
    with serve(*acts) as server:
        api = [f"policy.api.base_url={server.url}", "policy.model=m"]
        asked = ["--questions", "questions.jsonl", "--out", "roll", "mix={}", tools]
        assert command(capsys, "experts", *graph, *asked, *api)[0] == 0
    (record,) = read_jsonl("roll/graphroll.jsonl")
    assert record["turns"][0]["action"]["tool"] == "mayors"
    verify = ["verify", "roll/graphroll.jsonl", *graph]
    assert command(capsys, *verify)[0] != 0  # a file may not choose code
    assert command(capsys, *verify, tools)[0] == 0
    (folder / "city_tools.py").write_text(CODE + "\n")
    with caplog.at_level(logging.WARNING):
        assert command(capsys, *verify, tools)[0] == 0
    assert "the code of the tool city_tools:mayors has changed" in caplog.text
