"""The tools of a preset over MCP, for chat clients: read-only, and as an agent would see them.

Source: the official SDK `mcp` 2.x. https://modelcontextprotocol.io
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, cast

from graphwalker import __version__
from graphwalker.errors import GraphWalkerError
from graphwalker.integrations.tool_schemas import ToolSchema, object_schema, tool_schemas
from graphwalker.protocols.tags import TagProtocol
from graphwalker.question import Question

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from graphwalker.api.environment import ScriptEnvironment

FIND = "find_entities"
FOUND = 10
"""Names that `find_entities` returns."""
LONGEST = 2_000
"""Characters of all arguments of a call."""


def make_server(environment: "ScriptEnvironment") -> "Server[Any]":
    """Return an MCP server with the preset's tools over the environment's graph, and
    `find_entities`. A call that cannot be answered is an error result, never an exception.

    Raises `UserError` for a preset without tools to call singly, and for a graph that is another
    one for each question."""
    from mcp import types
    from mcp.server.lowlevel import Server

    environment.toolbox(Question("by hand", ""))
    tools = [
        types.Tool(name=name, description=about, input_schema=dict(schema))
        for name, about, schema in _tools(environment)
    ]

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        text, failed = answer_call(environment, params.name, params.arguments or {})
        content = types.TextContent(type="text", text=text)
        return types.CallToolResult(content=[content], is_error=failed)

    return Server(
        "graphwalker",
        version=__version__,
        instructions=(
            "Answer questions from this knowledge graph alone. Find an entity by its name, then "
            "ask the other tools about it, and go on from what they show."
        ),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def serve_mcp(
    environment: "ScriptEnvironment", transport: Literal["stdio", "http"], port: int
) -> None:
    """Serve until the client leaves (`stdio`) or the process is stopped (`http`, loopback only)."""
    server = make_server(environment)
    if transport == "http":
        import uvicorn

        from graphwalker.serve.asking import RequestLimits
        from graphwalker.serve.guard import Guard, server_config
        from graphwalker.serve.server import listen

        app = Guard(cast(Any, server.streamable_http_app(stateless_http=True)))
        with listen("127.0.0.1", port) as listening:
            config = server_config(app, RequestLimits(), lifespan="on")
            uvicorn.Server(config).run(sockets=[listening])
        return
    import anyio

    async def talk() -> None:
        from mcp.server.stdio import stdio_server

        async with stdio_server() as (read, write), anyio.create_task_group() as tasks:
            send, receive = anyio.create_memory_object_stream[Any]()
            tasks.start_soon(_forward, read, send, write)
            await server.run(cast(Any, receive), write, server.create_initialization_options())
            tasks.cancel_scope.cancel()

    anyio.run(talk)


async def _forward(read: Any, send: Any, write: Any) -> None:
    """Hand on the messages that the SDK could read; the others, to which it says nothing, get an
    error here, so that no client waits for ever."""
    from mcp.shared.message import SessionMessage

    async with send:
        async for item in read:
            if isinstance(item, Exception):
                await write.send(SessionMessage(_refusal(item)))
            else:
                await send.send(item)


def _refusal(error: Exception) -> Any:
    """Return the JSON-RPC error for a line that is no message, under the id that stands in it."""
    from mcp import types

    found: list[Any] = cast(Any, error).errors() if hasattr(error, "errors") else [{}]
    why, inputs = found[0], [one.get("input") for one in found]
    with suppress(ValueError, RecursionError, TypeError):
        inputs.append(json.loads(inputs[0]))
    number = next((cast(Any, one).get("id") for one in inputs if isinstance(one, dict)), None)
    is_id = type(number) is int or (isinstance(number, str) and number.isascii())
    code = types.PARSE_ERROR if why.get("type") == "json_invalid" else types.INVALID_REQUEST
    about = types.ErrorData(code=code, message=f"not a message: {why.get('msg', error)}")
    return types.JSONRPCError(jsonrpc="2.0", id=number if is_id else None, error=about)


def answer_call(
    environment: "ScriptEnvironment", tool: str, arguments: Mapping[str, Any]
) -> tuple[str, bool]:
    """Return what a tool shows, and whether it is an error."""
    if len(str(arguments)) > LONGEST:
        return f"the arguments have more than {LONGEST:,} characters", True
    try:
        if tool == FIND:
            found = environment.graph.search(str(arguments.get("text", "")), FOUND)
            return ", ".join(map(environment.describe, found)) or "no such name", not found
        if tool not in environment.tools:
            return f"no such tool; there are {', '.join([FIND, *environment.tools])}", True
        given = {name: value for name, value in arguments.items() if value is not None}
        shown = str(getattr(environment, tool)(**given))
        return shown, shown.startswith("Error ")
    except KeyError as error:
        return str(error.args[0]), True
    except (GraphWalkerError, TypeError, ValueError) as error:
        return str(error), True


def _tools(environment: "ScriptEnvironment") -> list[ToolSchema]:
    """Return `find_entities` and the preset's tools, which take a question where it ranks."""
    text = {"type": "string", "description": "A name, or a part of one."}
    about = "Entities whose names look like a text."
    found = ToolSchema(FIND, about, object_schema({"text": text}, ["text"]))
    tools = tool_schemas(environment)
    if isinstance(environment.protocol, TagProtocol):
        question = {"type": "string", "description": "What you want to know: it ranks."}
        for _, _, parameters in tools:
            parameters["properties"]["question"] = question
    return [found, *tools]
