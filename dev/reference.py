"""The reference of commands, settings and files, written from the code.

`python dev/reference.py` writes docs/settings.md, which is committed. The other pages are added
when the site is built: `mkdocs.yml` names this file as a hook.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from graphwalker.cli.app import app
from graphwalker.config import Config
from graphwalker.console.settings import Setting, describe
from graphwalker.demo.models import config_models

ROOT = Path(__file__).parents[1]
SETTINGS = ROOT / "docs/settings.md"
UNITS = {
    r"_s$|^max_seconds$": "seconds",
    r"prices\..*_per_million$": "money",
    r"prices\.max_cost$": "money",
    r"_per_minute$": "per minute",
    r"tokens$|^max_(length|context|position)$|^vocab_size$": "tokens",
    r"_chars$": "characters",
    r"(^|_)steps$": "steps",
    r"_share$|_ratio$|_rate$|^max_failed$|^min_(answered|valid_actions)$|^gpu_memory$": "share",
    r"^min_entropy$|^max_(kl|mismatch)$": "nats",
    r"^workers$": "processes",
    r"turns$": "turns",
}
"""The unit of a number, by the name of its setting."""
PAPER = r"GraphWalker(?:'s code)?: ([^;,)]+)|GraphWalker ((?:Table|Eq\.|Figure|section) \w+)"
"""What a meaning says of the paper: its value, or where the default stands in it."""


def pages() -> dict[str, str]:
    """Return the generated pages by their path below `docs/`."""
    return {
        "reference/commands.md": "\n".join(command_page()),
        "reference/files.md": "\n".join(files_page()),
    }


def on_files(files: Any, config: Any) -> Any:
    """Add the pages to the site (a hook of mkdocs)."""
    from mkdocs.structure.files import File

    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def command_page() -> Iterator[str]:
    """Yield the lines of the page of commands."""
    yield "# Command reference\n"
    yield "Made from the code by `make docs`. [Commands](../commands.md) explains the syntax."
    for name, command in commands("graphwalker", typer.main.get_command(app)):
        yield f"\n## {name}\n\n{command_text(command)}\n"
        rows = [option_row(one) for one in command.params if not one.hidden]
        yield from table("option", "default", "meaning", rows=rows)


def commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Yield the commands below a command that have options of their own, with their full names."""
    below = getattr(command, "commands", {})
    if not below:
        yield name, command
    for word, inner in below.items():
        if not inner.hidden:
            yield from commands(f"{name} {word}", inner)


def command_text(command: Any) -> str:
    """Return the help of a command, its examples as code."""
    lines = (command.help or "").replace("\b", "").splitlines()
    return "\n".join(f"    {line}" if line.startswith("  ") else line for line in lines)


def option_row(option: Any) -> tuple[str, ...]:
    """Return the cells of an option or an argument."""
    name = option.name.upper() if option.param_type_name == "argument" else ", ".join(option.opts)
    is_empty = option.default in (None, False, ()) or callable(option.default)
    default = "(required)" if option.required else "" if is_empty else f"`{option.default}`"
    return f"`{name}`", default, getattr(option, "help", None) or ""


def settings_page() -> Iterator[str]:
    """Yield the lines of the page of settings."""
    yield "# Settings reference\n\n```bash\ngraphwalker config sft --search length\n```\n"
    yield (
        "Every setting of every command. `graphwalker config NAME --all` prints the same. The last "
        "column has the value of the GraphWalker paper, or the place in it that the default is "
        "from. `python dev/reference.py` makes this page from the code."
    )
    names: dict[type[Config], list[str]] = defaultdict(list)
    for name, model in config_models().items():
        names[model].append(name)
    for model, known in names.items():
        yield f"\n## {', '.join(f'`{name}`' for name in known)}\n"
        rows = [
            (f"`{row.key}`", "", f"[{row.block}](#{anchor(names, row.block)})", row.meaning, "")
            if row.block
            else (f"`{row.key}`", f"`{row.default}`", unit(row), row.meaning, paper_value(row))
            for row in describe(model, whole=False)
        ]
        yield from table("setting", "default", "unit or type", "meaning", "paper", rows=rows)


def unit(row: Setting) -> str:
    """Return the unit of a number, by its name; else the type."""
    known = (unit for name, unit in UNITS.items() if re.search(name, row.key))
    return next(known, row.kind) if re.match("int|float", row.kind) else row.kind


def paper_value(row: Setting) -> str:
    """Return what the meaning says of the paper."""
    found = re.search(PAPER, row.meaning)
    return found[1] or found[2] if found else ""


PACKAGES = "graphwalker", "data_pipeline", "training", "eval"


def files_page() -> Iterator[str]:
    """Yield the lines of the page of files: each folder with its modules and their first lines."""
    yield "# Files\n\nMade from the first lines of the files by `make docs`."
    folders = {path.parent for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    for folder in sorted(folders):
        files = [(f"`{path.name}`", first_line(path)) for path in sorted(folder.glob("*.py"))]
        if rows := [row for row in files if row[1]]:
            yield f"\n## {folder.relative_to(ROOT)}\n"
            yield from table("file", "holds", rows=rows)


def first_line(path: Path) -> str:
    """Return the first paragraph of what a module says of itself."""
    return (ast.get_docstring(ast.parse(path.read_bytes())) or "").partition("\n\n")[0]


def anchor(names: dict[type[Config], list[str]], block: str) -> str:
    """Return the anchor of the heading under which a block stands."""
    known = next(known for known in names.values() if block in known)
    return "-".join(known).lower()


def table(*head: str, rows: list[tuple[str, ...]]) -> Iterator[str]:
    """Yield the lines of a Markdown table, none without rows."""
    if rows:
        yield f"| {' | '.join(head)} |\n|{' --- |' * len(head)}"
    for row in rows:
        cells = (" ".join(cell.split()).replace("|", "\\|") for cell in row)
        yield f"| {' | '.join(cells)} |"


def settings_text() -> str:
    """Return the text of docs/settings.md."""
    return "\n".join(settings_page()) + "\n"


if __name__ == "__main__":
    SETTINGS.write_text(settings_text(), encoding="utf-8")
