"""The served agent: a page to ask it, its turns as they happen, and an OpenAI-compatible API."""

import re
import threading
import uuid
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
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

from graphwalker.errors import GraphError, GraphWalkerError, UserError
from graphwalker.files import dumps
from graphwalker.policies.base import Sampling
from graphwalker.question import Question
from graphwalker.serve.ask import NameCompletion, topic_candidates
from graphwalker.serve.asking import (
    ENDS,
    MAX_QUESTION,
    RequestLimits,
    read_question,
    session_events,
)
from graphwalker.serve.guard import LOOPBACK, App, Guard
from graphwalker.serve.openai_api import (
    Reply,
    check_request,
    error_body,
    question_text,
    read_sampling,
)
from graphwalker.serve.sessions import HEARTBEAT, Busy, Event, Sessions, sse
from graphwalker.viewer.assets import digest, page_script, viewer_style

Events = AsyncGenerator[Event | None]


def build_app(
    sessions: Sessions,
    limits: RequestLimits | None = None,
    hosts: Sequence[str] = LOOPBACK,
    examples: Callable[[], Sequence[Question]] = tuple,
    beside: Sequence[Sessions] = (),
) -> App:
    """Return the ASGI app over sessions that are open. `hosts` are the names that it answers to;
    `examples` makes questions to begin with, beside the server. The page asks the models of
    `beside` the same; the API is that of `sessions`."""
    html = make_page()
    views = _Views((sessions, *beside), limits or RequestLimits(), html)
    threading.Thread(target=views.make_examples, args=(examples,), daemon=True).start()
    routes = [
        Route("/", views.page),
        Route("/api/about", views.about),
        Route("/api/topics", views.topics, methods=["POST"]),
        Route("/api/names", views.names),
        Route("/api/walks/{walk}", views.walk),
        Route("/api/ask", views.ask, methods=["POST"]),
        Route("/v1/models", views.models),
        Route("/v1/chat/completions", views.chat, methods=["POST"]),
    ]
    inner = cast(App, Starlette(routes=routes))
    return Guard(inner, tuple(hosts), views.limits.max_body, security_headers(html))


class _Views:
    """The answers to each address."""

    def __init__(self, every: Sequence[Sessions], limits: RequestLimits, html: str) -> None:
        sessions, self.limits = every[0], limits
        self.sessions, self._every = sessions, every
        self._model = f"graphwalker/{sessions.policy.name}"
        self._html = html
        self._names = NameCompletion(sessions.environment.graph)
        self._kept = KeptWalks()
        self._examples: list[Event] | None = None

    def make_examples(self, make: Callable[[], Sequence[Question]]) -> None:
        """Make the questions to begin with; without any the page does without."""
        try:
            made = [{"question": q.text, "topics": _topic_list(q)} for q in make()]
        except GraphWalkerError:
            made = []
        self._examples = made

    async def page(self, request: Request) -> Response:
        return HTMLResponse(self._html)

    async def about(self, request: Request) -> Response:
        """Return what is served; `examples` is null as long as they are being made."""
        environment = self.sessions.environment
        models = [sessions.name for sessions in self._every]
        about: Event = {"agent": environment.name, "model": models[0], "models": models}
        about |= {"entities": environment.graph.size, "examples": self._examples}
        return JSONResponse({**about, "running": self.sessions.running})

    async def topics(self, request: Request) -> Response:
        """Return the entities that a question names, each with those of the same name."""
        try:
            text = str((await _json(request)).get("question", ""))[:MAX_QUESTION]
            graph = self.sessions.environment.graph
            return JSONResponse({"topics": await run_in_threadpool(topic_candidates, graph, text)})
        except UserError as error:
            return PlainTextResponse(str(error), 400)
        except GraphError as error:
            return PlainTextResponse(f"the graph failed: {error}", 502)

    async def names(self, request: Request) -> Response:
        """Return entities whose names look like what was typed."""
        try:
            typed = request.query_params.get("q", "")
            return JSONResponse({"names": await run_in_threadpool(self._names.complete, typed)})
        except GraphError as error:
            return PlainTextResponse(f"the graph failed: {error}", 502)

    async def walk(self, request: Request) -> Response:
        """Return a walk of before, as long as it is kept."""
        found = self._kept.find(request.path_params["walk"])
        if found is None:
            return PlainTextResponse("this walk is no longer kept: ask again", 404)
        return Response(found, media_type="application/json")

    async def models(self, request: Request) -> Response:
        model = {"id": self._model, "object": "model", "created": 0, "owned_by": "graphwalker"}
        return JSONResponse({"object": "list", "data": [model]})

    async def ask(self, request: Request) -> Response:
        """Return one question as JSON, its turns as server-sent events."""
        try:
            body = await _json(request)
            question = await self._question(body.get("question"), body.get("topics"))
            sampling = Sampling(max_tokens=self.limits.max_tokens)
            sessions = self._every[int(body.get("which") == 1 and len(self._every) > 1)]
            events = self._events(question, sampling, sessions)
            await anext(events)  # a busy server says so before the stream begins
        except UserError as error:
            return PlainTextResponse(str(error), 400)
        except GraphError as error:
            return PlainTextResponse(f"the graph failed: {error}", 502)
        except Busy as error:
            return PlainTextResponse(str(error), 503, {"Retry-After": "5"})
        topics = _topic_list(question)

        async def lines() -> AsyncIterator[bytes]:
            yield sse({"type": "topics", "topics": topics})
            async for event in events:
                if event is not None and event["type"] == "end":
                    kept = {**event, "question": question.text, "topics": topics}
                    event["id"] = self._kept.add({**kept, "model": sessions.name})
                yield HEARTBEAT if event is None else sse(event)

        return _EventStream(lines(), events)

    async def chat(self, request: Request) -> Response:
        """Return the agent as a chat model."""
        try:
            body = await _json(request)
            check_request(body, self._model)
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
                if event is None or event["type"] == "queue":
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

    async def _events(
        self, question: Question, sampling: Sampling, drawn_by: Sessions | None = None
    ) -> Events:
        """Yield the question's events after a first `None` (it was admitted); closing cancels.
        Those for the page come from the sessions `drawn_by`, with what the viewer draws."""
        sessions, drawn = drawn_by or self.sessions, drawn_by is not None
        async with session_events(
            sessions, question, sampling, self.limits.timeout_s, drawn
        ) as events:
            yield None
            async for event in events:
                yield event


def _topic_list(question: Question) -> list[dict[str, str]]:
    return [{"id": e.id, "name": e.name} for e in question.topic_entities]


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
    """Return the body, a JSON object sent as one. Raises `UserError`."""
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
    """Return the finished completion; nothing for a client that went away meanwhile."""
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


MOST_BYTES = 32 * 2**20


class KeptWalks:
    """Walks by ids that nobody can guess; the oldest make room."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._walks: OrderedDict[str, bytes] = OrderedDict()
        self._room = most_bytes

    def add(self, walk: dict[str, Any]) -> str:
        """Keep a walk; returns its id."""
        key, packed = uuid.uuid4().hex, dumps(walk).encode("utf-8", "replace")
        self._walks[key] = packed
        self._room -= len(packed)
        while self._room < 0:
            self._room += len(self._walks.popitem(last=False)[1])
        return key

    def find(self, key: str) -> bytes | None:
        """Return a walk as JSON; `None` for one that is not kept."""
        return self._walks.get(key)


FOLDER = Path(__file__).parent


def make_page() -> str:
    """Return the document, its style and script in place."""
    html, style, script = (
        (FOLDER / name).read_text(encoding="utf-8") for name in ("page.html", "page.css", "page.js")
    )
    html = html.replace("<style></style>", f"<style>{viewer_style()}{style}</style>")
    return html.replace("<script></script>", f"<script>{page_script(script)}</script>")


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
    return " ".join(map(digest, re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)))
