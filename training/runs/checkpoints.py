"""Run folders: claimed by one config, checkpoints whole or not there, metrics without repeats."""

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any

from graphwalker.errors import UserError
from graphwalker.files import JsonlAppender, read_jsonl, write_json, write_jsonl
from graphwalker.hub.cards import write_model_card

NOTES = ".sizes.json"
"""Where the sizes of whole files are noted, so that a cut file is not believed."""

log = logging.getLogger(__name__)

_MARK = "complete"
_SAMPLE = 1 << 22
_PICKLES = "training_args.bin"
"""What the Trainer pickles beside every model; nothing reads it, so it is removed."""


def digest(path: Path) -> str:
    """Changes when a file does, or a file of a folder; of large files, both ends are read."""
    hasher = hashlib.sha256()
    for file in [path] if path.is_file() else sorted(path.iterdir()):
        if file.is_file():
            hasher.update(f"{file.name if path.is_dir() else ''}:{file.stat().st_size}:".encode())
            with file.open("rb") as data:
                hasher.update(data.read(_SAMPLE))
                data.seek(max(data.tell(), file.stat().st_size - _SAMPLE))
                hasher.update(data.read())
    return hasher.hexdigest()


def digests(files: Mapping[str, str], model: str) -> dict[str, str]:
    """Get the digest of each file that a run reads, by its setting, and of a model in a folder."""
    folder = {"model": model} if Path(model).is_dir() else {}
    return {setting: digest(Path(path)) for setting, path in {**files, **folder}.items()}


def staging(folder: Path) -> Path:
    """Return the folder where a checkpoint is written before it is whole."""
    return folder / "saving.partial"


def publish_checkpoint(folder: Path, step: int, keep: int) -> None:
    """Move the written checkpoint `step` to its place once it is on disk; keep the last `keep`."""
    place = folder / f"checkpoint-{step}"
    if place.is_dir():  # no mark, or the run would have resumed from it
        shutil.rmtree(place)
    written = staging(folder) / place.name
    (written / _MARK).touch()
    publish(written, place)
    for old in _complete(folder)[:-keep]:
        (folder / f"checkpoint-{old}" / _MARK).unlink()  # first: what is half removed is not whole
        shutil.rmtree(folder / f"checkpoint-{old}")
    shutil.rmtree(staging(folder), ignore_errors=True)


def publish_final(written: Path, folder: Path, step: int = 0) -> None:
    """Move the written model with its card to `final/`; the one from before the run was prolonged
    moves to `final-before/`. `step`: the evaluation that chose it."""
    write_model_card(written, folder, step)
    final, before = folder / "final", folder / "final-before"
    if final.is_dir():
        shutil.rmtree(before, ignore_errors=True)
        final.rename(before)
    publish(written, final)


def publish(written: Path, place: Path) -> None:
    """Rename a written folder to its place, after its files have reached the disk."""
    for pickle in written.rglob(_PICKLES):
        pickle.unlink()
    note_sizes(written)
    for path in (*written.rglob("*"), written):
        _sync(path)
    written.rename(place)
    _sync(place.parent)


def last_checkpoint(folder: Path) -> int:
    """Step of the last whole checkpoint, 0 for none. Half-written ones are written again."""
    return max(_complete(folder), default=0)


def lines_until(
    path: Path, step: int, step_of: Callable[[dict[str, Any]], int] = itemgetter("step")
) -> list[dict[str, Any]]:
    """Drop the lines after `step`, which will be written again; returns those kept."""
    if not path.is_file():
        return []
    JsonlAppender(path).close()  # cuts a killed run's half line
    kept = [line for line in read_jsonl(path) if step_of(line) <= step]
    write_jsonl(path, kept)
    return kept


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _complete(folder: Path) -> list[int]:
    whole = (mark.parent for mark in folder.glob(f"*-*/{_MARK}") if not damage(mark.parent))
    return sorted(int(checkpoint.name.partition("-")[2]) for checkpoint in whole)


def check_files(folder: Path) -> None:
    """Raise `UserError` for a final model whose files were cut off, as a machine that goes down may
    leave them; warns of checkpoints and logs. A damaged checkpoint is not resumed from."""
    if found := damage(folder / "final"):
        raise UserError(
            f"{folder / 'final'}: damaged: {found}; remove that folder, and the same command makes "
            f"it again from checkpoint-{last_checkpoint(folder)}"
        )
    for place in (folder, *(mark.parent for mark in sorted(folder.glob(f"*-*/{_MARK}")))):
        if found := damage(place):
            log.warning("WARNING: %s: damaged: %s", place, found)


def note_sizes(folder: Path, files: Iterable[Path] | None = None) -> None:
    """Note the sizes of these files of the folder, or of all below it."""
    chosen = sorted(folder.rglob("*") if files is None else files)
    sizes = {
        str(path.relative_to(folder)): path.stat().st_size
        for path in chosen
        # Not our own notes, such as a lock, which come, go and change.
        if path.is_file() and not path.name.startswith(".")
    }
    write_json(folder / NOTES, sizes)


def damage(folder: Path) -> str:
    """Return the first file that is smaller than it was when it was noted, and by how much; `""`
    where all are whole, and for a folder without notes."""
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
