"""Freebase on any backend: mediators by schema, whitelists, skip lists, languages, aliases."""

import fnmatch
import re
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache

from graphwalker.graphs.base import FLATTENED, Direction, Entity, KnowledgeGraph
from graphwalker.graphs.literals import is_literal, literal_name
from graphwalker.graphs.names import names_nothing
from graphwalker.graphs.ntriples import FREEBASE, language
from graphwalker.graphs.views.filtered import FilteredGraph
from graphwalker.graphs.views.freebase_schema import FreebaseSchema

ALIAS = "common.topic.alias"
_MID = re.compile(r"[mg]\.[0-9a-z_]+")
_NO_SCHEMA = FreebaseSchema()


class FreebaseGraph(FilteredGraph):
    """`graph` as Freebase is meant to be read.

    `schema`: CVT nodes are those at the mediated ends of relations, so an entity that merely has
    no name stays an entity; for relations that the schema does not know, a node without a name
    is a CVT node. `predicates`: the only relations shown; of a flattened one both halves must be
    among them. `skip`: patterns of relations that are hidden (`*` stands for anything).
    `languages`: texts tagged with other languages are hidden; empty: all are shown.
    """

    def __init__(
        self,
        graph: KnowledgeGraph,
        schema: FreebaseSchema = _NO_SCHEMA,
        predicates: Collection[str] | None = None,
        skip: Sequence[str] = (),
        languages: Sequence[str] = (),
    ) -> None:
        super().__init__(graph)
        self.schema = schema
        self._languages = frozenset(tag.lower() for tag in languages)
        self._keeps_relation = relation_test(predicates, skip)

    def keeps_relation(self, relation: str) -> bool:
        return self._keeps_relation(relation)

    def sifts(self, relation: str, direction: Direction) -> bool:
        if not self._languages or direction == Direction.IN:
            return False
        kind = self.schema.end_type(relation.rpartition(FLATTENED)[2], Direction.OUT)
        return not kind or kind.startswith("type.")

    def keeps(self, head_id: str, relation: str, tail_id: str) -> bool:
        return not is_literal(tail_id) or (language(tail_id) or "") in {"", *self._languages}

    def leads_to_cvts(self, relation: str, direction: Direction) -> bool:
        known = self.schema.ends_at_cvts(relation, direction)
        return super().leads_to_cvts(relation, direction) if known is None else known

    def is_cvt_end(self, end: Entity, relation: str, direction: Direction) -> bool:
        known = self.schema.ends_at_cvts(relation, direction)
        return super().is_cvt_end(end, relation, direction) if known is None else known

    def is_cvt(self, entity: Entity) -> bool:
        """By its types where it has some that the schema knows of, else by the lack of a name."""
        if is_literal(entity.id):
            return False
        types = self.types(entity.id)
        if self.schema.mediators and types:
            return not self.schema.mediators.isdisjoint(types)
        return names_nothing(entity.name) and names_nothing(self.name(entity.id))

    def aliases(self, entity_id: str) -> list[str]:
        """Its other names in the languages shown (`common.topic.alias`), each once, in id order."""
        found = self.graph.neighbors(entity_id, ALIAS, Direction.OUT)
        texts = [e.id for e in found if is_literal(e.id) and self.keeps(entity_id, ALIAS, e.id)]
        return list(dict.fromkeys(map(literal_name, texts)))

    def inverse_of(self, relation: str) -> str:
        return self.schema.inverse_of(relation)


def relation_test(predicates: Collection[str] | None, skip: Sequence[str]) -> Callable[[str], bool]:
    """Whether a relation, or each half of a flattened one, is wanted and not skipped."""
    wanted = None if predicates is None else frozenset(predicates)
    skipped = re.compile("|".join(map(fnmatch.translate, skip)) or r"(?!)").match

    @lru_cache(maxsize=65_536)
    def keeps(relation: str) -> bool:
        if wanted is not None and relation in wanted:
            return not skipped(relation)
        halves = relation.split(FLATTENED)
        return all((wanted is None or h in wanted) and not skipped(h) for h in halves)

    return keeps


def machine_id(text: str) -> str:
    """The MID or relation id behind any usual spelling; other texts come back as they are.

    >>> machine_id("http://rdf.freebase.com/ns/m.02mjmr"), machine_id("/m/02mjmr")
    ('m.02mjmr', 'm.02mjmr')
    """
    short = text.strip().removeprefix("<").removesuffix(">").removeprefix(FREEBASE)
    short = short.removeprefix("ns:").removeprefix("fb:")
    if short.startswith("/"):
        dotted = short.strip("/").replace("/", ".")
        short = dotted if _MID.fullmatch(dotted) else short
    return short
