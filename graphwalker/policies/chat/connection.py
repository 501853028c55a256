"""The door to a chat server: the `openai` package's client, with an eye on every attempt."""

import logging
import random
import threading
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any, cast

from graphwalker.errors import FilteredError, HopelessError, PolicyError, UserError, lacks_extra
from graphwalker.policies.chat.budget import Rate
from graphwalker.policies.chat.config import ChatApiConfig, api_key
from graphwalker.policies.chat.wire import TOO_LONG, error_text, failure_in
from graphwalker.workers.pool import waiting_for

if TYPE_CHECKING:
    import httpx

log = logging.getLogger(__name__)

LARGEST = 32 << 20
"""Bytes of an answer, unpacked; no chat completion is as large."""
HOPELESS = frozenset({401, 402, 404})
"""Statuses that every further request would meet: no key, no money, no such model. Not 403: some
providers answer so to a single prompt that their filter dislikes."""
PASSING = frozenset({408, 409, 425, 429, *range(500, 600)})
"""Statuses that may pass: rate limits, overload, gateways."""
_FILTER_WORDS = ("content_filter", "content_policy_violation", "finish_reason sensitive", "flagged")
_NO_MONEY = ("insufficient_quota", "insufficient balance", "billing_hard_limit")
_HEEDED = frozenset({"x-should-retry", "retry-after", "retry-after-ms"})
"""Headers of a server's refusal by which the package decides when to try again."""

Json = dict[str, Any]


class ChatError(PolicyError):
    """A server did not answer; `billed`: it may want money for that all the same."""

    def __init__(self, text: str, billed: bool = False) -> None:
        super().__init__(text)
        self.billed = billed


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


class _Call:
    """One request of one thread, over all its attempts."""

    def __init__(self, tokens: int, again: Callable[[], None]) -> None:
        self.tokens, self.again = tokens, again
        self.attempts = 0
        self.error: PolicyError | UserError | None = None


class Connection:
    """The `openai` package's client, with our eye on every attempt.

    Retries, back-off and Retry-After are the package's. An attempt without a completion is handed
    to it as a response that says whether and when another may help (`x-should-retry`,
    `retry-after-ms`, which it heeds), so that every attempt is counted and none is unbounded.
    """

    def __init__(self, config: ChatApiConfig) -> None:
        self._config, self._key = config, api_key(config)
        self._calls = threading.local()
        self._rate = Rate(config.requests_per_minute, config.tokens_per_minute)
        self._jitter = random.Random()
        self.stopping = threading.Event()
        openai = _library()
        self._failures: type[Exception] = openai.OpenAIError
        from graphwalker.policies.chat.deadline import Deadline

        self._deadline = Deadline()
        self._http = self._watched_http()
        self._openai = openai.OpenAI(
            api_key=self._key or "none",
            base_url=config.address,
            max_retries=config.retries,
            timeout=self._http.timeout,
            http_client=self._http,
        )

    def post(self, body: Json, tokens: int, again: Callable[[], None], retries: int | None) -> Json:
        """The server's answer, a completion with at least one choice. `again` is called before an
        attempt when the one before it may have been billed; what it raises ends the attempts."""
        import httpx

        call = self._calls.call = _Call(tokens, again)
        options: Json = {} if retries is None else {"max_retries": retries}
        send: Any = self._openai.post
        try:
            response = send("/chat/completions", cast_to=httpx.Response, options=options, body=body)
            return _json(response)
        except self._failures as failure:
            error = call.error or ChatError(self._line(failure))
        if type(error) is ChatError:
            raise ChatError(f"{error} (after {call.attempts} attempts)", error.billed) from None
        raise error from None

    def close(self) -> None:
        self.stopping.set()
        self._http.close()

    def _watched_http(self) -> "httpx.Client":
        import httpx

        attempt, config = self._attempt, self._config

        class Watched(httpx.Client):
            def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
                return attempt(request, lambda: super(Watched, self).send(request, stream=True))

        # A client of httpx's own, for the proxies and certificates of the environment; unlike the
        # package's it follows no redirect, which might carry the key away.
        client = Watched(
            timeout=httpx.Timeout(config.timeout_s, pool=None),
            limits=httpx.Limits(max_connections=config.concurrency),
        )
        self._deadline.watch(client)
        return client

    def _attempt(
        self, request: "httpx.Request", send: "Callable[[], httpx.Response]"
    ) -> "httpx.Response":
        call: _Call = self._calls.call
        if self._key:
            request.headers["Authorization"] = f"Bearer {self._key}"
        else:
            request.headers.pop("Authorization", None)
        try:
            if isinstance(call.error, ChatError) and call.error.billed:
                call.again()
            if self.stopping.wait(self._rate.delay(call.tokens)):
                raise Stopped("the policy was closed")
        except (PolicyError, UserError) as error:
            call.error = error
            return self._failed_response(request, call)
        call.attempts += 1
        try:
            with waiting_for(f"an answer of {self._config.base_url}"):
                response = self._exchange(request, send)
        except ChatError as error:
            call.error = error
            return self._failed_response(request, call)
        call.error = self._error_of(response)
        return response if call.error is None else self._failed_response(request, call, response)

    def _exchange(
        self, request: "httpx.Request", send: "Callable[[], httpx.Response]"
    ) -> "httpx.Response":
        """The whole response, within time and size."""
        import httpx

        where, content = self._config.base_url, bytearray()
        try:
            with self._deadline.within(self._config.timeout_s), closing(send()) as response:
                for chunk in response.iter_bytes():
                    content += chunk
                    if len(content) > LARGEST:
                        raise httpx.ReadError(f"an answer of more than {LARGEST} bytes")
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise ChatError(f"{where}: no connection ({self._line(error)})") from None
        except httpx.TimeoutException:
            line = f"{where}: no whole answer in {self._config.timeout_s:g} s"
            raise ChatError(line, billed=True) from None
        except Exception as error:  # whatever it is, the package would take it for no connection
            line = f"{where}: {type(error).__name__}: {self._line(error)}"
            raise ChatError(line, billed=True) from None
        headers = {k: v for k, v in response.headers.items() if k != "content-encoding"}
        return httpx.Response(
            response.status_code, headers=headers, content=bytes(content), request=request
        )

    def _error_of(self, response: "httpx.Response") -> ChatError | None:
        if response.status_code != 200:
            return self._refusal_of(response)
        failure = failure_in(_json(response))
        if failure is None:
            return None
        error = self._refusal(failure.status, f"in an HTTP 200: {self._line(failure.text)}")
        error.billed = True
        return error

    def _refusal_of(self, response: "httpx.Response") -> ChatError:
        status = response.status_code
        return self._refusal(status, f"HTTP {status}: {self._line(_message(response))}")

    def _refusal(self, status: int, what: str) -> ChatError:
        """What an answer of that status means for the request."""
        line = f"{self._config.base_url}: {what}"
        known = line.lower()
        if status in HOPELESS or any(word in known for word in _NO_MONEY):
            return Refused(f"{line}{self._hint(status)}")
        if status in (400, 413, 422) and any(word in known for word in TOO_LONG):
            return ContextFull(line)
        if any(word in known for word in _FILTER_WORDS):
            return Filtered(line)
        return ChatError(line) if status in PASSING else Declined(line)

    def _failed_response(
        self, request: "httpx.Request", call: _Call, response: "httpx.Response | None" = None
    ) -> "httpx.Response":
        """What tells the package that this attempt failed, and whether to make another."""
        import httpx

        headers = httpx.Headers({"x-should-retry": "true"})
        if response is not None and response.status_code != 200:
            headers.update({k: v for k, v in response.headers.items() if k in _HEEDED})
        if type(call.error) is not ChatError:  # its kinds are those that no attempt mends
            headers["x-should-retry"] = "false"
        if "retry-after" not in headers and "retry-after-ms" not in headers:
            config, before = self._config, max(call.attempts - 1, 0)
            range_s = min(config.max_backoff_s, config.backoff_s * 2.0 ** min(before, 30))
            headers["retry-after-ms"] = f"{1 + 1000 * self._jitter.uniform(0, range_s):.0f}"
        log.info("attempt %d failed: %s", call.attempts, call.error)
        return httpx.Response(503, headers=headers, request=request)

    def _hint(self, status: int) -> str:
        if status != 401:
            return ""
        name = self._config.api_key_env
        state = "holds a key that is refused" if self._key else "is not set"
        return f"; the environment variable {name} {state}" if name else "; api_key_env is empty"

    def _line(self, text: object) -> str:
        """One short line; servers are known to quote the key that they refuse."""
        line = " ".join(clean(str(text)).split())
        if self._key:
            line = line.replace(self._key, "***")
        return line[:300]


def clean(text: str) -> str:
    """Text that can be written: half a surrogate pair, as servers cut them, becomes a `?`."""
    return text.encode("utf-8", "replace").decode()


def _library() -> Any:
    try:
        import openai
    except ImportError:
        raise lacks_extra("a chat API needs openai", "api") from None
    # Both log every request; their lines would drown a run's own.
    for name in ("httpx", "openai"):
        logging.getLogger(name).setLevel(logging.WARNING)
    return openai


def _message(response: "httpx.Response") -> str:
    """What the server says went wrong, with its code."""
    return error_text(_json(response).get("error", response.text))


def _json(response: "httpx.Response") -> Json:
    try:
        body = response.json()
    except (ValueError, RecursionError):
        return {}
    return cast(Json, body) if isinstance(body, dict) else {}
