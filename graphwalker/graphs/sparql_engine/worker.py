"""A process that answers the queries of one store: run by `engine`, ended by whoever asks, or by
the clock of a query."""

import json
import os
import re
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyoxigraph import Literal, NamedNode, QueryBoolean, Store

from graphwalker.errors import QueryLimitError, UserError
from graphwalker.graphs.ntriples import FREEBASE
from graphwalker.graphs.sparql.terms import PLAIN
from graphwalker.graphs.sparql_engine.ids import StoreIds, literal_id_of
from graphwalker.graphs.sparql_engine.results import (
    IDS,
    binding,
    literal_binding,
    write_boolean,
    write_rows,
)
from graphwalker.graphs.sparql_engine.wording import XSD, QueryShape, read_question

ABOUT, DATA = "about.json", "store"
"""Of a store's folder: what it was made with, and Oxigraph's own folder."""
OUT_OF_MEMORY = 3
ID = f"{PLAIN}id"
"""The function that gives the id of a node, by which our client sorts."""
_SORTED_BY_ID = re.compile(
    rf'IF\(STRSTARTS\(STR\((\?\w+)\), "{re.escape(FREEBASE)}"\),'
    r" SUBSTR\(STR\(\1\), \d+\), STR\(\1\)\)"
)
_MOMENT = re.compile(
    r"(-?\d{4,})(?:-(\d\d)(?:-(\d\d)(?:T(\d\d:\d\d:\d\d(?:\.\d+)?))?)?)?(Z|[+-]\d\d:\d\d)?"
)
_SHOWS_ALL = re.compile(r"\s*SELECT\s+(?:DISTINCT\s+|REDUCED\s+)?\*", re.IGNORECASE)
_PLACE_OF_ERROR = re.compile(r"error at (\d+):(\d+): ")
WireAnswer = tuple[int, str, bytes]
"""Status and content type of HTTP, and the body."""


class StoreReader:
    """Answers SELECT and ASK over the store in a folder. Raises `OSError` where it is damaged."""

    def __init__(self, folder: Path) -> None:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        self._ids = StoreIds(about["base"])
        self._spelled: dict[str, str] = about["spelled"]
        self._sorts_itself = not self._ids.is_freebase or about["escaped"] > 0
        self._store = Store.read_only(str(folder / DATA))
        self._prefixes = {"": self._ids.base}
        if self._ids.is_freebase:
            self._prefixes |= {"ns": FREEBASE, "fb": FREEBASE}

    def answer(self, request: dict[str, Any]) -> WireAnswer:
        """Return the answer to a request (`query`, `form`, `graphs`, `max_rows`, and whether
        our client `is_ours`), or why there is none."""
        try:
            shape = self._read(request["query"], request["graphs"])
            return 200, f"{request['form']}; charset=utf-8", self._ask(shape, request)
        except UserError as error:
            return _refuse(400, f"37000: {error}")
        except QueryLimitError as error:
            return _refuse(500, str(error))
        except (OSError, RuntimeError, ValueError, RecursionError) as error:
            return _refuse(400, f"42000: not computed: {' '.join(str(error).split())[:300]}")

    def _read(self, query: str, graphs: list[str]) -> QueryShape:
        names = self._ids.graph_names
        if others := [name for name in graphs if name not in names]:
            raise UserError(f"there is one graph here, <{self._ids.base}>, and no <{others[0]}>")
        if self._sorts_itself:
            query = _SORTED_BY_ID.sub(rf"<{ID}>(\1)", query)
        return read_question(query, self._prefixes, names)

    def _fill(self, shape: QueryShape) -> str:
        """Return the query with the store's IRIs."""

        def write(constant: str) -> str:
            return f"<{self._ids.query_iri(constant[1:-1])}>" if constant[0] == "<" else constant

        return shape.fill(write)

    def _ask(self, shape: QueryShape, request: dict[str, Any]) -> bytes:
        query = self._fill(shape)
        functions: Any = {}
        if f"<{ID}>(" in query:
            functions[NamedNode(ID)] = self._id_function
        if f"<{XSD}dateTime>" in query:
            functions[NamedNode(f"{XSD}dateTime")] = as_datetime
        try:
            found: Any = self._store.query(query, custom_functions=functions or None)
        except SyntaxError as error:
            raise UserError(_explain(str(error), query)) from None
        form = request["form"]
        if isinstance(found, QueryBoolean):
            holds = bool(found)
            return json.dumps(holds).encode() if form == IDS else write_boolean(holds, form)
        names = [variable.value for variable in found.variables]
        if _SHOWS_ALL.match(shape.text):
            places = list(map(str, re.findall(r"[?$](\w+)", shape.text)))
            names.sort(key=places.index)
        return write_rows(found, names, form, request["max_rows"], self._describe(request))

    def _describe(self, request: dict[str, Any]) -> Callable[[Any], Any]:
        """Return how a term is shown: as its id, or in JSON."""
        is_foreign = request["is_ours"] and self._ids.base not in (FREEBASE, PLAIN)

        def describe(term: Any) -> Any:
            if self._spelled and isinstance(term, Literal):
                written = self._spelled.get(literal_id_of(term))
                if written:
                    return written if request["form"] == IDS else literal_binding(written)
            if request["form"] == IDS:
                return self._ids.id_of_term(term)
            made = binding(term)
            if is_foreign and made["type"] == "uri":
                made["value"] = self._ids.as_freebase(made["value"])
            return made

        return describe

    def _id_function(self, term: Any) -> Any:
        return Literal(self._ids.id_of_term(term))


def as_datetime(term: Any) -> Any:
    """Cast a date, however partial, or a text that is one to xsd:dateTime, as Virtuoso does:
    benchmarks sort by `xsd:datetime(?year)`."""
    found = _MOMENT.fullmatch(term.value) if isinstance(term, Literal) else None
    if found is None:
        return None
    year, month, day, clock, zone = found.groups()
    text = f"{year}-{month or '01'}-{day or '01'}T{clock or '00:00:00'}{zone or ''}"
    return Literal(text, datatype=NamedNode(f"{XSD}dateTime"))


def _refuse(status: int, why: str) -> WireAnswer:
    return status, "text/plain; charset=utf-8", f"{why}\n".encode()


def _explain(error: str, query: str) -> str:
    """Return why a query is no SPARQL 1.1, and near which of its words."""
    place = _PLACE_OF_ERROR.search(error)
    if place is None:
        return f"the query is not SPARQL 1.1: {error[:200]}"
    lines, line, column = query.split("\n"), int(place[1]), int(place[2])
    rest = "\n".join(lines[line - 1 :])[column - 1 :].split("\n")[0][:60]
    where = f"at {rest!r}" if rest.strip() else "at its end"
    return f"the query is not SPARQL 1.1 {where}: {error[place.end() :][:200]}"


def main() -> None:
    """Answer requests, a line of JSON each, until there are no more.

    A query past its time ends the process: no other way stops the engine in the middle of one.
    """
    folder, memory_mb = Path(sys.argv[1]), int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        reader = StoreReader(folder)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        _send(_refuse(500, f"{folder}: {' '.join(str(error).split())[:200]}"))
        return
    _limit_memory(memory_mb << 20)
    _send((200, "", b""))
    for line in sys.stdin.buffer:
        request = json.loads(line)
        try:
            signal.setitimer(signal.ITIMER_REAL, request["timeout_s"])
            answer = reader.answer(request)
            signal.setitimer(signal.ITIMER_REAL, 0)
            _send(answer)
        except MemoryError:
            sys.exit(OUT_OF_MEMORY)


def _send(answer: WireAnswer) -> None:
    status, kind, body = answer
    out = sys.stdout.buffer
    out.write(f"{json.dumps([status, kind, len(body)])}\n".encode() + body)
    out.flush()


def _limit_memory(more: int) -> None:
    """Let this process grow by so many bytes; where the system does not say what it has, freely."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        pages = int(statm.read_text(encoding="ascii").split()[0])
        most = pages * resource.getpagesize() + more
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:  # the server that asked has ended; at exit Python would write again
        os._exit(0)
