"""A model behind an OpenAI-compatible HTTP API as a policy."""

import hashlib
import logging
import queue
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from graphwalker.errors import HopelessError, PolicyError, UserError
from graphwalker.policies.base import Completion, Request
from graphwalker.policies.chat.client import Completions, Messages
from graphwalker.policies.chat.config import ChatApiConfig
from graphwalker.policies.chat.connection import ContextFull
from graphwalker.policies.chat.stops import StopChoice, finish_text
from graphwalker.policies.chat.store import StoredAnswer, Usage
from graphwalker.policies.chat.truncation import PromptWatch
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
        self._stops = StopChoice(self.config.send_stop, self._completions.store)
        self._requests: queue.SimpleQueue[tuple[int, Request] | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[tuple[int, str, Outcome]] = queue.SimpleQueue()
        self._pending: dict[str, int] = {}
        self._prompts = PromptWatch(f"{model} at {self.config.base_url}")
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
        self._prompts.release(key)

    def close(self) -> None:
        """Send nothing more; threads end with the request that they are at."""
        if self.empty_turns:
            empty = "%s: %d of %d turns were empty: raise max_tokens"
            log.warning(empty, self.name, self.empty_turns, self.turns)
            self.empty_turns = 0
        if self._prompts.truncated:
            cut = "%s: %d of %d turns were asked in a conversation that the server cut"
            log.warning(cut, self.name, self._prompts.truncated, self.turns)
            self._prompts.truncated = 0
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
            completion = self._answer(request, messages)
            cut = self._prompts.is_truncated(request, completion.prompt_tokens)
            return replace(completion, truncated=cut)
        except ContextFull:
            return Completion("", "length")
        except PolicyError as error:
            return error
        except Exception as error:
            # A thread that ends leaves the run waiting for ever, so whatever this was, it is the
            # failure of one episode.
            log.exception("a request to %s failed", self.name)
            return PolicyError(f"{self.name}: {type(error).__name__}: {error}")

    def _answer(self, request: Request, messages: Messages) -> Completion:
        settings, stops = self._settings(request), request.stop

        def ask(send: bool) -> StoredAnswer:
            body: dict[str, Any] = {**settings, "stop": list(stops)} if send else settings
            return self._completions.complete(messages, **body)

        # A server that has `tool_calls` ends a call by itself, and a stop string may cut it.
        if not stops or self._on_wire(request):
            return _completion(ask(False), Usage(), stops)
        return _completion(*self._stops.ask(ask, stops), stops)

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
        if self._on_wire(request):
            settings["tools"] = list(request.tools)
        if request.grammar:
            vllm = self.config.grammar == "vllm"
            rules = {"grammar": request.grammar}
            settings |= {"structured_outputs": rules} if vllm else rules
        return settings

    def _on_wire(self, request: Request) -> bool:
        return bool(request.tools) and self.config.tools == "wire" and not request.grammar


def turn_seed(request: Request) -> int:
    """Return the seed of one completion, from (seed, episode, turn): the same in any company."""
    what = f"{request.sampling.seed}:{request.key}:{len(request.turns)}"
    return int.from_bytes(hashlib.blake2b(what.encode(), digest_size=4).digest()) >> 1


def _completion(answer: StoredAnswer, before: Usage, stops: Sequence[str]) -> Completion:
    cut = finish_text(answer.text, stops, answer.finish, answer.stop_reason)
    spent = answer.spent
    return Completion(
        cut,
        "stop" if any(cut.endswith(stop) for stop in stops) else answer.finish,
        prompt_tokens=spent.prompt_tokens,
        completion_tokens=before.completion_tokens + spent.completion_tokens,
        cost=before.cost + spent.cost,
        reasoning_tokens=before.reasoning_tokens + spent.reasoning_tokens,
        lost_prompt_tokens=before.prompt_tokens,
    )
