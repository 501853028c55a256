"""The door to a chat server: every attempt is counted, judged and bounded."""

import logging
import math
import os
import threading
from collections.abc import Callable
from typing import Any, cast

from graphwalker.counts import number_of
from graphwalker.errors import FilteredError, HopelessError, PolicyError
from graphwalker.files import dumps
from graphwalker.http import PASSING, Backoff, Client, HttpReply, NoReply
from graphwalker.policies.chat.budget import Rate
from graphwalker.policies.chat.config import ChatApiConfig, api_key
from graphwalker.policies.chat.wire import TOO_LONG, error_text, failure_in

log = logging.getLogger(__name__)

HOPELESS = frozenset({*range(300, 400), 401, 402, 404, 405})
"""Statuses that every further request would meet: a redirect, no key, no money, no such model or
address. Not 403: some providers answer so to a single prompt that their filter dislikes."""
_FILTER_WORDS = ("content_filter", "content_policy_violation", "finish_reason sensitive", "flagged")
_NO_MONEY = ("insufficient_quota", "insufficient balance", "billing_hard_limit")
LONGEST_BACKOFF_S, LONGEST_RETRY_AFTER_S = 60.0, 120.0
"""Longest wait of our own choice, and that a server may ask for: more, and it is left alone."""

Json = dict[str, Any]


class ChatError(PolicyError):
    """A server did not answer; `billed`: it may want money for that all the same."""

    def __init__(self, text: str, billed: bool = False, wait_s: float = 0.0) -> None:
        super().__init__(text)
        self.billed, self.wait_s = billed, wait_s


class Refused(ChatError, HopelessError):
    """The server will refuse every other request, too: wrong key, no money, unknown model."""


class ContextFull(ChatError):
    """The conversation is longer than the model's context: the agent's doing, not a failure."""


class Stopped(ChatError):
    """Nothing more is sent: the run ends."""


class Declined(ChatError):
    """The server will not answer this one prompt (a filter, a wrong field); others may pass."""


class Filtered(Declined, FilteredError):
    """A content filter kept the answer to this one prompt back."""


class Connection:
    """Sends requests to a chat server, and the same one again where that may help."""

    def __init__(self, config: ChatApiConfig) -> None:
        self._config, self._key = config, api_key(config)
        self._rate = Rate(config.requests_per_minute, config.tokens_per_minute)
        self._backoff = Backoff(config.backoff_s, LONGEST_BACKOFF_S, LONGEST_RETRY_AFTER_S)
        self.stopping = threading.Event()
        self._url = f"{config.address}/chat/completions"
        self._headers = {"content-type": "application/json", "accept": "application/json"}
        of_user = {  # as OpenAI's own client reads the environment
            "authorization": f"Bearer {self._key}" if self._key else "",
            "openai-organization": os.environ.get("OPENAI_ORG_ID", ""),
            "openai-project": os.environ.get("OPENAI_PROJECT_ID", ""),
        }
        self._headers |= {name: value for name, value in of_user.items() if value}
        self._http = Client(config.address, config.timeout_s, connections=config.concurrency)

    def post(self, body: Json, tokens: int, again: Callable[[], None], retries: int | None) -> Json:
        """Return the server's answer, a completion with a choice or more. `again` is called before
        an attempt when the last one may have been billed; what it raises ends the attempts."""
        most, sent = 1 + (self._config.retries if retries is None else retries), dumps(body)
        failures = 0
        while True:
            if self.stopping.wait(self._rate.delay(tokens)):
                raise Stopped("the policy was closed")
            try:
                return self._attempt(sent.encode())
            except ChatError as error:
                failures += 1
                if type(error) is not ChatError:  # its kinds are those that no attempt mends
                    raise
                if failures == most or error.wait_s > LONGEST_RETRY_AFTER_S:
                    tried = f"after {number_of(failures, 'attempt')}"
                    if LONGEST_RETRY_AFTER_S < error.wait_s < math.inf:
                        tried += f", it asks to wait {number_of(round(error.wait_s), 'second')}"
                    raise ChatError(f"{error} ({tried})", error.billed) from None
                log.info("attempt %d failed: %s", failures, error)
                self.stopping.wait(self._backoff.pause(failures, error.wait_s))
                if error.billed:
                    again()

    def close(self) -> None:
        self.stopping.set()
        self._http.close()

    def _attempt(self, body: bytes) -> Json:
        where = self._config.base_url
        try:
            answer = self._http.send("POST", self._url, self._headers, body)
        except NoReply as error:
            line = f"no whole answer in {self._config.timeout_s:g} s"
            line = line if error.is_late else self._line(error)
            line = line if error.sent else f"no connection ({line})"
            raise ChatError(f"{where}: {line}", billed=error.sent) from None
        if answer.status != 200:
            moved = f"moved to {answer.headers.get('location', 'another address')}"
            text = moved if 300 <= answer.status < 400 else _message(answer)
            what = f"HTTP {answer.status}: {self._line(text)}"
            raise self._refusal(answer.status, what, _retry_after_s(answer))
        reply = _json(answer)
        if failure := failure_in(reply):
            error = self._refusal(failure.status, f"in an HTTP 200: {self._line(failure.text)}")
            error.billed = True
            raise error
        return reply

    def _refusal(self, status: int, what: str, wait_s: float = 0.0) -> ChatError:
        """Return what an answer of that status means for the request."""
        line = f"{self._config.base_url}: {what}"
        known = line.lower()
        if status in HOPELESS or any(word in known for word in _NO_MONEY):
            return Refused(f"{line}{self._hint(status)}")
        if status in (400, 413, 422) and any(word in known for word in TOO_LONG):
            return ContextFull(line)
        if any(word in known for word in _FILTER_WORDS):
            return Filtered(line)
        return ChatError(line, wait_s=wait_s) if status in PASSING else Declined(line)

    def _hint(self, status: int) -> str:
        if status != 401:
            return ""
        name = self._config.api_key_env
        state = "holds a key that is refused" if self._key else "is not set"
        return f"; the environment variable {name} {state}" if name else "; api_key_env is empty"

    def _line(self, text: object) -> str:
        """Return one short line; servers are known to quote the key that they refuse."""
        line = " ".join(clean(str(text)).split())
        if self._key:
            line = line.replace(self._key, "***")
        return line[:300]


def clean(text: str) -> str:
    """Text that can be written: half a surrogate pair, as servers cut them, becomes a `?`."""
    return text.encode("utf-8", "replace").decode()


def _retry_after_s(answer: HttpReply) -> float:
    """Seconds that a refusal asks to wait; for ever where the server wants no further attempt."""
    return math.inf if answer.headers.get("x-should-retry") == "false" else answer.retry_after_s


def _message(answer: HttpReply) -> str:
    """Return what the server says went wrong, with its code."""
    return error_text(_json(answer).get("error", answer.text))


def _json(answer: HttpReply) -> Json:
    try:
        body = answer.json()
    except ValueError:
        return {}
    return cast(Json, body) if isinstance(body, dict) else {}
