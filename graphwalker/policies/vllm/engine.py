"""vLLM in this process as a policy: its engine is stepped, so no episode waits for another.

vLLM's own `generate` returns when the last of its requests is done; in a batch of multi-turn
episodes each turn would last as long as the slowest completion. Here each turn is a request of its
own, and the prefix cache keeps the keys and values of the turns before it.
"""

import logging
from dataclasses import dataclass, field
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

from graphwalker.doctor.software import vllm_faults
from graphwalker.errors import PolicyError, UserError, first_line, lacks_extra
from graphwalker.files import read_json
from graphwalker.policies.base import Completion, Request, Result
from graphwalker.policies.token_record import Transcripts
from graphwalker.policies.vllm.server import sampling_settings
from graphwalker.workers.pool import count_work

log = logging.getLogger(__name__)
RANKS = (8, 16, 32, 64, 128, 256, 320, 512)
"""Ranks for which vLLM has room: an adapter is given the next one."""


class VllmPolicy:
    """Completes requests with a `vllm.LLMEngine` that runs in `processed_logprobs` mode.

    Greedy tokens and log-probabilities equal those of the transformers engine within rounding.
    With `top_p` below 1 the log-probabilities are of the distribution that it has cut, and with a
    grammar of the one that the grammar leaves.
    """

    def __init__(
        self,
        engine: Any,
        book: Transcripts,
        *,
        seeded: bool = True,
        name: str = "vllm",
        lora: str = "",
    ) -> None:
        """`lora`: folder of an adapter that every request is drawn with."""
        self.engine, self.name = engine, name
        self._lora = lora_request(lora) if lora else {}
        self._book, self._seeded = book, seeded
        self._pending: dict[str, tuple[str, Request]] = {}
        self._turns: dict[str, _OpenTurn] = {}
        self._ready: list[Result] = []
        self._tickets = count()

    def submit(self, request: Request) -> None:
        if request.key in self._pending:
            raise PolicyError(f"episode {request.key!r} already waits for a completion")
        ids, budget = self._book.prompt(request)
        if budget > 0:
            ticket = self._ask(request, _OpenTurn(ids, budget))
        else:
            ticket = ""
            self._ready.append((request.key, Completion("", "length", prompt_tokens=len(ids))))
        self._pending[request.key] = (ticket, request)

    def collect(self) -> list[Result]:
        while self._pending and not self._ready:
            self._ready += self._step()
        ready, self._ready = self._ready, []
        for key, _ in ready:
            del self._pending[key]
            self._turns.pop(key, None)
        return ready

    def release(self, key: str) -> None:
        pending = self._pending.pop(key, None)
        self._turns.pop(key, None)
        self._ready = [result for result in self._ready if result[0] != key]
        if pending is not None:
            self._abort([pending[0]])
        self._book.release(key)

    def _ask(self, request: Request, turn: "_OpenTurn") -> str:
        """Have the turn drawn on; returns the ticket."""
        ticket = f"{request.key}@{next(self._tickets)}"
        left = turn.budget - len(turn.ids)
        settings = sampling_settings(request, left, self._book, self._seeded, len(turn.ids))
        prompt = {"prompt_token_ids": [*turn.prompt, *turn.ids]}
        try:
            self.engine.add_request(ticket, prompt, _params(settings), **self._lora)
        except _failures() as error:
            raise PolicyError(f"vLLM refused a request: {_line(error)}") from error
        self._turns[request.key] = turn
        return ticket

    def _step(self) -> list[Result]:
        """Return what one step of the engine finished; every request, when it failed."""
        try:
            alive = self.engine.has_unfinished_requests()
            outputs: list[Any] = self.engine.step() if alive else []
        except _failures() as error:
            return self._fail_all(PolicyError(f"vLLM failed: {_line(error)}"))
        if not alive:
            return self._fail_all(PolicyError("vLLM lost its requests"))
        finished = ((self._key(one.request_id), one) for one in outputs if one.finished)
        results = ((key, self._result(key, output)) for key, output in finished if key is not None)
        return [(key, result) for key, result in results if result is not None]

    def _key(self, ticket: str) -> str | None:
        """Return the episode that waits for that request, if one does."""
        key = ticket.rpartition("@")[0]
        return key if self._pending.get(key, ("",))[0] == ticket else None

    def _result(self, key: str, output: Any) -> Completion | PolicyError | None:
        """Return the turn that has ended; `None` where it is drawn on, in an open thought."""
        request, turn, drawn = self._pending[key][1], self._turns[key], output.outputs[0]
        ids = list(drawn.token_ids)
        count_work(written=len(ids))
        if drawn.finish_reason not in ("stop", "length") or not ids:
            return PolicyError(f"vLLM ended a turn with {drawn.finish_reason!r}")
        turn.ids += ids
        turn.logprobs += [d[token].logprob for d, token in zip(drawn.logprobs, ids, strict=True)]
        if drawn.finish_reason == "stop" and self._book.draws_on(request, turn.ids, turn.budget):
            try:
                self._pending[key] = (self._ask(request, turn), request)
                return None
            except PolicyError as error:
                return error
        return self._book.finish(request, turn.ids, turn.logprobs)

    def _fail_all(self, error: PolicyError) -> list[Result]:
        self._abort([ticket for ticket, _ in self._pending.values()])
        return [(key, error) for key in self._pending]

    def _abort(self, tickets: list[str]) -> None:
        try:
            self.engine.abort_request(tickets)
        except _failures() as error:
            log.warning("vLLM could not let go of its requests: %s", _line(error))


@dataclass(slots=True)
class _OpenTurn:
    """What is drawn of a turn so far, and the most that may be."""

    prompt: list[int]
    budget: int
    ids: list[int] = field(default_factory=list[int])
    logprobs: list[float] = field(default_factory=list[float])


def load_engine(model: str, **settings: Any) -> Any:
    """Return a `vllm.LLM` of that folder; its `llm_engine` is what a policy steps.

    Raises `UserError` where vLLM is not installed, does not go with the other packages here, or
    will not start with these settings.
    """
    for fault in vllm_faults():
        raise UserError(f"engine: vllm cannot run here: {fault.found}; {fault.next}")
    try:
        vllm: Any = import_module("vllm")
    except ImportError as error:
        raise missing_vllm(error) from None
    try:
        return vllm.LLM(
            model=model,
            logprobs_mode="processed_logprobs",
            generation_config="vllm",
            trust_remote_code=False,
            **settings,
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise UserError(f"{model}: vLLM does not start ({_line(error)})") from error


def missing_vllm(error: ImportError | None = None) -> UserError:
    """Return what to do where vLLM cannot be imported."""
    why = "" if error is None or getattr(error, "name", "") == "vllm" else f" ({error})"
    return lacks_extra("engine: vllm needs vLLM", "vllm", why)


def lora_request(folder: str) -> dict[str, Any]:
    """Return the argument with which vLLM draws with an adapter."""
    module: Any = import_module("vllm.lora.request")
    return {"lora_request": module.LoRARequest("adapter", 1, folder)}


def lora_settings(folder: str) -> dict[str, Any]:
    """Return what vLLM takes for an adapter. Raises `UserError` where the folder is none."""
    path = Path(folder) / "adapter_config.json"
    if not path.is_file():
        raise UserError(f"vllm.lora: {folder} holds no LoRA adapter (no adapter_config.json)")
    rank = read_json(path, "give the folder of a LoRA run's adapter").get("r")
    fitting = [allowed for allowed in RANKS if isinstance(rank, int) and rank <= allowed]
    if not fitting:
        raise UserError(f"vllm.lora: {folder}: rank {rank}; vLLM takes 1 to {RANKS[-1]}")
    return {"enable_lora": True, "max_lora_rank": fitting[0]}


def _params(settings: dict[str, Any]) -> Any:
    parameters: Any = import_module("vllm.sampling_params")
    kind = parameters.RequestOutputKind.FINAL_ONLY
    if grammar := settings.pop("structured_outputs", None):
        settings["structured_outputs"] = parameters.StructuredOutputsParams(**grammar)
    return parameters.SamplingParams(output_kind=kind, **settings)


def _failures() -> tuple[type[Exception], ...]:
    known: Any = import_module("vllm.v1.engine.exceptions")
    return (ValueError, RuntimeError, known.EngineDeadError, known.EngineGenerateError)


def _line(error: BaseException) -> str:
    return first_line(error)[:300]
