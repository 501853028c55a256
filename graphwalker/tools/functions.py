"""A function: one tool as a chat model is told of it, by JSON schema, and what is wrong with a
call of it."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphwalker.tools.base import Call, ErrorKind, Observation, mistake

_KINDS: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list, tuple),
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a function; an `array` is a list of `items`."""

    kind: str | tuple[str, ...]
    """A JSON type (`string`, `number`, `integer`, `boolean`, `array`), or those that will do."""
    description: str
    example: Any
    """A value that hints and error texts show."""
    choices: tuple[str, ...] = ()
    required: bool = True
    items: str = "string"
    """The JSON type of an array's items."""
    is_entity: bool = False
    """Whether its text, or each of its items, names an entity."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The JSON types that will do."""
        return (self.kind,) if isinstance(self.kind, str) else self.kind

    def to_json(self) -> dict[str, Any]:
        kinds = self.kinds
        schema: dict[str, Any] = {"type": kinds[0] if len(kinds) == 1 else [*kinds]}
        if "array" in kinds:
            schema["items"] = {"type": self.items}
        schema["description"] = self.description
        return {**schema, "enum": list(self.choices)} if self.choices else schema

    def takes(self, value: Any) -> bool:
        """Return whether the value is of the kind, and one of the choices where there are some."""
        if not _is_one_of(value, self.kinds):
            return False
        if isinstance(value, list | tuple):
            return all(_is_one_of(item, (self.items,)) for item in value)  # pyright: ignore[reportUnknownVariableType]
        return not self.choices or value in self.choices


@dataclass(frozen=True, slots=True)
class Function:
    """A tool by name, with what it does and its arguments in the order in which they are written.

    >>> here = Parameter("string", "Where to look.", "Oslo")
    >>> look = Function("look", "Looks around.", {"place": here})
    >>> look.form, look.problem({"place": 3})
    ('look(place)', 'place must be a string, such as "Oslo"')
    """

    name: str
    description: str
    parameters: Mapping[str, Parameter] = field(default_factory=dict[str, Parameter])

    @property
    def form(self) -> str:
        """How it is called, in words; what may be left out stands in brackets."""
        names = (n if p.required else f"[{n}]" for n, p in self.parameters.items())
        return f"{self.name}({', '.join(names)})"

    @property
    def example(self) -> Call:
        """A call with the arguments that it needs."""
        needed = {name: p.example for name, p in self.parameters.items() if p.required}
        return Call(self.name, needed)

    def to_json(self) -> dict[str, Any]:
        """Return the function as chat servers take it in `tools`."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": {
                    "type": "object",
                    "properties": {n: p.to_json() for n, p in self.parameters.items()},
                    "required": [n for n, p in self.parameters.items() if p.required],
                },
            },
        }

    def problem(self, arguments: Mapping[str, Any]) -> str:
        """Return what is wrong with the arguments and what to write instead, else `""`. A null is
        an argument that is left out, as chat models write it."""
        # Not as `form` writes them: the model would call it so, and it is called by JSON.
        names = (n if p.required else f"{n} (optional)" for n, p in self.parameters.items())
        known = f"the arguments are {', '.join(names)}"
        for name in arguments:
            if name not in self.parameters:
                return f"{self.name} has no argument {_short(name)}: {known}"
        for name, parameter in self.parameters.items():
            if arguments.get(name) is None and not parameter.required:
                continue
            if name not in arguments:
                return f"{name} is missing: {known}"
            if not parameter.takes(arguments[name]):
                return f"{name} must be {_describe_parameter(parameter)}"
        return ""


def refusal_of(call: Call, functions: Sequence[Function]) -> Observation | None:
    """Return what to tell the model of a call that no function can run, and what to write."""
    known = {function.name: function for function in functions}
    if call.tool not in known:
        text = f"there is no {_short(call.tool)}: use {' or '.join(known)}"
        return mistake(ErrorKind.UNKNOWN_TOOL, text)
    problem = known[call.tool].problem(call.arguments)
    return mistake(ErrorKind.BAD_ARGUMENTS, problem) if problem else None


def signatures_of(functions: Sequence[Function]) -> str:
    """Return the functions described for a prompt, one line each."""
    return "\n".join(f"{function.form}: {function.description}" for function in functions)


def _is_one_of(value: Any, kinds: Sequence[str]) -> bool:
    if isinstance(value, bool):  # to Python a number, to JSON none
        return "boolean" in kinds
    if isinstance(value, float) and not math.isfinite(value):  # JSON cannot write it
        return False
    return any(isinstance(value, _KINDS[kind]) for kind in kinds)


def _describe_parameter(parameter: Parameter) -> str:
    if parameter.choices:
        return " or ".join(json.dumps(choice) for choice in parameter.choices)
    items = f"a list of {parameter.items}s"
    names = (items if k == "array" else f"{'an' if k[0] in 'ai' else 'a'} {k}"
             for k in parameter.kinds)  # fmt: skip
    return f"{' or '.join(names)}, such as {json.dumps(parameter.example, ensure_ascii=False)}"


def _short(name: str) -> str:
    return json.dumps(name[:60], ensure_ascii=False)
