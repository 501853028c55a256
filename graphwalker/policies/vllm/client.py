"""The transport of a vLLM server: ids out, drawn ids and their log-probabilities back."""

import asyncio
import logging
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from graphwalker.errors import PolicyError, UserError
from graphwalker.policies.vllm.config import VllmConfig

if TYPE_CHECKING:
    import httpx

log = logging.getLogger(__name__)

RETRIED = frozenset({429, 500, 502, 503, 504})
"""Statuses of a server that is overloaded or restarting."""
_FIELDS = {"return_token_ids": True, "return_tokens_as_token_ids": True, "stream": False}


@dataclass(frozen=True, slots=True)
class Drawn:
    """The ids of a turn as the engine drew them, a log-probability each."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Served:
    """A model as the server lists it."""

    name: str
    max_context: int


class TokenClient:
    """Sends the requests of one policy. All of it runs in one event loop."""

    def __init__(self, config: VllmConfig, served_model: str, concurrency: int) -> None:
        library = _library()
        self._config, self._model = config, served_model
        self._http: httpx.AsyncClient = library.AsyncClient(
            base_url=config.base_url,
            timeout=library.Timeout(config.timeout_s, pool=None),
            limits=library.Limits(max_connections=concurrency),
        )

    async def draw(self, ids: Sequence[int], settings: Mapping[str, Any]) -> Drawn | PolicyError:
        """One turn. Failures that further attempts do not mend are returned."""
        body = {"model": self._model, "prompt": list(ids), **settings, **_FIELDS}
        problem = PolicyError("no attempt was made")
        for attempt in range(self._config.retries + 1):
            if attempt:
                log.info("vLLM: %s; trying again", problem)
                await asyncio.sleep(self._config.backoff_s * 2 ** (attempt - 1))
            answer = await self._attempt(body)
            if not isinstance(answer, Passing):
                return answer
            problem = answer
        return PolicyError(f"{problem} (after {self._config.retries + 1} attempts)")

    async def close(self) -> None:
        await self._http.aclose()

    async def _attempt(self, body: Mapping[str, Any]) -> "Drawn | PolicyError":
        import httpx

        url = self._config.base_url
        try:
            response = await self._http.post("/v1/completions", json=body)
        except httpx.TimeoutException:
            return PolicyError(f"{url}: no answer in {self._config.timeout_s:g} s")
        except httpx.TransportError as error:
            return Passing(f"{url}: no connection ({_line(error)})")
        if response.status_code != 200:
            kind = Passing if response.status_code in RETRIED else PolicyError
            return kind(f"{url}: HTTP {response.status_code}: {_line(response.text)}")
        try:
            return drawn(response.json(), body["prompt"])
        except ValueError as error:
            return PolicyError(f"{url}: the answer is no completion in token ids ({_line(error)})")


class Passing(PolicyError):
    """A failure that another attempt may mend."""


def drawn(answer: Any, prompt: Sequence[int]) -> Drawn:
    """What a completion holds. Raises `ValueError` for anything but the ids, finite
    log-probabilities, and a turn that ended by itself or at its limit."""
    try:
        choice = answer["choices"][0]
        ids, reason = choice["token_ids"], choice["finish_reason"]
        logprobs = choice["logprobs"]["token_logprobs"]
        read = choice.get("prompt_token_ids")
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"no {error}; vLLM 0.22 or newer is needed") from None
    if read is not None and read != list(prompt):
        raise ValueError("the server read other ids than were sent")
    if reason not in ("stop", "length"):
        raise ValueError(f"the turn ended with {reason!r}")
    if not _all(ids, int) or not ids:
        raise ValueError("token_ids is no list of ids")
    if not _all(logprobs, (int, float)) or len(logprobs) != len(ids):
        raise ValueError(f"token_logprobs is no list of {len(ids)} numbers")
    if not all(map(math.isfinite, logprobs)):
        raise ValueError("a log-probability is not finite")
    return Drawn(tuple(ids), tuple(logprobs))


def served_model(config: VllmConfig) -> Served:
    """The model that the server has. Raises `UserError` where there is no such server or model."""
    library = _library()
    url, deadline = config.base_url, time.monotonic() + config.wait_s
    while True:
        try:
            response = library.get(f"{url}/v1/models", timeout=min(30.0, config.timeout_s))
            return _chosen(response.json(), config)
        except (library.TransportError, ValueError) as error:
            if isinstance(error, UserError):
                raise
            if time.monotonic() >= deadline:
                raise UserError(
                    f"{url}: no vLLM server answers here ({_line(error)}); start one with `vllm "
                    "serve MODEL`, name it in vllm.base_url, or give it time with vllm.wait_s"
                ) from None
        log.warning("waiting for the vLLM server at %s", url)
        time.sleep(2)


def _chosen(answer: Any, config: VllmConfig) -> Served:
    try:
        models = {str(m["id"]): int(m["max_model_len"]) for m in answer["data"]}
        name = config.served_model or next(iter(models))
    except (KeyError, TypeError, StopIteration):
        raise ValueError("its list of models is not vLLM's") from None
    if name not in models:
        raise UserError(f"{config.base_url}: serves {', '.join(models)}, not {name!r}")
    return Served(name, models[name])


def _library() -> Any:
    try:
        import httpx
    except ImportError:
        raise UserError(
            "engine: vllm-server needs httpx: pip install 'graphwalker-kgqa[api]'"
        ) from None
    # httpx logs every request at INFO; its lines would drown a run's own.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    return httpx


def _all(values: Any, kind: "type | tuple[type, ...]") -> bool:
    return isinstance(values, list) and all(
        isinstance(value, kind) and not isinstance(value, bool) for value in cast(list[Any], values)
    )


def _line(text: object) -> str:
    return " ".join(str(text).split())[:300] or type(text).__name__
