"""Ids of a graph as the IRIs of its store, and back."""

import re
from dataclasses import dataclass
from typing import Any

from pyoxigraph import BlankNode, Literal, NamedNode

from graphwalker.errors import UserError
from graphwalker.graphs.literals import is_literal, literal_id
from graphwalker.graphs.ntriples import FREEBASE, XSD_STRING
from graphwalker.graphs.sparql.terms import (
    PLAIN,
    RDF_TYPE,
    RDFS_LABEL,
    RESERVED,
    Vocabulary,
    escape_id,
    is_absolute,
    unescape_id,
)

_NAMING = {Vocabulary().name: RDFS_LABEL, Vocabulary().type: RDF_TYPE}
_FREEBASE_ID = re.compile(r"[mg]\.[0-9a-z_]+")


@dataclass(frozen=True, slots=True)
class StoreIds:
    """How a store writes ids: behind `base`, an id that is an IRI as itself, and what no IRI can
    hold behind `PLAIN` with `%` escapes."""

    base: str

    def iri(self, node_id: str) -> str:
        """Return the IRI of an id that is no literal."""
        if is_absolute(node_id):
            iri, fits = node_id, not node_id.startswith((PLAIN, self.base))
        else:
            iri, fits = self.base + node_id, self.is_freebase or "%" not in node_id
            fits = fits and not node_id.startswith("_:") and iri not in RESERVED
        return iri if fits and is_iri(iri) else escape_id(node_id)

    def id_of(self, iri: str) -> str:
        """Return the id that an IRI of the store stands for."""
        return unescape_id(iri) or iri.removeprefix(self.base) or iri

    def query_iri(self, iri: str) -> str:
        """Return the store's IRI for one of a query. Clients write ids behind Freebase's base, and
        name entities by its predicates, whatever base the graph has."""
        if iri.startswith(FREEBASE):
            local = iri.removeprefix(FREEBASE)
            return self.iri(local) if self.is_freebase or local not in _NAMING else _NAMING[local]
        return self.iri(unescape_id(iri) or iri.removeprefix(self.base))

    def as_freebase(self, iri: str) -> str:
        """Return the store's IRI as a client that writes ids behind Freebase's base reads it."""
        is_whole = iri.startswith(self.base) and "%" not in iri
        return FREEBASE + iri.removeprefix(self.base) if is_whole else iri

    @property
    def is_freebase(self) -> bool:
        return self.base == FREEBASE

    @property
    def graph_names(self) -> frozenset[str]:
        """The names under which a query may ask for this one graph."""
        own = {self.base, self.base.rstrip("/#:")}
        if self.is_freebase:
            own |= {"http://rdf.freebase.com", "http://rdf.freebase.com/"}
        return frozenset(own)

    def id_of_term(self, term: Any) -> str:
        """Return the id of a term of Oxigraph. Raises `UserError` for a triple in its place."""
        if isinstance(term, NamedNode):
            return self.id_of(term.value)
        return literal_id_of(term)


def literal_id_of(term: Any) -> str:
    """Return the id of a literal, or of a blank node that a query made. Raises `UserError`."""
    if isinstance(term, BlankNode):
        return f"_:{term.value}"
    if not isinstance(term, Literal):
        raise UserError("a triple as a term is not served; ask for its parts")
    if term.language:
        return literal_id(term.value, f"@{term.language}")
    kind = term.datatype.value
    return literal_id(term.value, "" if kind == XSD_STRING else f"^^<{kind}>")


def usual_base(some_ids: list[str]) -> str:
    """Return Freebase's base where at least half of the ids look like its own, else `PLAIN`."""
    looks = [_FREEBASE_ID.fullmatch(i) is not None for i in some_ids if not is_literal(i)]
    return FREEBASE if sum(looks) * 2 >= len(looks) else PLAIN


def is_iri(text: str) -> bool:
    """Return whether a text is an IRI, as Oxigraph sees it."""
    try:
        NamedNode(text)
    except ValueError:
        return False
    return True
