"""An Oxigraph store in memory: an independent opinion on small RDF files."""

import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphwalker.errors import UserError
from graphwalker.graphs.literals import literal_id
from graphwalker.graphs.ntriples import FREEBASE, XSD_STRING

if TYPE_CHECKING:
    from pyoxigraph import Store


def load_store(paths: Iterable[Path | str]) -> "Store":
    """A store in memory with N-Triples files, plain or .gz. Raises `UserError` naming the file."""
    try:
        from pyoxigraph import RdfFormat, Store
    except ImportError:
        raise UserError("Oxigraph needs pyoxigraph: pip install pyoxigraph") from None
    store = Store()
    for path in map(Path, paths):
        if not path.is_file():
            raise UserError(f"{path}: no such file")
        raw = path.read_bytes()
        try:
            plain = gzip.decompress(raw) if path.suffix == ".gz" else raw
            store.load(plain, format=RdfFormat.N_TRIPLES)
        except (SyntaxError, OSError, EOFError) as error:
            raise UserError(f"{path}: not N-Triples ({error})") from None
    return store


def node_id(term: Any) -> str:
    """The id of a term of the store."""
    from pyoxigraph import BlankNode, NamedNode

    if isinstance(term, NamedNode):
        return term.value.removeprefix(FREEBASE) or term.value
    if isinstance(term, BlankNode):
        return f"_:{term.value}"
    if term.language:
        return literal_id(term.value, f"@{term.language}")
    datatype = term.datatype.value
    return literal_id(term.value, "" if datatype == XSD_STRING else f"^^<{datatype}>")
