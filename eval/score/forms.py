"""Names within one text: how a cell, or a text in the place of a list, parts several answers.

A list, bars and semicolons part names beyond doubt. A comma may part names or belong to one: within
braces it parts them, unless a name that the questions know holds it; elsewhere it parts nothing.
What remains unclear is counted and remark.
"""

import ast
import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from graphwalker.graphs.names import fold

MOST_COMMAS = 6
"""Commas of a name that are looked for; more would cost time on long texts."""
_ENTITY_SAFE = re.compile(r"(?:&#?\w{1,8};|[^;])+")
"""A part between semicolons; that of `&amp;` parts nothing."""
_BRACED = re.compile(r"\{([^{}]*)\}")
_ALL_BRACED = re.compile(r"(?:\{[^{}]*\}[\s,;|]*)+")
_BRACKETED = re.compile(r"\[([^\[\]{}]*)\]")
_UNPARTED = re.compile(r"""['"]\s+['"]""")
_QUOTES = re.compile(r"""'([^']*)'|"([^"]*)\"""")
_QUOTED = re.compile(r"""[\[({]\s*(?:-?\d[\d.]*,\s+)*["']""")
_IN_QUOTES = re.compile(r"""(['"])(.+)\1""")


class PartedNames(NamedTuple):
    """The names of a text, and a key of `REMARKS` where how they were found is to be told."""

    names: tuple[str, ...]
    remark: str = ""


REMARKS = {
    "semicolons": "part names by semicolons and are read as lists",
    "braces": "part names by commas within braces and are read as lists (a comma of a name that the"
    " questions know parts nothing)",
    "unclear": "hold a comma that may part names or belong to one (read as several within braces, "
    "else as one name): write a JSON list",
    "typing": "miss an answer by the way it is typed alone (typographic signs, dashes, HTML marks, "
    "zero-width spaces, underscores) and count as wrong",
}
"""What a message says of the predictions that were noted."""


def part_names(text: str, known: Collection[str] = ()) -> PartedNames:
    """Read the names of a text. `known`: names that the questions know, folded.

    >>> part_names("Oslo; Bergen"), part_names("Tom &amp; Jerry").names
    (PartedNames(names=('Oslo', 'Bergen'), remark='semicolons'), ('Tom &amp; Jerry',))
    >>> part_names("{Hello, Goodbye}", {"hello, goodbye"}).names
    ('Hello, Goodbye',)
    >>> part_names("Hello, Goodbye").names, part_names("['Oslo', 'Bergen']").names
    (('Hello, Goodbye',), ('Oslo', 'Bergen'))
    """
    text = text.strip()
    if (listed := _read_list(text)) is not None:
        return PartedNames(listed)
    if "|" in text:
        return PartedNames(_strip(text.split("|")))
    if bracketed := _BRACKETED.fullmatch(text):
        parted = _part_braces(_strip([bracketed[1]]), known)
        # A list that somebody wrote without care for the quotes within its names.
        return parted._replace(names=tuple(_IN_QUOTES.sub(r"\2", name) for name in parted.names))
    if _ALL_BRACED.fullmatch(text):
        return _part_braces(_strip(_BRACED.findall(text)), known)
    if ";" in text and fold(text) not in known:
        names = _strip(_ENTITY_SAFE.findall(text))
        return PartedNames(names, "semicolons" if len(names) > 1 else "")
    return PartedNames((text,) if text else (), "unclear" if _is_list(text, known) else "")


def part_at_commas(text: str, known: Collection[str]) -> PartedNames:
    """Part a text at its commas, but where a name that is known holds one."""
    parts = text.split(", ")
    are_known = [fold(part) in known for part in parts]
    if all(are_known):
        return PartedNames(_strip(parts), "unclear" if fold(text) in known else "braces")
    names: list[str] = []
    clear, at = True, 0
    while at < len(parts):
        ends = range(min(len(parts), at + 1 + MOST_COMMAS), at, -1)
        end = next((e for e in ends if fold(", ".join(parts[at:e])) in known), None)
        clear = clear and end is not None
        names.append(", ".join(parts[at : end or at + 1]))
        at = end or at + 1
    return PartedNames(_strip(names), "braces" if clear else "unclear")


def _part_braces(inner: Sequence[str], known: Collection[str]) -> PartedNames:
    if len(inner) != 1 or ", " not in inner[0]:
        return PartedNames(tuple(inner))
    return part_at_commas(inner[0], known)


def _is_list(text: str, known: Collection[str]) -> bool:
    """Return whether every part between commas is a name of the questions, and the text is none."""
    parts = text.split(", ")
    return len(parts) > 1 and fold(text) not in known and all(fold(p) in known for p in parts)


def _read_list(text: str) -> tuple[str, ...] | None:
    """Return the texts of a list or set as JSON or Python write it, numbers as texts, without null;
    `None` for anything else."""
    if not _QUOTED.match(text) or text[-1] not in ")]}":
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        if _UNPARTED.search(text):  # as numpy prints a list; Python would join the two
            return _strip(["".join(found) for found in _QUOTES.findall(text)])
        try:
            value = ast.literal_eval(text)  # literals alone, no code
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return None
    if not isinstance(value, list | tuple | set):
        return None
    items = list(cast("list[object]", value))
    if not all(item is None or isinstance(item, str | int | float) for item in items):
        return None
    given = (item for item in items if item is not None)
    names = [item if isinstance(item, str) else json.dumps(item) for item in given]
    if isinstance(value, set):  # in the order in which they stand
        names.sort(key=text.find)
    return _strip(names)


def _strip(parts: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for part in parts if (name := part.strip()))


@dataclass
class Hints:
    """Remarks on the records of a file: of each key of `REMARKS` how many, and the first
    example."""

    counts: dict[str, int] = field(default_factory=dict[str, int])
    examples: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, remark: str, example: str, count: int = 1) -> None:
        """Count records."""
        self.counts[remark] = self.counts.get(remark, 0) + count
        self.examples.setdefault(remark, example)

    def merge(self, other: "Hints") -> None:
        """Add the counts of records that come later."""
        for remark, count in other.counts.items():
            self.add(remark, other.examples[remark], count)

    def lines(self) -> list[str]:
        """Return one line for each kind, in the order of `REMARKS`."""
        return [
            f"{self.counts[remark]:,} predictions {text}, such as {_short(self.examples[remark])!r}"
            for remark, text in REMARKS.items()
            if remark in self.counts
        ]

    def to_json(self) -> dict[str, int]:
        """Return the counts, in the order of `REMARKS`."""
        return {remark: self.counts[remark] for remark in REMARKS if remark in self.counts}


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"
