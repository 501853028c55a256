"""An environment as an OpenEnv server: `reset`, `step` and `state` of many clients at once.

It speaks the protocol of `openenv` 0.10 over starlette, because that package and the SDK of MCP
cannot be installed together. A client whose base URL ends in `/sessions/NAME` keeps its episode
when it reconnects. Source: https://huggingface.co/docs/openenv
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from graphwalker import __version__
from graphwalker.counts import number_of
from graphwalker.errors import GraphWalkerError, UserError
from graphwalker.files import dumps
from graphwalker.integrations.openenv_sessions import EpisodeSessions, Full, Session
from graphwalker.serve.asking import RequestLimits
from graphwalker.serve.guard import LOOPBACK, App, Guard, server_config
from graphwalker.serve.server import listen

_TEXT = {"type": "string"}
_SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    "action": {"title": "TurnAction", "properties": {"text": _TEXT}, "required": ["text"]},
    "observation": {
        "title": "TurnObservation",
        "properties": {
            "observation": {**_TEXT, "description": "What the call showed."},
            "messages": {
                "type": "array",
                "items": {"type": "object"},
                "description": "Messages that follow the turn; append them to the conversation.",
            },
            "restart": {"type": "boolean", "description": "`messages` begin a new conversation."},
            "stop_strings": {"type": "array", "items": _TEXT},
            "stop": {**_TEXT, "description": "Why the episode ended."},
            "scores": {"type": "object"},
            "question_id": _TEXT,
        },
    },
    "state": {
        "title": "State",
        "properties": {"episode_id": _TEXT, "step_count": {"type": "integer"}, "session": _TEXT},
    },
}
INVALID, FAILED, CAPACITY = "VALIDATION_ERROR", "EXECUTION_ERROR", "CAPACITY_REACHED"
GOING_AWAY, REFUSED, LATER = 1001, 1008, 1013
"""Close codes of WebSocket (RFC 6455)."""


def make_app(sessions: EpisodeSessions, hosts: Sequence[str] = LOOPBACK) -> App:
    """Return the ASGI app. `hosts` are the names that it answers to."""

    async def health(_request: Request) -> Response:
        return JSONResponse({"status": "healthy"})

    async def schema(_request: Request) -> Response:
        return JSONResponse({name: {"type": "object", **one} for name, one in _SCHEMAS.items()})

    async def metadata(_request: Request) -> Response:
        about = f"{number_of(len(sessions.questions), 'question')} over a knowledge graph"
        name = f"graphwalker/{sessions.environment.name}"
        return JSONResponse({"name": name, "description": about, "version": __version__})

    async def converse(socket: WebSocket) -> None:
        await _converse(sessions, socket)

    routes: list[BaseRoute] = [
        Route("/health", health),
        Route("/schema", schema),
        Route("/metadata", metadata),
        WebSocketRoute("/ws", converse),
    ]
    named = Mount("/sessions/{session}", routes=routes)
    app = Starlette(routes=[*routes, named, *task_routes(sessions)])
    return Guard(cast(App, app), tuple(hosts), sessions.limits.message_bytes)


def make_server(sessions: EpisodeSessions, hosts: Sequence[str]) -> Any:
    """Return the `uvicorn.Server`, with the limits of the sessions."""
    import uvicorn

    limits = sessions.limits
    config = server_config(
        make_app(sessions, hosts),
        RequestLimits(connections=2 * limits.sessions + 16, request_s=limits.request_s),
        # This one checks the length of a message before it holds it.
        ws="websockets-sansio",
        ws_max_size=limits.message_bytes,
        ws_per_message_deflate=False,
    )
    return uvicorn.Server(config)


def serve_environment(
    sessions: EpisodeSessions,
    host: str,
    port: int,
    hosts: Sequence[str],
    note: Callable[[str], None],
) -> None:
    """Serve until interrupted. Raises `UserError` for a port that is taken."""
    with listen(host, port) as listening:
        shown = f"[{host}]" if ":" in host else host
        note(f"http://{shown}:{listening.getsockname()[1]}; Ctrl-C ends it")
        make_server(sessions, hosts).run(sockets=[listening])


async def _converse(sessions: EpisodeSessions, socket: WebSocket) -> None:
    """Answer a client until it leaves, is idle or comes back by another connection."""
    await socket.accept()
    leaving = asyncio.Event()
    leave = leaving.set
    try:
        session = sessions.enter(socket.path_params.get("session", ""), leave)
    except (Full, UserError) as error:
        full = isinstance(error, Full)
        await _send(socket, _error(str(error), CAPACITY if full else INVALID))
        await _close(socket, LATER if full else REFUSED, "")
        return
    try:
        while (text := await _receive(socket, leaving)) is not None:
            async with session.turn:
                reply = await _answer(sessions, session, text)
            if reply is None:
                sessions.end(session)
                break
            await _send(socket, reply)
        idle = "the session was idle, or its client came back" if leaving.is_set() else ""
        await _close(socket, GOING_AWAY if idle else 1000, idle)
    finally:
        if session.leave is leave:
            session.leave = lambda: None
            if not session.is_kept:
                sessions.end(session)


async def _receive(socket: WebSocket, leaving: asyncio.Event) -> str | None:
    """Return the next message; `None` where the client has left, or shall."""
    waiting = [asyncio.ensure_future(one) for one in (socket.receive(), leaving.wait())]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for one in waiting:
        one.cancel()
    received = waiting[0]
    if not received.done() or received.cancelled():
        return None
    message = cast("Mapping[str, Any]", received.result())
    if message["type"] == "websocket.disconnect":
        return None
    return message.get("text") or (message.get("bytes") or b"").decode("utf-8", "replace")


async def _send(socket: WebSocket, reply: Mapping[str, Any]) -> None:
    # Where the client has left, `state` has what it missed.
    with suppress(RuntimeError, WebSocketDisconnect):
        await socket.send_text(dumps(reply).encode("utf-8", "replace").decode())


async def _close(socket: WebSocket, code: int, reason: str) -> None:
    with suppress(RuntimeError, WebSocketDisconnect):
        await socket.close(code, reason)


async def _answer(sessions: EpisodeSessions, session: Session, text: str) -> dict[str, Any] | None:
    """Return the reply to a message, `None` for the one that closes the session."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return _error("a message is a JSON object", "INVALID_JSON")
    kind: Any = message.get("type") if isinstance(message, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    data: Any = message.get("data", {}) if isinstance(message, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if not isinstance(data, dict):
        return _error("data is a JSON object", INVALID)
    given = cast(dict[str, Any], data)
    try:
        if kind == "reset":
            result = await run_in_threadpool(sessions.reset, session, given)
        elif kind == "step":
            result = await run_in_threadpool(sessions.step, session, given)
        elif kind == "state":
            return {"type": "state", "data": sessions.state(session)}
        elif kind == "close":
            return None
        else:
            return _error("type is reset, step, state or close", "UNKNOWN_TYPE")
    except UserError as error:
        return _error(str(error), INVALID)
    except GraphWalkerError as error:
        return _error(f"the graph failed: {error}; reset begins another episode", FAILED)
    return {"type": "observation", "data": result}


def _error(message: str, code: str) -> dict[str, Any]:
    return {"type": "error", "data": {"message": message, "code": code}}


NAME = "graphwalker"
"""Of the environment, in addresses."""
PREVIEW = 1_000
"""Questions that one reply names; `num_tasks` counts all."""


def task_routes(sessions: EpisodeSessions) -> list[Route]:
    """Return the routes. A task is `{"id", "index", "question"}`; `reset` takes split and index."""

    def specs(split: str, start: Any = None, stop: Any = None) -> list[dict[str, Any]]:
        numbers = range(len(sessions.split(split)))[start:stop][:PREVIEW]
        return [_spec(sessions, split, number) for number in numbers]

    def one(split: str, index: Any) -> dict[str, Any]:
        if type(index) is not int or not 0 <= index < len(sessions.split(split)):
            raise UserError(f"no task {index!r:.60} in {split}")
        return _spec(sessions, split, index)

    def answer(reply: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Any:
        async def endpoint(request: Request) -> Response:
            if request.path_params["name"].lower() != NAME:
                return JSONResponse({"detail": "unknown environment"}, 404)
            try:
                body = json.loads(await request.body())
                return JSONResponse(dict(reply(cast("Mapping[str, Any]", body))))
            except UserError as error:
                return JSONResponse({"detail": str(error)}, 400)
            except ClientDisconnect:  # by the guard, where it was too long
                return Response(status_code=413)
            except (ValueError, TypeError, LookupError, RecursionError):
                return JSONResponse({"detail": 'a request is {"split": NAME, ...}'}, 422)

        return endpoint

    async def environments(_request: Request) -> Response:
        return JSONResponse([NAME])

    async def splits(request: Request) -> Response:
        if request.path_params["name"].lower() != NAME:
            return JSONResponse({"detail": "unknown environment"}, 404)
        return JSONResponse([{"name": name, "type": _kind(name)} for name in sessions.splits])

    replies: Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]] = {
        "tasks": lambda body: {"tasks": specs(body["split"]), "env_name": NAME},
        "num_tasks": lambda body: {"num_tasks": len(sessions.split(body["split"]))},
        "task": lambda body: {"task": one(body["split"], body["index"])},
        "task_range": lambda body: {
            "tasks": specs(body["split"], body.get("start"), body.get("stop"))
        },
    }
    posted = [
        Route(f"/{{name}}/{path}", answer(reply), methods=["POST"])
        for path, reply in replies.items()
    ]
    return [Route("/list_environments", environments), Route("/{name}/splits", splits), *posted]


def _spec(sessions: EpisodeSessions, split: str, index: int) -> dict[str, Any]:
    question = sessions.split(split)[index]
    return {"id": question.id, "index": index, "question": question.text}


def _kind(split: str) -> str:
    """OpenEnv knows three kinds of splits."""
    return split if split in ("train", "test") else "validation"
