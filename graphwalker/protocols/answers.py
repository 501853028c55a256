"""How a message states its answer: names in braces, rows of a table, the nodes of a path."""

import ast
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from graphwalker.answers.reading import FoundAnswer, read_path, read_rows
from graphwalker.answers.rows import read_row, row_texts
from graphwalker.files import dumps
from graphwalker.protocols.base import PLACEHOLDER, FinalAnswer, Malformed, repeats_example
from graphwalker.tokens.loose_json import first_value
from graphwalker.tokens.reasoning import read_reasoning, without_reasoning
from graphwalker.tokens.tool_calls import neutral

_OPENING = re.compile(r"^[ \t*#>_]*final answer[\s*_]*:[\s*_]*", re.IGNORECASE | re.MULTILINE)
_ANYWHERE = re.compile(r"final answer[\s*_]*:[\s*_]*", re.IGNORECASE)
_NAME = re.compile(r"\{([^{}]*)\}")
_SPECIAL = frozenset('{}"\\<')


class BracedNames:
    """Each name in braces, as shown; in JSON quotes inside them where it would be ambiguous bare.

    >>> BracedNames().write(FinalAnswer(("Oslo", "a {b}")))
    'Final answer: {Oslo} {"a \\\\u007bb\\\\u007d"}'
    >>> BracedNames().read("Two of them. Final answer: {Oslo} {Bergen}")
    ('Two of them.', FinalAnswer(names=('Oslo', 'Bergen')))
    """

    example: str = f"Final answer: {{{PLACEHOLDER}}}"

    def read(self, text: str) -> tuple[str, FinalAnswer | Malformed | None]:
        """Take the last line that begins with `Final answer:`, else the last mention of it."""
        found = [*_OPENING.finditer(text)] or [*_ANYWHERE.finditer(text)]
        if not found:
            return text, None
        names: list[str] = []
        inside = _NAME.findall(text, found[-1].end())
        if not inside:
            return text, Malformed(f"each name stands in braces of its own: {self.example}")
        for name in map(str.strip, inside):
            read = _read(name)
            if read is None:
                return text, Malformed(
                    f"one name, copied as shown, in each pair of braces: {self.example}"
                )
            if read == PLACEHOLDER:
                return text, Malformed(f"write a name in place of {PLACEHOLDER}")
            names += [read] if read else []
        return text[: found[-1].start()].strip(), FinalAnswer(tuple(dict.fromkeys(names)))

    def write(self, answer: FinalAnswer) -> str:
        names = " ".join(f"{{{in_braces(name)}}}" for name in answer.names)
        return f"Final answer: {names or '{}'}"


def in_braces(name: str) -> str:
    """Return the name as it stands between braces."""
    bare = name and name.isprintable() and name == name.strip() and _SPECIAL.isdisjoint(name)
    if bare:
        return name
    text = json.dumps(name, ensure_ascii=False)
    return text.replace("{", "\\u007b").replace("}", "\\u007d").replace("<", "\\u003c")


def _read(name: str) -> str | None:
    """Return the name inside braces; `None` where quotes say that it is not one name, or half a
    character stands in it."""
    if name.startswith('"'):
        try:
            value = json.loads(name, strict=False)
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, str):
            return None
        name = value
    return None if any("\ud800" <= c <= "\udfff" for c in name) else name


Extract = Callable[[str], str]
"""A second reader: what JSON a message means that holds none. Raises `PolicyError`."""


@dataclass(slots=True)
class RowsForm:
    """`[{"count": 3}]`, wherever it stands in the message; the last one counts.

    >>> form = RowsForm()
    >>> form.read('I counted. [{"count": 3}]')
    ('I counted.', FinalAnswer(names=('{"count":3}',)))
    """

    example: str = '[{"COLUMN": VALUE}]'
    extract: Extract | None = None

    def read(self, text: str) -> tuple[str, FinalAnswer | Malformed | None]:
        found = read_rows(text)
        if found is None and self.extract is not None and text.strip():
            found = read_rows(self.extract(text))
            if found is not None:
                return text, FinalAnswer(row_texts(found[0]), "rows", "extractor")
        if found is None:
            return text, None
        return _found_answer(text, row_texts(found[0]), "rows", found[1])

    def write(self, answer: FinalAnswer) -> str:
        return neutral(f"[{', '.join(dumps(dict(read_row(text))) for text in answer.names)}]")


@dataclass(slots=True)
class PathForm:
    """`[0, 1, 11]`: the keys of the cells, in order.

    >>> PathForm().read("[0, 1, 11]")[1]
    FinalAnswer(names=('0', '1', '11'))
    """

    example: str = "[KEY, KEY, KEY]"

    def read(self, text: str) -> tuple[str, FinalAnswer | Malformed | None]:
        found = read_path(text)
        return _found_answer(text, tuple(found[0]), "path", found[1]) if found else (text, None)

    def write(self, answer: FinalAnswer) -> str:
        cells = [int(name) if name.isascii() and name.isdigit() else name for name in answer.names]
        return neutral(f"[{', '.join(map(dumps, cells))}]")


def _found_answer(
    text: str, names: tuple[str, ...], kind: str, found: FoundAnswer
) -> tuple[str, FinalAnswer | Malformed]:
    if any("\ud800" <= letter <= "\udfff" for name in names for letter in name):
        return text, Malformed("a \\u escape stands for half a character: copy what was shown")
    return found.before, FinalAnswer(names, kind, found.how)


_LABEL = re.compile(r"(?:the |final )*answers?(?: is| are)?[\s*_]*[:\s]\s*", re.IGNORECASE)
_STATED = re.compile(r"(?:^|\W)(?:final )?answer[\s*_]*:[\s*_]*(.+)\Z", re.IGNORECASE | re.DOTALL)
_BOXED = re.compile(r"\\boxed\{([^{}]+)\}")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+", re.MULTILINE)
_ALONE = re.compile(
    r"\s*(?:```\w*\s)?\s*(\[.*\]|\{\s*\"(?:final_)?answers?\"\s*:.*\})\s*(?:```)?\s*", re.DOTALL
)
LONGEST = 12
"""Words of a name that stands without quotes; what is longer is prose."""


def read_lenient(completion: str, tools: bool = True) -> FinalAnswer | None:
    """Return an answer in any of the forms that chat models write; `None` where a person would not
    be sure. `read` says which form it was. With `tools` a message that is a mere list may be meant
    as arguments.

    >>> read_lenient("<answer> Oslo, Rome </answer>")
    FinalAnswer(names=('Oslo', 'Rome'))
    >>> read_lenient("So: \\\\boxed{Oslo}").read
    'boxed'
    """
    rest = read_reasoning(completion).open
    text = without_reasoning(completion[: rest.start] if rest else completion)
    _, opened, body = text.rpartition("<answer>")
    if opened:
        body, how = body.partition("</answer>")[0], "tag"
    elif found := _BOXED.findall(text):
        body, how = found[-1], "boxed"
    elif found := _STATED.search(text):
        body, how = found[1], "stated"
    elif (found := _ALONE.fullmatch(text)) and not (tools and found[1].startswith("[")):
        body, how = found[1], "bare"
    else:
        return None
    listed = _listed_names(body)
    names = listed if listed is not None else _bare_names(_LABEL.sub("", body.strip(), count=1))
    if names is None or repeats_example(names):
        return None
    return FinalAnswer(tuple(dict.fromkeys(names)), read=f"{how} list" if listed else how)


def _listed_names(body: str) -> list[str] | None:
    """Return the names of a list in JSON or in Python's quotes, or of an object's only value."""
    value = first_value(body, "[")
    start, end = body.find("["), body.rfind("]")
    if value is None and 0 <= start < end:
        try:
            value = ast.literal_eval(body[start : end + 1])
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return None
    if value is None:
        fields = first_value(body, "{")
        value = [*cast("dict[str, Any]", fields).values()] if isinstance(fields, dict) else None
    if not isinstance(value, list):
        return None
    items = cast("list[Any]", value)
    names = [str(item).strip() for item in items if isinstance(item, str | int | float)]
    return names if len(names) == len(items) and all(names) else None


def _bare_names(body: str) -> list[str] | None:
    """Return names without a list: a line each, or with commas between them."""
    lines = [line for line in _BULLET.sub("", body).splitlines() if line.strip()]
    parts = lines if len(lines) > 1 else re.split(r"\s*[|;]\s*|,\s+(?:and\s+)?", body.strip())
    names = [part.strip().strip("*_`\"'").removesuffix(".").strip("*_`\"'") for part in parts]
    fits = all(
        name and len(name.split()) <= LONGEST and not set("<[{") & set(name) for name in names
    )
    return names if names and fits else None
