"""The Task API of an OpenEnv server: which questions it has, without their answers."""

import json
from collections.abc import Callable, Mapping
from typing import Any, cast

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from graphwalker.errors import UserError
from graphwalker.integrations.openenv_sessions import EpisodeSessions

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
