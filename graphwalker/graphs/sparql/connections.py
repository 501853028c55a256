"""Connections to an endpoint: a pool of urllib3's, and one deadline for a whole request."""

import math
import os
import socket
import ssl
import threading
import time
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError, NewConnectionError
from urllib3.exceptions import TimeoutError as PoolTimeoutError

from graphwalker.errors import GraphError, UserError
from graphwalker.graphs.sparql.request import HttpRequest, Refusal, Response
from graphwalker.workers.pool import waiting_for

REQUEST_TIMEOUTS = 4
"""A whole request may take that many time-outs, each wait in it one."""
_IDLE = 1024
_QUICK_ACK = getattr(socket, "TCP_QUICKACK", None)


class Connections:
    """Keep-alive connections to one `http(s)://` address; each serves one request at a time.

    Safe among threads; a forked process opens its own. Raises `UserError` for another address.
    """

    def __init__(self, address: str, timeout_s: float, max_bytes: int) -> None:
        parts = urlsplit(address)
        try:
            self._port, self._host = parts.port, parts.hostname or ""
        except ValueError as error:
            raise UserError(f"{address}: {error}") from None
        if parts.scheme not in ("http", "https") or not self._host:
            raise UserError(f"{address}: not the http(s):// address of an endpoint")
        self.address, self._is_secure = address, parts.scheme == "https"
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._timeout_s, self._max_bytes = timeout_s, max_bytes
        self._pool, self._process = self._open_pool(), os.getpid()

    def send(self, request: HttpRequest) -> Response:
        """POST and read the whole answer. Raises `Refusal` or `TimeoutError`.

        An idle connection that the endpoint has closed meanwhile is replaced: a read-only request
        may be sent again. The response then says so.
        """
        if self._process != os.getpid():
            self._pool, self._process = self._open_pool(), os.getpid()
        _thread.deadline = time.monotonic() + REQUEST_TIMEOUTS * self._timeout_s
        try:
            return self._exchange(request)
        except Refusal:
            if _thread.has_opened:
                raise
        return replace(self._exchange(request), renewed=True)

    def close(self) -> None:
        """Close the idle connections; a later request opens a new one."""
        pool, self._pool = self._pool, self._open_pool()
        pool.close()

    def _open_pool(self) -> HTTPConnectionPool:
        if not self._is_secure:
            pool = HTTPConnectionPool(
                self._host, self._port, timeout=self._timeout_s, maxsize=_IDLE, retries=False
            )
            pool.ConnectionCls = _Connection  # pyright: ignore[reportAttributeAccessIssue]
            return pool
        context = ssl.create_default_context()
        context.sslsocket_class = _TlsSocket
        pool = HTTPSConnectionPool(
            self._host,
            self._port,
            timeout=self._timeout_s,
            maxsize=_IDLE,
            retries=False,
            ssl_context=context,
        )
        pool.ConnectionCls = _TlsConnection  # pyright: ignore[reportAttributeAccessIssue]
        return pool

    def _exchange(self, request: HttpRequest) -> Response:
        _thread.has_opened = _thread.has_lost = False
        fields = {"Accept-Encoding": "identity", **request.headers}
        try:
            with waiting_for(f"an answer of {self.address}"):
                answer = self._pool.urlopen(
                    "POST",
                    self._target,
                    request.body,
                    fields,
                    redirect=False,
                    preload_content=False,
                )
                body = answer.read(self._max_bytes + 1)
        except NewConnectionError as error:  # urllib3 counts it among the time-outs
            raise Refusal(_reason(error)) from None
        except PoolTimeoutError:
            raise TimeoutError("timed out") from None
        except (HTTPError, OSError) as error:
            raise Refusal(_reason(error)) from None
        except ValueError:
            raise UserError(
                "a header of more than one line: mend the user, password or headers"
            ) from None
        if len(body) > self._max_bytes:
            answer.close()
            raise GraphError(
                f"{self.address}: an answer of more than {self._max_bytes:,} bytes; "
                "the node has too many triples for one look, or raise max_bytes"
            )
        headers = {name.lower(): value for name, value in answer.headers.items()}
        return Response(answer.status, headers, body, renewed=_thread.has_lost)


class _Thread(threading.local):
    """What happened to the request of this thread."""

    deadline = math.inf
    has_opened = False
    """A connection was opened for it, none that was kept."""
    has_lost = False
    """A connection that was kept had been closed."""


_thread = _Thread()


class _QuickSocket(socket.socket):
    """Virtuoso sends an answer in pieces and waits for each to be acknowledged, which Linux does
    after 40 ms unless told otherwise before every read."""

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        _assert_time()
        if _QUICK_ACK is not None:
            self.setsockopt(socket.IPPROTO_TCP, _QUICK_ACK, 1)
        return super().recv_into(buffer, nbytes, flags)


class _TlsSocket(ssl.SSLSocket):
    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        _assert_time()
        return super().recv_into(*args, **kwargs)


def _assert_time() -> None:
    """The time-out of a socket is for each piece; this is for the whole."""
    if time.monotonic() > _thread.deadline:
        raise TimeoutError("the answer came too slowly")


class _WatchedConnection(HTTPConnection):
    """A connection that says when it is opened, and when the other side has closed it."""

    def connect(self) -> None:
        _thread.has_opened = True
        super().connect()

    @property
    def is_connected(self) -> bool:
        is_connected = super().is_connected
        _thread.has_lost |= not is_connected and self.sock is not None
        return is_connected


class _Connection(_WatchedConnection):
    def connect(self) -> None:
        super().connect()
        plain = self.sock
        self.sock = _QuickSocket(plain.family, plain.type, plain.proto, fileno=plain.detach())
        self.sock.settimeout(self.timeout)


class _TlsConnection(_WatchedConnection, HTTPSConnection):
    pass


def _reason(error: Exception) -> str:
    """Return what the system said, without urllib3's frame around it."""
    error = error.__cause__ if isinstance(error.__cause__, OSError) else error
    return f"{type(error).__name__}: {error}"
