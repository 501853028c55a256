"""A model behind an OpenAI-compatible HTTP API as a policy."""

import hashlib
import os
import queue
import threading
from collections.abc import Sequence
from itertools import count
from typing import Any, cast

from graphwalker.errors import PolicyError, UserError
from graphwalker.policies.base import Completion, Request
from graphwalker.policies.chat.budget import Ledger, Spent, at_worst, unbilled
from graphwalker.policies.chat.client import ChatClient, ContextFull, Json, Refused, Unbilled
from graphwalker.policies.chat.config import ChatApiConfig

Result = Completion | PolicyError


class ChatPolicy:
    """Completes requests over HTTP, `concurrency` at once, in whatever order they come back.

    Failures that retries do not mend come back as `PolicyError`. After one that every request would
    meet (a wrong key, no money, an unknown model) and after the cap is reached, nothing is sent any
    more. Raises `UserError` for a key that would travel unencrypted.
    """

    def __init__(
        self, model: str, config: ChatApiConfig | None = None, spent: Spent | None = None
    ) -> None:
        self.name = model
        self.config = config or ChatApiConfig()
        self.ledger = Ledger(self.config.prices, spent)
        self._client = ChatClient(self.config, api_key(self.config))
        self._requests: queue.SimpleQueue[tuple[int, Request] | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[tuple[int, str, Result]] = queue.SimpleQueue()
        self._pending: dict[str, int] = {}
        self._tickets = count()
        self._refusal: PolicyError | None = None
        # Daemons: an interrupted run ends at once, not after the slowest answer.
        self._working = self.config.concurrency
        self._lock = threading.Lock()
        for _ in range(self.config.concurrency):
            threading.Thread(target=self._work, daemon=True).start()

    def submit(self, request: Request) -> None:
        if request.key in self._pending:
            raise PolicyError(f"episode {request.key!r} already waits for a completion")
        if self._refusal is not None:
            raise PolicyError(str(self._refusal))
        ticket = next(self._tickets)
        self._pending[request.key] = ticket
        self._requests.put((ticket, request))

    def collect(self) -> list[tuple[str, Result]]:
        ready: list[tuple[str, Result]] = []
        while self._pending and not (ready and self._results.empty()):
            ticket, key, result = self._results.get()
            if self._pending.get(key) == ticket:  # else its episode is over: nobody waits for it
                del self._pending[key]
                ready.append((key, result))
        return ready

    def release(self, key: str) -> None:
        self._pending.pop(key, None)

    def close(self) -> None:
        """Send nothing more; threads end with the request that they are at."""
        self._pending.clear()
        self._client.stop()
        for _ in range(self.config.concurrency):
            self._requests.put(None)

    def _work(self) -> None:
        while (job := self._requests.get()) is not None:
            ticket, request = job
            if self._pending.get(request.key) == ticket:
                self._results.put((ticket, request.key, self._complete(request)))
        with self._lock:
            self._working -= 1
            last = self._working == 0
        if last:
            self._client.close()

    def _complete(self, request: Request) -> Result:
        if self._refusal is not None:
            return self._refusal
        sampling = request.sampling
        size = sum(len(message.content.encode()) for message in request.messages)
        worst = at_worst(self.ledger, size, len(request.messages), sampling.max_tokens)
        try:
            self.ledger.reserve(worst)
        except PolicyError as error:
            self._refusal = error
            return error
        actual = worst  # of a request whose answer got lost, the server may have billed all
        try:
            answer = self._client.post(self._body(request), size // 4 + sampling.max_tokens)
            actual = self._billed(answer, worst)
            return _completion(answer, request.stop, actual)
        except ContextFull:
            actual = unbilled(worst)
            return Completion("", "length")
        except PolicyError as error:
            if isinstance(error, Refused):
                self._refusal = error
            if isinstance(error, Refused | Unbilled):
                actual = unbilled(worst)
            return error
        finally:
            self.ledger.settle(worst, actual)

    def _body(self, request: Request) -> Json:
        sampling = request.sampling
        body: Json = {
            "model": self.name,
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            self.config.token_limit_field: sampling.max_tokens,
            "seed": turn_seed(request),
        }
        if request.stop and self.config.send_stop:
            body["stop"] = list(request.stop)
        body.update(self.config.body)
        return {field: value for field, value in body.items() if value is not None}

    def _billed(self, answer: Json, worst: Spent) -> Spent:
        """What the server says it used; where it says nothing, the worst."""
        usage = answer.get("usage")
        if not isinstance(usage, dict):
            return worst
        used = cast(dict[str, Any], usage)
        prompt, completion = used.get("prompt_tokens"), used.get("completion_tokens")
        if not isinstance(prompt, int) or not isinstance(completion, int):
            return worst
        return self.ledger.priced(prompt, completion)


def turn_seed(request: Request) -> int:
    """The seed of one completion, from (seed, episode, turn): the same in any company."""
    what = f"{request.sampling.seed}:{request.key}:{len(request.turns)}"
    return int.from_bytes(hashlib.blake2b(what.encode(), digest_size=4).digest()) >> 1


def _completion(answer: Json, stops: Sequence[str], spent: Spent) -> Completion:
    choice = cast(Json, answer["choices"][0])
    text = str(choice["message"].get("content") or "")
    finish = "length" if choice.get("finish_reason") == "length" else "stop"
    cut = finish_text(text, stops, finish, choice.get("stop_reason"))
    return Completion(
        cut,
        "stop" if any(cut.endswith(stop) for stop in stops) else finish,
        prompt_tokens=spent.prompt_tokens,
        completion_tokens=spent.completion_tokens,
        cost=spent.cost,
    )


def finish_text(text: str, stops: Sequence[str], finish: str, stop_reason: object = None) -> str:
    """The text up to and with its first stop string, which most servers cut away.

    vLLM names the string in `stop_reason`. Elsewhere a closing tag is put back when its opening
    one is the last that stands open; a text that ends otherwise is left as it is.

    >>> finish_text("<answer> [] </answer> more", ["</answer>"], "stop")
    '<answer> [] </answer>'
    >>> finish_text("so: <answer> []", ["</kg-query>", "</answer>"], "stop")
    'so: <answer> []</answer>'
    """
    cuts = [text.index(stop) + len(stop) for stop in stops if stop in text]
    if cuts:
        return text[: min(cuts)]
    if finish == "length":
        return text
    if isinstance(stop_reason, str) and stop_reason in stops:
        return text + stop_reason
    opened = {stop: text.rfind(stop.replace("</", "<", 1)) for stop in stops if stop[:2] == "</"}
    last = max(opened, key=opened.__getitem__, default="")
    return text + last if last and opened[last] >= 0 else text


def api_key(config: ChatApiConfig) -> str:
    """The key in the environment, `""` for none. Raises `UserError` where it would travel in the
    clear, or cannot be sent in a header."""
    key = os.environ.get(config.api_key_env, "").strip() if config.api_key_env else ""
    if key and not config.is_private:
        raise UserError(
            f"{config.base_url}: the key in {config.api_key_env} would travel unencrypted; use "
            'https, or send none with api_key_env=""'
        )
    if not key.isprintable() or not key.isascii():
        raise UserError(f"the environment variable {config.api_key_env} holds no usable key")
    return key
