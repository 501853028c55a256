"""A Freebase RDF dump: what of its three billion lines an agent can use."""

from graphwalker.graphs.intake.filters import Filters
from graphwalker.graphs.ntriples import FREEBASE

MALFORMED = 100_000
"""Lines of a dump that may be malformed: it has web addresses with spaces and the like."""

DROPPED = ("type.*", "freebase.*", "dataworld.*", "common.topic.topic_equivalent_webpage")
"""The schema, its editors, the history of imports, and links to other sites."""


def dump_filters(
    relations: frozenset[str] | None = None,
    keep: tuple[str, ...] = (),
    drop: tuple[str, ...] = (),
    namespaces: tuple[str, ...] = (FREEBASE,),
    languages: tuple[str, ...] = ("en",),
) -> Filters:
    """Filters for `freebase-rdf-latest.gz`: Freebase's own ids, texts in English or in none, no
    book-keeping. What is given goes before, and `drop` on top; names and types always stay."""
    return Filters(relations, keep, (*DROPPED, *drop), namespaces, languages)
