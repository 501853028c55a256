"""What the chat API costs: rates that are kept, caps that hold over processes and kills."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest
from test_chat_api import PRICES, asking, request

from graphwalker.config import parse_config
from graphwalker.errors import PolicyError, UserError
from graphwalker.policies.base import Completion
from graphwalker.policies.chat.budget import Budget, Rate
from graphwalker.policies.chat.config import ChatApiConfig, Prices, divide_caps
from graphwalker.policies.chat.store import Store, Usage
from graphwalker.policies.config import PolicyConfig
from support.chat_server import Act, serve
from support.engine_toy import only


def test_requests_keep_to_the_rate():
    with serve(Act()) as server, asking(server, requests_per_minute=1200) as policy:
        started = time.monotonic()
        for i in range(5):
            policy.submit(request(f"q#{i}"))
        done = 0
        while done < 5:
            done += len(policy.collect())
    assert max(server.times) - started >= 4 * 0.05


def test_tokens_keep_to_the_rate():
    rate, started = Rate(0, 60_000), time.monotonic()
    assert rate.delay(500) == 0 and rate.delay(500) + time.monotonic() - started >= 0.5


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
        only(policy, request())
        assert (policy.usage.requests, policy.usage.cost) == (1, 0.0)


def test_an_attempt_that_may_have_been_billed_counts_against_the_cap():
    slow = {"timeout_s": 0.2, "retries": 2, "prices": {"max_requests": 2}}
    with serve(Act(drip_s=0.05)) as server, asking(server, **slow) as policy:
        only(policy, request())
    assert len(server.requests) == 2


def test_a_cap_without_prices_is_refused():
    with pytest.raises(UserError, match="needs prices"):
        parse_config(ChatApiConfig, {"prices": {"max_cost": 1}}, "test")


COST, CAP = 20.0, 6_000.0


SCRIPT = """
import os, sys
from pathlib import Path
from graphwalker.errors import PolicyError, UserError
from graphwalker.graphs.base import Entity
from graphwalker.policies.base import Request, Sampling
from graphwalker.policies.chat.config import ChatApiConfig, Prices
from graphwalker.policies.chat.policy import ChatPolicy
from graphwalker.question import Question
from graphwalker.trajectory import Message
import httpx
url, folder, cap = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
prices = Prices(prompt_per_million=1e6, completion_per_million=2e6, max_cost=cap)
server = {"base_url": url, "api_key_env": "", "backoff_s": 0.01, "prices": prices}
def policy(texts):
    chat = ChatPolicy("tiny", ChatApiConfig(**server, concurrency=2), folder)
    for text in texts:
        question = Question(text, text, (Entity("m.a", "A"),))
        message = Message("user", text)
        try:
            chat.submit(Request(text, (message,), question, (), Sampling(max_tokens=20)))
        except PolicyError:
            break
    while chat.collect():
        pass
children = []
for worker in range(8):
    child = os.fork()
    if not child:
        try:
            policy([f"{worker} {number}" for number in range(60)])
        except (PolicyError, UserError) as error:
            assert "max_cost" in str(error), error
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
"""


@pytest.mark.slow
def test_eight_workers_that_are_killed_never_pass_the_cap(tmp_path):
    with serve(Act(delay_s=0.02)) as server:
        words = [sys.executable, "-c", SCRIPT, server.url, str(tmp_path), str(CAP)]
        process = subprocess.Popen(words, start_new_session=True)
        deadline = time.monotonic() + 300
        while len(server.requests) < 60 and time.monotonic() < deadline:
            time.sleep(0.005)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert subprocess.run(words, timeout=120).returncode == 0
    spent = Budget(Prices(), Store(tmp_path), 1.0).usage
    assert len(server.requests) > 100
    paid = COST * len(server.requests)
    assert paid <= spent.cost <= CAP  # what was under way at a kill counts at its worst
    assert spent.cost > CAP - 200  # and the cap is what ended the workers


def test_what_a_dead_process_had_under_way_counts_at_its_worst(tmp_path):
    child = os.fork()
    if not child:
        Budget(Prices(), Store(tmp_path), 600.0).reserve(Usage(1, 30, 20, 0.5), "key")
        os._exit(0)
    os.waitpid(child, 0)
    after = Budget(Prices(max_requests=2), Store(tmp_path), 600.0)
    assert after.usage == Usage(1, 30, 20, 0.5)
    ticket = after.reserve(Usage(1, 1, 1, 0.1), "key")  # nobody waits for the dead
    assert ticket is not None
    after.settle(ticket, "paid", Usage(1, 1, 0, 0.0))
    assert (after.usage.requests, after.lost_requests) == (2, 1)


def test_a_request_waits_for_one_under_way_that_may_leave_money(tmp_path):
    prices = Prices(prompt_per_million=1e6, max_cost=10)
    one, other = (Budget(prices, Store(tmp_path), 600.0) for _ in range(2))
    ticket = one.reserve(one.price(8, 0))
    assert ticket is not None and other.reserve(other.price(5, 0)) is None
    one.settle(ticket, "paid", one.price(2, 0))
    assert other.reserve(other.price(5, 0)) is not None
