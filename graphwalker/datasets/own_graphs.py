"""The graphs that questions bring, each read from disk when its question is asked."""

import json
import logging
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from graphwalker.datasets.files import Record, open_file
from graphwalker.datasets.loaders.other.own_graphs import (
    INDEX,
    NAMES,
    OWN_GRAPHS,
    OwnGraph,
    companions_of,
)
from graphwalker.errors import GraphError, UserError
from graphwalker.files import cache_folder
from graphwalker.graphs.base import MemberQuestion
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.graphs.views.sets import GraphSet

VERSION = 1
_TABLES = """
CREATE TABLE graphs (question TEXT PRIMARY KEY, graph BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE facts (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
"""

log = logging.getLogger(__name__)


class QuestionGraphs(GraphSet):
    """The graphs of the questions in a file, or in several; a question is known by its id.

    They are copied once into a file of the user's cache, so that a run holds no more than the
    latest used ones. Raises `UserError` for a file that cannot be read.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        super().__init__()
        self._files = list(files)
        self._stores = [_store(path) for path in self._files]
        self._facts = [
            dict(_rows(store, "SELECT name, value FROM facts")) for store in self._stores
        ]
        self.path = self._files[0]
        self.checksum = "+".join(str(facts["checksum"]) for facts in self._facts)

    def member_name(self, question: MemberQuestion) -> str:
        return question.id

    def holds(self, name: str) -> bool:
        query = "SELECT count(*) FROM graphs WHERE question = ?"
        return any(next(_rows(store, query, name))[0] for store in self._stores)

    def read_member(self, name: str) -> MemoryGraph:
        for store in self._stores:
            for (packed,) in _rows(store, "SELECT graph FROM graphs WHERE question = ?", name):
                triples, names = json.loads(zlib.decompress(packed))
                return MemoryGraph(map(tuple, triples), names)
        raise UserError(
            f"{self.path}: has no graph of the question {name!r}: are these its questions?"
        )

    def info(self) -> dict[str, int | str]:
        """Counts over all questions: an entity that two graphs have counts twice."""
        counted = ("questions", "entities", "triples")
        sums = {name: sum(int(facts[name]) for facts in self._facts) for name in counted}
        return {"graph": "one for each question", **sums, "checksum": self.checksum}


def files_with_graphs(spec: str) -> list[Path]:
    """Return the files that `spec` names, one or several by commas, where their questions bring
    graphs; else none."""
    paths = [Path(part.strip()) for part in spec.split(",")]
    if all(path.is_file() for path in paths):
        try:
            return paths if all(_form(path) for path in paths) else []
        except UserError:
            return []  # whoever reads it says what is wrong
    return []


def _form(path: Path) -> type[OwnGraph] | None:
    contents = open_file(path, with_graphs=False)
    return next((form for form in OWN_GRAPHS if form.misses(contents) == []), None)


def _store(path: Path) -> Path:
    """Get the file that holds the graphs of a file's questions, made where it is not there yet."""
    read = [path, *companions_of(path.parent)]
    stamp = [(str(one.resolve()), one.stat().st_size, one.stat().st_mtime_ns) for one in read]
    key = blake2b(repr((VERSION, stamp)).encode(), digest_size=8).hexdigest()
    store = cache_folder() / "graphs" / f"{path.name[:60]}-{key}.sqlite"
    if not store.is_file():
        log.info("%s: copying the graphs of its questions, once, to %s", path, store)
        store.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=store.parent, prefix=store.stem) as folder:
            made = Path(folder) / store.name
            _write_store(path, made)
            made.replace(store)
    return store


def _write_store(path: Path, out: Path) -> None:
    form = _form(path)
    assert form is not None
    digest, sums = blake2b(digest_size=16), dict.fromkeys(("questions", "entities", "triples"), 0)
    nameless = 0
    with closing(sqlite3.connect(out)) as database, database:
        database.executescript(_TABLES)
        for record in open_file(path).records:
            question, triples, names = _read(path, form, record)
            text = json.dumps([triples, names], ensure_ascii=True, sort_keys=True).encode()
            digest.update(question.encode("utf-8", "surrogatepass") + b"\n" + text + b"\n")
            row = (question, zlib.compress(text, 1))
            # Of two questions with one id the reader of questions complains.
            database.execute("INSERT OR IGNORE INTO graphs VALUES (?, ?)", row)
            sums["questions"] += 1
            sums["entities"] += len(names)
            sums["triples"] += len(triples)
            nameless += bool(names) and not any(names.values())
        facts = {**sums, "checksum": digest.hexdigest()}
        database.executemany("INSERT INTO facts VALUES (?, ?)", facts.items())
    if nameless:
        log.warning(
            "%s: in %d of %d graphs no entity has a name, so nothing can be shown: put %s beside "
            "the questions (or entities_text.txt, a name for each line of %s)",
            *(path, nameless, sums["questions"], NAMES, INDEX),
        )


def _read(
    path: Path, form: type[OwnGraph], record: Record
) -> tuple[str, list[tuple[str, str, str]], dict[str, str]]:
    try:
        found = form.validate_record(record.value)
        return (found.id, *found.own_graph(path.parent))
    except UserError as error:
        raise UserError(f"{path}: record {record.number}: {error}") from None


def _rows(store: Path, query: str, *values: str) -> Iterator[Any]:
    """Yield the rows of a query. Each opens the file anew: workers are forked."""
    try:
        with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)) as database:
            yield from database.execute(query, values)
    except sqlite3.Error as error:
        raise GraphError(f"{store}: {error}; remove it, and it is made again") from None
