"""One deadline for a whole HTTP request, from the connection to the last byte of the answer.

httpx times each read and write by itself, so a server that sends one byte of a header now and then,
or `100 Continue` again and again, holds a request for ever. Here each of them gets the time that is
left of the request.
"""

import ssl
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpcore

if TYPE_CHECKING:
    import httpx

TimeLeft = Callable[[float | None], float | None]
"""The seconds that the next step may take, of those that it asks for."""


class Deadline:
    """The deadline of the request that a thread is at; httpx sends and reads in that thread."""

    def __init__(self) -> None:
        self._thread = threading.local()

    @contextmanager
    def within(self, seconds: float) -> Generator[None]:
        """Bound all that this thread sends and reads in the block."""
        self._thread.until = time.monotonic() + seconds
        try:
            yield
        finally:
            self._thread.until = None

    def watch(self, client: "httpx.Client") -> None:
        """Put the client's connections, those through proxies too, under this deadline.

        httpx has no setting for the backend of its pools (0.28), so it is exchanged in place.
        """
        inside: Any = client
        for transport in filter(None, (inside._transport, *inside._mounts.values())):
            transport._pool._network_backend = _Backend(transport._pool._network_backend, self.left)

    def left(self, timeout: float | None) -> float | None:
        """Return the seconds that the next step may take. Raises `httpcore.ReadTimeout` where none
        are left."""
        until = getattr(self._thread, "until", None)
        if until is None:
            return timeout
        left = until - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout("the whole answer took too long")
        return left if timeout is None else min(left, timeout)


class _Backend(httpcore.NetworkBackend):
    def __init__(self, inner: httpcore.NetworkBackend, left: TimeLeft) -> None:
        self._inner, self._left = inner, left

    def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, *args: Any, **more: Any
    ) -> httpcore.NetworkStream:
        stream = self._inner.connect_tcp(host, port, self._left(timeout), *args, **more)
        return _Stream(stream, self._left)


class _Stream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream, left: TimeLeft) -> None:
        self._inner, self._left = inner, left

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._left(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        inner = self._inner.start_tls(ssl_context, server_hostname, self._left(timeout))
        return _Stream(inner, self._left)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
