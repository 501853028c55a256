"""What the page brings along: styles, scripts, data, and a policy that lets nothing else run."""

import base64
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from eval.markup import Markup

FOLDER = Path(__file__).parent / "assets"
COLOURS = "colours.css"
STYLES = (COLOURS, "page.css", "viewer.css")
LIBRARY = "cytoscape.min.js"
SCRIPTS = ("data.js", "elements.js", "table.js", "layout.js", "graph.js", "walk.js", "main.js")


def styles() -> str:
    return "\n".join(_read(name) for name in STYLES)


def picture_file(picture: Markup) -> str:
    """An SVG of a page as a file of its own, the page's colours with it, light or dark."""
    head, tag, rest = str(picture).partition("<defs>")
    if not tag:
        raise ValueError("not a drawn picture: it has no <defs>")
    return f"{head}<style>{_read(COLOURS)}svg {{ background: var(--paper); }}</style>{tag}{rest}"


def scripts() -> tuple[str, ...]:
    """The text of each inline script: the graph library, then ours as one."""
    ours = "\n".join(_read(name) for name in SCRIPTS)
    return (_read(LIBRARY), f'(() => {{\n"use strict";\n{ours}\n}})();\n')


def policy(texts: Iterable[str]) -> str:
    """The page's Content-Security-Policy: these scripts by their hashes, inline styles, no network.

    A script that a name or a model's words might smuggle in has another hash and does not run.
    """
    hashes = [hashlib.sha256(text.encode("utf-8")).digest() for text in texts]
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def explorer() -> Markup:
    """The frame of the table of questions and of the viewer; the scripts fill it."""
    return Markup(_read("explorer.html"))


def script_elements(texts: Iterable[str]) -> Iterator[str]:
    """The scripts as elements. Raises `ValueError` for one that would end its own element."""
    for text in texts:
        if "</script" in text.lower() or "<!--" in text:
            raise ValueError("a script must not contain the end of its element or a comment")
        yield f"<script>{text}</script>\n"


def data_elements(parts: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Data blocks, (id, base64) each: no browser runs a script of this type."""
    for name, packed in parts:
        yield f'<script type="application/octet-stream" id="{name}">{packed}</script>\n'


def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")
