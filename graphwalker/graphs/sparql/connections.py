"""Connections to one endpoint: kept alive, without the 40 ms stalls of delayed acknowledgements."""

import math
import os
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from graphwalker.errors import GraphError, UserError
from graphwalker.workers import waiting_for

_QUICK_ACK = getattr(socket, "TCP_QUICKACK", None)
_CHUNK = 1 << 16
ANSWER_TIMEOUTS = 4
"""The whole answer may take that many time-outs, each of its pieces one."""
REFUSALS = (OSError, HTTPException)
"""What a connection raises when an endpoint is away, resets, stalls, or breaks off."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """What is sent: a form, and its headers."""

    body: bytes
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Response:
    """What came back, whole."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes


class Connections:
    """Keep-alive connections to one `http(s)://` address; each serves one request at a time.

    Safe among threads; a forked process opens its own. Raises `UserError` for another address.
    """

    def __init__(self, address: str, timeout_s: float, max_bytes: int) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UserError(f"{address}: not the http(s):// address of an endpoint")
        self.address = address
        self._host, self._port = parts.hostname, parts.port
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._secure = parts.scheme == "https"
        self._timeout_s, self._max_bytes = timeout_s, max_bytes
        self._answer_s = timeout_s * ANSWER_TIMEOUTS
        self._idle: list[HTTPConnection] = []
        self._process = os.getpid()
        self._lock = threading.Lock()

    def send(self, request: HttpRequest) -> Response:
        """POST and read the whole answer. Raises one of `REFUSALS`.

        An idle connection that the endpoint has closed meanwhile is replaced: a read-only request
        may be sent again.
        """
        while (idle := self._take()) is not None:
            try:
                return self._exchange(idle, request)
            except (ConnectionError, HTTPException):
                idle.close()
        return self._exchange(self._open(), request)

    def close(self) -> None:
        """Close the idle connections; a later request opens a new one."""
        while (idle := self._take()) is not None:
            idle.close()

    def _exchange(self, connection: HTTPConnection, request: HttpRequest) -> Response:
        sock: Any = connection.sock
        sock.deadline = time.monotonic() + self._answer_s
        try:
            with waiting_for(f"an answer of {self.address}"):
                connection.request("POST", self._path, request.body, dict(request.headers))
                answer = connection.getresponse()
                body = self._read(answer)
        except BaseException:
            connection.close()
            raise
        headers = {name.lower(): value for name, value in answer.getheaders()}
        if answer.will_close:
            connection.close()
        else:
            with self._lock:
                self._idle.append(connection)
        return Response(answer.status, headers, body)

    def _read(self, answer: HTTPResponse) -> bytes:
        pieces: list[bytes] = []
        left = self._max_bytes
        while piece := answer.read(_CHUNK):
            left -= len(piece)
            if left < 0:
                raise GraphError(
                    f"{self.address}: an answer of more than {self._max_bytes:,} bytes; "
                    "the node has too many triples for one look, or raise max_bytes"
                )
            pieces.append(piece)
        if answer.length:  # read(amount) does not say that the answer broke off
            raise ConnectionError(f"the answer broke off, {answer.length:,} bytes missing")
        return b"".join(pieces)

    def _open(self) -> HTTPConnection:
        if self._secure:
            context = ssl.create_default_context()
            context.sslsocket_class = _TlsSocket
            connection: HTTPConnection = HTTPSConnection(
                self._host, self._port, timeout=self._timeout_s, context=context
            )
        else:
            connection = HTTPConnection(self._host, self._port, timeout=self._timeout_s)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not self._secure:
            connection.sock = _quick(connection.sock)
        return connection

    def _take(self) -> HTTPConnection | None:
        with self._lock:
            if self._process != os.getpid():
                self._idle, self._process = [], os.getpid()
            return self._idle.pop() if self._idle else None


class _QuickSocket(socket.socket):
    """Virtuoso sends an answer in pieces and waits for each to be acknowledged, which Linux does
    after 40 ms unless told otherwise before every read."""

    deadline = math.inf
    """When the whole answer must be there: the time-out of a socket is for each piece."""

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        _assert_time(self.deadline)
        if _QUICK_ACK is not None:
            self.setsockopt(socket.IPPROTO_TCP, _QUICK_ACK, 1)
        return super().recv_into(buffer, nbytes, flags)


class _TlsSocket(ssl.SSLSocket):
    """The same deadline behind TLS."""

    deadline = math.inf

    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        _assert_time(self.deadline)
        return super().recv_into(*args, **kwargs)


def _assert_time(deadline: float) -> None:
    if time.monotonic() > deadline:
        raise TimeoutError("the answer came too slowly")


def _quick(plain: socket.socket) -> socket.socket:
    timeout = plain.gettimeout()
    quick = _QuickSocket(plain.family, plain.type, plain.proto, fileno=plain.detach())
    quick.settimeout(timeout)
    return quick
