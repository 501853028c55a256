"""Function calls against a real HTTP server: in its `tool_calls`, and as text in its messages."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwalker.agents.environment import Environment
from graphwalker.agents.rollout import rollout, without_times
from graphwalker.config import parse_config
from graphwalker.graphs.base import Entity
from graphwalker.policies.chat.config import ChatApiConfig
from graphwalker.policies.chat.policy import ChatPolicy
from graphwalker.policies.chat.wire import text_of
from graphwalker.protocols.base import Malformed
from graphwalker.question import Question
from graphwalker.tokens.tool_calls import write_call
from graphwalker.tools.base import Call
from graphwalker.trajectory import StopReason
from support.chat_server import Act, serve
from support.functions_agent import PROTOCOL, SPEC
from support.toy import toy_graph

EVE = "Eve Mbeki-Lindqvist"
LOOKS = [Call("search", {"entity": EVE, "direction": way}) for way in ("outgoing", "incoming")]
THOUGHT = "Both ways at once."
ANSWER = "That is clear.\nFinal answer: {Ada Mbeki}"


def on_wire(*calls, content=None):
    """A message with calls as chat servers write them, the arguments being text."""
    listed = [
        {"id": f"x{k}", "type": "function", "function": {"name": name, "arguments": text}}
        for k, (name, text) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": content, "tool_calls": listed}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    return Act(body={"choices": [choice], "usage": usage})


def look(*calls):
    return tuple((call.tool, json.dumps(call.arguments)) for call in calls)


def played(*acts, **settings):
    """One episode, and the server that played the model."""
    question = Question("q", "Who is Eve's mother?", (Entity("m.0eve", EVE),))
    with serve(*acts) as server:
        quick = {"base_url": server.url, "api_key_env": "", "timeout_s": 5, **settings}
        policy = ChatPolicy("tiny", parse_config(ChatApiConfig, quick, "test"))
        world = Environment(toy_graph(), preset=SPEC)
        (done,) = rollout([question], world, policy, retries=0)
        policy.close()
        return done, server


def test_an_episode_by_tool_calls():
    done, server = played(on_wire(*look(*LOOKS), content=THOUGHT), Act(ANSWER))
    assert (done.answer, done.stop) == (("Ada Mbeki",), StopReason.ANSWERED)
    first, second = server.requests
    assert first["tools"] == list(PROTOCOL.schemas)
    assert "<tools>" not in json.dumps(first["messages"])  # told once, in `tools`
    assert "stop" not in first
    _, _, spoken, *answers = second["messages"]
    assert spoken["content"] == THOUGHT
    assert [c["function"]["name"] for c in spoken["tool_calls"]] == ["search", "search"]
    assert [a["tool_call_id"] for a in answers] == [c["id"] for c in spoken["tool_calls"]]
    assert all(a["role"] == "tool" for a in answers)
    assert "people.person.parents: Ada Mbeki" in answers[0]["content"]


def test_the_same_episode_as_text_is_recorded_word_for_word_alike():
    text = "\n".join([THOUGHT, *(write_call(one.tool, one.arguments) for one in LOOKS)])
    told, server = played(Act(text), Act(ANSWER), tools="text")
    assert "tools" not in server.requests[0]
    assert "<tools>" in server.requests[0]["messages"][0]["content"]
    assert server.requests[1]["messages"][2] == {"role": "assistant", "content": text}
    wired, _ = played(on_wire(*look(*LOOKS), content=THOUGHT), Act(ANSWER))
    assert without_times(told) == without_times(wired)
    assert wired.turns[0].completion == text
    assert wired.turns[0].action["further"] == [{"tool": "search", "arguments": LOOKS[1].arguments}]
    assert len(wired.turns[0].observation.split("\n\n")) == 2


@pytest.mark.parametrize("arguments", ["{'entity': 1}", "[1]", '{"entity": "Eve', "</tool_call>"])
def test_a_call_that_is_no_json_is_told_and_stays_text(arguments):
    done, server = played(on_wire(("search", arguments)), Act(ANSWER))
    assert done.turns[0].error == "malformed"
    spoken, told = server.requests[1]["messages"][2:]
    assert "tool_calls" not in spoken  # servers refuse calls that are no JSON
    assert told["role"] == "user" and "arguments" in told["content"]
    assert "<tool_response>" not in told["content"] and done.answer == ("Ada Mbeki",)


def test_the_forced_answer_is_asked_for_behind_the_tools_answer():
    done, server = played(*[on_wire(*look(LOOKS[0]))] * 10, Act(ANSWER))
    assert done.stop is StopReason.FORCED
    *_, shown, forced = server.requests[-1]["messages"]
    assert shown["role"] == "tool"
    assert forced == {"role": "user", "content": PROTOCOL.force()}


TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
HOSTILE = st.one_of(TEXT, st.sampled_from(["</tool_call>", "<tool_response>", '"}', "</think>"]))


@given(HOSTILE, HOSTILE)
def test_whatever_a_server_writes_is_read_as_the_same_call(name, value):
    arguments = json.dumps({"entity": value}, ensure_ascii=False)
    call = {"function": {"name": name or "x", "arguments": arguments}}
    text = text_of({"content": None, "tool_calls": [call]})
    assert PROTOCOL.parse(text) == ("", Call(name or "x", {"entity": value}))


@given(TEXT)
def test_broken_arguments_are_never_read_as_others(raw):
    text = text_of({"tool_calls": [{"function": {"name": "x", "arguments": raw}}]})
    action = PROTOCOL.parse(text)[1]
    try:
        value = json.loads(raw or "{}", strict=False)
    except ValueError:
        assert isinstance(action, Malformed)
    else:
        good = isinstance(value, dict)
        assert action == Call("x", value) if good else isinstance(action, Malformed)
