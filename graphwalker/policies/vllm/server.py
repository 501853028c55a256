"""A running vLLM server as a policy: token ids over HTTP, every turn a request of its own.

No text crosses the wire that is turned into ids again: vLLM's `/v1/completions` takes the ids of
the episode and gives back the ids that it drew, with their log-probabilities.
"""

import asyncio
import queue
import threading
from concurrent.futures import Future
from itertools import count

from graphwalker.errors import PolicyError
from graphwalker.policies.base import Completion, Request
from graphwalker.policies.token_record import Transcripts
from graphwalker.policies.vllm.client import DrawnTurn, TokenClient, sampling_settings
from graphwalker.policies.vllm.config import VllmConfig

Result = tuple[str, Completion | PolicyError]
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
        if budget > 0:
            body = sampling_settings(request, budget, self._book, self._config.seeded)
            work = self._client.draw(ids, body, request.key)
        else:
            work = _no_room(len(ids))
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

    def _completion(self, request: Request, answer: EngineAnswer) -> Completion | PolicyError:
        if isinstance(answer, DrawnTurn):
            return self._book.finish(request, answer.ids, answer.logprobs)
        return answer


async def _no_room(prompt_tokens: int) -> EngineAnswer:
    return Completion("", "length", prompt_tokens=prompt_tokens)
