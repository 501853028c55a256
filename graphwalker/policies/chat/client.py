"""The transport of a chat API: one request, tried again until it is answered or refused."""

import logging
import random
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from graphwalker.errors import PolicyError, UserError
from graphwalker.policies.chat.config import ChatApiConfig

if TYPE_CHECKING:
    import httpx

log = logging.getLogger(__name__)

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
"""Statuses that may pass: rate limits, overload, gateways (520 to 529 are Cloudflare's)."""
HOPELESS = frozenset({401, 402, 404})
"""Statuses that every further request would meet: no key, no money, no such model. Not 403: some
providers answer so to a single prompt that their filter dislikes."""
_NO_MONEY = ("insufficient_quota", "insufficient balance", "billing_hard_limit")
_TOO_LONG = ("context_length_exceeded", "maximum context length", "longer than the maximum")

Json = dict[str, Any]


class Refused(PolicyError):
    """The server will refuse every other request, too: wrong key, no money, unknown model."""


class ContextFull(PolicyError):
    """The conversation is longer than the model's context: the agent's doing, not a failure."""


class Unbilled(PolicyError):
    """The request was never answered with a completion that could be billed."""


class Declined(Unbilled):
    """The server will not answer this one prompt (a filter, a wrong field); others may pass."""


class Pace:
    """Spaces requests evenly over time, and holds all of them back when a server says so."""

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

    def hold(self, seconds: float) -> None:
        """Nothing starts for so many seconds."""
        with self._lock:
            until = time.monotonic() + seconds
            self._free = [max(free, until) for free in self._free]


class ChatClient:
    """Sends request bodies to one server. Thread-safe."""

    def __init__(self, config: ChatApiConfig, api_key: str) -> None:
        self._config = config
        self._key = api_key
        self._pace = Pace(config.requests_per_minute, config.tokens_per_minute)
        self._jitter = random.Random()
        self._stopping = threading.Event()
        self._http = _http(config, api_key)

    def post(self, body: Json, tokens: int, lost: Callable[[], None] | None = None) -> Json:
        """The server's answer, a completion with at least one choice.

        `lost` is called before a further attempt when the one before it may have been billed; what
        it raises ends the attempts. Raises `PolicyError`: `Refused` when no request can succeed,
        `ContextFull`, `Unbilled`, of which `Declined` is about this prompt alone.
        """
        problem = Problem("no attempt was made")
        for attempt in range(self._config.retries + 1):
            if attempt:
                self._wait(attempt, problem)
                if lost and problem.billed:
                    lost()
            if self._stopping.wait(self._pace.delay(tokens)):
                raise Unbilled("the policy was closed")
            answer = self._attempt(body)
            if not isinstance(answer, Problem):
                return answer
            problem = answer
            log.info("attempt %d failed: %s", attempt + 1, problem.text)
        text = f"{problem.text} (after {self._config.retries + 1} attempts)"
        raise PolicyError(text) if problem.billed else Unbilled(text)

    def stop(self) -> None:
        """No further attempts; those under way end as they end."""
        self._stopping.set()

    def close(self) -> None:
        """Close the connections, once no attempt is under way."""
        self._http.close()

    def _attempt(self, body: Json) -> "Json | Problem":
        import httpx

        try:
            response = self._http.post("/chat/completions", json=body)
        except httpx.ConnectError as error:
            return Problem(f"{self._config.base_url}: no connection ({self._clean(error)})")
        except httpx.TimeoutException:
            waited = self._config.timeout_s
            return Problem(f"{self._config.base_url}: no answer in {waited:g} s", billed=True)
        except httpx.HTTPError as error:
            text = f"{type(error).__name__}: {self._clean(error)}"
            return Problem(f"{self._config.base_url}: {text}", billed=True)
        return self._read(response)

    def _read(self, response: "httpx.Response") -> "Json | Problem":
        status = response.status_code
        if status == 200:
            return _completion(response) or Problem(
                f"{self._config.base_url}: the answer is no chat completion, or was cut off",
                billed=True,
            )
        text = self._clean(_message(response))
        line = f"{self._config.base_url}: HTTP {status}: {text}"
        known = text.lower()
        if status in HOPELESS or any(word in known for word in _NO_MONEY):
            raise Refused(f"{line}{self._hint(status)}")
        if status in (400, 413, 422) and any(word in known for word in _TOO_LONG):
            raise ContextFull(line)
        if status not in RETRIED:
            raise Declined(line)
        return Problem(line, _retry_after(response))

    def _hint(self, status: int) -> str:
        if status != 401:
            return ""
        name = self._config.api_key_env
        state = "holds a key that is refused" if self._key else "is not set"
        return f"; the environment variable {name} {state}" if name else "; api_key_env is empty"

    def _wait(self, attempt: int, problem: "Problem") -> None:
        most = self._config.max_backoff_s
        if problem.retry_after:
            self._pace.hold(min(problem.retry_after, most))
        range_s = min(most, self._config.backoff_s * 2 ** (attempt - 1))
        self._stopping.wait(self._jitter.uniform(0, range_s))

    def _clean(self, text: object) -> str:
        """One short line; servers are known to quote the key that they refuse."""
        line = " ".join(str(text).split())
        if self._key:
            line = line.replace(self._key, "***")
        return line[:300]


class Problem:
    """Why an attempt failed, how long the server asks to wait, and whether it may be billed."""

    __slots__ = ("billed", "retry_after", "text")

    def __init__(self, text: str, retry_after: float = 0.0, *, billed: bool = False) -> None:
        self.text, self.retry_after, self.billed = text, retry_after, billed


def _http(config: ChatApiConfig, api_key: str) -> "httpx.Client":
    try:
        import httpx
    except ImportError:
        raise UserError("a chat API needs httpx: pip install 'graphwalker-kgqa[api]'") from None
    # httpx logs every request at INFO; its lines would drown a run's own.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    connections = httpx.Limits(max_connections=config.concurrency)
    return httpx.Client(
        base_url=config.base_url,
        headers=headers,
        timeout=httpx.Timeout(config.timeout_s, pool=None),
        limits=connections,
    )


def _completion(response: "httpx.Response") -> Json | None:
    """The body, if it is a completion; `None` where it is cut off or something else."""
    body = _json(response)
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices:
        return None
    first = cast(Any, choices[0])
    message = first.get("message") if isinstance(first, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return body if isinstance(message, dict) else None


def _message(response: "httpx.Response") -> str:
    """What the server says went wrong, with its code."""
    error = _json(response).get("error", response.text)
    if isinstance(error, Mapping):
        fields = cast(Mapping[str, Any], error)
        return " ".join(str(fields[key]) for key in ("message", "code") if fields.get(key))
    return str(error)


def _json(response: "httpx.Response") -> Json:
    try:
        body = response.json()
    except ValueError:
        return {}
    return cast(Json, body) if isinstance(body, dict) else {}


def _retry_after(response: "httpx.Response") -> float:
    """Seconds of the Retry-After header; dates are rare and treated as none."""
    try:
        return max(0.0, float(response.headers.get("Retry-After", "0")))
    except ValueError:
        return 0.0
