"""Filters of a build: which relations, namespaces and languages of its input go into the graph."""

import fnmatch
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from graphwalker.graphs.base import FLATTENED
from graphwalker.graphs.ntriples import FREEBASE

MALFORMED = 100_000
"""Lines of a dump that may be malformed: it has web addresses with spaces and the like."""

DROPPED = ("type.*", "freebase.*", "dataworld.*", "common.topic.topic_equivalent_webpage")
"""The schema, its editors, the history of imports, and links to other sites."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What to keep; with nothing given, everything. Names and types are no triples: they stay.

    `relations` is a whitelist of relation ids. `keep` and `drop` are patterns over relation ids
    (`film.*`). `namespaces` are the beginnings that the IRIs of nodes and relations may have;
    an id without a scheme, such as `m.0d05w3`, is in Freebase's. A flattened relation (`a..b`) is
    kept where both of its halves are. `languages` are those that
    names and texts may have (`en` keeps `en-GB`, too); texts without a language stay.
    """

    relations: frozenset[str] | None = None
    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()

    def facts(self) -> dict[str, Any]:
        """Return the filters that are set, for the record; of a whitelist only its size."""
        listed: dict[str, Any] = {
            "keep": self.keep,
            "drop": self.drop,
            "namespaces": self.namespaces,
            "languages": self.languages,
        }
        if self.relations is not None:
            listed["whitelisted relations"] = len(self.relations)
        return {key: value for key, value in listed.items() if value}

    def relation_test(self) -> Callable[[str], bool]:
        """Return whether triples of a relation are kept."""
        kept, dropped = _patterns(self.keep), _patterns(self.drop)
        in_namespace = self.node_test()

        def test(relation: str) -> bool:
            if self.relations is not None and relation not in self.relations:
                return False
            if (kept is not None and not kept(relation)) or (
                dropped is not None and dropped(relation)
            ):
                return False
            return in_namespace is None or in_namespace(relation)

        return lambda relation: all(map(test, relation.split(FLATTENED)))

    def node_test(self) -> Callable[[str], bool] | None:
        """Return whether a node (not a literal) is in a namespace that is kept; `None` for all."""
        if not self.namespaces:
            return None
        freebase, beginnings = FREEBASE in self.namespaces, self.namespaces
        return lambda node: node.startswith(beginnings) or (freebase and ":" not in node)

    def language_test(self) -> Callable[[str], bool] | None:
        """Return whether texts with that language tag (`""` for none) are kept; `None` for all."""
        if not self.languages:
            return None
        wanted = {language.lower() for language in self.languages}
        return lambda tag: not tag or tag in wanted or tag.partition("-")[0] in wanted


def _patterns(patterns: tuple[str, ...]) -> Callable[[str], bool] | None:
    if not patterns:
        return None
    match = re.compile("|".join(map(fnmatch.translate, patterns))).match
    return lambda relation: match(relation) is not None


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
