"""Requests to an endpoint, as SPARQLWrapper writes them, over connections that are kept alive."""

import io
import json
import math
import os
import re
import socket
import ssl
import threading
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from importlib import import_module
from importlib.util import find_spec
from typing import Any, BinaryIO, cast
from urllib.parse import quote_plus, urlsplit

from graphwalker.errors import GraphError, UserError
from graphwalker.workers import waiting_for

_QUICK_ACK = getattr(socket, "TCP_QUICKACK", None)
_CHUNK = 1 << 16
_PLAIN_HEAD = re.compile(rb"HTTP/1\.1 ([2-5]\d\d) [^\r\n]*\r\n((?:[!-9;-~]+:[^\r\n]*\r\n)+)\r\n")
_HEADER = re.compile(r"([^:]+):[ \t]*(.*?)[ \t]*\r\n")
_NOT_IN_A_HEAD = re.compile(r"[\x00-\x20\x7f-\U0010ffff]")
USER_AGENT, HEADERS = "GRAPHWALKER_USER_AGENT", "GRAPHWALKER_ENDPOINT_HEADERS"
"""Variables of the environment. Public endpoints want to know whom to write to: Wikidata answers
403 to an agent without an address. Headers are a JSON object."""
DEFAULT_AGENT = "graphwalker-kgqa"
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
    renewed: bool = False
    """A connection that was kept had been closed: behind the same address may be another server."""


class Connections:
    """Keep-alive connections to one `http(s)://` address; each serves one request at a time.

    Safe among threads; a forked process opens its own. Raises `UserError` for another address.
    """

    def __init__(self, address: str, timeout_s: float, max_bytes: int) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UserError(f"{address}: not the http(s):// address of an endpoint")
        self.address = address
        if _NOT_IN_A_HEAD.search(parts.path + parts.query + parts.netloc):
            raise UserError(f"{address}: write it in ASCII, other characters as %XX")
        self._netloc = parts.netloc.rpartition("@")[2]
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
        may be sent again. The response then says so.
        """
        renewed = False
        while (idle := self._take()) is not None:
            try:
                return replace(self._exchange(idle, request), renewed=renewed)
            except (ConnectionError, HTTPException):
                idle.close()
                renewed = True
        return replace(self._exchange(self._open(), request), renewed=renewed)

    def close(self) -> None:
        """Close the idle connections; a later request opens a new one."""
        while (idle := self._take()) is not None:
            idle.close()

    def _exchange(self, connection: HTTPConnection, request: HttpRequest) -> Response:
        sock: Any = connection.sock
        sock.deadline = time.monotonic() + self._answer_s
        try:
            with waiting_for(f"an answer of {self.address}"):
                sock.sendall(self._request_bytes(request))
                response, reusable = self._answer(sock)
        except BaseException:
            connection.close()
            raise
        if reusable:
            with self._lock:
                self._idle.append(connection)
        else:
            connection.close()
        return response

    def _request_bytes(self, request: HttpRequest) -> bytes:
        """The whole request: in one piece, which the endpoint reads at once."""
        fields = {"Host": self._netloc, "Accept-Encoding": "identity", **request.headers}
        fields["Content-Length"] = str(len(request.body))
        lines = "".join([f"{name}: {value}\r\n" for name, value in fields.items()])
        if lines.count("\n") != len(fields):
            raise UserError("a header of more than one line: mend the user, password or headers")
        return f"POST {self._path} HTTP/1.1\r\n{lines}\r\n".encode() + request.body

    def _answer(self, sock: Any) -> tuple[Response, bool]:
        """What comes back, and whether the connection can be used again.

        An answer whose head comes in one piece and says how long it is, as Virtuoso's do, is read
        here: `http.client` takes three times as long, which is half of what a small answer costs.
        All others go to it, with what was read of them.
        """
        buffer = bytearray(_CHUNK)
        start = bytes(memoryview(buffer)[: sock.recv_into(buffer)])
        head = _PLAIN_HEAD.match(start)
        headers = _headers(head[2]) if head else {}
        length = _length(headers)
        if head is None or length is None or length > self._max_bytes:
            return self._read_odd(start, sock)
        left = length - (len(start) - head.end())
        pieces = [start[head.end() :]]
        while left > 0:
            if not (count := sock.recv_into(buffer, min(left, _CHUNK))):
                raise ConnectionError(f"the answer broke off, {left:,} bytes missing")
            pieces.append(bytes(memoryview(buffer)[:count]))
            left -= count
        body = b"".join(pieces)[:length]
        return Response(int(head[1]), headers, body), left == 0

    def _read_odd(self, start: bytes, sock: Any) -> tuple[Response, bool]:
        answer = HTTPResponse(cast(socket.socket, _BegunSocket(start, sock)), method="POST")
        answer.begin()
        body = self._read(answer)
        headers = {name.lower(): value for name, value in answer.getheaders()}
        return Response(answer.status, headers, body), not answer.will_close

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


def _headers(lines: bytes) -> dict[str, str]:
    """Headers by their names in lower case; `{}` where one stands there twice."""
    found = _HEADER.findall(lines.decode("iso-8859-1"))
    headers = {name.lower(): value for name, value in found}
    return headers if len(headers) == len(found) else {}


def _length(headers: Mapping[str, str]) -> int | None:
    """How long the body is; `None` where that is not all there is to know of it."""
    last = headers.get("connection", "keep-alive").lower() != "keep-alive"
    length = headers.get("content-length", "")
    is_one = length.isascii() and length.isdigit() and len(length) < 16
    return int(length) if is_one and not last and "transfer-encoding" not in headers else None


class _BegunSocket:
    """A socket of which the start was read: what `HTTPResponse` wants of one."""

    def __init__(self, start: bytes, sock: Any) -> None:
        self._file = _BegunFile(start, sock)

    def makefile(self, mode: str) -> BinaryIO:
        return io.BufferedReader(self._file)


class _BegunFile(io.RawIOBase):
    def __init__(self, start: bytes, sock: Any) -> None:
        self._start, self._sock = start, sock

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._start:
            return self._sock.recv_into(buffer)
        piece = self._start[: len(buffer)]
        buffer[: len(piece)] = piece
        self._start = self._start[len(piece) :]
        return len(piece)


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


_PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Form:
    """What every request of one client says besides the query."""

    default_graph: str = ""
    user: str = ""
    password: str = ""
    headers: tuple[tuple[str, str], ...] = ()


def environment_headers() -> dict[str, str]:
    """The headers that the user's environment sets. Raises `UserError` for what are none."""
    text = os.environ.get(HEADERS, "").strip()
    try:
        given: Any = json.loads(text) if text else {}
        headers = {str(name).capitalize(): str(value) for name, value in given.items()}
    except (ValueError, AttributeError):
        raise UserError(
            f'{HEADERS}: not a JSON object of headers, such as {{"X-Key": "abc"}}'
        ) from None
    agent = os.environ.get(USER_AGENT, "").strip() or DEFAULT_AGENT
    return {"User-agent": agent, **headers}


def check_installed() -> None:
    """Raises `UserError` without SPARQLWrapper."""
    if find_spec("SPARQLWrapper") is None:
        raise UserError("SPARQL needs SPARQLWrapper: pip install 'graphwalker-kgqa[sparql]'")


def write_request(
    address: str, form: Form, query: str, values: Mapping[str, str], as_parameters: bool
) -> HttpRequest:
    """The request for a SELECT whose `{name}`s stand for the terms in `values`.

    `as_parameters` is for Virtuoso, which plans a text once when its IRIs are parameters
    (`?::name` in the text, `?name` in the form); its own reading of literals as parameters fails
    on some escapes, so they stay in the text. Raises `GraphError` for anything but a SELECT.
    """
    iris = tuple(n for n, term in values.items() if as_parameters and term.startswith("<"))
    if len(iris) < len(values) or not iris:

        def term(match: re.Match[str]) -> str:
            return f"?::{match[1]}" if match[1] in iris else values[match[1]]

        written = _write(address, form, _PLACE.sub(term, query))
    else:
        written = _write_once(address, form, query)
    parameters = "".join(f"&%3F{name}={_quote(values[name])}" for name in iris)
    return HttpRequest(written.body + parameters.encode(), written.headers)


@lru_cache(maxsize=4096)
def _quote(term: str) -> str:
    return quote_plus(term)


@lru_cache(maxsize=512)
def _write_once(address: str, form: Form, query: str) -> HttpRequest:
    """A text of parameters alone is the same for any entity: SPARQLWrapper's half a millisecond
    for it is spent once."""
    return _write(address, form, _PLACE.sub(r"?::\1", query))


def _write(address: str, form: Form, query: str) -> HttpRequest:
    library: Any = import_module("SPARQLWrapper")
    wrapper = library.SPARQLWrapper(
        address, returnFormat=library.JSON, defaultGraph=form.default_graph or None
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # it warns of what is refused below
        wrapper.setQuery(query)
    if wrapper.queryType != library.SELECT or not query.startswith("SELECT "):
        raise GraphError(f"only SELECT is ever sent: {query[:80]}")
    wrapper.setMethod(library.POST)
    wrapper.setOnlyConneg(True)
    if form.user:
        wrapper.setCredentials(form.user, form.password)
    written = wrapper._createRequest()
    return HttpRequest(written.data, {**dict(written.header_items()), **dict(form.headers)})
