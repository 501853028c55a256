"""The endpoint over HTTP: the SPARQL 1.1 protocol at `/sparql`, by GET and POST."""

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from graphwalker.graphs.sparql.request import PLAIN_IDS
from graphwalker.graphs.sparql_engine.results import choose_form
from graphwalker.serve.asking import RequestLimits
from graphwalker.serve.guard import Guard, server_config
from graphwalker.serve.server import listen
from graphwalker.sparql_server.workers import QueryWorkers, ServedAnswer, refuse

MAX_BODY = 1 << 20
"""Bytes of a request."""
FIELDS = 64
_GRAPHS = ("default-graph-uri", "named-graph-uri")
_MILLISECONDS = re.compile(r"[0-9]{1,12}")


def build_app(workers: QueryWorkers, hosts: Sequence[str]) -> Any:
    """Return the ASGI application over running workers."""

    async def answer(request: Request) -> Response:
        fields = await _read_fields(request)
        if isinstance(fields, ServedAnswer):
            return _respond(fields)
        form = choose_form(request.headers.get("accept", ""), _first(fields, "format", "output"))
        wanted = _first(fields, "timeout")  # milliseconds, as Virtuoso has it; 0 is no wish
        if wanted and not _MILLISECONDS.fullmatch(wanted):
            return _respond(refuse(400, "22023: timeout is a number of milliseconds"))
        graphs = [name for field in _GRAPHS for name in fields.get(field, ())]
        wire = {
            "query": _first(fields, "query"),
            "form": form,
            "graphs": graphs,
            "is_ours": PLAIN_IDS.lower() in request.headers,
        }
        query = workers.ask(wire, int(wanted or 0) / 1e3)
        return _respond(await _unless_gone(request, query))

    routes = [Route(path, answer, methods=["GET", "POST"]) for path in ("/sparql", "/sparql/")]
    return Guard(Starlette(routes=routes), hosts, MAX_BODY)


async def _unless_gone(request: Request, query: Any) -> ServedAnswer:
    """Return the answer; a client that goes away ends its query."""
    answer = asyncio.ensure_future(query)
    gone = asyncio.ensure_future(_wait_until_gone(request))
    try:
        await asyncio.wait((answer, gone), return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        if not answer.done():
            answer.cancel()
    return answer.result() if answer.done() else refuse(499, "the client went away")


async def _wait_until_gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _read_fields(request: Request) -> dict[str, list[str]] | ServedAnswer:
    """Return the parameters of a request, those of the address and those of a form."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        fields = parse_qs(request.url.query, max_num_fields=FIELDS)
        if request.method == "POST":
            text = (await request.body()).decode()
            if kind == "application/sparql-query":
                fields["query"] = [text]
            else:
                fields |= parse_qs(text, max_num_fields=FIELDS)
    except ValueError:
        return refuse(400, "22023: the request is not a form in UTF-8")
    if kind == "application/sparql-update" or "update" in fields:
        return refuse(403, "42000: this endpoint reads; updates are not served")
    if not _first(fields, "query").strip():
        return refuse(400, "22023: give a query: /sparql?query=SELECT...")
    return fields


def _first(fields: dict[str, list[str]], *names: str) -> str:
    return next((fields[name][0] for name in names if name in fields), "")


def _respond(answer: ServedAnswer) -> Response:
    return Response(answer.body, answer.status, media_type=answer.kind)


def serve_sparql(
    workers: QueryWorkers, host: str, port: int, hosts: Sequence[str], note: Callable[[str], None]
) -> None:
    """Serve until interrupted; `note` is given the address. Raises `UserError` for a port that is
    taken."""
    import uvicorn

    with closing(workers):
        listening = listen(host, port)
        shown = f"[{host}]" if ":" in host else host
        with listening:
            note(f"http://{shown}:{listening.getsockname()[1]}/sparql")
            config = server_config(build_app(workers, hosts), RequestLimits(max_body=MAX_BODY))
            uvicorn.Server(config).run(sockets=[listening])
