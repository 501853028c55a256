"""The server's connections: a request must be whole in time, and only so many may be open.

uvicorn 0.54 bounds neither: its keep-alive time counts between requests alone, and its limit on
concurrency sees requests whose head is whole.
"""

import asyncio
import time
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from graphwalker.serve.asking import RequestLimits


def bounded_protocol(limits: RequestLimits) -> type[asyncio.Protocol]:
    """uvicorn's HTTP protocol under these limits, for `uvicorn.Config(http=...)`."""

    class BoundedProtocol(H11Protocol):
        _timer: asyncio.TimerHandle | None = None
        since = 0.0
        """When the request began that is not whole yet."""

        @property
        def is_waiting(self) -> bool:
            """Whether the request is not whole yet."""
            return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._watch()
            if len(self.connections) > limits.connections:
                # The one that waits longest makes room, so that nobody locks others out.
                waiting = [one for one in cast("set[Any]", self.connections) if one.is_waiting]
                min(waiting, key=lambda one: float(one.since)).transport.abort()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            super().connection_lost(exc)

        def _watch(self) -> None:
            if not self.is_waiting:
                self._stop()
            elif self._timer is None:
                self.since = time.monotonic()
                self._timer = self.loop.call_later(limits.request_s, self.transport.abort)

        def _stop(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return BoundedProtocol
