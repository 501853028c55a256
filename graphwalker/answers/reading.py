"""Reading rows and paths out of what a model wrote: the first stage of GraphWalk's extraction."""

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from graphwalker.answers.rows import AnswerRow, RowCell

Fits = Callable[[object], bool]
_JSON = json.JSONDecoder(strict=False)
_ROW_LINE = re.compile(r"\s*([-*#]?\s*\d{0,4}[.):]?)\s*(\{.*\}),?\s*")
_OPENING = re.compile(r"[\[{]")
MOST_IN_VAIN = 1_000_000
"""Characters that are read in vain as JSON: a text of nested brackets would take for ever."""
_BRACKET, _DEEP = 200, 5_000
"""What a bracket costs that opens no JSON, and one whose JSON is nested too deeply."""


class FoundAnswer(NamedTuple):
    """What was read, the text before it, and how: `plain` (nothing else in the message), `fenced`
    (in a code fence), `embedded` (between other words), `object` (one row without a list),
    `lines` (a row a line, the last lines of the message)."""

    value: list[Any]
    before: str
    how: str


def read_rows(text: str) -> tuple[list[AnswerRow], FoundAnswer] | None:
    """Get the rows of a message: its last JSON list of objects, or its last object; `None` without.

    >>> read_rows('So it is ```json\\n[{"count": 3}]\\n```')[1].how
    'fenced'
    >>> read_rows('{"count": 3}')[0]
    [{'count': 3}]
    """
    found = _row_lines(text) or _find_last(text, _are_rows)
    if found is None:
        return None
    rows: list[Any] = found.value
    if found.how == "object" and _all(_only_list(rows[0]), _is_row):  # {"rows": [...]}
        rows = _only_list(rows[0]) or []
    return [cast("dict[str, RowCell]", row) for row in rows], found


def read_path(text: str) -> tuple[list[str], FoundAnswer] | None:
    """Return the nodes of a path: the last JSON list of texts or whole numbers, alone or as the
    only list in an object.

    >>> read_path('The path: [0, 1, "11"]')[0]
    ['0', '1', '11']
    """
    found = _find_last(text, _are_nodes)
    if found is None:
        return None
    nodes = _only_list(found.value[0]) if found.how == "object" else found.value
    return [str(node) for node in nodes or ()], found


def _row_lines(text: str) -> FoundAnswer | None:
    """Return the rows that end the message, a line each with nothing before them but a number or a
    mark; `None` where there is but one without a number."""
    lines = text.rstrip().splitlines()
    rows: list[Any] = []
    mark = ""
    while lines and (match := _ROW_LINE.fullmatch(lines[-1])):
        try:
            row = _JSON.decode(match[2])
        except (ValueError, RecursionError):
            break
        rows.insert(0, row)
        mark = match[1]
        lines.pop()
    if len(rows) < 1 + (not mark):
        return None
    return FoundAnswer(rows, "\n".join(lines).strip(), "lines")


def _find_last(text: str, fits: Fits) -> FoundAnswer | None:
    """Return the last JSON value of the text that fits and stands in no other one that does."""
    last: tuple[Any, int, int] | None = None
    at = in_vain = 0
    while in_vain < MOST_IN_VAIN and (opening := _OPENING.search(text, at)):
        at = opening.start()
        try:
            value, end = _JSON.raw_decode(text, at)
        except json.JSONDecodeError as error:
            end = error.pos
        except (ValueError, RecursionError):
            end = at + _DEEP
        else:
            if fits(value):
                last = value, at, end
                at = end
                continue
        in_vain += end - at + _BRACKET
        at += 1
    if last is None:
        return None
    value, start, end = last
    return _describe_place(text, value, start, end)


def _describe_place(text: str, value: Any, start: int, end: int) -> FoundAnswer:
    before, after = text[:start], text[end:].strip()
    fence = before.rstrip().rpartition("```")
    fenced = bool(fence[1]) and len(fence[2].split()) <= 1 and after.startswith("```")
    if fenced:
        before = fence[0]
    if isinstance(value, dict):
        return FoundAnswer([value], before.strip(), "object")
    how = "fenced" if fenced else "embedded" if before.strip() or after else "plain"
    return FoundAnswer(cast("list[Any]", value), before.strip(), how)


def _are_rows(value: object) -> bool:
    return _is_row(value) or _all(value, _is_row)


def _are_nodes(value: object) -> bool:
    return _all(_only_list(value), _is_node)


def _is_row(value: object) -> bool:
    return isinstance(value, dict)


def _is_node(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _all(value: object, fits: Fits) -> bool:
    return isinstance(value, list) and all(fits(item) for item in cast("list[Any]", value))


def _only_list(value: object) -> list[Any] | None:
    """Return the value where it is a list, else the only list among an object's values."""
    if isinstance(value, list):
        return cast("list[Any]", value)
    if not isinstance(value, dict):
        return None
    items = cast("dict[str, Any]", value).values()
    lists = [cast("list[Any]", item) for item in items if isinstance(item, list)]
    return lists[0] if len(lists) == 1 else None
