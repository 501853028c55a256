"""A model behind an OpenAI-compatible HTTP API as a policy."""

import hashlib
import logging
import queue
import threading
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

from graphwalker.errors import HopelessError, PolicyError, UserError
from graphwalker.policies.base import Completion, Request
from graphwalker.policies.chat.client import Completions
from graphwalker.policies.chat.config import ChatApiConfig
from graphwalker.policies.chat.connection import ContextFull
from graphwalker.policies.chat.store import StoredAnswer, Usage
from graphwalker.policies.chat.wire import to_wire

log = logging.getLogger(__name__)

Outcome = Completion | PolicyError


class ChatPolicy:
    """Completes requests over HTTP, `concurrency` at once, in whatever order they come back.

    `folder` keeps answers and costs: a run that was killed resumes without paying twice. Failures
    that retries do not mend come back as `PolicyError`. After one that every request would meet (a
    wrong key, no money, an unknown model) and at a cap, nothing is sent any more. Raises
    `UserError` for a key that would travel unencrypted.
    """

    def __init__(
        self, model: str, config: ChatApiConfig | None = None, folder: Path | None = None
    ) -> None:
        self.name = model
        self.config = config or ChatApiConfig()
        self._completions = Completions(self.config, model, folder)
        self._requests: queue.SimpleQueue[tuple[int, Request] | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[tuple[int, str, Outcome]] = queue.SimpleQueue()
        self._pending: dict[str, int] = {}
        self.turns = self.empty_turns = 0
        self._tickets = count()
        # Daemons: an interrupted run ends at once, not after the slowest answer.
        self._threads = [
            threading.Thread(target=self._work, daemon=True) for _ in range(self.config.concurrency)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def usage(self) -> Usage:
        """What the run has cost, its earlier parts included."""
        return self._completions.usage

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def submit(self, request: Request) -> None:
        if request.grammar and self.config.grammar == "none":
            raise UserError(
                f"environment.constrained: say how {self.config.base_url} takes grammars with "
                "policy.api.grammar (gbnf: llama.cpp, vllm), or set constrained=false"
            )
        if request.key in self._pending:
            raise PolicyError(f"episode {request.key!r} already waits for a completion")
        if self._completions.refusal is not None:
            raise HopelessError(str(self._completions.refusal))
        ticket = next(self._tickets)
        self._pending[request.key] = ticket
        self._requests.put((ticket, request))

    def collect(self) -> list[tuple[str, Outcome]]:
        ready: list[tuple[str, Outcome]] = []
        while self._pending and not (ready and self._results.empty()):
            ticket, key, result = self._results.get()
            if self._pending.get(key) == ticket:  # else its episode is over: nobody waits for it
                del self._pending[key]
                ready.append((key, result))
                if isinstance(result, Completion) and not result.context_full:
                    self.turns += 1
                    self.empty_turns += not result.text.strip()
        return ready

    def release(self, key: str) -> None:
        self._pending.pop(key, None)

    def close(self) -> None:
        """Send nothing more; threads end with the request that they are at."""
        if self.empty_turns:
            empty = "%s: %d of %d turns were empty: raise max_tokens"
            log.warning(empty, self.name, self.empty_turns, self.turns)
            self.empty_turns = 0
        self._pending.clear()
        self._completions.stop()
        for _ in self._threads:
            self._requests.put(None)
        until = time.monotonic() + 1
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        if not any(thread.is_alive() for thread in self._threads):
            self._completions.close()

    def _work(self) -> None:
        while (job := self._requests.get()) is not None:
            ticket, request = job
            if self._pending.get(request.key) == ticket:
                self._results.put((ticket, request.key, self._complete(request)))

    def _complete(self, request: Request) -> Outcome:
        try:
            if self._on_wire(request):
                messages = to_wire(request.messages, request.tools)
            else:
                messages = [{"role": m.role, "content": m.content} for m in request.messages]
            answer = self._completions.complete(messages, **self._settings(request))
            return _completion(answer, request.stop)
        except ContextFull:
            return Completion("", "length")
        except PolicyError as error:
            return error
        except Exception as error:
            # A thread that ends leaves the run waiting for ever, so whatever this was, it is the
            # failure of one episode.
            log.exception("a request to %s failed", self.name)
            return PolicyError(f"{self.name}: {type(error).__name__}: {error}")

    def _settings(self, request: Request) -> dict[str, Any]:
        sampling = request.sampling
        settings: dict[str, Any] = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": sampling.max_tokens,
            "seed": turn_seed(request),
            "purpose": "turn",
        }
        # No fields of OpenAI's own API: sent where they are set, to servers such as vLLM's.
        settings |= {"top_k": sampling.top_k} if sampling.top_k else {}
        settings |= {"min_p": sampling.min_p} if sampling.min_p else {}
        on_wire = self._on_wire(request)
        if on_wire:
            settings["tools"] = list(request.tools)
        if request.grammar:
            vllm = self.config.grammar == "vllm"
            rules = {"grammar": request.grammar}
            settings |= {"structured_outputs": rules} if vllm else rules
        # A server that has `tool_calls` ends a call by itself, and a stop string may cut it.
        stop = request.stop and self.config.send_stop and not on_wire
        return {**settings, "stop": list(request.stop)} if stop else settings

    def _on_wire(self, request: Request) -> bool:
        return bool(request.tools) and self.config.tools == "wire" and not request.grammar


def turn_seed(request: Request) -> int:
    """The seed of one completion, from (seed, episode, turn): the same in any company."""
    what = f"{request.sampling.seed}:{request.key}:{len(request.turns)}"
    return int.from_bytes(hashlib.blake2b(what.encode(), digest_size=4).digest()) >> 1


def _completion(answer: StoredAnswer, stops: Sequence[str]) -> Completion:
    cut = finish_text(answer.text, stops, answer.finish, answer.stop_reason)
    return Completion(
        cut,
        "stop" if any(cut.endswith(stop) for stop in stops) else answer.finish,
        prompt_tokens=answer.spent.prompt_tokens,
        completion_tokens=answer.spent.completion_tokens,
        cost=answer.spent.cost,
        reasoning_tokens=answer.spent.reasoning_tokens,
    )


def finish_text(text: str, stops: Sequence[str], finish: str, stop_reason: str = "") -> str:
    """The text up to and with its first stop string, which most servers cut away.

    vLLM names the string in `stop_reason`. Where none is named, a closing tag is put back when its
    opening one is the last that stands open; a text that ends otherwise is left as it is.

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
    if stop_reason in stops:
        return text + stop_reason
    opened = {stop: text.rfind(stop.replace("</", "<", 1)) for stop in stops if stop[:2] == "</"}
    last = max(opened, key=opened.__getitem__, default="")
    return text + last if last and opened[last] >= 0 else text
