"""HTML written safely: whatever is not already markup is escaped."""

import html
import re
from collections.abc import Iterable

# Control characters have no glyph and some are illegal in HTML; a lone surrogate is not text;
# an override of the writing direction would turn around what stands after it.
_UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


class Markup(str):
    """HTML that was made here."""


Child = str | int | float | None | Iterable["Child"]


def clean(text: object) -> str:
    """Text with unprintable characters as U+FFFD.

    >>> clean("a\\x00b") == "a\\N{REPLACEMENT CHARACTER}b"
    True
    """
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", str(text))


def escape(text: object) -> Markup:
    """Text as HTML that shows it; unprintable characters become U+FFFD."""
    return text if isinstance(text, Markup) else Markup(html.escape(clean(text)))


def fragment(*children: Child) -> Markup:
    """Children side by side; `None` is nothing, lists are flattened."""
    return Markup("".join(_render(child) for child in children))


def element(name: str, *children: Child, **attributes: str | None) -> Markup:
    """One element. Attribute names: `class_` is `class`, `aria_label` is `aria-label`.

    >>> element("b", "1 < 2", title='"')
    '<b title="&quot;">1 &lt; 2</b>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{fragment(*children)}</{name}>")


def _render(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, str):
        return escape(child)
    if isinstance(child, Iterable):
        return fragment(*child)
    return escape(child)
