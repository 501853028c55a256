"""What requests may cost and how fast they may go: caps that hold over processes and kills."""

import os
import secrets
import socket
import sqlite3
import threading
import time

from graphwalker.errors import HopelessError
from graphwalker.policies.chat.config import Prices
from graphwalker.policies.chat.store import Store, StoredAnswer, Usage, book, keep, spent_by_shards

POLL_S = 0.1
"""How often a request that waits looks for what other processes have settled."""
_LIVING: set[str] = set()
"""Owners of requests in this process: an earlier process may have had the same number."""


class OverBudget(HopelessError):
    """A cap is reached: nothing more is sent."""


class Rate:
    """Spaces requests evenly over time."""

    def __init__(self, requests_per_minute: float, tokens_per_minute: float) -> None:
        self._limits = (requests_per_minute, tokens_per_minute)
        self._free = [0.0, 0.0]
        self._lock = threading.Lock()

    def delay(self, tokens: int) -> float:
        """Seconds to wait before a request of so many tokens; its place is taken."""
        with self._lock:
            now = time.monotonic()
            start = max(now, *self._free)
            for i, (limit, weight) in enumerate(zip(self._limits, (1, tokens), strict=True)):
                self._free[i] = start + (60.0 * weight / limit if limit else 0.0)
            return start - now


class Budget:
    """Lets a request through only when everything under way could be paid at its worst price.

    A request is a row in the store from before it is sent until it is settled, so that what a
    killed process had under way counts at its worst, for whoever opens the store next. The caps
    hold for all that is paid into one store, by any thread, process or run; for the run that joins
    shards, what those paid counts, too. Thread-safe.
    """

    def __init__(self, prices: Prices, store: Store, longest_s: float) -> None:
        self._prices, self._store, self._longest_s = prices, store, longest_s
        self._host = socket.gethostname()
        self._by_shards = spent_by_shards(store.folder)
        self._owner = f"{self._host} {os.getpid()} {secrets.token_hex(8)}"
        _LIVING.add(self._owner)
        self._settled = threading.Condition()

    @property
    def usage(self) -> Usage:
        """All that was paid, and what lost requests may have cost."""
        with self._store.change() as database:
            self._sweep(database)
            return _total(database, "spent")

    @property
    def lost_requests(self) -> int:
        """Requests that may have been paid for nothing, those under way among them."""
        with self._store.change() as database:
            lost = "SELECT requests FROM spent WHERE state = 'lost'"
            return database.execute(lost).fetchone()[0] + _total(database, "sent").requests

    def price(self, prompt_tokens: int, completion_tokens: int, reasoning_tokens: int = 0) -> Usage:
        """Return the usage of one request; reasoning tokens are among those of the completion."""
        cost = (
            prompt_tokens * self._prices.prompt_per_million
            + completion_tokens * self._prices.completion_per_million
        ) / 1_000_000
        return Usage(1, prompt_tokens, completion_tokens, cost, reasoning_tokens)

    def at_worst(self, prompt_bytes: int, messages: int, completion_tokens: int) -> Usage:
        """Return what a request may cost at most: no tokenizer makes more tokens than there are
        bytes, and chat templates add few to each message."""
        return self.price(prompt_bytes + 32 * (messages + 1), completion_tokens)

    def reserve(self, worst: Usage, key: str = "") -> int | None:
        """Set the worst price aside, under the number that is returned; `None`: not now.

        That is while a request under way may still leave money for it, or has the same key and may
        answer it, or has. Raises `OverBudget` when the cap is reached.
        """
        with self._store.change() as database:
            self._sweep(database)
            # An answer may have come since its store was last looked at.
            same = "SELECT key FROM sent WHERE key = ? UNION SELECT key FROM answers WHERE key = ?"
            if key and database.execute(same, (key, key)).fetchone():
                return None
            spent = _total(database, "spent") + self._by_shards
            under_way = _total(database, "sent")
            if not self._allows(spent + under_way + worst):
                if under_way.requests:
                    return None
                raise OverBudget(self._refusal(spent))
            row = (key, self._owner, time.time() + self._longest_s)
            return database.execute(
                "INSERT INTO sent VALUES (NULL, ?, ?, ?, ?, ?, ?)",
                (*row, worst.prompt_tokens, worst.completion_tokens, worst.cost),
            ).lastrowid

    def wait(self) -> None:
        """Until a request of this process was settled, or one of another may have been."""
        with self._settled:
            self._settled.wait(POLL_S)

    def notify(self) -> None:
        """Wake those that wait."""
        with self._settled:
            self._settled.notify_all()

    def settle(
        self, ticket: int, state: str, actual: Usage, answer: StoredAnswer | None = None
    ) -> None:
        """Book as `paid` or `lost` what a reservation came to, and store its answer."""
        with self._store.change() as database:
            row = database.execute("SELECT key FROM sent WHERE id = ?", (ticket,)).fetchone()
            if row is not None:  # else another process took it for dead and booked it
                database.execute("DELETE FROM sent WHERE id = ?", (ticket,))
                book(database, state, actual)
            if answer is not None and row is not None and row[0]:
                keep(database, row[0], answer)
        self.notify()

    def _sweep(self, database: sqlite3.Connection) -> None:
        """Book what a dead process had under way as lost: it may have been billed."""
        rows = database.execute(
            "SELECT id, owner, until, prompt_tokens, completion_tokens, cost FROM sent"
        ).fetchall()
        for ticket, owner, until, *worst in rows:
            if until < time.time() or self._is_dead(owner):
                database.execute("DELETE FROM sent WHERE id = ?", (ticket,))
                book(database, "lost", Usage(1, *worst))

    def _is_dead(self, owner: str) -> bool:
        host, process, _ = owner.split(" ")
        if host != self._host:
            return False  # nobody can tell: it counts until its time is up
        if int(process) == os.getpid():
            return owner not in _LIVING
        try:
            os.kill(int(process), 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            pass
        return False

    def _allows(self, total: Usage) -> bool:
        caps = self._prices
        return (
            (not caps.max_cost or total.cost <= caps.max_cost)
            and (not caps.max_total_tokens or total.tokens <= caps.max_total_tokens)
            and (not caps.max_requests or total.requests <= caps.max_requests)
        )

    def _refusal(self, spent: Usage) -> str:
        prices = self._prices
        caps = [f"max_cost={prices.max_cost:g}"] if prices.max_cost else []
        if prices.max_total_tokens:
            caps.append(f"max_total_tokens={prices.max_total_tokens}")
        if prices.max_requests:
            caps.append(f"max_requests={prices.max_requests}")
        counted = f" by all that share {self._store.path}" if self._store.path else ""
        return (
            f"the next request might pass {' or '.join(caps)}: {spent.cost:.4f}, "
            f"{spent.tokens:,} tokens and {spent.requests:,} requests are spent{counted}; raise "
            "the cap and run again"
        )


def _total(database: sqlite3.Connection, table: str) -> Usage:
    requests = "sum(requests)" if table == "spent" else "count(*)"
    costs = "coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0)"
    reasoning = "coalesce(sum(reasoning_tokens), 0)" if table == "spent" else "0"
    query = f"SELECT {requests}, {costs}, coalesce(sum(cost), 0.0), {reasoning} FROM {table}"
    return Usage(*database.execute(query).fetchone())
