"""Loose JSON: values out of a chat model's answer, mended where what is meant is plain."""

import json
import re
from typing import Any, cast

from graphwalker.tokens.reasoning import without_reasoning

_FENCE = re.compile(r"```[a-z]*\s*(.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE)
_TRAILING_COMMA = re.compile(r",\s*([}\]])")


def first_value(text: str, opening: str) -> Any:
    """Return the JSON value that begins at the first `opening` of the text, `None` for none."""
    fenced = _FENCE.search(text)
    text = fenced[1] if fenced else text
    start = text.find(opening)
    if start < 0:
        return None
    for candidate in (text[start:], mend(text[start:])):
        try:
            return json.JSONDecoder(strict=False).raw_decode(candidate)[0]
        except (ValueError, RecursionError):  # a model that stutters nests a thousand brackets
            continue
    return None


def string_list(answer: str) -> list[str] | None:
    """Get the strings of a JSON array, or of the only array in a JSON object; `None` for neither.

    >>> string_list('Here you are: ["a.b.c", "d.e.f"')
    ['a.b.c', 'd.e.f']
    """
    text = without_reasoning(answer)
    value, mapping = first_value(text, "["), first_value(text, "{")
    if not isinstance(value, list) and isinstance(mapping, dict):
        fields = cast(dict[str, Any], mapping).values()
        lists: list[Any] = [field for field in fields if isinstance(field, list)]
        value = lists[0] if len(lists) == 1 else None
    if not isinstance(value, list):
        return None
    return [item for item in cast(list[Any], value) if isinstance(item, str)]


def mend(text: str) -> str:
    """JSON without trailing commas, its brackets closed; a string that breaks off stays broken.

    >>> mend('{"a": [1, 2,], "b": "c"')
    '{"a": [1, 2], "b": "c"}'
    """
    text = _TRAILING_COMMA.sub(r"\1", text.rstrip().rstrip(","))
    closing: list[str] = []
    inside = escaped = False
    for letter in text:
        if escaped:
            escaped = False
        elif inside and letter == "\\":
            escaped = True
        elif letter == '"':
            inside = not inside
        elif not inside and letter in "{[":
            closing.append("}" if letter == "{" else "]")
        elif not inside and letter in "}]" and closing:
            closing.pop()
    return text if inside else text + "".join(reversed(closing))
