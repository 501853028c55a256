"""RDF in Turtle, TriG, N-Quads, RDF/XML or JSON-LD, written as N-Triples by pyoxigraph."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from graphwalker.errors import UserError, lacks_extra
from graphwalker.graphs.intake.blocks import open_input, plain_name

_ANONYMOUS = re.compile(r"[0-9a-f]{16,32}|anonymous\d+")
"""Blank nodes without a label, as pyoxigraph calls them: at random, other ones at each reading;
and those whose labels are like the ones that take their place."""


def write_ntriples(path: Path, form: str, out: Path) -> None:
    """Write the triples of a file; those of named graphs count as triples of the one graph.

    Raises `UserError` naming the line that cannot be read.
    """
    try:
        import pyoxigraph as oxigraph
    except ImportError:
        raise lacks_extra(f"{path}: {form} needs pyoxigraph", "formats") from None
    formats = {
        "Turtle": oxigraph.RdfFormat.TRIG,  # in which Turtle is written as it is
        "N-Quads": oxigraph.RdfFormat.N_QUADS,
        "RDF/XML": oxigraph.RdfFormat.RDF_XML,
        "JSON-LD": oxigraph.RdfFormat.JSON_LD,
    }
    # An IRI without a base stands for the same on every machine.
    base = f"file:///{plain_name(path)}"
    try:
        with open_input(path) as file:
            quads = oxigraph.parse(input=file, format=formats[form], base_iri=base)
            triples = _label_blank_nodes(oxigraph, quads)
            oxigraph.serialize(triples, output=str(out), format=oxigraph.RdfFormat.N_TRIPLES)
    except (SyntaxError, ValueError, EOFError, OSError) as error:
        line = getattr(error, "lineno", None)
        where = f"{path}:{line}" if line else f"{path}"
        raise UserError(f"{where}: {form} that cannot be read: {error}") from None


def _label_blank_nodes(oxigraph: Any, quads: Any) -> Iterator[Any]:
    """Yield the triples, with blank nodes that had no label numbered as they come."""
    known: dict[str, Any] = {}

    def label(term: Any) -> Any:
        if isinstance(term, oxigraph.Triple):
            return oxigraph.Triple(label(term.subject), term.predicate, label(term.object))
        if not isinstance(term, oxigraph.BlankNode) or not _ANONYMOUS.fullmatch(term.value):
            return term
        found = known.get(term.value)
        if found is None:
            found = known[term.value] = oxigraph.BlankNode(f"anonymous{len(known)}")
        return found

    for quad in quads:
        yield oxigraph.Triple(label(quad.subject), quad.predicate, label(quad.object))
