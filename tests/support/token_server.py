"""A small hand-written server that speaks vLLM's token-id protocol over a real tiny model.

It draws as plainly as can be: a forward pass over all ids for each token, no cache, no batch.
"""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from support.engine_toy import CONTEXT, Toy
from support.http_server import QuietHandler, QuietServer, listening


@dataclass
class Fault:
    """What goes wrong with a request instead of an answer."""

    status: int = 200
    body: bytes | None = None
    delay_s: float = 0.0
    hang_up: bool = False
    headers: dict[str, str] = field(default_factory=dict)
    change: dict[str, Any] = field(default_factory=dict)
    """Fields of the choice that are set otherwise."""


class TokenServer:
    """Plays `faults` first, in the order in which requests arrive, then answers."""

    def __init__(self, toy: Toy, url: str) -> None:
        self.url, self.toy = url, toy
        self.models = {
            "object": "list",
            "data": [{"id": "tiny", "object": "model", "max_model_len": CONTEXT}],
        }
        self.faults: list[Fault] = []
        self.requests: list[dict[str, Any]] = []
        self.dropped = threading.Event()
        """Set when a client went away before its answer."""
        self._lock = threading.Lock()

    def take(self, body: dict[str, Any]) -> Fault:
        with self._lock:
            self.requests.append(body)
            return self.faults.pop(0) if self.faults else Fault()

    def complete(self, body: dict[str, Any], fault: Fault) -> dict[str, Any]:
        ids, logprobs, reason = self._draw(body)
        choice = {
            "index": 0,
            "text": self.toy.text(ids),
            "token_ids": ids,
            "prompt_token_ids": body["prompt"],
            "finish_reason": reason,
            "logprobs": {"token_logprobs": logprobs, "tokens": [f"token_id:{i}" for i in ids]},
        }
        return {"object": "text_completion", "choices": [choice | fault.change]}

    def _draw(self, body: dict[str, Any]) -> tuple[list[int], list[float], str]:
        draws = torch.Generator().manual_seed(body["seed"] or 0)
        ids: list[int] = []
        logprobs: list[float] = []
        while len(ids) < body["max_tokens"]:
            heat = body["temperature"]
            row = self.toy.logprobs([*body["prompt"], *ids], heat or 1.0)[-1]
            chosen = torch.multinomial(row.exp(), 1, generator=draws) if heat else row.argmax()
            ids.append(int(chosen))
            logprobs.append(float(row[ids[-1]]))
            stopped = any(stop in self.toy.text(ids) for stop in body["stop"])
            if stopped or ids[-1] in body["stop_token_ids"]:
                return ids, logprobs, "stop"
        return ids, logprobs, "length"


@contextmanager
def serve(toy: Toy) -> Iterator[TokenServer]:
    """The server on a port of its own, for as long as the block lasts."""

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            self.send(200, json.dumps(server.models).encode())

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            fault = server.take(body)
            time.sleep(fault.delay_s)
            if fault.hang_up:
                self.close_connection = True
            elif fault.body is not None or fault.status != 200:
                body = fault.body or b'{"error": {"message": "broken"}}'
                self.send(fault.status, body, **fault.headers)
            else:
                self.send(200, json.dumps(server.complete(body, fault)).encode())

    class Server(QuietServer):
        def handle_error(self, request: object, client_address: object) -> None:
            server.dropped.set()

    with listening(Handler, Server) as address:
        server = TokenServer(toy, address)
        yield server
