"""A form: one way in which a benchmark is published, and how its records become questions."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from graphwalker.datasets.fields import Field, as_object
from graphwalker.datasets.files import Contents, Record
from graphwalker.question import Question


@dataclass(frozen=True, slots=True)
class Source:
    """What is known of a file besides its records."""

    path: Path
    dataset: str = ""
    """The benchmark; `""` where the records say it themselves."""
    split: str = ""
    """`train`, `dev`, `test`, or `""` when nothing says it."""
    language: str = "en"
    hops: int = 0
    types: tuple[str, ...] = ()
    """MetaQA's question types, one a record, from the file beside."""
    answers_elsewhere: bool = False
    """Another file holds the answers: a record may lack them."""

    def question_id(self, number: int, part: str = "") -> str:
        """An id for a record that has none: its place in the file, from 0."""
        parts = (self.dataset, part, self.split, str(number - 1))
        return "-".join(part for part in parts if part)


Parse = Callable[[Field, int, Source], Question]
"""A record, its number from 1, and its file. Raises `UserError` naming the field at fault."""


@dataclass(frozen=True, slots=True)
class Form:
    """How to tell one published form from the others, and how to read it."""

    name: str
    """What people call it: `CWQ with topic entities`."""
    benchmarks: tuple[str, ...]
    """The benchmarks that are published so."""
    parse: Parse
    needs: frozenset[str] = frozenset()
    """Fields by which the form is known; some record among the first ones has each."""
    lacks: frozenset[str] = frozenset()
    """Fields of other forms."""
    wrapper: str = ""
    line: re.Pattern[str] | None = None
    """What a line looks like; `None` for JSON."""
    benchmark: Callable[[Sequence[Record]], str] | None = field(default=None)
    """Which of several benchmarks the records are from; `""` when they do not tell."""

    def misses(self, contents: Contents) -> list[str] | None:
        """Fields that should be there and are not; `None` for another kind of file."""
        if self.line is not None:
            return None if contents.json else self._line_misses(self.line, contents)
        if not contents.json or self.wrapper != contents.wrapper:
            return None
        found = keys(contents.head)
        if self.lacks & found:
            return None
        return sorted(self.needs - found)

    def _line_misses(self, line: re.Pattern[str], contents: Contents) -> list[str]:
        fits = sum(line.match(str(record.value)) is not None for record in contents.head)
        return [] if fits and 2 * fits >= len(contents.head) else ["lines of this form"]


def keys(records: Sequence[Record]) -> frozenset[str]:
    """Every field that one of these records has."""
    return frozenset(key for record in records for key in as_object(record.value) or ())
