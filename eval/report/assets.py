"""What the report's pages bring along: templates, style, script, a policy that runs no other."""

from collections.abc import Iterable
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from graphwalker.files import whole_file
from graphwalker.viewer.assets import digest, page_script, viewer_style
from graphwalker.viewer.record import clean

FOLDER = Path(__file__).parent / "assets"
SCRIPTS = ("data.js", "table.js", "dialog.js", "main.js")


def templates() -> Environment:
    """Get the page's templates. Whatever they show is cleaned and escaped, unless it is markup."""
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
    return Markup(f"{viewer_style()}\n{_read('page.css')}")


def scripts() -> tuple[Markup, ...]:
    """Return the text of the page's inline script."""
    return (Markup(page_script(*map(_read, SCRIPTS))),)


def policy(texts: Iterable[str]) -> Markup:
    """Return the Content-Security-Policy: these scripts by their hashes, inline styles, no network.

    A script that a name or a model's words might smuggle in has another hash and does not run.
    """
    allowed = " ".join(map(digest, texts))
    return Markup(
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def write_page(path: Path, parts: Iterable[str]) -> None:
    """Whole or not at all; a lone surrogate of a model's output becomes a question mark."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path, errors="replace") as file:
        file.writelines(parts)


def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")
