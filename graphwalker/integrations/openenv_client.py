"""A client of `graphwalker env serve` that keeps its episode when the connection is lost.

Any other OpenEnv client will do as well: `GenericEnvClient(base_url).step({"text": ...})`.
"""

import json
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from graphwalker.errors import GraphError, UserError


@dataclass(frozen=True, slots=True)
class StepResult:
    """What a `reset` or a `step` shows, as the server tells it."""

    observation: dict[str, Any]
    reward: float | None
    done: bool


class EnvironmentClient:
    """A session of an environment server. Use as a context manager: the session ends with it."""

    def __init__(
        self, url: str, session: str = "", timeout_s: float = 60.0, attempts: int = 5
    ) -> None:
        """`url` is the server's, such as `http://127.0.0.1:8767`; `session` a name to come back by.
        `attempts`: how often a lost connection is opened again, for one message."""
        base = url.rstrip("/").replace("http", "ws", 1)
        self.session = session or uuid4().hex
        self._address = f"{base}/sessions/{self.session}/ws"
        self._timeout_s, self._attempts = timeout_s, attempts
        self._socket: Any = None
        self._steps = 0

    def reset(self, **arguments: Any) -> StepResult:
        """Begin an episode: of `index=` or `question=` (its id), else of the next question."""
        found = _result(self._ask({"type": "reset", "data": arguments}))
        self._steps = 0
        return found

    def step(self, text: str) -> StepResult:
        """Play a turn as the model wrote it."""
        found = _result(self._ask({"type": "step", "data": {"text": text}}))
        self._steps += 1
        return found

    def state(self) -> dict[str, Any]:
        """Return where the session stands; `last` repeats the last reply."""
        found = self._ask({"type": "state"})
        self._steps = found["step_count"]
        return found

    def close(self) -> None:
        """End the session."""
        if self._socket is not None:
            from websockets.exceptions import ConnectionClosed

            with suppress(ConnectionClosed):
                self._socket.send(json.dumps({"type": "close"}))
            self._socket.close()
            self._socket = None

    def __enter__(self) -> "EnvironmentClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """Get the data of the reply. A step that was played before its reply was lost is not played
        again. Raises `UserError` where the server refuses, and `GraphError` where it is not there.
        """
        from websockets.exceptions import ConnectionClosed, InvalidHandshake

        lost: Exception | None = None
        for attempt in range(self._attempts):
            try:
                if lost and message["type"] == "step" and (last := self._fetch_missed_reply()):
                    return last
                return self._exchange(message)
            except (ConnectionClosed, InvalidHandshake, OSError) as error:
                self._socket, lost = None, error
                time.sleep(min(5.0, 0.1 * 2**attempt))
        raise GraphError(f"{self._address}: {lost}; is `graphwalker env serve` running?")

    def _fetch_missed_reply(self) -> dict[str, Any] | None:
        """Return the reply to the last step, where it was played and the reply lost."""
        state = self._exchange({"type": "state"})
        return state["last"] if state["step_count"] == self._steps + 1 else None

    def _exchange(self, message: dict[str, Any]) -> dict[str, Any]:
        from websockets.exceptions import ConnectionClosed
        from websockets.sync.client import connect

        if self._socket is None:
            # From 17 on a connection is entered before it is used.
            self._socket = connect(self._address, max_size=None, proxy=None).__enter__()
        with suppress(ConnectionClosed):  # a server that refuses says why before it closes
            self._socket.send(json.dumps(message))
        reply = json.loads(self._socket.recv(self._timeout_s))
        if reply["type"] != "error":
            return reply["data"]
        error = f"{self._address}: {reply['data']['message']}"
        if reply["data"]["code"] == "EXECUTION_ERROR":
            raise GraphError(error)
        raise UserError(error)


def _result(data: dict[str, Any]) -> StepResult:
    return StepResult(data["observation"], data["reward"], data["done"])
