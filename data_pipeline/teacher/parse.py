"""A teacher's answer, read: a tag or a JSON field, mended where what is meant is plain."""

import re
from typing import Any

from graphwalker.loose_json import first_value, without_reasoning

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
    text = without_reasoning(answer)
    found = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL | re.IGNORECASE)
    if found:
        return _line(found[-1], tag)
    field = _field(text, tag)
    if isinstance(field, str):
        return _line(field, tag)
    if not text:
        raise Unreadable("it was empty")
    raise Unreadable(f"it held no <{tag}>...</{tag}>")


def read_score(answer: str) -> float:
    """A score from 0 to 10. Raises `Unreadable`.

    >>> [read_score(t) for t in ("<score>9</score>", '{"score": 8.5}', "Score: 7/10", "10")]
    [9.0, 8.5, 7.0, 10.0]
    """
    whole = without_reasoning(answer)
    field = _field(whole, "score")
    if isinstance(field, int | float) and not isinstance(field, bool):
        text = str(field)
    elif _NUMBER.fullmatch(whole):
        text = whole
    else:
        text = read_text(answer, "score")
    number = _NUMBER.fullmatch(text.strip())
    if number is None or not 0 <= float(number[1]) <= 10:
        raise Unreadable("its score is no number from 0 to 10")
    return float(number[1])


def _line(text: str, tag: str) -> str:
    line = " ".join(text.split()).strip()
    if not line:
        raise Unreadable(f"its <{tag}> was empty")
    if "<" in line and re.search(rf"</?{tag}\b", line, re.IGNORECASE):
        raise Unreadable(f"its <{tag}> was nested")
    return line


def _field(text: str, name: str) -> Any:
    value = first_value(text, "{")
    return value.get(name) if isinstance(value, dict) else None
