"""Requests in batches at half price (OpenAI's `/v1/files` and `/v1/batches`), over any kills."""

import json
import logging
import queue
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from graphwalker.errors import PolicyError, UserError
from graphwalker.files import dumps
from graphwalker.policies.chat.batch_ledger import BatchLedger, OpenBatch, Ticket
from graphwalker.policies.chat.budget import Budget
from graphwalker.policies.chat.connection import ChatError, Connection, Refused, Stopped
from graphwalker.policies.chat.store import Spent, Store, StoredAnswer

log = logging.getLogger(__name__)

Json = dict[str, Any]
BatchOutcome = StoredAnswer | PolicyError | UserError

DISCOUNT = 0.5
"""Share of the usual price that a request in a batch costs."""
ENDED = frozenset({"completed", "expired", "cancelled", "failed"})
MARK = "graphwalker"
"""The field of a batch's metadata that holds our name for it."""
PAGES = 10
"""Pages of the server's list that a batch is looked for in."""
_BUSY = ("token_limit", "rate_limit", "enqueued", "too many")
"""What a failed batch says when the account has too much under way: it may pass."""


@dataclass(frozen=True, slots=True)
class BatchRules:
    """When a batch is sent, and how often its state is looked at."""

    size: int = 500
    gather_s: float = 10.0
    poll_s: float = 30.0


@dataclass
class _Job:
    """A request of this process that waits for its batch."""

    ticket: Ticket
    body: Json
    outcome: BatchOutcome | None = None
    done: threading.Event = field(default_factory=threading.Event)

    def end(self, outcome: BatchOutcome) -> None:
        if not self.done.is_set():
            self.outcome = outcome
            self.done.set()


class Batches:
    """One thread that gathers requests, sends them as batches and settles what comes of them.

    What is under way stands in the store before it is sent: whoever opens the store next
    attaches to it again, so that a request is paid once whatever was killed. A batch of which
    nobody knows whether the server has it is looked for there by its name before anything is sent.
    """

    def __init__(
        self,
        rules: BatchRules,
        connection: Connection,
        store: Store,
        budget: Budget,
        read: Callable[[Json, str], StoredAnswer],
    ) -> None:
        """`read`: a completion and its purpose as an answer, with what it cost."""
        self._rules, self._connection, self._read = rules, connection, read
        self._budget, self._ledger = budget, BatchLedger(store)
        self._inbox: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._jobs: dict[int, _Job] = {}
        self._failures = 0
        self.failure: PolicyError | UserError | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def complete(self, ticket: Ticket, body: Json) -> StoredAnswer:
        """The answer of a request whose price is reserved. Raises `ChatError`: of exactly that type
        where another attempt may help. Nothing is left reserved but what is under way."""
        job = _Job(ticket, body)
        self._inbox.put(job)
        job.done.wait()
        assert job.outcome is not None
        if isinstance(job.outcome, StoredAnswer):
            return job.outcome
        raise job.outcome

    def stop(self) -> None:
        """Send nothing more; batches under way stay for whoever opens the store next."""
        self._connection.stopping.set()
        self._inbox.put(None)

    def close(self) -> None:
        """End the thread."""
        self.stop()
        self._thread.join(30)

    # --- the thread

    def _run(self) -> None:
        gathered: list[_Job] = []
        last, looked = time.monotonic(), -self._rules.poll_s
        try:
            while not self._connection.stopping.is_set():
                now = time.monotonic()
                if gathered and (
                    len(gathered) >= self._rules.size or now - last >= self._rules.gather_s
                ):
                    batch = gathered[: self._rules.size]
                    gathered = gathered[len(batch) :]
                    self._send(batch)
                    continue
                if now - looked >= self._rules.poll_s:
                    self._look()
                    looked = time.monotonic()
                    continue
                due = looked + self._rules.poll_s
                due = min(due, last + self._rules.gather_s) if gathered else due
                try:
                    job = self._inbox.get(timeout=max(0.001, due - now))
                except queue.Empty:
                    continue
                if job is not None:
                    gathered.append(job)
                    last = time.monotonic()
            self._leave(gathered, Stopped("the policy was closed"))
        except Exception as error:
            # A thread that ends leaves every request waiting for ever: whatever this was, they end.
            if not isinstance(error, PolicyError | UserError):
                log.exception("batches failed")
                error = ChatError(f"batches: {type(error).__name__}: {error}")
            self._connection.stopping.set()
            self._leave(gathered, error)

    def _leave(self, gathered: list[_Job], why: PolicyError | UserError) -> None:
        """End every request of this process: what was not sent yet costs nothing."""
        self.failure = why
        while True:
            try:
                job = self._inbox.get(timeout=0.05)
            except queue.Empty:
                break
            gathered += [job] if job is not None else []
        for job in gathered:
            self._budget.settle(job.ticket.number, "paid", Spent())
            job.end(why)
        for job in self._jobs.values():
            job.end(why)
        self._budget.notify()
        # Askers that come now are told at once.
        threading.Thread(target=self._refuse, args=(why,), daemon=True).start()

    def _refuse(self, why: BatchOutcome) -> None:
        while True:
            if (job := self._inbox.get()) is not None:
                job.end(why)

    def _send(self, jobs: Sequence[_Job]) -> None:
        name = secrets.token_hex(12)
        jobs = sorted(jobs, key=lambda job: job.ticket.key)
        self._jobs.update({job.ticket.number: job for job in jobs})
        self._ledger.begin(name, [job.ticket for job in jobs])
        lines = (
            dumps(
                {
                    "custom_id": job.ticket.key,
                    "method": "POST",
                    "url": "/v1/chat/completions",
                    "body": job.body,
                }
            )
            for job in jobs
        )
        data = "".join(f"{line}\n" for line in lines).encode()
        try:
            file = self._connection.upload(f"graphwalker-{name}.jsonl", data)
        except ChatError as error:
            self._free(name, error)
            return
        request = {
            "input_file_id": file["id"],
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {MARK: name},
        }
        try:
            batch = self._connection.call("POST", "/batches", request, retries=0)
        except ChatError as error:
            if type(error) is not ChatError:  # refused, so that there is none
                self._free(name, error)
                return
            # It may have been made all the same: nothing is sent again before that is known.
            log.warning("a batch was not confirmed (%s): it is looked for", error)
            return
        self._ledger.sent(name, batch["id"])
        log.info("batch %s: %d requests", batch["id"], len(jobs))

    def _look(self) -> None:
        """See to every batch that is under way, whoever sent it. Raises when the server is gone."""
        for batch in self._ledger.open():
            try:
                if batch.id:
                    self._settle(batch)
                else:
                    self._find(batch.name, ChatError("the batch was never sent"))
                self._failures = 0
            except (Refused, Stopped):
                raise
            except ChatError as error:
                self._failures += 1
                log.warning("batch %s: %s", batch.id or batch.name, error)
                if self._failures > 5:
                    raise
        known = {
            ticket.number for b in self._ledger.open() for ticket in self._ledger.tickets(b.name)
        }
        for number in [number for number in self._jobs if number not in known]:
            # Another process has settled it: the store holds its answer, if there is one.
            self._jobs.pop(number).end(ChatError("settled by another process"))

    def _find(self, name: str, error: ChatError) -> None:
        """Adopt the batch of that name from the server's list, else its requests are free."""
        after = ""
        for _ in range(PAGES):
            page = self._connection.call("GET", f"/batches?limit=100{after}")
            found = cast(list[Json], page["data"])
            for batch in found:
                if cast(Json, batch.get("metadata") or {}).get(MARK) == name:
                    self._ledger.sent(name, batch["id"])
                    return
            if not page.get("has_more") or not found:
                break
            after = f"&after={found[-1]['id']}"
        self._free(name, error)

    def _settle(self, open_batch: OpenBatch) -> None:
        batch = self._connection.call("GET", f"/batches/{open_batch.id}")
        status = str(batch.get("status"))
        if status not in ENDED:
            return
        if status == "failed":
            self._free(open_batch.name, _failure(batch))
            return
        tickets = {ticket.key: ticket for ticket in self._ledger.tickets(open_batch.name)}
        for field_name in ("output_file_id", "error_file_id"):
            if batch.get(field_name):
                for line in self._lines(str(batch[field_name])):
                    ticket = tickets.pop(str(line.get("custom_id")), None)
                    if ticket is not None:
                        self._end(ticket, self._outcome(line, ticket))
        for ticket in tickets.values():
            self._unanswered(ticket, status)
        self._ledger.settled(open_batch.name)
        self._budget.notify()
        log.info("batch %s: %s", open_batch.id, status)

    def _lines(self, file_id: str) -> list[Json]:
        text = self._connection.download(f"/files/{file_id}/content").decode("utf-8", "replace")
        lines: list[Json] = []
        for line in text.splitlines():
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                log.warning("file %s: a line that is no JSON was left out", file_id)
                continue
            lines += [cast(Json, value)] if isinstance(value, dict) else []
        return lines

    def _outcome(self, line: Json, ticket: Ticket) -> StoredAnswer | ChatError:
        response = cast(Json, line.get("response") or {})
        body = cast(Json, response.get("body") or {})
        error = cast(Json, line.get("error") or {})
        if response.get("status_code") == 200:
            if self._connection.is_completion(body):
                return self._read(body, ticket.purpose)
            return ChatError("a batch held no chat completion", billed=True)
        if not response and error.get("code") in ("batch_expired", "batch_cancelled"):
            return ChatError(f"{error['code']}: not answered in time")
        return self._connection.error_of_status(
            int(response.get("status_code") or 500), body or error
        )

    def _unanswered(self, ticket: Ticket, status: str) -> None:
        """A request that the batch's files do not hold: one that was completed may be billed."""
        billed = status == "completed"
        self._end(ticket, ChatError(f"a batch {status} without this answer", billed))

    def _end(self, ticket: Ticket, outcome: StoredAnswer | ChatError) -> None:
        job = self._jobs.pop(ticket.number, None)
        if isinstance(outcome, StoredAnswer):
            # A server that does not say what it used may have used what was reserved.
            used = outcome.spent if outcome.spent.tokens else None
            self._budget.settle(ticket.number, "paid", used, outcome, notify=False)
        elif outcome.billed:
            self._budget.settle(ticket.number, "lost", None, notify=False)
        else:  # counted, at no cost
            self._budget.settle(ticket.number, "paid", Spent(1), notify=False)
        if job is not None:
            job.end(outcome)

    def _free(self, name: str, error: ChatError) -> None:
        """Nothing of the batch was done: its requests cost nothing, and may be sent again."""
        for ticket in self._ledger.tickets(name):
            self._budget.settle(ticket.number, "paid", Spent(), notify=False)
            job = self._jobs.pop(ticket.number, None)
            if job is not None:
                job.end(error)
        self._ledger.settled(name)
        self._budget.notify()


def _failure(batch: Json) -> ChatError:
    """Why the server would not begin a batch: mostly what every other would meet, too."""
    about = cast(Json, batch.get("errors") or {})
    errors = cast(list[Json], about.get("data") or [{}])
    reason = " ".join(str(errors[0].get(key)) for key in ("message", "code") if errors[0].get(key))
    line = f"the server refused a batch: {' '.join(reason.split())[:300] or 'no reason given'}"
    busy = any(word in reason.lower() for word in _BUSY)
    return ChatError(line) if busy else Refused(line)
