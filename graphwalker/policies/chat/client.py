"""The one way to pay a chat model: each request paid once, stored, and never past a cap."""

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, cast

from graphwalker.errors import PolicyError
from graphwalker.files import dumps
from graphwalker.policies.chat.budget import Budget, OverBudget
from graphwalker.policies.chat.config import ChatApiConfig
from graphwalker.policies.chat.connection import (
    LONGEST_BACKOFF_S,
    ChatError,
    Connection,
    Json,
    Refused,
    Stopped,
    clean,
)
from graphwalker.policies.chat.store import SUMMARY, Store, StoredAnswer, Usage
from graphwalker.policies.chat.wire import finish_of, first_choice, has_reasoning, text_of
from graphwalker.workers.pool import count_work

log = logging.getLogger(__name__)

Messages = Sequence[Mapping[str, Any]]


class Completions:
    """A chat model and its budget. Thread-safe; processes share both by the folder.

    With a folder every answer is stored there: the same request is never paid twice, by whichever
    thread, process or run it comes. After a refusal that every request would meet, and at a cap,
    nothing more is sent. Raises `UserError` for a key that would travel unencrypted.
    """

    def __init__(self, config: ChatApiConfig, model: str, folder: Path | None = None) -> None:
        self.refusal: PolicyError | None = None
        self._config, self._model = config, model
        self._connection = Connection(config)
        self.store = Store(folder)
        self._models = set(self.store.models())
        self._counts_worst = False
        self._lock = Lock()
        attempt_s = 2 * config.timeout_s + LONGEST_BACKOFF_S
        self._budget = Budget(config.prices, self.store, (config.retries + 1) * attempt_s)

    @property
    def usage(self) -> Usage:
        """What all that shares the folder has cost so far."""
        return self._budget.usage

    def complete(
        self,
        messages: Messages,
        *,
        max_tokens: int,
        seed: int,
        purpose: str = "",
        retries: int | None = None,
        **request: Any,
    ) -> StoredAnswer:
        """Return the server's answer, or the stored one. Further settings go into the request.

        Raises `PolicyError`: `ChatError` where no answer came, `OverBudget` at a cap.
        """
        body = self._body(messages, max_tokens, seed, request)
        size = _size(body)
        limit = body.get("max_completion_tokens", body.get("max_tokens", max_tokens))
        worst = self._budget.at_worst(size, len(messages), limit)
        key = _key(body, seed) if self.store.folder else ""
        if key and "stop" in body:  # an answer that no stop string cut says all of it
            whole = {name: value for name, value in body.items() if name != "stop"}
            if found := self.store.find(_key(whole, seed)):
                return found
        begun = self._begin(key, worst)
        if isinstance(begun, StoredAnswer):
            return begun
        ticket = begun

        def again() -> None:
            """Book the attempt, which may have been billed: the next one is a new request."""
            nonlocal ticket
            self._budget.settle(ticket, "lost", worst)
            ticket = 0
            ticket = cast(int, self._begin("", worst))

        state, actual, answer = "lost", worst, None
        try:
            reply = self._connection.post(body, size // 4 + limit, again, retries)
            actual = self._charge(reply, worst)
            state, answer = "paid", _answer(reply, actual, purpose)
            self._note_model(reply)
            read, written = actual.prompt_tokens, actual.completion_tokens
            count_work(read=read, written=written, cost=actual.cost)
            return answer
        except ChatError as error:
            if not error.billed:  # counted, at no cost
                state, actual = "paid", Usage(1)
            if isinstance(error, Refused):
                self.refusal = error
            raise
        finally:
            if ticket:
                self._budget.settle(ticket, state, actual, answer)

    def _note_model(self, reply: Json) -> None:
        """Record which model answered; say so where another did before."""
        named = reply.get("model"), reply.get("system_fingerprint")
        model, fingerprint = (clean(one)[:200] if isinstance(one, str) else "" for one in named)
        if not (model or fingerprint):
            return
        with self._lock:
            known = self._models.copy()
            self._models.add((model, fingerprint))
        if known and (model, fingerprint) not in known:
            others = ", ".join(sorted(map(_model_text, known)))
            what = "%s: answers come from %s now, and came from %s before"
            log.warning(what, self._config.base_url, _model_text((model, fingerprint)), others)
        self.store.count_model(model, fingerprint)

    def stop(self) -> None:
        """Make no further attempts; those under way end as they end, and are booked and stored."""
        self._connection.stopping.set()
        self._budget.notify()

    def close(self) -> None:
        """Close connections and store, once no request is under way. A summary is left beside the
        store, for people: `spent.json`."""
        self._connection.close()
        if self.store.folder:
            spent = self._budget.usage
            summary = {
                "requests": spent.requests,
                "prompt_tokens": spent.prompt_tokens,
                "completion_tokens": spent.completion_tokens,
                "reasoning_tokens": spent.reasoning_tokens,
                "cost": round(spent.cost, 6),
                "lost": self._budget.lost_requests,
                "answers": self.store.purposes(),
                "answered_by": [
                    {"model": model, "system_fingerprint": fingerprint, "answers": count}
                    for (model, fingerprint), count in sorted(self.store.models().items())
                ],
            }
            text = json.dumps(summary, indent=1) + "\n"
            (self.store.folder / SUMMARY).write_text(text, encoding="utf-8")
        self.store.close()

    def _begin(self, key: str, worst: Usage) -> StoredAnswer | int:
        """Return the stored answer, else a reservation; waits while another asks for the same."""
        while True:
            if found := self.store.find(key):
                return found
            if self.refusal is not None:
                raise self.refusal
            if self._connection.stopping.is_set():
                raise Stopped("the policy was closed")
            try:
                ticket = self._budget.reserve(worst, key)
            except OverBudget as error:
                self.refusal = error
                raise
            if ticket is not None:
                return ticket
            self._budget.wait()

    def _body(self, messages: Messages, max_tokens: int, seed: int, request: Json) -> Json:
        body: Json = {
            "model": self._model,
            "messages": [_clean(message) for message in messages],
            **request,
            **self._config.fields(self._model, max_tokens),
            "seed": seed,
            **self._config.body,
        }
        return {field: value for field, value in body.items() if value is not None}

    def _charge(self, reply: Json, worst: Usage) -> Usage:
        """Return what the server says it used; where it says nothing that can be, the worst."""
        usage = reply.get("usage")
        used = cast(Json, usage) if isinstance(usage, dict) else {}
        tokens = [used.get("prompt_tokens"), used.get("completion_tokens")]
        known = [t for t in tokens if type(t) is int and 0 <= t < 1 << 32]
        if len(known) < 2:
            with self._lock:
                is_new, self._counts_worst = not self._counts_worst, True
            if is_new:
                what = "%s: an answer says nothing of its tokens; such answers count at their worst"
                log.warning(what, self._config.base_url)
            return worst
        details = used.get("completion_tokens_details")
        reasoning = cast(Json, details).get("reasoning_tokens") if isinstance(details, dict) else 0
        known += [reasoning] if type(reasoning) is int and 0 <= reasoning <= known[1] else []
        return self._budget.price(*known)


def _model_text(one: tuple[str, str]) -> str:
    model, fingerprint = one
    return f"{model} ({fingerprint})" if fingerprint else model


def _clean(message: Mapping[str, Any]) -> Json:
    """Return the message as it can be sent. `tool_calls` are JSON that was written here."""
    return {k: clean(v) if isinstance(v, str) else v for k, v in message.items()}


def _size(body: Json) -> int:
    """Bytes of all that the model reads."""
    size = sum(len((message.get("content") or "").encode()) for message in body["messages"])
    called = [message["tool_calls"] for message in body["messages"] if "tool_calls" in message]
    described = [*called, *body.get("tools", ())]
    return size + (len(dumps(described).encode()) if described else 0)


def _key(body: Json, seed: int) -> str:
    """Under what a request's answer is stored. A seed that is not sent still tells two samples of
    one prompt apart."""
    text = dumps(body) + ("" if "seed" in body else f"#{seed}")
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _answer(reply: Json, spent: Usage, purpose: str) -> StoredAnswer:
    choice = first_choice(reply)
    text, reason = clean(text_of(choice["message"])), choice.get("stop_reason")
    ended = reason if isinstance(reason, str) else ""
    hidden = has_reasoning(choice["message"])
    return StoredAnswer(text, finish_of(choice), ended, spent, purpose, hidden)
