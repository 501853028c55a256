"""Stamps: files that were read through and found whole on this machine, and not changed since."""

import hashlib
import os
import socket
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_MACHINE = Path("/etc/machine-id")


@dataclass(frozen=True, slots=True)
class Stamp:
    """The name of a file's stamp, and what must stand in it."""

    name: str
    state: str


def stamp_of(path: Path, checksum: str) -> Stamp:
    """The stamp of the file as it is now. Whatever writes to a file changes its time of change
    (ctime), even a copy that keeps the other times."""
    found = path.stat()
    try:
        machine = _MACHINE.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        machine = socket.gethostname()
    text = f"{machine} {found.st_dev} {found.st_ino}"
    name = hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
    return Stamp(name, f"{checksum} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}")


_known: set[Stamp] = set()
"""Those of this process: where no folder can be written, they are all there is."""


def is_kept(stamp: Stamp) -> bool:
    """Whether this very file, unchanged since, was found whole."""
    if stamp in _known:
        return True
    for folder in _folders():
        with suppress(OSError):
            if (folder / stamp.name).read_text(encoding="utf-8") == stamp.state:
                _known.add(stamp)
                return True
    return False


def keep(stamp: Stamp) -> None:
    """Note that the file was found whole as the stamp says it is."""
    _known.add(stamp)
    for folder in _folders():
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            partial = folder / f"{stamp.name}.{os.getpid()}"
            partial.write_text(stamp.state, encoding="utf-8")
            partial.replace(folder / stamp.name)
        except OSError:
            continue
        return


def _folders() -> list[Path]:
    """The user's cache, else a folder of the user's own among the temporary files."""
    folders: list[Path] = []
    cache = os.environ.get("XDG_CACHE_HOME", "")
    with suppress(RuntimeError):  # no home
        base = Path(cache) if os.path.isabs(cache) else Path.home() / ".cache"
        folders.append(base / "graphwalker" / "whole")
    own = Path(tempfile.gettempdir()) / f"graphwalker-{os.getuid()}"
    with suppress(OSError):
        own.mkdir(mode=0o700, exist_ok=True)
        if own.stat().st_uid == os.getuid():
            folders.append(own / "whole")
    return folders
