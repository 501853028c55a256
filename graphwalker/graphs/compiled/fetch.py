"""A ready-made graph brought here: downloaded, its digest checked, then moved to its place."""

import hashlib
import os
import re
import shutil
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import Any, cast
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from graphwalker.errors import GraphWalkerError, UserError
from graphwalker.files import read_json
from graphwalker.graphs.format.layout import FILE_NAME, Layout
from graphwalker.runs import locked_file

INDEX_VARIABLE = "GRAPHWALKER_GRAPHS"
"""A JSON file, or its address: `{"name": {"url": ..., "sha256": ...}}`."""
CHUNK = 1 << 20
TIMEOUT_S = 60.0
_DIGEST = re.compile(r"[0-9a-f]{64}")

Say = Callable[[str], None]


def fetch_graph(
    what: str, out: Path, sha256: str = "", say: Say = lambda _: None
) -> dict[str, Any]:
    """Bring the graph `what` (an address, or a name of the index) to the folder `out`.

    Its digest is `sha256`, that of the index, or what ADDRESS.sha256 says; without any nothing is
    fetched. A download that was cut short resumes. Returns what `graph info` shows. Raises
    `UserError` for a name or address that is none, a digest that differs, or a file that is no
    graph; `GraphWalkerError` for a server that fails.
    """
    url, known = _located(what)
    digest = _digest(url, (sha256 or known).lower())
    place = out / FILE_NAME
    with locked_file(out):
        if place.is_file():
            if _sha256(place) != digest:
                raise UserError(f"{out}: holds another graph; give another folder")
            say(f"{out}: it is here already")
            return Layout(out).info()
        out.mkdir(parents=True, exist_ok=True)
        partial = out / f"{FILE_NAME}.partial"
        _download(url, partial, say)
        found = _sha256(partial)
        if found != digest:
            partial.unlink()
            raise UserError(f"{url}: its sha256 is {found}, not {digest}; nothing was kept")
        Layout(partial)  # a file that is no graph, or of a newer format, is refused by name
        partial.replace(place)
    return Layout(out).info()


def _located(what: str) -> tuple[str, str]:
    """(address, digest that the index knows or `""`)."""
    if urlsplit(what).scheme in ("http", "https", "file"):
        return what, ""
    if Path(what).is_file():
        return Path(what).resolve().as_uri(), ""
    place = os.environ.get(INDEX_VARIABLE, "")
    if not place:
        raise UserError(
            f"{what}: neither an address nor a file; names are looked up in the index that "
            f"{INDEX_VARIABLE} gives (a JSON file or its address), which is not set"
        )
    index = _index(place)
    found = index.get(what)
    entry = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    if not isinstance(entry.get("url"), str):
        raise UserError(f"{what}: not in the index {place}; it has: {', '.join(sorted(index))}")
    return str(entry["url"]), str(entry.get("sha256") or "")


def _index(place: str) -> dict[str, Any]:
    import json

    if urlsplit(place).scheme in ("http", "https"):
        try:
            found: Any = json.loads(_text(place))
        except ValueError:
            raise UserError(f"{INDEX_VARIABLE}={place}: not JSON") from None
    else:
        found = read_json(Path(place), f"mend it, or {INDEX_VARIABLE}")
    if not isinstance(found, dict):
        raise UserError(f"{INDEX_VARIABLE}={place}: not a JSON object of names")
    return cast("dict[str, Any]", found)


def _digest(url: str, given: str) -> str:
    text = given or (_text(f"{url}.sha256", missing="").split() or [""])[0].lower()
    if not text:
        raise UserError(f"{url}: no digest is known; give --sha256, or put one at {url}.sha256")
    if not _DIGEST.fullmatch(text):
        raise UserError(f"{text[:80]!r} is no sha256: 64 hexadecimal digits")
    return text


def _text(url: str, missing: str | None = None) -> str:
    """A small file's text; `missing` where there is none."""
    try:
        with urlopen(url, timeout=TIMEOUT_S) as answer:
            return answer.read(CHUNK).decode("utf-8", "replace")
    except (URLError, OSError, HTTPException) as error:
        gone = isinstance(error, HTTPError) and error.code in (403, 404)
        gone = gone or url.startswith("file:")
        if gone and missing is not None:
            return missing
        raise GraphWalkerError(f"{url}: {_reason(error)}") from None


def _download(url: str, partial: Path, say: Say) -> None:
    """Into the file, from where an earlier download stopped."""
    have = partial.stat().st_size if partial.is_file() else 0
    headers = {"Range": f"bytes={have}-"} if have else {}
    try:
        with urlopen(Request(url, headers=headers), timeout=TIMEOUT_S) as answer:
            resumed = have > 0 and getattr(answer, "status", None) == 206
            left = answer.headers.get("Content-Length")
            size = f"{int(left) / 2**20:,.0f} MiB" if left else "of unknown size"
            say(f"{'resuming' if resumed else 'fetching'} {url} ({size})")
            with partial.open("ab" if resumed else "wb") as file:
                shutil.copyfileobj(answer, file, CHUNK)
                written = file.tell() - (have if resumed else 0)
        if left and written < int(left):  # a connection that was cut is no error to urllib
            raise ConnectionError(f"cut short after {written:,} of {int(left):,} bytes")
    except HTTPError as error:
        if error.code == 416 and have:  # all of it was here already
            return
        raise GraphWalkerError(f"{url}: {_reason(error)}") from None
    except (URLError, HTTPException, TimeoutError, ConnectionError) as error:
        why = f"{url}: {_reason(error)}; the same command resumes"
        raise GraphWalkerError(why) from None


def _reason(error: Exception) -> str:
    return str(getattr(error, "reason", "") or error or type(error).__name__)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
