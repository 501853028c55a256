"""Constrained decoding of function calls: names of tools and arguments that there are, values that
may be meant, and answers in braces that were shown."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from graphwalker.protocols.answers import in_braces
from graphwalker.tokens.tool_calls import neutral
from graphwalker.tools.base import Call, Choices
from graphwalker.tools.functions import Function

_OPEN, _CLOSE = b"<tool_call>", b"</tool_call>"
_TEXT = rb'"((?:[^"\\]|\\.)*)'
_NAME = re.compile(rb'\s*\{\s*"name"\s*:\s*' + _TEXT, re.DOTALL)
_ARGUMENTS = re.compile(rb'"\s*,\s*"arguments"\s*:\s*\{')
_KEY = re.compile(rb"\s*" + _TEXT, re.DOTALL)
_COLON = re.compile(rb'"\s*:\s*')
_COMMA = re.compile(rb"\s*,")
_SCALAR = re.compile(
    rb'"(?:[^"\\]|\\.)*"|(?:true|false|null|-?[0-9][0-9.eE+-]*)(?=[\s,}\]])', re.DOTALL
)
_LIST = re.compile(rb'\[(?:[^"\]]|"(?:[^"\\]|\\.)*")*\]', re.DOTALL)
_ITEM = re.compile(rb'\s*\[\s*(?:"(?:[^"\\]|\\.)*"\s*,\s*)*' + _TEXT + rb"\Z", re.DOTALL)
_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACED = re.compile(rb"final answer[\s*_]*:[\s*_]*(?:\{[^{}]*\}\s*)*\{([^{}]*)\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CallGrammar:
    """The grammar of calls as `<tool_call>` JSON.

    >>> from graphwalker.tools.functions import Parameter
    >>> look = Function("look", "", {"place": Parameter("string", "", "Oslo")})
    >>> grammar = CallGrammar((look,), lambda call, argument: ["Oslo", "Oslofjord"])
    >>> grammar.continuations(b'<tool_call>\\n{"na')
    >>> grammar.continuations(b'<tool_call>\\n{"name": "look", "arguments": {"p')
    [b'lace"']
    >>> grammar.continuations(b'<tool_call>\\n{"name": "look", "arguments": {"place": "Osl')
    [b'o"', b'ofjord"']
    """

    functions: Sequence[Function]
    choices: Choices | None = None
    """The values that an argument may have, where the tools know them."""
    names: Sequence[str] = ()
    """What may stand in the braces of an answer; none: anything."""

    def continuations(self, written: bytes) -> Sequence[bytes] | None:
        start = written.rfind(_OPEN)
        if start < 0:
            return self._answer(written) if self.names else None
        body = written[start + len(_OPEN) :]
        return None if _CLOSE in body else self._call(body)

    def _answer(self, written: bytes) -> Sequence[bytes] | None:
        """A name that was shown; no answer at all stays possible."""
        braced = _BRACED.search(written)
        if braced is None:
            return None
        used = {part.strip() for part in re.findall(rb"\{([^{}]*)\}", braced[0])}
        texts = [in_braces(name).encode("utf-8", "replace") for name in self.names]
        whole = [text + b"}" for text in texts if text not in used]
        if not used:
            whole.append(b"}")
        return _rest(whole, braced[1])

    def _call(self, body: bytes) -> Sequence[bytes] | None:
        name = _NAME.match(body)
        if name is None:
            return None
        known = {function.name: function for function in self.functions}
        if name.end() == len(body):
            return _rest(map(_json, known), b'"' + name[1])
        function, opening = known.get(_decoded(name[1])), _ARGUMENTS.match(body, name.end())
        if function is None or opening is None:
            return None
        return self._arguments(function, body, opening.end())

    def _arguments(self, function: Function, body: bytes, at: int) -> Sequence[bytes] | None:
        given: dict[str, Any] = {}
        while key := _KEY.match(body, at):
            if key.end() == len(body):
                left = [name for name in function.parameters if name not in given]
                return _rest(map(_json, left), b'"' + key[1])
            colon = _COLON.match(body, key.end())
            if colon is None:
                return None
            argument = _decoded(key[1])
            value = _SCALAR.match(body, colon.end()) or _LIST.match(body, colon.end())
            if value is None:
                return self._value(function, given, argument, body[colon.end() :])
            given[argument] = _value_of(value[0])
            comma = _COMMA.match(body, value.end())
            if comma is None:
                return None
            at = comma.end()
        return None

    def _value(
        self, function: Function, given: dict[str, Any], argument: str, text: bytes
    ) -> Sequence[bytes] | None:
        parameter = function.parameters.get(argument)
        call = Call(function.name, given)
        found: Sequence[Any] | None = self.choices(call, argument) if self.choices else None
        found = found or (parameter.choices if parameter else ())
        if not found:
            return None
        if parameter is not None and "array" in parameter.kind:
            item = _ITEM.match(text)
            if item is None:
                return None
            used = {_decoded(one[1:-1]) for one in _STRINGS.findall(text[: item.start(1) - 1])}
            return _rest((_json(one) for one in found if one not in used), b'"' + item[1])
        whole = [text for one in found for text in _ended(one)]
        # Right after the colon there may be a space.
        return _rest(whole if text else [*whole, *(b" " + one for one in whole)], text)


def _ended(value: Any) -> list[bytes]:
    """The value as JSON, with what ends it: a number could be the beginning of another one."""
    text = _json(value)
    return [text] if isinstance(value, str) else [text + b",", text + b"}"]


def _json(value: Any) -> bytes:
    return neutral(json.dumps(value, ensure_ascii=False)).encode("utf-8", "replace")


def _rest(whole: Iterable[bytes], written: bytes) -> Sequence[bytes] | None:
    rest = [text[len(written) :] for text in whole if text.startswith(written)]
    return [text for text in rest if text] or None


def _decoded(text: bytes) -> str:
    found = _value_of(b'"' + text + b'"')
    return found if isinstance(found, str) else text.decode("utf-8", "replace")


def _value_of(text: bytes) -> Any:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
