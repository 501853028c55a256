"""A graph on a node's own disk: copied there once, whole, and read from there by every process."""

import hashlib
import logging
import os
import shutil
from pathlib import Path

from graphwalker.errors import UserError
from graphwalker.files import hold_file

log = logging.getLogger(__name__)

VARIABLE = "GRAPHWALKER_LOCAL_DISK"
"""A folder on the node's own disk; unset or empty: graphs are read where they lie."""


def local_copy(path: Path) -> Path:
    """Return the copy of a compiled graph's folder (or lone file) on this node's disk, made if it
    is not there; `path` itself where no disk is named. Raises `UserError` for a disk that cannot be
    written or has no room."""
    disk = os.environ.get(VARIABLE, "").strip()
    if not disk or not path.exists():
        return path
    files = sorted(f for f in path.iterdir() if f.is_file()) if path.is_dir() else [path]
    files = [file for file in files if not file.name.startswith(".")]
    place = Path(disk) / f"graphwalker-{os.getuid()}" / _name(path, files)
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        with hold_file(place.parent / f"{place.name}.lock"):  # the node's other processes wait
            for file in files:
                _copy(file, place / file.name)
    except OSError as error:
        raise UserError(
            f"{VARIABLE}={disk}: the graph cannot be copied there ({error.strerror or error}); "
            "name another disk, or unset it"
        ) from None
    return place if path.is_dir() else place / path.name


def _name(path: Path, files: list[Path]) -> str:
    """Return a name that changes with any of the files."""
    stats = [(f.name, s.st_size, s.st_mtime_ns) for f in files for s in [f.stat()]]
    text = f"{path.resolve()} {stats}"
    return f"{path.name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _copy(source: Path, target: Path) -> None:
    if target.is_file() and target.stat().st_size == source.stat().st_size:
        return
    size = source.stat().st_size
    free = shutil.disk_usage(target.parent).free
    if size > free:
        raise OSError(0, f"{size:,} bytes are needed, {free:,} are free")
    log.info("copying %s to %s", source, target.parent)
    partial = target.with_name(f"{target.name}.partial")
    shutil.copyfile(source, partial)
    partial.replace(target)
