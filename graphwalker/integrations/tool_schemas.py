"""The tools of an environment as other programs declare tools: name, description, JSON schema."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from graphwalker.agents.environment import Environment
from graphwalker.agents.published import kg_r1
from graphwalker.errors import UserError
from graphwalker.protocols.tags import TagProtocol
from graphwalker.tools import walker
from graphwalker.tools.base import abilities_of


class ToolSchema(NamedTuple):
    """One tool."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON schema of the arguments, an object."""


def tool_schemas(environment: Environment) -> list[ToolSchema]:
    """Return the tools of the preset. Raises `UserError` for one that has none to call singly."""
    protocol = environment.protocol
    if isinstance(protocol, TagProtocol) and environment.preset.calls:
        usual = [_of_example(tool, protocol.example(tool)) for tool in environment.preset.calls]
        own = [tool.function.to_json() for tool in environment.own_tools]
        return [*usual, *map(_of_json, own)]
    functions = abilities_of(protocol).schemas
    if not functions:
        raise UserError(f"environment.preset={environment.name} has no tools to call one by one")
    return [*map(_of_json, functions)]


def object_schema(properties: Mapping[str, Any], required: list[str]) -> dict[str, Any]:
    """Return the JSON schema of an object."""
    return {"type": "object", "properties": dict(properties), "required": required}


def _of_json(schema: Mapping[str, Any]) -> ToolSchema:
    one = schema["function"]
    return ToolSchema(one["name"], one["description"], one["parameters"])


def _of_example(tool: str, example: Mapping[str, Any]) -> ToolSchema:
    arguments = {name: _argument(name, value) for name, value in example.items()}
    needed = [name for name, value in example.items() if value is not None]
    about = {**walker.DESCRIPTIONS, **kg_r1.DESCRIPTIONS}.get(tool, f"{tool} of the graph.")
    return ToolSchema(tool, about, object_schema(arguments, needed))


_ARGUMENTS = {
    "entity": "The name of an entity, as shown.",
    "relation": "A relation that was listed for the entity.",
    "relations": "Relations that were listed for the entity.",
    "page": "The page of a long list, from 1 on.",
}
"""What the arguments of our own tools stand for."""


def _argument(name: str, example: Any) -> dict[str, Any]:
    about = {"description": _ARGUMENTS.get(name, f"The argument {name}.")}
    if isinstance(example, list):
        return {"type": "array", "items": {"type": "string"}, **about}
    return {"type": "integer" if example is None else "string", **about}
