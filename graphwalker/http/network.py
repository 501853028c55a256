"""Connections under httpx: one deadline for a whole request, and eyes on what was lost."""

import math
import socket
import ssl
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx

_QUICK_ACK = getattr(socket, "TCP_QUICKACK", None)


class _Request(threading.local):
    """The request that a thread is at; httpx sends and reads in that thread."""

    until = math.inf
    """Its deadline."""
    has_opened = False
    """A connection was opened for it, none that was kept."""
    losses = 0
    """Connections of its client that had been lost when it was sent."""


request_of_thread = _Request()


@contextmanager
def within(seconds: float) -> Generator[None]:
    """Bound all that this thread sends and reads in the block.

    httpx times each read and write by itself, so a server that sends one byte of a header now and
    then, or `100 Continue` again and again, would hold a request for ever.
    """
    request_of_thread.until, request_of_thread.has_opened = time.monotonic() + seconds, False
    try:
        yield
    finally:
        request_of_thread.until = math.inf


def _left(timeout: float | None) -> float | None:
    """Return the seconds that the next step may take. Raises `httpcore.ReadTimeout` for none."""
    import httpcore

    left = request_of_thread.until - time.monotonic()
    if left <= 0:
        raise httpcore.ReadTimeout("the whole answer took too long")
    return min(left, timeout or math.inf) if left < math.inf or timeout else None


class Network:
    """The network as httpcore sees it, under the deadline of the thread."""

    def __init__(self) -> None:
        self.inner: Any = None
        """What httpcore would use."""
        self.losses = 0
        """How often a connection that was kept turned out to be closed."""
        self._lock = threading.Lock()

    def note_loss(self) -> None:
        """Count one more."""
        with self._lock:
            self.losses += 1

    def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, *args: Any, **more: Any
    ) -> "_Stream":
        request_of_thread.has_opened = True
        stream = self.inner.connect_tcp(host, port, _left(timeout), *args, **more)
        return _Stream(stream, self)


class _Stream:
    """A connection of httpcore's under the deadline of the thread; it says when it was lost."""

    def __init__(self, inner: Any, network: Network) -> None:
        self._inner, self._network = inner, network
        self._socket: socket.socket = inner.get_extra_info("socket")
        self.leftovers: Callable[[], bytes] = bytes

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        left = _left(timeout)
        # Virtuoso sends an answer in pieces and waits for each to be acknowledged, which Linux does
        # after 40 ms unless told otherwise before every read.
        if _QUICK_ACK is not None:
            self._socket.setsockopt(socket.IPPROTO_TCP, _QUICK_ACK, 1)
        return self._inner.read(max_bytes, left)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        request_of_thread.losses = self._network.losses
        self._inner.write(buffer, _left(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> "_Stream":
        inner = self._inner.start_tls(ssl_context, server_hostname, _left(timeout))
        return _Stream(inner, self._network)

    def get_extra_info(self, info: str) -> Any:
        """Answer the pool, which asks an idle connection for `is_readable` before it is used again:
        then it is closed, or has more to say than it was asked for."""
        found = self._inner.get_extra_info(info)
        if info != "is_readable":
            return found
        if is_lost := bool(found or self.leftovers()):
            self._network.note_loss()
        return is_lost


def show_leftovers(response: "httpx.Response") -> None:
    """Let the connection see what it received past its answer: h11 would take it for the next."""
    inside: Any = response.stream
    protocol = inside._httpcore_stream._stream._connection._h11_state
    response.extensions["network_stream"].leftovers = lambda: protocol.trailing_data[0]
