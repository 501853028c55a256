"""Function calls as text: `<tool_call>` and JSON, as Hermes and Qwen models are trained on them."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

HOSTILE = r"/?(?:tool_call|tool_response|tools|think)\b|\||/?s>"
"""What may not follow `<` in a name or an observation, so that it never acts as a tag."""
_HOSTILE_OPENING = re.compile(rf"<(?={HOSTILE})", re.IGNORECASE)
_OPEN, _CLOSE = "<tool_call>", "</tool_call>"


def _no_constant(text: str) -> Any:
    raise ValueError(text)


_JSON = json.JSONDecoder(strict=False, parse_constant=_no_constant)


class UnreadableCall(ValueError):
    """A call that is none; the text says what is wrong with it."""


class WrittenCall(NamedTuple):
    """A call as a text holds it."""

    tool: str
    arguments: dict[str, Any]


def block_of_tools(schemas: Sequence[Mapping[str, Any]]) -> str:
    """Return the tools as the text of a prompt describes them, and how they are called.

    Where a chat server is given `tools`, this very text is left out of what it is sent.
    """
    lines = "\n".join(neutral(json.dumps(schema, ensure_ascii=False)) for schema in schemas)
    return (
        f"These are the tools, described by JSON schema:\n<tools>\n{lines}\n</tools>\n"
        "To call one, write its name and its arguments as JSON; several calls may follow one "
        f'another:\n{_OPEN}\n{{"name": "TOOL", "arguments": {{"ARGUMENT": "VALUE"}}}}\n{_CLOSE}'
    )


def write_call(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return the call as a completion writes it."""
    body = json.dumps({"name": tool, "arguments": arguments}, ensure_ascii=False)
    return f"{_OPEN}\n{neutral(body)}\n{_CLOSE}"


def read_calls(text: str) -> tuple[str, list[WrittenCall]]:
    """Return the text before the first call, and the calls. Raises `UnreadableCall`, whose text
    says what is wrong."""
    first = text.find(_OPEN)
    if first < 0:
        if _CLOSE in text:
            raise UnreadableCall(f"{_CLOSE} has no opening {_OPEN}")
        return text, []
    calls: list[WrittenCall] = []
    position = first
    while position >= 0:
        end = text.find(_CLOSE, position)
        if end < 0:
            raise UnreadableCall(f"{_OPEN} is not closed: end it with {_CLOSE}")
        body = text[position + len(_OPEN) : end]
        if _OPEN in body:
            raise UnreadableCall(f"nothing may open inside {_OPEN}")
        calls.append(_read_call(body))
        position = text.find(_OPEN, end)
    return text[:first], calls


def neutral(text: str) -> str:
    """Return the text without anything that could be taken for a tag or a special token.

    >>> neutral("a </tool_call> b, 1 < 2")
    'a \\\\u003c/tool_call> b, 1 < 2'
    """
    return _HOSTILE_OPENING.sub(r"\\u003c", text)


def _read_call(body: str) -> WrittenCall:
    value = _read_json(body, "a call")
    if not isinstance(value, dict):
        raise UnreadableCall("a call is a JSON object with name and arguments")
    call = cast(dict[str, Any], value)
    name, arguments = call.get("name"), call.get("arguments", {})
    if isinstance(arguments, str):  # as servers write them on the wire
        arguments = _read_json(arguments, "arguments")
    if not isinstance(name, str) or not name:
        raise UnreadableCall("a call needs the name of a tool")
    if not isinstance(arguments, dict):
        raise UnreadableCall("arguments are one JSON object")
    if unknown := set(call) - {"name", "arguments", "id", "type"}:
        raise UnreadableCall(f"{neutral(json.dumps(min(unknown)[:60]))} belongs into arguments")
    _sound(name)
    _sound(arguments)
    return WrittenCall(name, cast(dict[str, Any], arguments))


def _read_json(text: str, what: str) -> Any:
    try:
        value, end = _JSON.raw_decode(text, len(text) - len(text.lstrip()))
    except (ValueError, RecursionError):
        raise UnreadableCall(f"{what} must be JSON with double quotes") from None
    if text[end:].strip():
        raise UnreadableCall(f"nothing may follow the JSON object of {what}")
    return value


def _sound(value: Any) -> None:
    """Refuses what no file can hold: half a surrogate pair, a number that is none."""
    if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
        raise UnreadableCall("a \\u escape stands for half a character: copy the name as shown")
    if isinstance(value, float) and not math.isfinite(value):
        raise UnreadableCall("a number is too large")
    if isinstance(value, dict):
        for key, item in cast(dict[str, Any], value).items():
            _sound(key)
            _sound(item)
    elif isinstance(value, list):
        for item in cast(list[Any], value):
            _sound(item)
