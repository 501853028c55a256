"""What each page of ours brings along: the viewer's style and script, as texts to embed."""

import base64
import hashlib
from pathlib import Path

FILES = Path(__file__).parent / "files"
COLOURS = "colours.css"
STYLES = (COLOURS, "viewer.css")
SCRIPTS = ("elements.js", "layout.js", "drawing.js", "walk.js")


def viewer_style() -> str:
    """Return the colours of all pages and the look of a walk."""
    return "\n".join(map(read, STYLES))


def page_script(*own: str) -> str:
    """Return the viewer's script with a page's own, as one that leaves no name in the page.

    Raises `ValueError` for a text that would end its own element.
    """
    text = "\n".join((*map(read, SCRIPTS), *own))
    if "</script" in text.lower() or "<!--" in text:
        raise ValueError("a script must not contain the end of its element or a comment")
    return f'(() => {{\n"use strict";\n{text}\n}})();\n'


def digest(text: str) -> str:
    """Return a script or style by its hash, as a Content-Security-Policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def read(name: str) -> str:
    """Return the text of one of the viewer's files."""
    return (FILES / name).read_text(encoding="utf-8")
