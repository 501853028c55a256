"""Files: written whole or not at all; JSONL read with the line named on error, appended safely."""

import codecs
import gzip
import hashlib
import json
import os
import re
import time
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any, BinaryIO, TextIO, TypeVar, cast

from pydantic_core import to_json

from graphwalker.errors import UserError

T = TypeVar("T")


# Made once: `json.dumps` makes one for each record. No record holds itself.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)

_SMALL = re.compile(rb"\d(?:e-\d|\.0000)")


def dumps(record: Any) -> str:
    """Return one line of JSON, the same bytes for the same record."""
    return _ENCODER.encode(record)


def dumps_bytes(record: Any) -> bytes:
    """`dumps(record)` in UTF-8, in a third of its time. Raises `ValueError` for half a character.

    >>> dumps_bytes({"name": "Ås", "share": 1e-05})
    b'{"name":"\\xc3\\x85s","share":1e-05}'
    """
    line = to_json(record, inf_nan_mode="constants")
    # Numbers below 0.0001 are spelled in another way there. Most lines have no such pair of bytes.
    if (b"e-" in line or b".0000" in line) and _SMALL.search(line):
        return dumps(record).encode()
    return line


@contextmanager
def whole_file(path: Path | str, errors: str = "strict") -> Generator[TextIO, None, None]:
    """Write a text file beside its place, and rename it when it is whole."""
    with whole_bytes(path) as raw:
        out = TextIOWrapper(cast(Any, raw), encoding="utf-8", errors=errors, newline="\n")
        yield out
        out.detach()  # its closing would close `raw`, which is brought to the disk first


@contextmanager
def whole_bytes(path: Path | str) -> Generator[BinaryIO, None, None]:
    """Write bytes as `whole_file` does."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    with hold_file(partial) as out:
        try:
            yield out
            out.flush()
            os.fsync(out.fileno())
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


@contextmanager
def hold_file(path: Path) -> Generator[BinaryIO, None, None]:
    """Hold an empty file, new or emptied, that one process holds at a time; wait for another."""
    import fcntl

    while True:
        # Not "ab": what seeks back to write (an archive) would end up behind the rest.
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b") as file:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX)
            if is_same_file(file, path):
                file.truncate(0)
                yield file
                return


def is_same_file(file: IO[Any], path: Path) -> bool:
    """Return whether `path` is still the file that was opened: its last owner may have removed or
    renamed it between our opening and locking it."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def write_text(path: Path | str, text: str) -> None:
    """Write a file whole or not at all."""
    with whole_file(path) as out:
        out.write(text)


def write_json(
    path: Path | str, record: Any, indent: int | None = 1, *, ensure_ascii: bool = True
) -> None:
    """Write a record as a JSON file, whole or not at all."""
    write_text(path, json.dumps(record, indent=indent, ensure_ascii=ensure_ascii) + "\n")


def read_json(path: Path | str, remedy: str = "make it again") -> dict[str, Any]:
    """Return the object of a JSON file. Raises `UserError` with the `remedy` for none."""
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file: {remedy}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: damaged ({error}): {remedy}") from None
    if not isinstance(record, dict):
        raise UserError(f"{path}: damaged (no JSON object): {remedy}")
    return cast(dict[str, Any], record)


def json_fault(error: ValueError | RecursionError) -> str:
    """Return what the JSON reader stumbled over: it raises more than `JSONDecodeError` (a number of
    5,000 digits is a `ValueError`, 5,000 brackets are a `RecursionError`)."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg.removesuffix(' at')} at column {error.colno}"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return "a number of too many digits" if "digits" in str(error) else str(error)


def no_file(path: Path) -> UserError:
    """Return what is said where a file is wanted and there is none."""
    return UserError(f"{path}: {'a folder, not a file' if path.is_dir() else 'no such file'}")


def digest(*files: Path | str, algorithm: str = "blake2b") -> str:
    """16 characters that tell the content of files, in this order, from any other."""
    hasher = hashlib.new(algorithm)
    for path in map(Path, files):
        if not path.is_file():
            raise no_file(path)
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                hasher.update(block)
    return hasher.hexdigest()[:16]


LINE_LIMIT = 128 << 20
"""Characters or bytes of the longest line: a small archive may hold one that fills the memory."""


class _BoundedText(TextIOWrapper):
    """A text file that refuses a line beyond the limit before it has read all of it."""

    path: Path
    number = 0

    def __next__(self) -> str:
        line = self.readline(LINE_LIMIT + 1)
        self.number += 1
        if len(line) > LINE_LIMIT:
            raise _too_long(self.path, self.number)
        if not line:
            raise StopIteration
        return line


def bounded_lines(file: BinaryIO, path: Path) -> Iterator[bytes]:
    """Yield the lines of a binary file. Raises `UserError` for one beyond the limit."""
    number = 1
    while line := file.readline(LINE_LIMIT + 1):
        if len(line) > LINE_LIMIT:
            raise _too_long(path, number)
        yield line
        number += 1


def _too_long(path: Path, number: int) -> UserError:
    return UserError(
        f"{path}:{number}: a line of more than {LINE_LIMIT:,} characters; write one record a line"
    )


@contextmanager
def open_text(path: Path | str) -> Generator[TextIOWrapper, None, None]:
    """Open a UTF-8 text file, gzipped or not. Raises `UserError` for whatever is wrong with it."""
    path = Path(path)
    if not path.is_file():
        raise no_file(path)
    try:
        refuse_utf16(path)
        with (
            gzip.open(path) if path.suffix == ".gz" else path.open("rb") as raw,
            _BoundedText(cast(Any, raw), encoding="utf-8-sig") as file,
        ):
            file.path = path
            yield file
    except UnicodeDecodeError as error:
        advice = "save it as UTF-8; a packed file is read if its name ends in .gz"
        raise UserError(f"{path}: not UTF-8 text ({error.reason}); {advice}") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f"{path}: damaged gzip file ({error})") from None


def read_columns(path: Path | str, *names: str) -> Iterator[list[str]]:
    """Yield the fields of each line that is not blank, one for each name, separated by tabs. Raises
    `UserError` naming file and line."""
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            fields = line.rstrip("\r\n").split("\t")
            if len(fields) == len(names) and all(fields):
                yield fields
            elif line.strip():
                raise UserError(f"{path}:{number}: expected {'<TAB>'.join(names)}")


JSON_LINES = (
    "JSON lines are expected, one record a line: `graphwalker dataset check FILE --graph G "
    "--out OURS.jsonl` writes them from other files of questions"
)


def read_jsonl(path: Path | str, nan: bool = False) -> Iterator[dict[str, Any]]:
    """Records of a `.jsonl` or `.jsonl.gz` file. Raises `UserError` naming file and line. `nan`: a
    log of training may hold NaN and Infinity, which are no JSON elsewhere."""
    with open_text(path) as lines:
        yield from (record for _, record in parse_lines(lines, path, nan=nan))


def parse_lines(
    lines: Iterable[str],
    path: Path | str,
    first: int = 1,
    nan: bool = False,
    form: str = JSON_LINES,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, record) of the lines that hold one. `form`: what errors say a file holds."""
    hint = "" if ".jsonl" in Path(path).suffixes else f"; {form}"
    for number, line in enumerate(lines, start=first):
        if line.strip():
            yield number, _parse(line, f"{path}:{number}", "" if number > 1 else hint, nan)


def read_records(path: Path | str, parse: Callable[[dict[str, Any]], T]) -> Iterator[T]:
    """Records parsed by `parse`; its `UserError` is given the file and record number."""
    for number, record in enumerate(read_jsonl(path), start=1):
        try:
            yield parse(record)
        except UserError as error:
            raise UserError(f"{path}: record {number}: {error}") from None


def write_jsonl(path: Path | str, records: Iterable[dict[str, Any]]) -> int:
    """Write a whole file; returns the record count."""
    with whole_file(path) as out:
        return sum(1 for record in records if out.write(dumps(record) + "\n"))


SYNC_EVERY_S = 5.0
"""How much of an appended file a machine that goes down may lose."""


class JsonlAppender:
    """Appends whole lines; on opening, a half-written last line (a killed job) is cut away.

    Lines reach the file at once and the disk every `SYNC_EVERY_S`.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        _cut_partial_line(self.path)
        # Without a buffer: each line goes out in one call, before the next one is made.
        self._out = self.path.open("ab", buffering=0)
        self._synced = time.monotonic()

    def append(self, record: dict[str, Any]) -> None:
        self.append_line(dumps(record))

    def append_line(self, line: str) -> None:
        """Append a record that is already JSON."""
        self.append_bytes(line.encode() + b"\n")

    def append_bytes(self, line: bytes) -> None:
        """Append a record that is already encoded, with the newline at its end."""
        while line:
            line = line[self._out.write(line) :]
        if time.monotonic() - self._synced > SYNC_EVERY_S:
            os.fsync(self._out.fileno())
            self._synced = time.monotonic()

    def close(self) -> None:
        self._out.close()

    def __enter__(self) -> "JsonlAppender":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _cut_partial_line(path: Path) -> None:
    if not path.exists():
        return
    with path.open("rb+") as file:
        end = file.seek(0, os.SEEK_END)
        position = end
        while position > 0:
            step = min(1 << 16, position)
            file.seek(position - step)
            newline = file.read(step).rfind(b"\n")
            if newline >= 0:
                file.truncate(position - step + newline + 1)
                return
            position -= step
        file.truncate(0)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def refuse_utf16(path: Path) -> None:
    """Raise `UserError` for UTF-16, as Excel and PowerShell write it: else it is told as damage."""
    with path.open("rb") as file:
        first = file.read(4)
    if first[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise UserError(
            f"{path}: UTF-16 text; save it as UTF-8 (iconv -f UTF-16 -t UTF-8 OLD > NEW)"
        )


class DoubledKeyError(ValueError):
    """An object holds a key twice: the last one would count in silence."""


def refuse_doubled(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of these pairs: the `object_pairs_hook` of a reader that takes no key
    twice."""
    record = dict(pairs)
    if len(record) < len(pairs):
        keys = [key for key, _ in pairs]
        raise DoubledKeyError(f"the field {next(k for k in keys if keys.count(k) > 1)!r} stands "
                              "twice: keep one of them")  # fmt: skip
    return record


# Made once: `json.loads` makes one for each line that is to be without NaN.
_STRICT = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=refuse_doubled).decode


def _parse(line: str, place: str, hint: str, nan: bool) -> dict[str, Any]:
    try:
        record = json.loads(line) if nan else _STRICT(line)
    except DoubledKeyError as error:
        raise UserError(f"{place}: {error}") from None
    except (ValueError, RecursionError) as error:
        why = "holds a NUL character" if "\0" in line else json_fault(error)
        raise UserError(f"{place}: not JSON ({why}){hint}") from None
    if not isinstance(record, dict):
        raise UserError(f"{place}: a record must be a JSON object{hint}")
    return cast(dict[str, Any], record)


ADDRESS_SUFFIX = ".address"
"""Of a file that holds a server's address; a job writes one once its server answers."""


def is_address_file(spec: Path | str) -> bool:
    """Return whether `spec` names a file that holds an address; `#IRI` may follow.

    >>> is_address_file("runs/virtuoso.address#http://freebase.com"), is_address_file("http://h/sparql")
    (True, False)
    """
    name = str(spec).partition("#")[0]
    return name.endswith(ADDRESS_SUFFIX) and "://" not in name


def read_address(spec: Path | str) -> str:
    """Return the address that the file of `spec` holds, with the `#IRI` of `spec`.

    Raises `UserError` where the file is missing (its server does not run) or holds no address.
    """
    name, mark, named = str(spec).partition("#")
    path = Path(name)
    if not path.is_file():
        raise UserError(f"{path}: no such file; its server does not run (a server job writes it)")
    address = path.read_text(encoding="utf-8", errors="replace").strip()
    if not address.startswith(("http://", "https://")) or len(address.split()) != 1:
        raise UserError(f"{path}: holds no address of the form http://HOST:PORT/...")
    return address + mark + named


def cache_folder() -> Path:
    """Return the folder for what can be made again, below the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "graphwalker"
