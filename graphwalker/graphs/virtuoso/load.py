"""Loading into Virtuoso: files in, then the count inside the graph must be what was given."""

import logging
import os
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path
from typing import Any

from graphwalker.errors import GraphError, UserError
from graphwalker.graphs.intake.foreign.recognise import RDF, convert, recognise
from graphwalker.graphs.intake.rows import REJECT_LIMIT, Rejects, Source
from graphwalker.graphs.sparql.client import FINGERPRINT, MARKED, TRIPLES, marks
from graphwalker.graphs.sparql.terms import Vocabulary
from graphwalker.graphs.virtuoso.files import LoadSummary, prepare
from graphwalker.graphs.virtuoso.server import Server, restart, sql, status
from graphwalker.runs import lock_folder

log = logging.getLogger(__name__)

GRAPH = "http://rdf.freebase.com"
OUTGROWN = 100_000
"""Triples by which a graph must have grown, and to twice its size, for the server to be started
again: it plans with what it saw of the graph when that was first asked about."""
_SAFE_IRI = re.compile(r"[a-z][a-z0-9+.-]*:[A-Za-z0-9:/._~#%+-]+")


def load(
    folder: Path,
    triples: Sequence[Path],
    names: Sequence[Path] = (),
    types: Sequence[Path] = (),
    graph: str = GRAPH,
    as_is: bool = False,
    max_malformed: int = REJECT_LIMIT,
    progress: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Load files into the running server of a folder, and verify; returns counts, and
    the `address` under which `--graph` and `open_graph` open what was loaded.

    Inputs are rewritten as clean N-Triples with an index of folded names. `as_is` hands
    N-Triples files (.nt, .nt.gz) to Virtuoso as they are, for sizes where a pass in Python would
    take too long: no index, and lines that Virtuoso skips are seen only in the count.
    Raises `UserError` for bad input, `GraphError` where the graph does not hold what was given.
    """
    server, say = status(folder), progress or log.info
    if server is None:
        raise UserError(f"{folder}: no server runs here; first: graphwalker virtuoso up {folder}")
    if not _SAFE_IRI.fullmatch(graph):
        raise UserError(f"graph: {graph!r} is no IRI that can name a graph")
    with lock_folder(Path(server.folder)):
        return _load(server, graph, (triples, names, types), as_is, max_malformed, say)


def _load(
    server: Server,
    graph: str,
    files: tuple[Sequence[Path], Sequence[Path], Sequence[Path]],
    as_is: bool,
    max_malformed: int,
    say: Callable[[str], None],
) -> dict[str, Any]:
    place = _empty(Path(server.folder) / "load")
    earlier = _take_marks(server, graph)
    before = count(server, graph)
    prepared: LoadSummary | None = None
    if as_is:
        given = {"files": _link(*files, place)}
    else:
        say("writing clean N-Triples")
        written = _empty(Path(server.folder) / "converted")
        triples = [_as_triples(path, number, written) for number, path in enumerate(files[0])]
        files = (triples, *files[1:])
        rejects = Rejects(Path(server.folder) / "rejects.tsv", max_malformed)
        prepared = prepare(*files, place / "all.nt", Vocabulary(), rejects)
        rejects.close()
        shutil.rmtree(written)
        given = asdict(prepared)
    say("loading")
    _run(server, graph)
    say("counting")
    held = count(server, graph)
    if prepared is not None:
        _verify(prepared, before, held, server.folder)
        fingerprint = prepared.fingerprint
        if before:  # what was there before is part of what is there now
            both = f"{earlier or 'unknown'} {fingerprint}"
            fingerprint = blake2b(both.encode(), digest_size=12).hexdigest()
        _mark(server, graph, marks(fingerprint, held, prepared.sentinels))
        given = {key: value for key, value in given.items() if key != "sentinels"}
        given["fingerprint"] = fingerprint
    _empty(place)
    if held - before > max(before, OUTGROWN):
        say("starting the server again, to plan with statistics of the graph as it is now")
        restart(server)
    return {
        "graph": graph,
        **given,
        "before": before,
        "held": held,
        "endpoint": server.endpoint,
        "address": f"{server.endpoint}#{graph}",
    }


def count(server: Server, graph: str) -> int:
    """Triples inside the graph, the index of folded names among them."""
    return int(sql(server, f"sparql select count(*) from <{graph}> {{ ?s ?p ?o }};")[-1])


def _take_marks(server: Server, graph: str) -> str:
    """Remove the marks of an earlier load, which will not hold any more; its fingerprint."""
    pattern = f"from <{graph}> {{ <{MARKED}> <{FINGERPRINT}> ?f }}"
    found = sql(server, f"sparql select ?f {pattern};")
    marked = f"{{ <{MARKED}> ?p ?o }}"
    sql(server, f"sparql delete from <{graph}> {marked} where {{ graph <{graph}> {marked} }};")
    return found[-1] if found else ""


def _mark(server: Server, graph: str, lines: Sequence[str]) -> None:
    triples = " ".join(lines)
    sql(server, f"sparql insert into <{graph}> {{ {triples} }};\ncheckpoint;")


def _run(server: Server, graph: str) -> None:
    """Virtuoso's bulk loader, then what it says about each file."""
    lines = sql(
        server,
        "delete from DB.DBA.load_list;\n"
        f"ld_dir('load', '*.nt', '{graph}');\n"
        f"ld_dir('load', '*.nt.gz', '{graph}');\n"
        "rdf_loader_run();\n"
        "checkpoint;\n"
        "select 'LOADED', ll_file, ll_state, coalesce(ll_error, 'fine') from DB.DBA.load_list;\n",
    )
    loaded = [line.split() for line in lines if line.startswith("LOADED")]
    if not loaded:
        raise GraphError(f"{server.folder}: Virtuoso found no file to load")
    for _, file, state, *why in loaded:
        if state != "2" or why != ["fine"]:
            raise GraphError(f"{server.folder}: {file} not loaded whole: {' '.join(why)}")


def _as_triples(path: Path, number: int, folder: Path) -> Path:
    """Return the file, or other RDF written anew. Raises `UserError` for other formats."""
    found = recognise(path)
    if found and found not in RDF:
        raise UserError(f"{path}: {found} is not loaded: give TSV or RDF")
    return convert(Source(path, "triples", number), folder).path


def _verify(prepared: LoadSummary, before: int, held: int, folder: str) -> None:
    """Check that an empty graph now holds every line; others may have known some."""
    given = prepared.distinct + prepared.folded
    low = before or given - prepared.rewritten
    if not max(low, given - prepared.rewritten) <= held <= before + given:
        raise GraphError(
            f"{folder}: {held:,} triples in the graph after loading {given:,} to {before:,} there"
        )


def _link(
    triples: Sequence[Path], names: Sequence[Path], types: Sequence[Path], place: Path
) -> int:
    if names or types:
        raise UserError("as_is takes N-Triples only, which hold the names and types themselves")
    for number, path in enumerate(triples):
        kind = ".nt.gz" if path.name.endswith(".gz") else ".nt"
        if not path.is_file() or not path.name.endswith(kind):
            raise UserError(f"{path}: not a file of N-Triples (.nt or .nt.gz)")
        os.symlink(path.resolve(), place / f"part-{number:05d}{kind}")
    return len(triples)


def _empty(place: Path) -> Path:
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    return place


def describe(folder: Path) -> dict[str, Any]:
    """Return whether a server runs in the folder, its endpoint, and the triples of each graph,
    beside those that were loaded where they differ."""
    server = status(folder)
    if server is None:
        return {"running": False}
    query = "sparql select ?g count(*) { graph ?g { ?s ?p ?o } } group by ?g order by ?g;"
    rows = [line.split() for line in sql(server, query)]
    graphs = {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}
    loaded = {g: n for g, n in graphs.items() if "openlinksw.com" not in g and "localhost" not in g}
    loaded = {g: _beside_loaded(server, g, n) for g, n in loaded.items()}
    return {"running": True, "endpoint": server.endpoint, "pid": server.pid, "graphs": loaded}


def _beside_loaded(server: Server, graph: str, held: int) -> int | str:
    """Get the triples of a graph without its marks; more words where they are not those loaded."""
    query = f"sparql select ?p ?o from <{graph}> {{ <{MARKED}> ?p ?o }};"
    rows = [line.split() for line in sql(server, query)]
    if not rows:
        return held
    loaded = next((int(row[1]) for row in rows if row[0] == TRIPLES and row[1].isdigit()), 0)
    held -= len(rows)
    return held if held == loaded else f"{held:,}, but {loaded:,} were loaded: load it again"
