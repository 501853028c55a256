"""A running vLLM server as a policy: token ids over HTTP, every turn a request of its own.

No text crosses the wire that is turned into ids again: vLLM's `/v1/completions` takes the ids of
the episode and gives back the ids that it drew, with their log-probabilities.
"""

import asyncio
import logging
import math
import queue
import threading
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import count
from typing import Any, cast

from graphwalker.doctor.software import unsupported_reason
from graphwalker.errors import PolicyError, UserError
from graphwalker.files import dumps
from graphwalker.http import AsyncClient, Backoff, NoReply, get
from graphwalker.policies.base import Completion, Request, Result
from graphwalker.policies.chat.policy import turn_seed
from graphwalker.policies.token_record import Transcripts
from graphwalker.policies.vllm.config import VllmConfig

log = logging.getLogger(__name__)

RETRIED = frozenset({429, 500, 502, 503, 504})
"""Statuses of a server that is overloaded or restarting."""
_FIELDS = {"return_token_ids": True, "return_tokens_as_token_ids": True, "stream": False}


@dataclass(frozen=True, slots=True)
class DrawnTurn:
    """The ids of a turn as the engine drew them, a log-probability each."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    stopped: bool = True
    """Whether a stop string or an end of turn ended it, and not its limit."""


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model as the server lists it."""

    name: str
    max_context: int


class TokenClient:
    """Sends the requests of one policy to one server or its replicas. All of it runs in one event
    loop."""

    def __init__(self, config: VllmConfig, served_model: str, concurrency: int) -> None:
        self._config, self._model = config, served_model
        self._backoff = Backoff(config.backoff_s)
        self._http = {
            url: AsyncClient(url, config.timeout_s, concurrency) for url in config.addresses
        }
        self._replicas = Replicas(config.addresses, config.rest_s)

    async def draw(
        self, ids: Sequence[int], settings: Mapping[str, Any], key: str = ""
    ) -> DrawnTurn | PolicyError:
        """Draw one turn of the episode `key`. Lasting failures are returned.

        A replica that fails is left at once where another is there; else the same one is asked
        again, after a wait.
        """
        body = {"model": self._model, "prompt": list(ids), **settings, **_FIELDS}
        problem, wait_s = PolicyError("no attempt was made"), 0.0
        tried: set[str] = set()
        attempts = self._config.retries + len(self._http)
        for attempt in range(attempts):
            fresh = bool(set(self._http) - tried)
            if attempt:
                log.info("vLLM: %s; trying again", problem)
                if not fresh:
                    failures = attempt - len(self._http) + 1
                    await asyncio.sleep(self._backoff.pause(failures, wait_s))
            url = self._replicas.take(key, tried if fresh else set())
            try:
                answer = await self._attempt(url, body)
            finally:
                self._replicas.give_back(url)
            others = len(self._http) > len(tried | {url})
            if not isinstance(answer, TransientFailure) and not (
                others and isinstance(answer, NoAnswer)
            ):
                return answer
            tried.add(url)
            self._replicas.rest(url)
            problem, wait_s = answer, getattr(answer, "wait_s", 0.0)
        return PolicyError(f"{problem} (after {attempts} attempts)")

    def forget(self, key: str) -> None:
        """Forget the episode, which has ended: no replica needs to be kept for it."""
        self._replicas.forget(key)

    async def close(self) -> None:
        for http in self._http.values():
            await http.close()

    async def _attempt(self, url: str, body: Mapping[str, Any]) -> "DrawnTurn | PolicyError":
        sent, headers = dumps(body).encode(), {"content-type": "application/json"}
        try:
            answer = await self._http[url].send("POST", f"{url}/v1/completions", headers, sent)
        except NoReply as error:
            if error.is_late:
                return NoAnswer(f"{url}: no answer in {self._config.timeout_s:g} s")
            return TransientFailure(f"{url}: no connection ({_line(error)})")
        if answer.status != 200:
            what = f"{url}: HTTP {answer.status}: {_line(answer.text)}"
            if answer.status in RETRIED:
                return TransientFailure(what, answer.retry_after_s)
            return PolicyError(what)
        try:
            return read_turn(answer.json(), body["prompt"])
        except ValueError as error:
            return PolicyError(f"{url}: the answer is no completion in token ids ({_line(error)})")


class Replicas:
    """Servers of one model. An episode stays with its server while that works; a new one goes to
    the server with the least under way; one that failed rests."""

    def __init__(self, addresses: Sequence[str], rest_s: float) -> None:
        self._addresses, self._rest_s = tuple(addresses), rest_s
        self._home: dict[str, str] = {}
        self._busy: Counter[str] = Counter()
        self._rests_until: dict[str, float] = {}

    def take(self, key: str, tried: Collection[str] = ()) -> str:
        """Return the server for a turn of the episode `key`, none of `tried` where there is
        another; to be given back."""
        now = time.monotonic()
        open_ones = [url for url in self._addresses if url not in tried] or list(self._addresses)
        awake = [url for url in open_ones if self._rests_until.get(url, 0.0) <= now]
        # Where all rest, the one that has rested longest: its rest ends first.
        choice = awake or [min(open_ones, key=lambda url: self._rests_until.get(url, 0.0))]
        home = self._home.get(key)
        url = home if home in choice else min(choice, key=lambda url: self._busy[url])
        if key:
            self._home[key] = url
        self._busy[url] += 1
        return url

    def give_back(self, url: str) -> None:
        """Note that the turn that was taken for this server has ended."""
        self._busy[url] -= 1

    def rest(self, url: str) -> None:
        """Let a server rest."""
        self._rests_until[url] = time.monotonic() + self._rest_s

    def forget(self, key: str) -> None:
        """Forget the episode, which has ended."""
        self._home.pop(key, None)


def sampling_settings(
    request: Request, budget: int, book: Transcripts, seeded: bool, drawn: int = 0
) -> dict[str, Any]:
    """Return all fields of vLLM's sampling parameters: servers fill in what is missing from a
    model's `generation_config.json`. A turn of which so many ids are `drawn` continues."""
    sampling = request.sampling
    grammar = {"structured_outputs": {"grammar": request.grammar}} if request.grammar else {}
    return {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "min_p": sampling.min_p,
        "repetition_penalty": 1.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "max_tokens": budget,
        "seed": (turn_seed(request) + drawn) % 2**31 if seeded else None,
        "stop": list(request.stop),
        "stop_token_ids": sorted(book.ends.end_ids),
        "include_stop_str_in_output": True,
        "skip_special_tokens": False,
        "spaces_between_special_tokens": False,
        "logprobs": 0,
        **grammar,
    }


class TransientFailure(PolicyError):
    """A failure that another attempt may mend, after so many seconds."""

    def __init__(self, text: str, wait_s: float = 0.0) -> None:
        super().__init__(text)
        self.wait_s = wait_s


class NoAnswer(PolicyError):
    """No answer in time, which the same server would not give to a second attempt either."""


def read_turn(answer: Any, prompt: Sequence[int]) -> DrawnTurn:
    """Return what a completion holds. Raises `ValueError` for anything but the ids, finite
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
    return DrawnTurn(tuple(ids), tuple(logprobs), reason == "stop")


def served_model(config: VllmConfig) -> ServedModel:
    """Return the model that all servers have, with the smallest of their contexts. Raises
    `UserError` where one is down, has another model, or a version that does not go with ours."""
    found = [_served_at(url, config) for url in config.addresses]
    for url, one in zip(config.addresses, found, strict=True):
        if one.name != found[0].name:
            raise UserError(
                f"{url} serves {one.name!r}, {config.addresses[0]} {found[0].name!r}: replicas "
                "serve one model; name it in vllm.served_model"
            )
    return ServedModel(found[0].name, min(one.max_context for one in found))


def _served_at(url: str, config: VllmConfig) -> ServedModel:
    deadline = time.monotonic() + config.wait_s
    while True:
        try:
            answer = get(f"{url}/v1/models", min(30.0, config.timeout_s))
            served = _choose_model(answer.json(), url, config)
            _check_version(url)
            return served
        except (NoReply, ValueError) as error:
            if isinstance(error, UserError):
                raise
            if time.monotonic() >= deadline:
                raise UserError(
                    f"{url}: no vLLM server answers here ({_line(error)}); start one with `vllm "
                    "serve MODEL`, name it in vllm.base_url, or give it time with vllm.wait_s"
                ) from None
        log.warning("waiting for the vLLM server at %s", url)
        time.sleep(2)


def _choose_model(answer: Any, url: str, config: VllmConfig) -> ServedModel:
    try:
        lengths = {str(m["id"]): m["max_model_len"] for m in answer["data"]}
        # An adapter has the context of its base model, which the list gives for that alone.
        longest = max(int(length) for length in lengths.values() if length is not None)
        models = {name: int(length or longest) for name, length in lengths.items()}
        name = config.served_model or next(iter(models))
    except (KeyError, TypeError, ValueError, StopIteration):
        raise ValueError("its list of models is not vLLM's") from None
    if name not in models:
        raise UserError(f"{url}: serves {', '.join(models)}, not {name!r}")
    return ServedModel(name, models[name])


def _check_version(url: str) -> None:
    """Raises `UserError` for a server whose version is outside what we support."""
    answer = get(f"{url}/version", 30.0)
    facts: Any = answer.json() if answer.status == 200 else {}
    version = cast("dict[str, Any]", facts).get("version") if isinstance(facts, dict) else None
    if isinstance(version, str) and (fault := unsupported_reason("vllm", version)):
        raise UserError(f"{url}: {fault}")


def _all(values: Any, kind: "type | tuple[type, ...]") -> bool:
    return isinstance(values, list) and all(
        isinstance(value, kind) and not isinstance(value, bool) for value in cast(list[Any], values)
    )


def _line(text: object) -> str:
    return " ".join(str(text).split())[:300] or type(text).__name__


EngineAnswer = DrawnTurn | Completion | PolicyError


class VllmServerPolicy:
    """Completes requests over HTTP in whatever order they come back, `concurrency` at once.

    Failures come back as `PolicyError`. Letting an episode go closes its connection, which tells
    vLLM to stop drawing for it. The server must run with `--logprobs-mode processed_logprobs` where
    a temperature other than 1 is trained at.
    """

    def __init__(
        self,
        config: VllmConfig,
        served_model: str,
        book: Transcripts,
        *,
        concurrency: int = 256,
        name: str = "vllm-server",
    ) -> None:
        self.name = name
        self._config, self._book = config, book
        self._client = TokenClient(config, served_model, concurrency)
        self._pending: dict[str, tuple[int, Request, Future[EngineAnswer]]] = {}
        self._done: queue.SimpleQueue[tuple[int, str]] = queue.SimpleQueue()
        self._tickets = count()
        self._loop = asyncio.new_event_loop()
        # A daemon: an interrupted run ends at once, not after the slowest answer.
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def submit(self, request: Request) -> None:
        if request.key in self._pending:
            raise PolicyError(f"episode {request.key!r} already waits for a completion")
        ids, budget = self._book.prompt(request)
        work = self._draw(request, ids, budget) if budget > 0 else _no_room(len(ids))
        ticket, key = next(self._tickets), request.key
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        self._pending[key] = (ticket, request, future)
        future.add_done_callback(lambda _: self._done.put((ticket, key)))

    def collect(self) -> list[Result]:
        ready: list[Result] = []
        while self._pending and not (ready and self._done.empty()):
            ticket, key = self._done.get()
            if key in self._pending and self._pending[key][0] == ticket:  # else nobody waits for it
                _, request, future = self._pending.pop(key)
                ready.append((key, self._completion(request, future.result())))
        return ready

    def release(self, key: str) -> None:
        pending = self._pending.pop(key, None)
        if pending is not None:
            pending[2].cancel()
        self._loop.call_soon_threadsafe(self._client.forget, key)
        self._book.release(key)

    def close(self) -> None:
        """Drop what is under way, close the connections, end the thread."""
        for key in list(self._pending):
            self.release(key)
        asyncio.run_coroutine_threadsafe(self._client.close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _draw(self, request: Request, prompt: Sequence[int], budget: int) -> EngineAnswer:
        """Draw one turn; a stop string in an open thought does not end it."""
        ids, logprobs = tuple[int, ...](), tuple[float, ...]()
        while True:
            seeded, left = self._config.seeded, budget - len(ids)
            body = sampling_settings(request, left, self._book, seeded, len(ids))
            answer = await self._client.draw([*prompt, *ids], body, request.key)
            if not isinstance(answer, DrawnTurn):
                return answer
            ids, logprobs = (*ids, *answer.ids), (*logprobs, *answer.logprobs)
            if not (answer.stopped and self._book.draws_on(request, ids, budget)):
                return DrawnTurn(ids, logprobs)

    def _completion(self, request: Request, answer: EngineAnswer) -> Completion | PolicyError:
        if isinstance(answer, DrawnTurn):
            return self._book.finish(request, answer.ids, answer.logprobs)
        return answer


async def _no_room(prompt_tokens: int) -> EngineAnswer:
    return Completion("", "length", prompt_tokens=prompt_tokens)
