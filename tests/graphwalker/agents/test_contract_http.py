"""Every preset against a real OpenAI-compatible server: calls in `tool_calls`, and as text."""

import json
from dataclasses import replace
from typing import Any

import pytest

from graphwalker.agents.presets import presets
from graphwalker.agents.rollout import rollout, without_times
from graphwalker.config import parse_config
from graphwalker.policies.chat.config import ChatApiConfig
from graphwalker.policies.chat.policy import ChatPolicy
from graphwalker.tokens.tool_calls import UnreadableCall, read_calls
from graphwalker.tools.base import abilities_of
from graphwalker.trajectory import Trajectory
from support.chat_server import Act, serve
from support.preset_worlds import environment_of, player, world_of


def act(text: str, on_wire: bool) -> Act:
    """The completion as a server sends it."""
    try:
        before, calls = read_calls(text)
    except UnreadableCall:
        calls, before = [], text
    if not (calls and on_wire):
        return Act(text)
    listed = [
        {"id": f"c{k}", "function": {"name": c.tool, "arguments": json.dumps(c.arguments)}}
        for k, c in enumerate(calls)
    ]
    message = {"role": "assistant", "content": before.strip() or None, "tool_calls": listed}
    return Act(body={"choices": [{"message": message, "finish_reason": "tool_calls"}]})


def bare(trajectory: Trajectory) -> Trajectory:
    """Without what a server alone says of it."""
    turns = tuple(replace(turn, tokens=0) for turn in trajectory.turns)
    return replace(without_times(replace(trajectory, turns=turns)), policy="", usage={})


@pytest.mark.parametrize("form", ["wire", "text"])
@pytest.mark.parametrize("preset", sorted(presets()))
def test_an_episode_over_http_is_the_episode(preset: str, form: str) -> None:
    world = world_of(preset)
    environment = environment_of(preset, world.graph)
    question = world.questions[-1:]
    (expected,) = rollout(question, environment, player(environment), retries=0)
    acts = [act(turn.completion, form == "wire") for turn in expected.turns]
    with serve(*acts) as server:
        settings: dict[str, Any] = {"base_url": server.url, "api_key_env": "", "tools": form}
        policy = ChatPolicy("tiny", parse_config(ChatApiConfig, settings, "test"))
        (done,) = rollout(question, environment, policy, retries=0)
        policy.close()
    assert bare(done) == bare(expected)
    told = [request.get("tools") for request in server.requests]
    calls = abilities_of(environment.protocol).schemas
    assert all(bool(tools) == bool(calls and form == "wire") for tools in told)
