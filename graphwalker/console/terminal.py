"""Terminals: names of graphs and words of models reach them as text, never as commands to them."""

import logging
import re
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

# Control characters move the cursor, set titles, write to the clipboard (ESC]52), clear the screen;
# an override of the writing direction turns around what stands after it; half a surrogate pair
# cannot be written.
_UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def printable(text: str) -> str:
    """Return the text with U+FFFD for what a terminal would obey or could not show.

    >>> printable("Oslo\\x1b[2J") == "Oslo\\N{REPLACEMENT CHARACTER}[2J"
    True
    """
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


class PrintableConsole(Console):
    """A console whose own colours and bars are the only commands that reach the terminal."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text), style, control)


class PrintableFormatter(logging.Formatter):
    """Messages of a log, which hold what servers and models said."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))
