"""The sizes of a folder's files, noted when they were whole, so that a cut file is not believed."""

import json
from collections.abc import Iterable
from pathlib import Path

from graphwalker.files import write_json

NOTES = ".sizes.json"


def note_sizes(folder: Path, files: Iterable[Path] | None = None) -> None:
    """Note the sizes of these files of the folder, or of all below it."""
    chosen = sorted(folder.rglob("*") if files is None else files)
    sizes = {
        str(path.relative_to(folder)): path.stat().st_size
        for path in chosen
        if path.is_file() and not _passing(path.name)
    }
    write_json(folder / NOTES, sizes)


def damage(folder: Path) -> str:
    """The first file that is smaller than it was when it was noted, and by how much; `""` where
    all are whole, and for a folder without notes."""
    notes = folder / NOTES
    if not notes.is_file():
        return ""
    try:
        sizes: dict[str, int] = json.loads(notes.read_text(encoding="utf-8"))
    except ValueError:
        return f"{NOTES} is damaged"
    for name, size in sizes.items():
        path = folder / name
        found = path.stat().st_size if path.is_file() else 0
        if found < size:
            return f"{name} has {found:,} of {size:,} bytes"
    return ""


def _passing(name: str) -> bool:
    """Whether it is one of our own notes, such as a lock, which come, go and change."""
    return name.startswith(".")
