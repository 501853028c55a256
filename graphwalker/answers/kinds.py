"""Kinds of answers: names, rows of a table, a path, a text; each compares a given answer with it.

A given answer is always a tuple of texts, one an entry, whatever its kind: names as they are, rows
as JSON objects, a path as its nodes in order, a text alone. Trajectories hold it so, every report
shows it so, and the question's gold says how it is read.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol, cast

from graphwalker.answers.names import Names
from graphwalker.answers.path import PathAnswer
from graphwalker.answers.rows import Rows
from graphwalker.answers.text import Text
from graphwalker.errors import UserError

__all__ = ["KINDS", "GoldAnswer", "Names", "PathAnswer", "Rows", "Text", "read_gold"]

_Given = Sequence[str] | None


class GoldAnswer(Protocol):
    """What a question's answer is to be, where it is more than a set of names."""

    kind: ClassVar[str]
    """Its name in files, and that of the answers that are compared with it."""

    def texts(self) -> tuple[str, ...]:
        """The gold answer as an answer that is given would be written."""
        ...

    def compare(self, given: _Given) -> dict[str, float]:
        """`em`, `f1`, `precision`, `recall`, `hits1`, `hit_any` and what the kind has besides."""
        ...

    def shown(self, observations: Sequence[str]) -> tuple[bool, bool]:
        """Whether the observations showed some, and all, of what the answer is made of."""
        ...

    def grounded(self, given: _Given, observations: Sequence[str]) -> bool:
        """Whether everything that a given answer names was shown."""
        ...

    def to_json(self) -> dict[str, Any]: ...


KINDS: Mapping[str, Any] = {kind.kind: kind for kind in (Names, Rows, PathAnswer, Text)}


def read_gold(record: object) -> GoldAnswer | None:
    """The gold of a question's record, `None` for none. Raises `UserError` naming the field."""
    if record is None:
        return None
    if not isinstance(record, dict):
        raise UserError("field 'gold' is no JSON object")
    fields = cast("dict[str, Any]", record)
    kind = str(fields.get("kind"))
    if kind not in KINDS:
        raise UserError(f"field 'gold.kind' is {kind!r}; known: {', '.join(KINDS)}")
    try:
        return KINDS[kind].from_json(fields)
    except KeyError as error:
        raise UserError(f"field 'gold' has no {error.args[0]!r}") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise UserError(f"field 'gold' is no {kind}: {error}") from None
