"""Text that a page can hold."""

from markupsafe import Markup

from graphwalker.api.terminal import printable


def clean(text: object) -> str:
    """Text with unprintable characters as U+FFFD; markup stays as it is.

    >>> clean("a\\x00b") == "a\\N{REPLACEMENT CHARACTER}b"
    True
    """
    if isinstance(text, Markup):
        return text
    return printable(str(text))
