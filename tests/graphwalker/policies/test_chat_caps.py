"""Caps over processes and kills: eight workers, killed and run again, against a real server."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from graphwalker.policies.chat.budget import Budget
from graphwalker.policies.chat.config import Prices
from graphwalker.policies.chat.store import Store, Usage
from support.chat_server import Act, ChatServer, serve

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


def workers(server: ChatServer, folder: Path) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, "-c", SCRIPT, server.url, str(folder), str(CAP)]
    return subprocess.Popen(arguments, start_new_session=True)


@pytest.mark.slow
def test_eight_workers_that_are_killed_never_pass_the_cap(tmp_path: Path) -> None:
    with serve(Act(delay_s=0.02)) as server:
        process = workers(server, tmp_path)
        deadline = time.monotonic() + 300
        while len(server.requests) < 60 and time.monotonic() < deadline:
            time.sleep(0.005)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert workers(server, tmp_path).wait(timeout=120) == 0
        paid = COST * len(server.requests)
    spent = spent_in(tmp_path)
    assert len(server.requests) > 100
    assert paid <= spent.cost <= CAP  # what was under way at a kill counts at its worst
    assert spent.cost > CAP - 200  # and the cap is what ended the workers


def spent_in(folder: Path) -> Usage:
    return Budget(Prices(), Store(folder), 1.0).usage


def test_what_a_dead_process_had_under_way_counts_at_its_worst(tmp_path: Path) -> None:
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


def test_a_request_waits_for_one_under_way_that_may_leave_money(tmp_path: Path) -> None:
    prices = Prices(prompt_per_million=1e6, max_cost=10)
    one, other = (Budget(prices, Store(tmp_path), 600.0) for _ in range(2))
    ticket = one.reserve(one.price(8, 0))
    assert ticket is not None
    assert other.reserve(other.price(5, 0)) is None
    one.settle(ticket, "paid", one.price(2, 0))
    assert other.reserve(other.price(5, 0)) is not None
