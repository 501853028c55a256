"""The chat API policy, against a real HTTP server that behaves well, late and badly."""

import gzip
import json
import logging
from contextlib import contextmanager
from dataclasses import replace

import pytest
from test_rollout import DONE, LOOK, STEP, environment, questions

from graphwalker.agents.rollout import rollout
from graphwalker.config import parse_config
from graphwalker.errors import HopelessError, PolicyError, UserError
from graphwalker.graphs.base import Entity
from graphwalker.policies.base import Completion, Request, Sampling
from graphwalker.policies.chat.config import ChatApiConfig
from graphwalker.policies.chat.policy import ChatPolicy, turn_seed
from graphwalker.policies.chat.stops import finish_text
from graphwalker.policies.chat.store import Usage
from graphwalker.question import Question
from graphwalker.trajectory import Message, StopReason
from support.chat_server import Act, serve
from support.engine_toy import only

PRICES = {"prompt_per_million": 1_000_000.0, "completion_per_million": 2_000_000.0}


@contextmanager
def asking(server, folder=None, **settings):
    quick = {"base_url": server.url, "backoff_s": 0.01, "timeout_s": 5, **settings}
    policy = ChatPolicy("tiny", parse_config(ChatApiConfig, quick, "test"), folder)
    try:
        yield policy
    finally:
        policy.close()


def request(key="q#0", **options):
    sampling = options.pop("sampling", Sampling(max_tokens=20))
    texts = options.pop("messages", ("Who?",))
    question = Question("q", "Who?", (Entity("m.a", "A"),))
    messages = tuple(Message("user", text) for text in texts)
    return Request(key, messages, question, (), sampling, **options)


def ask(*acts, **settings):
    """What comes back for one request, and the server that played `acts`."""
    with serve(*acts) as server, asking(server, **settings) as policy:
        return only(policy, request(stop=("</kg-query>", "</answer>"))), server


def test_a_request_says_all_that_makes_it_repeatable():
    (body,) = ask(Act(), send_stop=True)[1].requests
    assert 0 <= (seed := turn_seed(request())) < 2**31
    assert body == {
        "model": "tiny", "messages": [{"role": "user", "content": "Who?"}], "temperature": 0.0,
        "top_p": 1.0, "max_tokens": 20, "seed": seed, "stop": ["</kg-query>", "</answer>"],
    }  # fmt: skip


def test_fields_of_a_request_can_be_added_renamed_and_left_out():
    body = {"seed": None, "reasoning_effort": "low"}
    limit = {"token_limit_field": "max_completion_tokens", "send_stop": False}
    (sent,) = ask(Act(), body=body, **limit)[1].requests
    assert sent["max_completion_tokens"] == 20 and sent["reasoning_effort"] == "low"
    assert not {"seed", "max_tokens", "stop"} & set(sent)


def test_reasoning_models_get_their_own_limit_and_no_temperature():
    settings = ChatApiConfig()
    for model in ("o3", "o4-mini", "openai/o3-2025-04-16", "gpt-5-mini"):
        fixed = {"temperature": None, "top_p": None}
        assert settings.fields(model, 9) == {"max_completion_tokens": 9, **fixed}, model
    for model in ("gpt-4o-mini", "qwen3-o3", "o3x", "gpt-5-chat-latest", "tiny"):
        assert settings.fields(model, 9) == {"max_tokens": 9}, model
    with serve(Act()) as server:
        policy = ChatPolicy("o3", ChatApiConfig(base_url=server.url))
        only(policy, request())
        policy.close()
    (body,) = server.requests
    assert body["max_completion_tokens"] == 20
    assert not {"temperature", "top_p", "max_tokens"} & set(body)


def test_reasoning_tokens_are_counted_apart_and_stored(tmp_path):
    details = {"completion_tokens_details": {"reasoning_tokens": 4}}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, **details}
    with serve(Act(usage=usage)) as server:
        for _ in range(2):
            with asking(server, folder=tmp_path) as policy:
                result = only(policy, request())
                assert isinstance(result, Completion)
                assert (result.completion_tokens, result.reasoning_tokens) == (5, 4)
                assert policy.usage.reasoning_tokens == 4
    assert json.loads((tmp_path / "spent.json").read_text())["reasoning_tokens"] == 4


@pytest.mark.parametrize(
    ("text", "finish", "reason", "expected"),
    [
        ("<think> a </think> <answer> []", "stop", "", "<think> a </think> <answer> []</answer>"),
        ("<kg-query> f(", "stop", "", "<kg-query> f(</kg-query>"),
        ("<answer> []", "stop", "</answer>", "<answer> []</answer>"),
        ("<answer> [", "length", "", "<answer> ["),
        ("no action at all", "stop", "", "no action at all"),
        ("<answer> [] </answer><kg-query>", "stop", "", "<answer> [] </answer>"),
    ],
)
def test_the_stop_string_that_a_server_cut_away_is_put_back(text, finish, reason, expected):
    assert finish_text(text, ("</kg-query>", "</answer>"), finish, reason) == expected


DEEP = b'{"choices": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"


ODD = {
    "deep": Act(raw=DEEP),
    "list": Act(raw=b"[]"),
    "no gzip": Act(raw=b"no gzip", headers={"Content-Encoding": "gzip"}),
    "drip": Act(drip_s=0.02),
    "deep error": Act(status=500, raw=DEEP),
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_an_odd_answer_is_an_error_of_one_episode_and_hangs_nothing(odd):
    result, server = ask(odd, retries=1, timeout_s=0.7)
    assert isinstance(result, PolicyError) and len(server.requests) <= 2


def test_an_answer_that_unpacks_beyond_the_limit_is_not_read_to_its_end():
    packed = gzip.compress(b" " * (40 << 20))
    result, _ = ask(Act(raw=packed, headers={"Content-Encoding": "gzip"}), retries=0)
    assert isinstance(result, PolicyError)
    assert "an answer of more than 33,554,432 bytes" in str(result)


@pytest.mark.parametrize("tokens", [int("9" * 400), "many"], ids=["400 digits", "text"])
def test_usage_that_cannot_be_is_booked_at_its_worst_and_that_is_told_once(tokens, caplog):
    usage = {"prompt_tokens": tokens, "completion_tokens": 1}
    with serve(Act(usage=usage)) as server, asking(server, prices=PRICES) as policy:
        result = only(policy, request())
        assert isinstance(result, Completion) and policy.usage.completion_tokens == 20
        only(policy, request("q#1"))
    assert caplog.text.count("such answers count at their worst") == 1


def test_half_a_surrogate_pair_neither_stops_a_request_nor_a_record():
    asked = replace(request(), messages=(Message("user", "Who? \ud83d"),))
    with serve(Act("\ud83d yes")) as server, asking(server) as policy:
        result = only(policy, asked)
    assert isinstance(result, Completion) and result.text == "? yes"
    assert server.requests[0]["messages"][0]["content"] == "Who? ?"


def test_a_resumed_run_pays_for_no_answer_twice(tmp_path):
    with serve(Act()) as server:
        for _ in range(2):
            with asking(server, folder=tmp_path, prices=PRICES) as policy:
                result = only(policy, request())
                assert isinstance(result, Completion) and result.cost == 20
                assert policy.usage == Usage(1, 10, 5, 20.0)
        assert len(server.requests) == 1
    assert json.loads((tmp_path / "spent.json").read_text())["requests"] == 1


PASSING = {
    "429": Act(status=429, headers={"Retry-After": "0.01"}),
    "503": Act(status=503, body={"error": {"message": "overloaded"}}),
    "cut off": Act(cut_to=40),
    "hang up": Act(hang_up=True),
    "no choice": Act(body={"choices": []}),
    "no message": Act(body={"choices": [{"message": None}]}),
}


@pytest.mark.parametrize("bad", PASSING.values(), ids=PASSING)
def test_what_may_pass_is_tried_again(bad):
    result, server = ask(bad, bad, Act("fine"))
    assert isinstance(result, Completion) and result.text == "fine"
    assert len(server.requests) == 3


def test_a_server_is_left_alone_for_as_long_as_it_says():
    busy = Act(status=429, headers={"Retry-After": "0.2"})
    _, server = ask(busy, Act("fine"), backoff_s=0)
    assert server.times[1] - server.times[0] >= 0.2


def test_a_server_that_asks_to_wait_for_a_day_is_not_asked_again():
    result, server = ask(Act(status=429, headers={"Retry-After": "86400"}))
    assert "(after 1 attempt, it asks to wait 86,400 seconds)" in str(result)
    assert len(server.requests) == 1


def test_a_context_that_is_full_is_the_agents_end_and_no_failure():
    full = {"error": {"message": "too long", "code": "context_length_exceeded"}}
    result, _ = ask(Act(status=400, body=full))
    assert result == Completion("", "length")


@pytest.mark.parametrize(
    ("status", "message"),
    [(401, "bad key"), (404, "no model tiny"), (429, "code insufficient_quota")],
)
def test_after_a_hopeless_refusal_nothing_more_is_sent(status, message):
    about, wrong = {"error": {"message": message}}, {"x-should-retry": "true"}
    refusal = Act(status=status, body=about, headers=wrong)
    with serve(refusal) as server, asking(server, concurrency=1) as policy:
        for i in range(3):
            policy.submit(request(f"q#{i}"))
        results = []
        while len(results) < 3:
            results += policy.collect()
        assert all(message in str(result) for _, result in results)
        with pytest.raises(PolicyError, match=message):
            policy.submit(request("q#9"))
    assert len(server.requests) == 1


def test_the_key_is_in_no_error_and_no_log(key, caplog):
    caplog.set_level(logging.DEBUG)
    echo = {"error": {"message": f"Incorrect API key provided: {key}"}}
    result, _ = ask(Act(status=500, body=echo), Act(status=401, body=echo))
    assert "***" in str(result) and key not in str(result) + caplog.text


def test_a_missing_key_is_named_by_its_variable(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    result, server = ask(Act(status=401, body={"error": {"message": "who are you?"}}))
    assert "OPENAI_API_KEY is not set" in str(result)
    assert "Authorization" not in server.headers[0]


def test_a_key_never_travels_unencrypted():
    with pytest.raises(UserError, match="unencrypted"):
        ChatPolicy("tiny", ChatApiConfig(base_url="http://models.example/v1"))
    ChatPolicy("tiny", ChatApiConfig(base_url="http://models.example/v1", api_key_env="")).close()


def test_a_redirect_is_not_followed_with_the_key():
    with serve(Act()) as elsewhere:
        away = Act(status=307, headers={"Location": f"{elsewhere.url}/chat/completions"})
        result, _ = ask(away)
        assert isinstance(result, HopelessError) and elsewhere.requests == []
        assert f"HTTP 307: moved to {elsewhere.url}" in str(result)


@pytest.mark.parametrize(
    "address", ["ftp://a/v1", "https://me:pass@a/v1", "https://a/v1?key=1", "a/v1"]
)
def test_an_address_that_is_none_or_holds_a_secret_is_refused(address):
    with pytest.raises(UserError, match="base_url"):
        parse_config(ChatApiConfig, {"base_url": address}, "test")


def test_as_many_requests_are_under_way_as_are_allowed():
    with serve(Act(delay_s=0.05)) as server, asking(server, concurrency=3) as policy:
        for i in range(9):
            policy.submit(request(f"q#{i}"))
        seen: set[str] = set()
        while len(seen) < 9:
            seen |= {key for key, _ in policy.collect()}
    assert server.most_at_once == 3


def test_results_of_released_episodes_are_dropped():
    slow, quick = Act("late", delay_s=0.2), Act("new")
    with serve(slow, quick) as server, asking(server, concurrency=2) as policy:
        policy.submit(request())
        while not server.requests:
            pass
        policy.release("q#0")
        assert policy.collect() == []
        result = only(policy, request())
    assert isinstance(result, Completion) and result.text == "new"


def test_an_agent_walks_by_the_chat_api():
    acts = [Act(LOOK.removesuffix("</kg-query>")), Act(STEP), Act(status=500), Act(DONE)]
    with serve(*acts) as server, asking(server, prices=PRICES) as policy:
        (done,) = rollout(questions("q"), environment(), policy, Sampling())
    assert (done.stop, done.answer, done.policy) == (StopReason.ANSWERED, ("B",), "tiny")
    assert (done.usage["prompt_tokens"], done.usage["completion_tokens"]) == (30, 15)
    assert done.usage["cost"] == 60.0
    assert [len(body["messages"]) for body in server.requests] == [1, 3, 5, 5]
