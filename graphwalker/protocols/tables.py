"""Answers as JSON: the rows of a table, or the nodes of a path."""

from collections.abc import Callable
from dataclasses import dataclass

from graphwalker.answers.reading import FoundAnswer, read_path, read_rows
from graphwalker.answers.rows import read_row, row_texts
from graphwalker.files import dumps
from graphwalker.protocols.base import FinalAnswer, Malformed
from graphwalker.tokens.tool_calls import neutral

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
        return _read(text, row_texts(found[0]), "rows", found[1])

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
        return (text, None) if found is None else _read(text, tuple(found[0]), "path", found[1])

    def write(self, answer: FinalAnswer) -> str:
        cells = [int(name) if name.isascii() and name.isdigit() else name for name in answer.names]
        return neutral(f"[{', '.join(map(dumps, cells))}]")


def _read(
    text: str, names: tuple[str, ...], kind: str, found: FoundAnswer
) -> tuple[str, FinalAnswer | Malformed]:
    if any("\ud800" <= letter <= "\udfff" for name in names for letter in name):
        return text, Malformed("a \\u escape stands for half a character: copy what was shown")
    return found.before, FinalAnswer(names, kind, found.how)
