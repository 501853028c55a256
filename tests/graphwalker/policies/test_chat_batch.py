"""Requests in batches, over real HTTP: good, half done, failed, expired, refused, killed."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from graphwalker.errors import PolicyError
from graphwalker.policies.chat.batch import BatchRules
from graphwalker.policies.chat.client import Completions
from graphwalker.policies.chat.config import ChatApiConfig
from graphwalker.policies.chat.connection import Declined, Refused
from graphwalker.policies.chat.store import Spent, StoredAnswer
from support.batch_server import BatchServer, Fate, serve_batches

pytestmark = pytest.mark.long

# A batch goes out when all twelve are there: on a busy machine they may come slowly.
QUICK = BatchRules(size=12, gather_s=0.4, poll_s=0.02)
PRICES = {"prompt_per_million": 1.0, "completion_per_million": 10.0}


def settings(server: BatchServer, **more: Any) -> ChatApiConfig:
    about = {"base_url": server.url, "api_key_env": "", "backoff_s": 0.01, "timeout_s": 5}
    return ChatApiConfig(**{**about, "prices": PRICES, **more})


def ask(chat: Completions, number: int) -> StoredAnswer | Exception:
    messages = [{"role": "user", "content": f"What is {number}?"}]
    try:
        return chat.complete(messages, max_tokens=50, seed=0, purpose="sum")
    except PolicyError as error:
        return error


def ask_all(chat: Completions, count: int) -> list[StoredAnswer | Exception]:
    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(lambda number: ask(chat, number), range(count)))


def opened(server: BatchServer, folder: Path, **more: Any) -> Completions:
    return Completions(settings(server, **more), "tiny", folder, QUICK)


def texts(answers: list[StoredAnswer | Exception]) -> list[str]:
    return [a.text if isinstance(a, StoredAnswer) else repr(a) for a in answers]


ECHO = [f"<What is {number}?>" for number in range(12)]


def echo(prompt: str) -> str:
    return f"<{prompt}>"


def test_a_batch_is_answered_at_half_the_price(tmp_path):
    with serve_batches(echo) as server:
        chat = opened(server, tmp_path)
        assert texts(ask_all(chat, 12)) == ECHO
        assert texts(ask_all(chat, 12)) == ECHO  # from the store
        usual = (100 * 1.0 + 20 * 10.0) / 1_000_000
        assert chat.spent == Spent(12, 1200, 240, pytest.approx(12 * usual / 2))
        chat.close()
        assert server.chats == 0 and set(server.sent.values()) == {1}


def test_what_expired_is_sent_again_and_nothing_else(tmp_path):
    def half(number: int) -> Fate:
        return Fate("expired", answered=0.5) if number == 0 else Fate()

    with serve_batches(echo, half) as server:
        chat = opened(server, tmp_path)
        assert texts(ask_all(chat, 12)) == ECHO
        first = len(server.batches["batch_0"].requests)
        left = first - round(first * 0.5)
        assert sum(server.sent.values()) == 12 + left and chat.spent.prompt_tokens == 1200
        chat.close()
        assert max(server.answered.values()) == 1


def test_answers_that_a_completed_batch_lacks_are_booked_as_lost_and_sent_again(tmp_path):
    with serve_batches(echo, lambda n: Fate(answered=0.75 if n == 0 else 1.0)) as server:
        chat = opened(server, tmp_path)
        assert texts(ask_all(chat, 12)) == ECHO
        chat.close()
        first = len(server.batches["batch_0"].requests)
    lost = first - round(first * 0.75)
    assert f'"lost": {lost}' in (tmp_path / "spent.json").read_text()


def test_one_request_that_a_filter_refuses_is_declined_and_the_others_are_answered(tmp_path):
    with serve_batches(echo, lambda n: Fate(refused=2 if n == 0 else 0)) as server:
        chat = opened(server, tmp_path)
        answers = ask_all(chat, 12)
        assert sum(isinstance(answer, Declined) for answer in answers) == 2
        assert sum(isinstance(answer, StoredAnswer) for answer in answers) == 10
        assert chat.spent.requests == 12 and chat.spent.prompt_tokens == 1000
        chat.close()


def test_a_batch_that_the_server_refuses_ends_the_run_and_costs_nothing(tmp_path):
    with serve_batches(echo, lambda n: Fate("failed", error="no such model")) as server:
        chat = opened(server, tmp_path)
        answers = ask_all(chat, 3)
        assert all(isinstance(answer, Refused) for answer in answers)
        assert "refused a batch: no such model" in str(answers[0])
        assert isinstance(ask(chat, 9), Refused) and len(server.batches) == 1
        assert chat.spent == Spent()
        chat.close()


def test_a_batch_that_waits_for_room_in_the_account_is_sent_again(tmp_path):
    def full(number: int) -> Fate:
        return Fate("failed", error="Enqueued token limit reached") if number == 0 else Fate()

    with serve_batches(echo, full) as server:
        chat = opened(server, tmp_path)
        assert texts(ask_all(chat, 12)) == ECHO
        chat.close()
        assert len(server.batches) >= 2


def test_a_batch_that_was_made_but_never_confirmed_is_found_and_not_made_twice(tmp_path):
    with serve_batches(echo, lambda n: Fate(hang_up=True)) as server:
        chat = opened(server, tmp_path)
        assert texts(ask_all(chat, 12)) == ECHO
        chat.close()
        assert set(server.sent.values()) == {1}


def test_a_cap_counts_what_is_under_way_in_batches(tmp_path):
    with serve_batches(echo, lambda n: Fate(looks=20)) as server:
        chat = opened(server, tmp_path, prices={**PRICES, "max_requests": 5})
        answers = ask_all(chat, 12)
        assert sum(isinstance(answer, StoredAnswer) for answer in answers) == 5
        chat.close()
        assert sum(server.sent.values()) == 5


KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from graphwalker.errors import PolicyError
from graphwalker.policies.chat.batch import BatchRules
from graphwalker.policies.chat.client import Completions
from graphwalker.policies.chat.config import ChatApiConfig
from concurrent.futures import ThreadPoolExecutor
config = ChatApiConfig(base_url=sys.argv[1], api_key_env="", backoff_s=0.01, timeout_s=5)
chat = Completions(config, "tiny", Path(sys.argv[2]), BatchRules(12, 0.4, 0.02))
def ask(number):
    messages = [{"role": "user", "content": f"What is {number}?"}]
    return chat.complete(messages, max_tokens=50, seed=0, purpose="sum")
with ThreadPoolExecutor(12) as threads:
    list(threads.map(ask, range(12)))
"""


@pytest.mark.parametrize("batch_again", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_killed_run_attaches_to_its_batch_again_and_pays_for_nothing_twice(tmp_path, batch_again):
    with serve_batches(echo, lambda n: Fate(looks=10**9)) as server:
        arguments = [sys.executable, "-c", KILLED, server.url, str(tmp_path), os.getcwd()]
        process = subprocess.Popen(arguments)
        deadline = time.monotonic() + 60
        while not server.batches and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(0.1)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        for made in server.batches.values():
            made.fate.looks = 0
        rules = QUICK if batch_again else None
        chat = Completions(settings(server, prices={}), "tiny", tmp_path, rules)
        assert texts(ask_all(chat, 12)) == ECHO
        assert chat.spent.prompt_tokens == 1200
        chat.close()
        assert set(server.sent.values()) == {1} and server.chats == 0
    assert '"lost": 0' in (tmp_path / "spent.json").read_text()
