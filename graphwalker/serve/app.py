"""The served agent: a page to ask it, its turns as they happen, and an OpenAI-compatible API."""

import base64
import hashlib
import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from pathlib import Path
from typing import Any, cast

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from graphwalker.errors import GraphError, UserError
from graphwalker.policies.base import Sampling
from graphwalker.question import Question
from graphwalker.serve.asking import ENDS, RequestLimits, read_question, session_events
from graphwalker.serve.guard import LOOPBACK, App, Guard
from graphwalker.serve.openai_api import Reply, error_body, question_text, read_sampling
from graphwalker.serve.sessions import HEARTBEAT, Busy, Event, Sessions, sse

PAGE = Path(__file__).parent / "page.html"
Events = AsyncGenerator[Event | None]


def build_app(
    sessions: Sessions, limits: RequestLimits | None = None, hosts: Sequence[str] = LOOPBACK
) -> App:
    """The ASGI app over sessions that are open. `hosts` are the names that it answers to."""
    views = _Views(sessions, limits or RequestLimits())
    routes = [
        Route("/", views.page),
        Route("/api/about", views.about),
        Route("/api/ask", views.ask, methods=["POST"]),
        Route("/v1/models", views.models),
        Route("/v1/chat/completions", views.chat, methods=["POST"]),
    ]
    html = PAGE.read_text(encoding="utf-8")
    inner = cast(App, Starlette(routes=routes))
    return Guard(inner, tuple(hosts), views.limits.max_body, security_headers(html))


def security_headers(html: str) -> tuple[tuple[str, str], ...]:
    """Headers of every answer: the page may run its own script and style and talk to us alone."""
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {_hashes(html, 'script')}",
            f"style-src {_hashes(html, 'style')}",
            "img-src data:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )
    return (
        ("Content-Security-Policy", policy),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Cache-Control", "no-store"),
    )


def _hashes(html: str, tag: str) -> str:
    blocks = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
    digests = (hashlib.sha256(block.encode()).digest() for block in blocks)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


class _Views:
    """The answers to each address."""

    def __init__(self, sessions: Sessions, limits: RequestLimits) -> None:
        self.sessions, self.limits = sessions, limits
        self._model = f"graphwalker/{sessions.policy.name}"

    async def page(self, request: Request) -> Response:
        return HTMLResponse(PAGE.read_text(encoding="utf-8"))

    async def about(self, request: Request) -> Response:
        about = {"agent": self.sessions.environment.name, "model": self.sessions.policy.name}
        return JSONResponse({**about, "running": self.sessions.running})

    async def models(self, request: Request) -> Response:
        model = {"id": self._model, "object": "model", "created": 0, "owned_by": "graphwalker"}
        return JSONResponse({"object": "list", "data": [model]})

    async def ask(self, request: Request) -> Response:
        """One question as JSON, its turns as server-sent events."""
        try:
            body = await _json(request)
            question = await self._question(body.get("question"), body.get("topics"))
            events = self._events(question, Sampling(max_tokens=self.limits.max_tokens))
            await anext(events)  # a busy server says so before the stream begins
        except UserError as error:
            return PlainTextResponse(str(error), 400)
        except GraphError as error:
            return PlainTextResponse(f"the graph failed: {error}", 502)
        except Busy as error:
            return PlainTextResponse(str(error), 503, {"Retry-After": "5"})
        topics = [{"id": e.id, "name": e.name} for e in question.topic_entities]

        async def lines() -> AsyncIterator[bytes]:
            yield sse({"type": "topics", "topics": topics})
            async for event in events:
                yield HEARTBEAT if event is None else sse(event)

        return _EventStream(lines(), events)

    async def chat(self, request: Request) -> Response:
        """The agent as a chat model."""
        try:
            body = await _json(request)
            text, sampling = question_text(body), read_sampling(body, self.limits.max_tokens)
            events = self._events(await self._question(text, body.get("topics")), sampling)
            await anext(events)
        except UserError as error:
            return JSONResponse(error_body(str(error)), 400)
        except GraphError as error:
            return JSONResponse(error_body(f"the graph failed: {error}", "server_error"), 502)
        except Busy as error:
            return JSONResponse(error_body(str(error), "server_error"), 503, {"Retry-After": "5"})
        reply = Reply(self._model)
        if not body.get("stream"):
            return await _whole(reply, events, request)

        async def lines() -> AsyncIterator[bytes]:
            async for event in events:
                if event is None:
                    yield HEARTBEAT
                    continue
                for chunk in reply.chunks(event):
                    yield sse(chunk)
            yield sse("[DONE]")

        return _EventStream(lines(), events)

    async def _question(self, text: Any, topics: Any) -> Question:
        """Read off the event loop: finding names may ask the graph many times."""
        graph = self.sessions.environment.graph
        return await run_in_threadpool(read_question, graph, text, topics)

    async def _events(self, question: Question, sampling: Sampling) -> Events:
        """The question's events after a first `None` (it was admitted); closing cancels."""
        async with session_events(
            self.sessions, question, sampling, self.limits.timeout_s
        ) as events:
            yield None
            async for event in events:
                yield event


class _EventStream(StreamingResponse):
    """Server-sent events. When they end or the client goes away, the episode is over."""

    def __init__(self, lines: AsyncIterator[bytes], events: Events) -> None:
        # Buffers in between (nginx) are asked to let every line through at once.
        super().__init__(lines, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
        self._events = events

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._events.aclose()


async def _json(request: Request) -> dict[str, Any]:
    """The body, a JSON object sent as one. Raises `UserError`."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # what other sites' forms cannot send without being asked first
        raise UserError("send a JSON object as application/json")
    try:
        body = await request.json()
    except (ValueError, RecursionError, ClientDisconnect):
        raise UserError("the body is not JSON, or too large") from None
    if not isinstance(body, dict):
        raise UserError("send a JSON object")
    return cast(dict[str, Any], body)


async def _whole(reply: Reply, events: Events, request: Request) -> Response:
    """The finished completion; nothing for a client that went away meanwhile."""
    try:
        async for event in events:
            if event is None:
                if await request.is_disconnected():
                    return Response(status_code=499)
            elif event["type"] == "turn":
                reply.turns.append(event)
            elif event["type"] == "retry":
                reply.turns.clear()
            elif event["type"] in ENDS:
                if event["type"] == "end":
                    return JSONResponse(reply.whole(event))
                return JSONResponse(error_body(event["error"], "server_error"), 502)
    finally:
        await events.aclose()
    return JSONResponse(error_body("the agent gave no end", "server_error"), 500)
