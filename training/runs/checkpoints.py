"""Run folders: claimed by one config, checkpoints whole or not there, metrics without repeats."""

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from graphwalker.config import Config, write_config
from graphwalker.errors import UserError
from graphwalker.files import JsonlAppender, read_jsonl, write_jsonl

log = logging.getLogger(__name__)

_MARK = "complete"
_SAMPLE = 1 << 22
_PICKLES = "training_args.bin"
"""What the Trainer pickles beside every model; nothing reads it, so it is left out."""


def claim_folder(config: Config, folder: Path, free: Collection[str] = ()) -> None:
    """Write the resolved config into a new run folder; refuse one made with another config.

    `free` names keys that may change between a run and its continuation.
    """
    from omegaconf import OmegaConf

    path = folder / "config.yaml"
    if path.is_file():
        ours = config.model_dump(mode="json")
        theirs = _completed(OmegaConf.to_container(OmegaConf.load(path)), config)
        for key in sorted(set(ours) | set(theirs)):
            if key not in free and ours.get(key) != theirs.get(key):
                raise _other_run(folder, key, theirs.get(key), ours.get(key))
        return
    if folder.is_dir() and any(file.suffix != ".partial" for file in folder.iterdir()):
        raise UserError(f"{folder}: not empty and not a run folder; choose another output_dir")
    write_config(config, folder, "config.yaml.partial").replace(path)


def _completed(found: Any, config: Config) -> dict[str, Any]:
    """A folder's config with the defaults of settings that did not exist when it was made."""
    try:
        return type(config).model_validate(found).model_dump(mode="json")
    except ValidationError:  # a setting that is gone: told by its key
        return found


def claim_facts(folder: Path, name: str, facts: dict[str, Any]) -> None:
    """Write what the run rests on (its data, say); refuse to go on when it has changed."""
    path = folder / f"{name}.json"
    if not path.is_file():
        partial = path.with_name(path.name + ".partial")
        partial.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
        partial.replace(path)
        return
    theirs = json.loads(path.read_text(encoding="utf-8"))
    for key in sorted(set(facts) | set(theirs)):
        if facts.get(key) != theirs.get(key):
            raise _other_run(folder, f"{name}.{key}", theirs.get(key), facts.get(key))


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


def finished(folder: Path) -> bool:
    """True when the run wrote its final model."""
    return (folder / "final").is_dir()


def staging(folder: Path) -> Path:
    """Where the next checkpoint is written: beside the whole ones, which it cannot harm."""
    return folder / "saving.partial"


def publish_checkpoint(folder: Path, step: int, keep: int) -> None:
    """Move the written checkpoint `step` to its place once it is on disk; keep the last `keep`."""
    place = folder / f"checkpoint-{step}"
    if place.is_dir():  # no mark, or the run would have gone on from it
        shutil.rmtree(place)
    written = staging(folder) / place.name
    (written / _MARK).touch()
    publish(written, place)
    mark_complete(folder, step, keep)
    shutil.rmtree(staging(folder), ignore_errors=True)


def publish(written: Path, place: Path) -> None:
    """Rename a written folder to its place, after its files have reached the disk."""
    for pickle in written.rglob(_PICKLES):
        pickle.unlink()
    for path in (*written.rglob("*"), written):
        _sync(path)
    written.rename(place)
    _sync(place.parent)


def mark_complete(folder: Path, step: int, keep: int) -> None:
    """Declare checkpoint `step` whole, then remove all but the last `keep`."""
    (folder / f"checkpoint-{step}" / _MARK).touch()
    for old in _complete(folder)[:-keep]:
        (folder / f"checkpoint-{old}" / _MARK).unlink()  # first: what is half removed is not whole
        shutil.rmtree(folder / f"checkpoint-{old}")


def last_checkpoint(folder: Path) -> int:
    """Step of the last whole checkpoint, 0 for none. Half-written ones are written again."""
    return max(_complete(folder), default=0)


def rewind_metrics(path: Path, step: int) -> dict[str, Any]:
    """Drop the lines after `step`, which will be written again; returns the last line kept."""
    if not path.is_file():
        return {}
    JsonlAppender(path).close()  # cuts a killed run's half line
    kept = [line for line in read_jsonl(path) if line["step"] <= step]
    write_jsonl(path, kept)
    return kept[-1] if kept else {}


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _complete(folder: Path) -> list[int]:
    return sorted(int(mark.parent.name.partition("-")[2]) for mark in folder.glob(f"*-*/{_MARK}"))


def _other_run(folder: Path, key: str, theirs: Any, ours: Any) -> UserError:
    return UserError(
        f"{folder}: holds a run with {key} = {theirs!r}, now it is {ours!r}; "
        "choose another output_dir, or remove the folder to start anew"
    )
