"""Answers as JSON: the rows of a table, or the nodes of a path."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from graphwalker.answers.reading import FoundAnswer, read_path, read_rows
from graphwalker.answers.rows import read_row, row_texts
from graphwalker.files import dumps
from graphwalker.protocols.base import FinalAnswer, Malformed
from graphwalker.tokens.tool_calls import neutral

_COUNTED = re.compile(r"#\d+ (\d{1,9}\.|\{.*\})")
LINE_NUMBER = re.compile(r"\d{1,9}\.")
"""A row that is named by the number of the line that showed it."""
Extract = Callable[[str], str]
"""A second reader: what JSON a message means that holds none. Raises `PolicyError`."""


@dataclass(slots=True)
class RowsForm:
    """`[{"count": 3}]`, wherever it stands in the message; the last one counts.

    >>> form = RowsForm()
    >>> form.read('I counted. [{"count": 3}]')
    ('I counted.', FinalAnswer(names=('{"count":3}',)))
    """

    example: str = '[{"column": "value"}]'
    extract: Extract | None = None
    numbered: bool = False
    """Writes a row a line and counts down: `#1 {"count": 3}` ends an answer, so a model that knows
    how many there are knows where to end. `#1 18.` is the row of line 18."""

    def read(self, text: str) -> tuple[str, FinalAnswer | Malformed | None]:
        if self.numbered and (pointed := _pointed(text)):
            return pointed
        found = read_rows(text)
        if found is None and self.extract is not None and text.strip():
            found = read_rows(self.extract(text))
            if found is not None:
                return text, FinalAnswer(row_texts(found[0]), "rows", "extractor")
        if found is None:
            return text, None
        return _read(text, row_texts(found[0]), "rows", found[1])

    def write(self, answer: FinalAnswer) -> str:
        rows = [
            text if self.numbered and LINE_NUMBER.fullmatch(text) else dumps(dict(read_row(text)))
            for text in answer.names
        ]
        if self.numbered and rows:
            return neutral("\n".join(f"#{len(rows) - n} {row}" for n, row in enumerate(rows)))
        return neutral(f"[{', '.join(rows)}]")


@dataclass(slots=True)
class PathForm:
    """`[0, 1, 11]`: the keys of the cells, in order.

    >>> PathForm().read("[0, 1, 11]")[1]
    FinalAnswer(names=('0', '1', '11'))
    """

    example: str = "[0, 1, 2]"

    def read(self, text: str) -> tuple[str, FinalAnswer | Malformed | None]:
        found = read_path(text)
        return (text, None) if found is None else _read(text, tuple(found[0]), "path", found[1])

    def write(self, answer: FinalAnswer) -> str:
        cells = [int(name) if name.isascii() and name.isdigit() else name for name in answer.names]
        return neutral(f"[{', '.join(map(dumps, cells))}]")


def _pointed(text: str) -> tuple[str, FinalAnswer] | None:
    """The rows that end a message, where at least one of them is the number of a line."""
    lines = text.rstrip().splitlines()
    rows: list[str] = []
    while lines and (found := _COUNTED.fullmatch(lines[-1].strip())):
        written = found[1]
        if LINE_NUMBER.fullmatch(written) is None:
            read = read_rows(f"#1 {written}")
            if read is None:
                break
            (written,) = row_texts(read[0])
        rows.insert(0, written)
        lines.pop()
    if not any(map(LINE_NUMBER.fullmatch, rows)):
        return None
    return "\n".join(lines).strip(), FinalAnswer(tuple(rows), "rows", "lines")


def _read(
    text: str, names: tuple[str, ...], kind: str, found: FoundAnswer
) -> tuple[str, FinalAnswer | Malformed]:
    if any("\ud800" <= letter <= "\udfff" for name in names for letter in name):
        return text, Malformed("a \\u escape stands for half a character: copy what was shown")
    return found.before, FinalAnswer(names, kind, found.how)
