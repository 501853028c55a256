"""Text that a page can hold."""

import re

from markupsafe import Markup

# Control characters have no glyph and some are illegal in HTML; a lone surrogate is not text;
# an override of the writing direction would turn around what stands after it.
_UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def clean(text: object) -> str:
    """Text with unprintable characters as U+FFFD; markup stays as it is.

    >>> clean("a\\x00b") == "a\\N{REPLACEMENT CHARACTER}b"
    True
    """
    if isinstance(text, Markup):
        return text
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", str(text))
