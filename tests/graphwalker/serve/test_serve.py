"""The served agent over real HTTP: its page, its stream, its OpenAI-compatible API, its guard."""

import asyncio
import http.client
import json
from urllib.parse import urlsplit

import httpx
import pytest

from graphwalker.errors import PolicyError, UserError
from graphwalker.serve.app import KeptWalks
from graphwalker.serve.ask import find_topics, one_of_each_name
from graphwalker.serve.asking import RequestLimits
from graphwalker.serve.server import allowed_hosts
from support.serve_toy import GatedPolicy, served, until
from support.toy import toy_graph

QUESTION = "Where was Tom Lindqvist's wife born?"
ASKED = {"question": QUESTION}


@pytest.fixture(scope="module")
def server():
    with served() as running:
        yield running


def ask(server, question=QUESTION, **fields):
    return httpx.post(f"{server.url}/api/ask", json={"question": question, **fields}, timeout=60)


def events(response):
    lines = response.text.split("\n\n")
    return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]


def chat(server, **fields):
    body = {"model": "graphwalker/scripted", "messages": [{"role": "user", "content": QUESTION}]}
    return httpx.post(f"{server.url}/v1/chat/completions", json=body | fields, timeout=60)


def told_by(response):
    """What a stream tells, event by event."""
    return (json.loads(line[6:]) for line in response.iter_lines() if line.startswith("data: "))


def shut():
    """A policy that waits at its gate."""
    policy = GatedPolicy()
    policy.gate.clear()
    return policy


def asking(server):
    return httpx.stream("POST", f"{server.url}/api/ask", json=ASKED, timeout=60)


def raw(server, headers, body=b"{}", method="POST"):
    """The status of a request whose headers are exactly these."""
    parts = urlsplit(server.url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=60)
    connection.putrequest(method, "/api/ask" if method == "POST" else "/", skip_host=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders(body if method == "POST" else None)
    status = connection.getresponse().status
    connection.close()
    return status


def test_the_page_is_one_file_that_may_run_its_own_script_alone(server):
    page = httpx.get(server.url, timeout=60)
    policy = page.headers["Content-Security-Policy"]
    assert page.status_code == 200 and "<textarea" in page.text
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert "src=" not in page.text and "innerHTML" not in page.text
    assert page.headers["X-Content-Type-Options"] == "nosniff"


def test_an_asker_sees_every_turn_and_the_answer(server):
    told = events(ask(server))
    assert told[0] == {"type": "topics", "topics": [{"id": "m.0tom", "name": "Tom Lindqvist"}]}
    turns = [event for event in told if event["type"] == "turn"]
    assert [turn["number"] for turn in turns] == list(range(1, len(turns) + 1))
    assert turns[1]["error"] and not turns[0]["error"]
    assert told[-1]["answer"] == [{"name": "Springfield", "id": "m.0city1"}]
    assert told[-1]["stop"] == "answered"


def test_turns_are_told_while_the_next_is_awaited():
    policy = shut()
    with served(policy) as server, asking(server) as response:
        told = told_by(response)
        assert next(told)["type"] == "topics"
        policy.gate.set()
        assert next(told)["number"] == 1


def test_an_asker_who_goes_away_ends_the_episode():
    policy = shut()
    with served(policy) as server:
        with asking(server) as response:
            lines = response.iter_lines()  # kept: a dropped iterator closes the connection
            next(lines)
            assert until(lambda: bool(policy.requests))
        assert until(lambda: server.sessions.running == 0)
        policy.gate.set()
        assert until(lambda: bool(policy.released)) and len(policy.requests) == 1


def test_a_busy_server_says_so():
    with served(shut(), max_running=1, max_waiting=0) as server, asking(server):
        refused = ask(server)
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
        assert chat(server).json()["error"]["type"] == "server_error"


def test_who_waits_is_told_the_place_in_line_and_then_answered():
    policy = shut()
    with served(policy, max_running=1) as server, asking(server), asking(server) as second:
        told = told_by(second)
        assert next(told)["type"] == "topics"
        assert next(told) == {"type": "queue", "place": 1}
        policy.gate.set()
        kinds = [event["type"] for event in told]
    assert kinds[-1] == "end" and "queue" in kinds


def test_many_questions_at_once_are_all_answered(server):
    async def ask_all():
        limits = httpx.Limits(max_connections=24)
        async with httpx.AsyncClient(timeout=120, limits=limits) as client:
            asking = (client.post(f"{server.url}/api/ask", json=ASKED) for _ in range(24))
            return [response.text for response in await asyncio.gather(*asking)]

    assert all('"type":"end"' in text for text in asyncio.run(ask_all()))


def test_a_turn_brings_its_drawing_and_the_end_the_whole_walk(server):
    told = events(ask(server))
    first = next(event["view"] for event in told if event["type"] == "turn")
    assert first["nodes"][0] == ["Tom Lindqvist", "t"] and first["turn"]["seconds"] >= 0
    end = told[-1]
    assert len(end["walk"]["turns"]) == len([e for e in told if e["type"] == "turn"])
    kept = httpx.get(f"{server.url}/api/walks/{end['id']}", timeout=60).json()
    assert (kept["question"], kept["walk"]) == (QUESTION, end["walk"])
    assert httpx.get(f"{server.url}/api/walks/other", timeout=60).status_code == 404


def test_old_walks_make_room_for_new_ones():
    kept = KeptWalks(most_bytes=100)
    ids = [kept.add({"text": "x" * 30}) for _ in range(4)]
    assert [kept.find(key) is not None for key in ids] == [False, False, True, True]


def test_topics_of_a_question_and_names_as_they_are_typed(server):
    found = httpx.post(f"{server.url}/api/topics", json=ASKED, timeout=60).json()["topics"]
    assert [one["name"] for one in found] == ["Tom Lindqvist"]
    assert found[0]["candidates"][0]["id"] == "m.0tom"
    names = httpx.get(f"{server.url}/api/names?q=tom", timeout=60).json()["names"]
    assert names[0]["name"] == "Tom Lindqvist"


def test_a_question_has_a_time_limit():
    with served(shut(), RequestLimits(timeout_s=0.2)) as server:
        last = events(ask(server))[-1]
        assert (last["type"], last["stop"]) == ("error", "timeout")
        assert until(lambda: server.sessions.running == 0)


def test_an_episode_that_failed_for_our_reasons_is_tried_again():
    class FailsOnce(GatedPolicy):
        failures = 0

        def _play(self, request):
            if len(request.turns) != 1 or self.failures:
                return super()._play(request)
            self.failures += 1
            return PolicyError("down")

    with served(FailsOnce()) as server:
        types = [event["type"] for event in events(ask(server))]
    assert types[:4] == ["topics", "turn", "retry", "turn"] and types[-1] == "end"


def test_a_policy_that_fails_is_no_answer():
    with served(GatedPolicy(lines=["hm"])) as server:
        last = events(ask(server))[-1]
        assert last["type"] == "error" and "no turn 2" in last["error"]
        assert chat(server).status_code == 502


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({}, "not empty"),
        ({"question": 7}, "not empty"),
        ({"question": "x" * 2001}, "at most 2000"),
        ({"question": "Who is nobody?"}, "give topic entities (`topics`"),
        ({"question": QUESTION, "topics": ["Nobody At All"]}, "Nobody At All"),
        ({"question": QUESTION, "topics": "Tom"}, "list of 1 to 8"),
        ({"question": "\ud800 Tom Lindqvist"}, "Unicode"),
        ({"question": QUESTION, "topics": ["Tom Lindqvist", "a\0yz"]}, "no entity is named"),
        ([], "JSON object"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_the_reason(server, body, why):
    sent = json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    refused = httpx.post(f"{server.url}/api/ask", content=sent, headers=headers)
    assert refused.status_code == 400 and why in refused.text


def test_a_form_of_another_site_cannot_ask(server):
    plain = httpx.post(f"{server.url}/api/ask", content=b'{"question": "x"}')
    assert plain.status_code == 400 and "application/json" in plain.text
    assert "access-control-allow-origin" not in plain.headers


@pytest.mark.parametrize(
    "host", ["evil.example:80", "127.0.0.1.evil.example", "127.0.0.1@evil", ""]
)
def test_a_name_that_was_rebound_to_this_machine_is_refused(server, host):
    assert raw(server, {"Host": host}, method="GET") == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
def test_pages_of_other_origins_are_refused(server, origin):
    assert raw(server, {"Host": "127.0.0.1:9", "Origin": origin}) == 403


def test_a_body_ends_at_its_limit_whether_or_not_it_says_its_length(server):
    big = b'{"question": "' + b"x" * 300_000 + b'"}'
    told = {"Host": "localhost", "Content-Type": "application/json"}
    assert raw(server, {**told, "Content-Length": str(len(big))}, big) == 413

    def chunks():
        yield from (big[i : i + 1000] for i in range(0, len(big), 1000))

    try:
        address, kind = f"{server.url}/api/ask", {"Content-Type": "application/json"}
        chunked = httpx.post(address, content=chunks(), headers=kind)
    except httpx.TransportError:
        return  # cut off while it was sending
    assert chunked.status_code == 400 and "too large" in chunked.text


def test_the_agent_is_an_openai_model(server):
    (model,) = httpx.get(f"{server.url}/v1/models", timeout=60).json()["data"]
    body = chat(server).json()
    assert body["model"] == model["id"] == "graphwalker/scripted"
    message = body["choices"][0]["message"]
    assert message["content"] == "Springfield" and "<kg-query>" in message["reasoning_content"]
    assert body["graphwalker"]["answer"][0]["id"] == "m.0city1"
    assert len(body["graphwalker"]["turns"]) == body["graphwalker"]["usage"]["turns"]


def test_the_openai_stream_reasons_in_turns_and_ends_with_the_answer(server):
    lines = [line for line in chat(server, stream=True).text.split("\n\n") if line]
    assert lines[-1] == "data: [DONE]"
    chunks = [json.loads(line[6:]) for line in lines[:-1]]
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert "".join(delta.get("content", "") for delta in deltas) == "Springfield"
    assert sum("reasoning_content" in delta for delta in deltas) >= 3
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop" and "usage" in chunks[-1]


WRONG = [
    {"messages": []}, {"messages": [{"role": "system", "content": "x"}]}, {"temperature": "hot"},
    {"seed": "x"}, {"seed": True}, {"n": True}, {"max_tokens": True}, {"max_completion_tokens": 0},
    {"model": "gpt-4o"}, {"tools": [{"type": "function", "function": {"name": "f"}}]},
    {"logprobs": True}, {"response_format": {"type": "json_object"}}, {"stop": ["x"]},
    {"stream": "yes"}, {"topics": ["x", "\0y"]},
    {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
]  # fmt: skip


@pytest.mark.parametrize("fields", WRONG)
def test_a_wrong_chat_request_gets_an_openai_error(server, fields):
    refused = chat(server, **fields)
    assert refused.status_code == 400
    assert refused.json()["error"]["type"] == "invalid_request_error"


def test_fields_that_ask_for_nothing_new_are_taken():
    plain = {"tools": [], "tool_choice": "auto", "response_format": {"type": "text"}, "stop": None}
    with served() as server:
        named = chat(server, model="scripted", max_tokens=9, user="ana", n=1, **plain)
        assert named.status_code == 200, named.text
        assert server.policy.requests[0].sampling.max_tokens == 9


@pytest.mark.parametrize(
    ("text", "topics"),
    [
        ("Where was Tom Lindqvist's wife born?", ["m.0tom"]),
        ("Who wrote The Glass Harbor?", ["m.0film1"]),
        ('Who wrote "the glass harbor"?', ["m.0film1"]),
        ("Did Ada Mbeki and Tom Lindqvist meet?", ["m.0ada", "m.0tom"]),
    ],
)
def test_topics_are_the_names_in_the_question(text, topics):
    assert [entity.id for entity in find_topics(toy_graph(), text)] == topics


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Who made Springfield?", r"names 3 entities: .*m\.0film3, film\.film.*--topic ID"),
        ("Who wrote The Glas Harbor?", r"did you mean The Glass Harbor\? give --topic NAME"),
        ("Who is she?", r"names no entity of the graph: give --topic NAME"),
    ],
)
def test_a_question_without_one_clear_topic_lists_the_candidates(text, message):
    with pytest.raises(UserError, match=message):
        one_of_each_name(toy_graph(), text)


def test_loopback_is_the_default_and_more_must_be_meant():
    assert "127.0.0.1" in allowed_hosts("127.0.0.1", [])
    assert allowed_hosts("0.0.0.0", ["Box.Local"])[-1] == "box.local"
    with pytest.raises(UserError, match="--allow-host"):
        allowed_hosts("0.0.0.0", [])
