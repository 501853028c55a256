"""What the page brings along: templates, styles, scripts, and a policy that runs no other."""

import base64
import hashlib
from collections.abc import Iterable
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from eval.viewer.record import clean

FOLDER = Path(__file__).parent / "assets"
COLOURS = "colours.css"
STYLES = (COLOURS, "page.css", "viewer.css")
LIBRARY = "cytoscape.min.js"
SCRIPTS = ("data.js", "elements.js", "table.js", "layout.js", "graph.js", "walk.js", "main.js")


def templates() -> Environment:
    """The page's templates. Whatever they show is cleaned and escaped, unless it is markup."""
    found = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        finalize=clean,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    found.filters["plain"] = str  # of a macro that not every page uses
    found.globals |= {"policy": policy, "styles": styles}
    return found


def styles() -> Markup:
    return Markup("\n".join(_read(name) for name in STYLES))


def picture_file(picture: Markup) -> str:
    """An SVG of a page as a file of its own, the page's colours with it, light or dark."""
    head, tag, rest = str(picture).partition("<defs>")
    if not tag:
        raise ValueError("not a drawn picture: it has no <defs>")
    return f"{head}<style>{_read(COLOURS)}svg {{ background: var(--paper); }}</style>{tag}{rest}"


def scripts() -> tuple[Markup, ...]:
    """The text of each inline script: the graph library, then ours as one.

    Raises `ValueError` for one that would end its own element.
    """
    ours = "\n".join(_read(name) for name in SCRIPTS)
    texts = (_read(LIBRARY), f'(() => {{\n"use strict";\n{ours}\n}})();\n')
    if any("</script" in text.lower() or "<!--" in text for text in texts):
        raise ValueError("a script must not contain the end of its element or a comment")
    return tuple(map(Markup, texts))


def policy(texts: Iterable[str]) -> Markup:
    """The page's Content-Security-Policy: these scripts by their hashes, inline styles, no network.

    A script that a name or a model's words might smuggle in has another hash and does not run.
    """
    hashes = [hashlib.sha256(text.encode("utf-8")).digest() for text in texts]
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in hashes)
    return Markup(
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")
