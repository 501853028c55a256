"""An Oxigraph store in memory: an independent opinion on small RDF files."""

import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyoxigraph import BlankNode, NamedNode, RdfFormat, Store

from graphwalker.graphs.literals import literal_id
from graphwalker.graphs.ntriples import FREEBASE, XSD_STRING


def load_store(paths: Iterable[Path | str]) -> Store:
    """A store in memory with N-Triples files, plain or .gz."""
    store = Store()
    for path in map(Path, paths):
        raw = path.read_bytes()
        plain = gzip.decompress(raw) if path.suffix == ".gz" else raw
        store.load(plain, format=RdfFormat.N_TRIPLES)
    return store


def node_id(term: Any) -> str:
    """The id of a term of the store."""
    if isinstance(term, NamedNode):
        return term.value.removeprefix(FREEBASE) or term.value
    if isinstance(term, BlankNode):
        return f"_:{term.value}"
    if term.language:
        return literal_id(term.value, f"@{term.language}")
    datatype = term.datatype.value
    return literal_id(term.value, "" if datatype == XSD_STRING else f"^^<{datatype}>")
