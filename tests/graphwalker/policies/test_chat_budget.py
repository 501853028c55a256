"""What the chat API costs: rates that are kept, money that is counted, caps that hold."""

import time
from contextlib import suppress

import pytest
from test_chat_api import KEY, PRICES, asking, request

from graphwalker.config import parse_config
from graphwalker.errors import PolicyError, UserError
from graphwalker.policies.base import Completion
from graphwalker.policies.chat.budget import Rate
from graphwalker.policies.chat.config import ChatApiConfig, divide_caps
from graphwalker.policies.config import PolicyConfig
from support.chat_server import Act, serve


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def test_requests_keep_to_the_rate():
    with serve(Act()) as server, asking(server, requests_per_minute=600) as policy:
        started = time.monotonic()
        for i in range(5):
            policy.submit(request(f"q#{i}"))
        done = 0
        while done < 5:
            done += len(policy.collect())
    assert max(server.times) - started >= 4 * 0.1


def test_tokens_keep_to_the_rate():
    rate = Rate(0, 60_000)
    started = time.monotonic()
    assert rate.delay(500) == 0
    assert rate.delay(500) + time.monotonic() - started >= 0.5


def test_money_is_counted_and_the_cap_holds():
    prices = {**PRICES, "max_cost": 200.0}
    with serve(Act()) as server, asking(server, prices=prices, concurrency=8) as policy:
        results: list[Completion | PolicyError] = []
        for i in range(30):
            try:
                policy.submit(request(f"q#{i}"))
            except PolicyError as error:
                results.append(error)
        while waiting := policy.collect():
            results += [result for _, result in waiting]
        spent = policy.usage
    paid = [result for result in results if isinstance(result, Completion)]
    assert len(paid) == len(server.requests) and all(result.cost == 20 for result in paid)
    assert spent.cost == 20 * len(paid) and 0 < spent.cost <= 200
    assert "max_cost=200" in str(next(r for r in results if isinstance(r, PolicyError)))


def test_a_shard_has_its_part_of_every_cap():
    api = {"prices": {**PRICES, "max_cost": 8.0, "max_requests": 3, "max_total_tokens": 100}}
    config = parse_config(PolicyConfig, {"model": "m", "api": api}, "test")
    whole, shard = (divide_caps(config, parts).api for parts in (1, 4))
    assert whole and whole.prices.max_cost == 8.0
    assert shard and shard.prices.max_cost == 2.0
    assert (shard.prices.max_requests, shard.prices.max_total_tokens) == (1, 25)


@pytest.mark.parametrize("store", [".", "teacher"])
def test_what_the_shards_paid_counts_against_the_cap_of_the_run_that_joins_them(tmp_path, store):
    for number in range(2):
        shard = tmp_path / f"shards/{number}-of-2" / store
        shard.mkdir(parents=True)
        (shard / "spent.json").write_text('{"requests": 2, "cost": 1.0}')
    folder = (tmp_path / store).resolve()
    with serve(Act()) as server, asking(server, folder, prices={"max_requests": 5}) as policy:
        with suppress(PolicyError):
            for i in range(9):
                policy.submit(request(f"q#{i}"))
        while policy.collect():
            pass
    assert len(server.requests) == 1


def test_a_refused_request_costs_nothing():
    with serve(Act(status=400)) as server, asking(server, prices=PRICES) as policy:
        policy.submit(request())
        policy.collect()
        assert (policy.usage.requests, policy.usage.cost) == (1, 0.0)


def test_an_attempt_that_may_have_been_billed_counts_against_the_cap():
    slow = {"timeout_s": 0.2, "retries": 2, "prices": {"max_requests": 2}}
    with serve(Act(drip_s=0.05)) as server, asking(server, **slow) as policy:
        policy.submit(request())
        policy.collect()
    assert len(server.requests) == 2


def test_a_cap_without_prices_is_refused():
    with pytest.raises(UserError, match="needs prices"):
        parse_config(ChatApiConfig, {"prices": {"max_cost": 1}}, "test")
