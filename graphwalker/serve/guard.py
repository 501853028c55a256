"""The guard in front of the server: who may speak to it, how much, and what a page may do."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from graphwalker.serve.asking import RequestLimits

Scope = MutableMapping[str, Any]
AsgiMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiMessage]]
Send = Callable[[AsgiMessage], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?")


@dataclass(frozen=True, slots=True)
class Guard:
    """An ASGI layer. A name that points at this machine is not enough: the Host header must name a
    host that was meant (DNS rebinding), a page of another origin is refused (no CORS, no
    cross-site posts), and bodies end at `max_body` bytes."""

    app: App
    hosts: Sequence[str] = LOOPBACK
    max_body: int = 256 * 1024
    headers: Sequence[tuple[str, str]] = ()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(dict(scope["headers"]))
        if scope["type"] == "websocket":
            closing = {"type": "websocket.close", "code": 1008}  # before `accept`: status 403
            await (send(closing) if refusal else self.app(scope, receive, send))
            return
        if refusal:
            await _refuse(send, *refusal)
            return
        await self.app(scope, self._bound_body(receive), self._with_headers(send))

    def _refusal(self, sent: dict[bytes, bytes]) -> tuple[int, str] | None:
        host = sent.get(b"host", b"").decode("latin-1").lower()
        if _host_name(host) not in self.hosts:
            return 421, "this server does not go by that name; start it with --allow-host"
        origin = sent.get(b"origin", b"").decode("latin-1").lower()
        if origin and origin not in (f"http://{host}", f"https://{host}"):
            return 403, "pages of other origins may not call this server"
        length = sent.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self.max_body:
            return 413, f"a request may hold {self.max_body} bytes"
        return None

    def _bound_body(self, receive: Receive) -> Receive:
        left = self.max_body

        async def receive_bounded() -> AsgiMessage:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            # A chunked body that grows past the limit is cut: the client is treated as gone.
            return message if left >= 0 else {"type": "http.disconnect"}

        return receive_bounded

    def _with_headers(self, send: Send) -> Send:
        async def sending(message: AsgiMessage) -> None:
            if message["type"] == "http.response.start":
                extra = [(name.lower().encode(), value.encode()) for name, value in self.headers]
                message["headers"] = [*message.get("headers", ()), *extra]
            await send(message)

        return sending


def server_config(app: App, limits: RequestLimits, **options: Any) -> uvicorn.Config:
    """Settings of uvicorn for an app under these limits; nothing that a client sends is logged."""
    more: dict[str, Any] = {"lifespan": "off", "ws": "none", **options}
    return uvicorn.Config(
        app,
        http=bounded_protocol(limits),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=3,
        **more,
    )


def _host_name(host: str) -> str:
    """Return the name of a Host header without its port, `""` for one that is none."""
    found = _HOST.fullmatch(host)
    return found[1] if found else ""


async def _refuse(send: Send, status: int, text: str) -> None:
    body = text.encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def bounded_protocol(limits: RequestLimits) -> type[asyncio.Protocol]:
    """uvicorn's HTTP protocol under these limits, for `uvicorn.Config(http=...)`."""

    class BoundedProtocol(H11Protocol):
        _timer: asyncio.TimerHandle | None = None
        since = 0.0
        """When the request began that is not whole yet."""

        @property
        def is_waiting(self) -> bool:
            """Whether the request is not whole yet. One that became a WebSocket is."""
            is_http = self.transport.get_protocol() is self
            return is_http and self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._watch()
            every = cast("set[Any]", self.connections)  # those of WebSocket never wait
            # One that was closed in this turn of the loop is still among them.
            there = [one for one in every if not one.transport.is_closing()]
            if len(there) > limits.connections:
                # The one that waits longest makes room, so that nobody locks others out.
                waiting = [one for one in there if getattr(one, "is_waiting", False)]
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
