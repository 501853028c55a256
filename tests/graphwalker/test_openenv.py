"""The OpenEnv server: sessions, clients that come back, clients that mean ill."""

import json
import time
import urllib.request
from dataclasses import replace
from functools import partial
from urllib.error import HTTPError

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from graphwalker.api.environment import ScriptEnvironment
from graphwalker.errors import GraphError, UserError
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.integrations.openenv_client import EnvironmentClient
from graphwalker.protocols.base import FinalAnswer
from graphwalker.tools.base import Call
from support.preset_worlds import world_of
from support.scripted_play import environment_of, environment_server
from support.toy import TOY_NAMES, TOY_TRIPLES, TOY_TYPES

QUESTIONS = world_of("graphwalker").questions
ENVIRONMENT = environment_of("graphwalker")
LOOK = ENVIRONMENT.protocol.render("", Call("get_relations", {"entity": "Eve Mbeki-Lindqvist"}))
RIGHT = ENVIRONMENT.protocol.render("", FinalAnswer(("Springfield",)))


server = partial(environment_server, ENVIRONMENT, QUESTIONS)


def exchange(socket, message):
    socket.send(message if isinstance(message, str) else json.dumps(message))
    return json.loads(socket.recv(10))


def raw(url, path="/ws", **options):
    return connect(url.replace("http", "ws") + path, proxy=None, **options)


def drop_connection(client):
    client._socket.socket.close()


def post(url, path, body):
    request = urllib.request.Request(f"{url}/{path}", json.dumps(body).encode())
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)


def test_the_task_api_names_questions_without_their_answers():
    questions = [replace(question, split="test") for question in QUESTIONS[:3]]
    with environment_server(ENVIRONMENT, questions) as (url, _), EnvironmentClient(url) as client:
        assert post(url, "graphwalker/num_tasks", {"split": "test"}) == {"num_tasks": 3}
        (last,) = post(url, "graphwalker/task_range", {"split": "test", "start": 2})["tasks"]
        assert last == {"id": QUESTIONS[2].id, "index": 2, "question": QUESTIONS[2].text}
        assert client.reset(split="test", index=2).observation["question_id"] == last["id"]
        for path, body, status in (
            ("graphwalker/task", {"split": "test", "index": 3}, 400),
            ("graphwalker/tasks", {"split": "none"}, 400),
            ("graphwalker/tasks", [], 422),
            ("other/tasks", {"split": "test"}, 404),
        ):
            with pytest.raises(HTTPError, match=str(status)):
                post(url, path, body)


def test_a_client_that_lost_its_connection_keeps_its_episode():
    with server() as (url, _), EnvironmentClient(url) as client:
        client.reset(question="born")
        client.step(LOOK)
        drop_connection(client)
        assert client.state()["step_count"] == 1
        drop_connection(client)
        assert client.step(RIGHT).reward == 1.0


def test_a_step_whose_reply_was_lost_is_not_played_again():
    with server() as (url, _), EnvironmentClient(url) as client:
        client.reset(question="born")
        client._socket.send(json.dumps({"type": "step", "data": {"text": LOOK}}))
        drop_connection(client)
        assert client.step(LOOK).observation["observation"].startswith("people.person")
        assert client.state()["step_count"] == 1


def test_a_session_without_a_name_ends_with_its_connection():
    with server() as (url, sessions):
        with raw(url) as socket:
            exchange(socket, {"type": "reset"})
            assert len(sessions) == 1
        wait_until(lambda: len(sessions) == 0)


def wait_until(holds, seconds=10.0):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_an_idle_session_ends_connected_or_not():
    with server(idle_s=0.3) as (url, sessions), raw(url) as socket:
        exchange(socket, {"type": "reset"})
        with raw(url, "/sessions/away/ws") as away:
            exchange(away, {"type": "reset"})
        with pytest.raises(ConnectionClosed):
            while True:  # what is no step keeps no session alive
                exchange(socket, {"type": "state"})
        wait_until(lambda: len(sessions) == 0)


def test_one_session_too_many_is_refused_until_another_ends():
    with server(sessions=1) as (url, _):
        with EnvironmentClient(url) as first:
            first.reset()
            with pytest.raises(UserError, match="1 sessions are under way"):
                EnvironmentClient(url).reset()
        with EnvironmentClient(url) as second:
            assert not second.reset().done


SENSELESS = (
    "no JSON", "[]", "3", "{}", '{"type": "reset", "data": 3}', '{"type": "dance"}',
    '{"type": "step", "data": {}}', '{"type": "step", "data": {"text": 3}}',
    '{"type": "step", "data": {"text": "x", "more": 1}}', "[" * 100_000,
    '{"type": "reset", "data": {"index": 99}}', '{"type": "reset", "data": {"index": -1}}',
    '{"type": "reset", "data": {"question": "none"}}', '{"type": "reset", "data": {"x": 1}}',
    '{"type": "reset", "data": {"seed": true}}', '{"type": "reset", "data": {"seed": 1e999}}',
)  # fmt: skip


def test_a_senseless_message_is_an_error_and_ends_nothing():
    with server() as (url, _), raw(url) as socket:
        for message in SENSELESS:
            exchange(socket, {"type": "reset", "data": {"question": "born"}})
            assert exchange(socket, message)["type"] == "error", message
        reset = {"type": "reset", "data": {"question": "born", "episode_id": "e"}}
        assert exchange(socket, reset)["type"] == "observation"


def test_a_step_before_the_reset_and_after_the_end_is_an_error():
    with server() as (url, _), EnvironmentClient(url) as client:
        with pytest.raises(UserError, match="send reset"):
            client.step(RIGHT)
        client.reset(question="born")
        client.step(RIGHT)
        with pytest.raises(UserError, match="the episode is over"):
            client.step(RIGHT)


def test_a_message_that_is_too_long_ends_that_connection_alone():
    with server(message_bytes=10_000) as (url, _), raw(url) as calm:
        exchange(calm, {"type": "reset"})
        with pytest.raises(ConnectionClosed), raw(url) as loud:
            exchange(loud, "x" * 100_000_000)
        assert exchange(calm, {"type": "step", "data": {"text": LOOK}})["type"] == "observation"


def test_pages_of_other_origins_open_no_connection():
    with server() as (url, _), pytest.raises(InvalidStatus, match="403"):
        raw(url, origin="http://evil.example").__enter__()


class DownGraph(MemoryGraph):
    """A graph that is down while `down` is set."""

    down = False

    def relations_many(self, sides):
        if self.down:
            raise GraphError("the endpoint is down")
        return super().relations_many(sides)


def test_an_outage_ends_the_episode_without_a_reward():
    graph = DownGraph(TOY_TRIPLES, TOY_NAMES, TOY_TYPES)
    environment = ScriptEnvironment(graph)
    with environment_server(environment, QUESTIONS) as (url, _), EnvironmentClient(url) as client:
        client.reset(question="born")
        graph.down = True
        with pytest.raises(GraphError, match="the endpoint is down"):
            client.step(LOOK)
        graph.down = False
        with pytest.raises(UserError, match="send reset"):
            client.step(LOOK)
        client.reset(question="born")
        assert client.step(RIGHT).reward == 1.0


def test_the_official_client_plays_and_keeps_its_episode():
    openenv = pytest.importorskip("openenv", reason="pip install openenv (without mcp 2)")
    connect_to = openenv.GenericEnvClient
    with server() as (url, _), connect_to(base_url=f"{url}/sessions/official").sync() as client:
        shown = client.reset(question="born").observation["messages"]
        assert [one["role"] for one in shown] == ["system", "user"]
        client.step({"text": LOOK})
        client._async._ws = None  # as where the connection was lost
        assert client.state()["step_count"] == 1
        last = client.step({"text": RIGHT})
        assert (last.done, last.reward, last.observation["stop"]) == (True, 1.0, "answered")
