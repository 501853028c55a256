"""A served agent on the toy graph, over real HTTP: its policy is a script that can be held back."""

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import uvicorn

from graphwalker.agents.environment import Environment
from graphwalker.policies.base import Completion, Request
from graphwalker.policies.scripted import ScriptedPolicy
from graphwalker.question import Question
from graphwalker.serve.app import build_app
from graphwalker.serve.asking import RequestLimits
from graphwalker.serve.guard import bounded_protocol
from graphwalker.serve.sessions import Sessions
from support.eval_toy import toy_environment, trained_script


class GatedPolicy(ScriptedPolicy):
    """Plays one script for every question, each completion once the gate is open."""

    def __init__(self, question: str = "q02", lines: list[str] | None = None) -> None:
        super().__init__({"ask": lines or trained_script()[question]})
        self.gate = threading.Event()
        self.gate.set()
        self.requests: list[Request] = []

    def submit(self, request: Request) -> None:
        self.requests.append(request)
        super().submit(request)

    def collect(self) -> list[tuple[str, Completion | Exception]]:  # type: ignore[override]
        self.gate.wait(20)
        return super().collect()  # type: ignore[return-value]


@dataclass
class Served:
    """A running server."""

    url: str
    sessions: Sessions
    policy: GatedPolicy


@contextmanager
def served(
    policy: GatedPolicy | None = None,
    limits: RequestLimits | None = None,
    environment: Environment | None = None,
    max_running: int = 16,
    max_waiting: int = 256,
    examples: Callable[[], Sequence[Question]] = tuple,
    beside: Sequence[Sessions] = (),
) -> Iterator[Served]:
    policy = policy or GatedPolicy()
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(64)
    sessions = Sessions(environment or toy_environment(), policy, max_running, max_waiting)
    with sessions, listening:
        app = build_app(sessions, limits, examples=examples, beside=beside)
        http = bounded_protocol(limits or RequestLimits())
        config = uvicorn.Config(app, http=http, log_level="warning", lifespan="off")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield Served(f"http://127.0.0.1:{listening.getsockname()[1]}", sessions, policy)
        finally:
            policy.gate.set()
            server.should_exit = True
            thread.join(10)


def until(met: "object", seconds: float = 60.0) -> bool:
    """Wait for a condition to hold."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if met():  # type: ignore[operator]
            return True
        time.sleep(0.02)
    return False
