"""A file of questions as numbered records: a JSON list, JSON lines, or lines of text; .gz too."""

import csv
import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, cast

from graphwalker.errors import UserError
from graphwalker.files import bounded_lines, json_fault, no_file, refuse_utf16

AT_ONCE = 20
"""Rows of Parquet that are read at once."""
HEAD = 50
"""So many records are looked at to tell what a file holds."""
WRAPPERS = ("Questions", "questions")
"""Keys under which WebQSP and QALD keep the list of their records."""

TABLE = "table"
"""The wrapper of a table with a header."""
QUESTION = "question"
"""The column by which a table of questions is known."""
SEPARATORS = ",;\t"


# A line of MetaQA may begin with "[Anna Brek] ...": only these begin a JSON list.
_LIST = re.compile(r"\[\s*(?:[{\]]|$)")
# What bytes that are not UTF-8 are read as, so that the record around them can be named.
_BROKEN = re.compile(r"[\udc80-\udcff]")
_KINDS = ((bool, "true or false"), (str, "a text"), (list, "a list"), (dict, "an object"))


@dataclass(frozen=True, slots=True)
class Record:
    """One record: a JSON value, or a line of text without its end."""

    number: int
    """From 1, blank lines not counted."""
    value: object


@dataclass(frozen=True, slots=True)
class Contents:
    """An opened file. `records` gives all of it once, `head` included."""

    path: Path
    json: bool
    """False for lines of text."""
    wrapper: str
    """The key that held the list of records, `""` for none."""
    head: tuple[Record, ...]
    records: Iterator[Record]
    total: int | None
    """How many records; `None` where only reading them tells."""


GRAPHS = ("graph", "scored_triples")
"""Columns that hold a question's own graph, and most of the file."""


def open_file(path: Path | str, with_graphs: bool = True) -> Contents:
    """Tell how the file is laid out and open it; JSON lines, Parquet and text are streamed.

    Without graphs the columns of Parquet that hold them are null. Raises `UserError` naming file,
    line and record for whatever cannot be read.
    """
    path = Path(path)
    if not path.is_file():
        raise no_file(path)
    if _is_parquet(path):
        return _stream_contents(path, True, _parquet_rows(path, with_graphs))
    _refuse_packed(path)
    refuse_utf16(path)
    first = next(_lines(path), (0, ""))[1]
    if not first:
        raise UserError(f"{path}: holds no questions")
    if separator := _separator(path, first):
        return _table(path, separator)
    if first.startswith("{") and _is_json_lines(path, first):
        return _stream_contents(path, True, _parse_lines(path))
    if first.startswith("{") or _LIST.match(first):
        return _list_contents(path)
    return _stream_contents(path, False, (Record(n, line) for n, _, line in _number_lines(path)))


def _refuse_packed(path: Path) -> None:
    """Raise `UserError` for a spreadsheet, an archive, and gzip under another name."""
    with path.open("rb") as file:
        first = file.read(4)
    if first in (b"PK\x03\x04", b"\xd0\xcf\x11\xe0"):
        raise UserError(
            f"{path}: a spreadsheet, or an archive: save the sheet as CSV, or unpack it"
        )
    if first.startswith(b"\x1f\x8b") and path.suffix != ".gz":
        raise UserError(f"{path}: packed by gzip: call it {path.name}.gz")


def _separator(path: Path, header: str) -> str:
    """Return what stands between the columns of a table of questions, `""` for another file."""
    if not {".csv", ".tsv"} & {suffix.lower() for suffix in path.suffixes}:
        return ""
    if "\r" in header:
        raise UserError(
            f"{path}:1: its lines end with carriage returns alone: save it as UTF-8 with line feeds"
        )
    found = [mark for mark in SEPARATORS if QUESTION in _names(header, mark)]
    if not found and ".csv" in path.suffixes:
        raise UserError(
            f"{path}:1: a table of questions has a header with a column {QUESTION!r}; this one has "
            f"{header[:80]!r}"
        )
    return found[0] if found else ""


def _names(header: str, separator: str) -> list[str]:
    cells = next(csv.reader([header], delimiter=separator), list[str]())
    return list(map(_column, cells))


def _column(name: str) -> str:
    """Return a column's name as fields are spelled: `Topic Entity` is `topic_entity`."""
    return "_".join(name.lower().split())


def _table(path: Path, separator: str) -> Contents:
    lines = (text + "\n" for _, text in _lines(path, blank=True))
    return replace(_stream_contents(path, True, _rows(path, lines, separator)), wrapper=TABLE)


def _rows(path: Path, lines: Iterator[str], separator: str) -> Iterator[Record]:
    """Yield a table's rows as objects, blank ones dropped. Raises `UserError` naming the line."""
    reader, names, number = csv.reader(lines, delimiter=separator, strict=True), list[str](), 0
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if not names:
                names = list(map(_column, cells))
                if twice := [name for name, n in Counter(names).items() if n > 1]:
                    raise UserError(f"{path}:{reader.line_num}: two columns are named {twice[0]!r}")
                continue
            number += 1
            if len(cells) != len(names):
                move = f"put a text with {separator!r} in double quotes"
                if len(cells) < len(names):
                    move = f"give an empty cell its {separator!r}, too"
                raise UserError(
                    f"{path}:{reader.line_num}: {len(cells)} cells under {len(names)} columns; "
                    f"{move}"
                )
            pairs = zip(names, (cell.strip() for cell in cells), strict=True)
            yield Record(number, {name: cell for name, cell in pairs if cell})
    except csv.Error as error:
        raise UserError(f"{path}:{reader.line_num}: not a table ({error})") from None


@dataclass(frozen=True, slots=True)
class Broken:
    """A record of a JSON list that cannot be read; `why` says where it stands."""

    why: str


def salvage(path: Path | str) -> Contents | None:
    """Return the records of a JSON list, unreadable ones as `Broken`. A record after a broken one
    is found where its line is indented like the first one's. `None` for other files."""
    path = Path(path)
    text = "\n".join(line for _, line in _lines(path, blank=True))
    start = _LIST.match(text.lstrip())
    if start is None or _BROKEN.search(text):
        return None
    records = tuple(Record(n, value) for n, value in enumerate(_pieces(path, text), start=1))
    return Contents(path, True, "", records[:HEAD], iter(records), len(records))


def _pieces(path: Path, text: str) -> Iterator[object]:
    decoder, position = json.JSONDecoder(), text.find("[") + 1
    opening = re.compile(r"^[ \t]*\{", re.MULTILINE)
    first = opening.search(text, position)
    indented = re.compile(f"^{first[0]}", re.MULTILINE) if first else opening
    while True:
        position = _after_space(text, position)
        if text[position : position + 1] in ("", "]"):
            return
        try:
            value, position = decoder.raw_decode(text, position)
            yield value
        except (ValueError, RecursionError) as error:
            at = error.lineno if isinstance(error, json.JSONDecodeError) else 0
            line = at or text.count("\n", 0, position) + 1
            yield Broken(f"{path}:{line}: not JSON")
            following = indented.search(text, position + 1)
            if following is None:
                return
            position = following.start()
            continue
        position = _after_space(text, position)
        position += text[position : position + 1] == ","


def as_object(value: object) -> dict[str, object] | None:
    """Return the JSON object, `None` for any other value."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def kind(value: object) -> str:
    """Return what a JSON value is, in words."""
    if value is None:
        return "null"
    return next((word for cls, word in _KINDS if isinstance(value, cls)), "a number")


def text_lines(path: Path) -> list[str]:
    """Return the lines of a small text file that are not blank."""
    return [line for _, line in _lines(path)]


def _stream_contents(path: Path, is_json: bool, records: Iterator[Record]) -> Contents:
    head = tuple(islice(records, HEAD))
    total = len(head) if len(head) < HEAD else None
    return Contents(path, is_json, "", head, chain(head, records), total)


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def _parquet_rows(path: Path, with_graphs: bool) -> Iterator[Record]:
    """Yield the rows as objects."""
    import duckdb

    try:
        with duckdb.connect(config={"threads": 1}) as database:
            source = "read_parquet('{}')".format(str(path).replace("'", "''"))
            columns = [row[0] for row in database.execute(f"DESCRIBE FROM {source}").fetchall()]
            left_out = [] if with_graphs else [name for name in columns if name in GRAPHS]
            nulls = ", ".join(f"NULL AS {name}" for name in left_out)
            # A relation would hold its whole result; this streams it.
            database.execute(f"SELECT * {f'REPLACE ({nulls})' if nulls else ''} FROM {source}")
            number = 0
            while some := database.fetchmany(AT_ONCE):
                for row in some:
                    number += 1
                    yield Record(number, dict(zip(columns, row, strict=True)))
    except duckdb.Error as error:
        raise UserError(f"{path}: Parquet that cannot be read ({str(error)[:200]})") from None


def _list_contents(path: Path) -> Contents:
    text = "\n".join(line for _, line in _lines(path, blank=True))
    broken = _BROKEN.search(text)
    if broken:
        line = text.count("\n", 0, broken.start()) + 1
        raise _not_utf8(path, line, _broken_record(text[: broken.start()]))
    data = _load(path, text)
    wrapper = ""
    found = as_object(data)
    if found is not None:
        wrapper = next((key for key in WRAPPERS if isinstance(found.get(key), list)), "")
        data = found[wrapper] if wrapper else [found]
    values = cast("list[object]", data)
    records = tuple(Record(n, value) for n, value in enumerate(values, start=1))
    if not records:
        raise UserError(f"{path}: holds no questions")
    return Contents(path, True, wrapper, records[:HEAD], iter(records), len(records))


def _is_json_lines(path: Path, first: str) -> bool:
    if ".jsonl" in path.name:
        return True
    try:
        value = json.loads(first)
    except ValueError:
        return first.endswith("}")
    except RecursionError:
        return True
    return not any(isinstance(value.get(key), list) for key in WRAPPERS)


def _parse_lines(path: Path) -> Iterator[Record]:
    for number, line, text in _number_lines(path):
        try:
            value: object = json.loads(text)
        except (ValueError, RecursionError) as error:
            where = f"{path}:{line}: not JSON ({json_fault(error)})"
            raise UserError(f"{where}, in record {number}") from None
        if as_object(value) is None:
            raise UserError(f"{path}: record {number}: must be a JSON object, not {kind(value)}")
        yield Record(number, value)


def _load(path: Path, text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        at = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        where = f"{path}{at}: not JSON ({json_fault(error)})"
        raise UserError(f"{where}, in record {_broken_record(text)}") from None


def _broken_record(text: str) -> int:
    """Return the number of the first record of a JSON list that cannot be read."""
    decoder, number = json.JSONDecoder(), 1
    position = text.find("[") + 1
    while True:
        position = _after_space(text, position)
        try:
            position = decoder.raw_decode(text, position)[1]
        except (ValueError, RecursionError):
            return number
        position = _after_space(text, position)
        if text[position : position + 1] != ",":
            return number
        number, position = number + 1, position + 1


def _after_space(text: str, position: int) -> int:
    match = re.compile(r"\s*").match(text, position)
    return match.end() if match else position


def _number_lines(path: Path) -> Iterator[tuple[int, int, str]]:
    for number, (line, text) in enumerate(_lines(path), start=1):
        if _BROKEN.search(text):
            raise _not_utf8(path, line, number)
        yield number, line, text


def _not_utf8(path: Path, line: int, record: int) -> UserError:
    return UserError(f"{path}:{line}: not UTF-8 text, in record {record}")


def _lines(path: Path, blank: bool = False) -> Iterator[tuple[int, str]]:
    """Line number and text, stripped unless blank lines are wanted too."""
    try:
        with _open(path) as file:
            for number, raw in enumerate(_bare(bounded_lines(file, path)), start=1):
                text = raw.decode("utf-8", "surrogateescape")
                if blank or text.strip():
                    yield number, text if blank else text.strip(" \r\n")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f"{path}: damaged gzip file ({error})") from None


def _bare(file: Iterable[bytes]) -> Iterator[bytes]:
    for number, raw in enumerate(file):
        line = raw.rstrip(b"\r\n")
        yield line.removeprefix(b"\xef\xbb\xbf") if number == 0 else line


def _open(path: Path) -> BinaryIO:
    if path.suffix == ".gz":
        return cast(BinaryIO, gzip.open(path, "rb"))
    return path.open("rb")
