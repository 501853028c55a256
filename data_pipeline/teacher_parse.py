"""A teacher's answer, read: a tag or a JSON field, mended where what is meant is plain."""

import json
import re
from typing import Any, cast

_REASONING = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"```[a-z]*\s*(.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE)
_TRAILING_COMMA = re.compile(r",\s*([}\]])")
_NUMBER = re.compile(r"(?:score\s*[:=]?\s*)?(\d+(?:\.\d+)?)\s*(?:/\s*10)?\.?", re.IGNORECASE)


class Unreadable(ValueError):
    """An answer out of which nothing can be made; the text says what was wrong with it."""


def read_text(answer: str, tag: str) -> str:
    """What stands in `<tag>`, or in the JSON field of that name, on one line.

    >>> read_text('Sure! <question>Who wrote  it?</question>', "question")
    'Who wrote it?'
    >>> read_text('```json\\n{"question": "Who wrote it?",}\\n```', "question")
    'Who wrote it?'
    >>> read_text('{"question": "Who wrote it?"', "question")
    'Who wrote it?'

    A text that was cut off within itself is not mended: half a question is none. Raises
    `Unreadable`.
    """
    said = _REASONING.sub(" ", answer).strip()
    found = re.findall(rf"<{tag}>(.*?)</{tag}>", said, re.DOTALL | re.IGNORECASE)
    if found:
        return _line(found[-1], tag)
    field = _field(said, tag)
    if isinstance(field, str):
        return _line(field, tag)
    if not said:
        raise Unreadable("it was empty")
    raise Unreadable(f"it held no <{tag}>...</{tag}>")


def read_score(answer: str) -> float:
    """A score from 0 to 10. Raises `Unreadable`.

    >>> [read_score(t) for t in ("<score>9</score>", '{"score": 8.5}', "Score: 7/10", "10")]
    [9.0, 8.5, 7.0, 10.0]
    """
    said = _REASONING.sub(" ", answer).strip()
    field = _field(said, "score")
    if isinstance(field, int | float) and not isinstance(field, bool):
        text = str(field)
    elif _NUMBER.fullmatch(said):
        text = said
    else:
        text = read_text(answer, "score")
    number = _NUMBER.fullmatch(text.strip())
    if number is None or not 0 <= float(number[1]) <= 10:
        raise Unreadable("its score is no number from 0 to 10")
    return float(number[1])


def read_list(answer: str) -> list[str]:
    """The strings of a JSON array, or of the only array in a JSON object. Raises `Unreadable`.

    >>> read_list('Here you are: ["a.b.c", "d.e.f"')
    ['a.b.c', 'd.e.f']
    """
    said = _REASONING.sub(" ", answer).strip()
    value = _json(said, "[")
    if not isinstance(value, list):
        mapping = _json(said, "{")
        lists = [v for v in mapping.values() if isinstance(v, list)] if mapping else []
        value = lists[0] if len(lists) == 1 else None
    if not isinstance(value, list):
        raise Unreadable("it held no JSON array")
    return [item for item in cast(list[Any], value) if isinstance(item, str)]


def _line(text: str, tag: str) -> str:
    line = " ".join(text.split()).strip()
    if not line:
        raise Unreadable(f"its <{tag}> was empty")
    if "<" in line and re.search(rf"</?{tag}\b", line, re.IGNORECASE):
        raise Unreadable(f"its <{tag}> was nested")
    return line


def _field(text: str, name: str) -> Any:
    value = _json(text, "{")
    return value.get(name) if isinstance(value, dict) else None


def _json(text: str, opening: str) -> Any:
    """The JSON value that begins at the first `opening` of the text, `None` where there is none."""
    fenced = _FENCE.search(text)
    text = fenced[1] if fenced else text
    start = text.find(opening)
    if start < 0:
        return None
    for candidate in (text[start:], mended(text[start:])):
        try:
            return json.JSONDecoder(strict=False).raw_decode(candidate)[0]
        except ValueError:
            continue
    return None


def mended(text: str) -> str:
    """JSON without trailing commas, its brackets closed; a string that breaks off stays broken.

    >>> mended('{"a": [1, 2,], "b": "c"')
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
