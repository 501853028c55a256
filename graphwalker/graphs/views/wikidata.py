"""Wikidata on any backend: QIDs, readable properties, statements as mediators, qualifiers."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from graphwalker.graphs.base import (
    BatchedGraph,
    Direction,
    Entity,
    KnowledgeGraph,
    OverGraph,
    Side,
    Step,
    Triple,
)
from graphwalker.graphs.views.filtered import FilteredGraph

if TYPE_CHECKING:
    from graphwalker.graphs.sparql.terms import Vocabulary


ENTITY = "http://www.wikidata.org/entity/"
STATEMENT = f"{ENTITY}statement/"
VALUE = "http://www.wikidata.org/prop/statement/"
"""What stands before the PID in the relation from a statement to its main value."""


class StatementGraph(OverGraph, BatchedGraph):
    """A graph of Wikidata's IRIs whose statements are called by what they say: `educated at: St
    John's College`. An agent walks to one and finds its qualifiers there, and there only.

    The names of all statements in an answer cost two batched calls. They are for display: `resolve`
    does not find them.
    """

    def __init__(self, graph: KnowledgeGraph) -> None:
        super().__init__(graph)
        self._labels: dict[str, str] = {}

    def leads_to_cvts(self, relation: str, direction: Direction) -> bool:
        return False

    def is_cvt_end(self, end: Entity, relation: str, direction: Direction) -> bool:
        return False

    def name(self, entity_id: str) -> str:
        return self.names_many([entity_id])[0]

    def names_many(self, entity_ids: Sequence[str]) -> list[str]:
        plain = self.graph.names_many(entity_ids)
        names = self._names(entity_ids)
        return [names.get(one, name) for one, name in zip(entity_ids, plain, strict=True)]

    def neighbors_many(self, steps: Sequence[Step]) -> list[list[Entity]]:
        found = self.graph.neighbors_many(steps)
        names = self._names(end.id for ends in found for end in ends)
        return [[_rename(end, names) for end in ends] for ends in found]

    def triples_many(
        self,
        sides: Sequence[Side],
        relations: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[list[Triple]]:
        found = self.graph.triples_many(sides, relations, limit)
        names = self._names(e.id for triples in found for t in triples for e in (t.head, t.tail))
        return [
            [Triple(_rename(t.head, names), t.relation, _rename(t.tail, names)) for t in triples]
            for triples in found
        ]

    def _names(self, entity_ids: Iterable[str]) -> dict[str, str]:
        """Return the names of those that are statements with a value."""
        wanted = list(dict.fromkeys(i for i in entity_ids if i.startswith(STATEMENT)))
        if not wanted:
            return {}
        around = self.graph.triples_many([Side(one, Direction.OUT) for one in wanted])
        values = {
            one: next((t for t in triples if t.relation.startswith(VALUE)), None)
            for one, triples in zip(wanted, around, strict=True)
        }
        found = {one: triple for one, triple in values.items() if triple is not None}
        self._learn(triple.relation.removeprefix(VALUE) for triple in found.values())
        return {one: self._statement_name(triple) for one, triple in found.items()}

    def _statement_name(self, triple: Triple) -> str:
        pid = triple.relation.removeprefix(VALUE)
        return f"{self._labels[pid] or pid}: {triple.tail.name or triple.tail.id}"

    def _learn(self, pids: Iterable[str]) -> None:
        """Ask the graph for the labels of properties that have none yet, all in one call."""
        new = sorted(set(pids) - self._labels.keys())
        if new:
            self._labels |= property_labels(self.graph, new)


def property_labels(graph: KnowledgeGraph, pids: Sequence[str]) -> dict[str, str]:
    """Return the labels of properties: the graph's own, else those of the properties used most,
    which a dump of direct values lacks; `""` for others."""
    own = graph.names_many([ENTITY + pid for pid in pids])
    return {pid: name or usual_labels().get(pid, "") for pid, name in zip(pids, own, strict=True)}


@cache
def usual_labels() -> dict[str, str]:
    """Return the English labels of the properties that Wikidata uses most."""
    text = Path(__file__).with_name("wikidata_properties.tsv").read_text(encoding="utf-8")
    return dict(line.split("\t") for line in text.splitlines())


def _rename(entity: Entity, names: dict[str, str]) -> Entity:
    return Entity(entity.id, names[entity.id]) if entity.id in names else entity


PROPERTIES = {
    "wdt": "http://www.wikidata.org/prop/direct/",
    "p": "http://www.wikidata.org/prop/",
    "ps": "http://www.wikidata.org/prop/statement/",
    "pq": "http://www.wikidata.org/prop/qualifier/",
}
"""Direct values; from an entity to a statement; a statement's value; a statement's qualifiers."""
SHOWN = ("wdt", "p", "pq")
"""Direct values and qualifiers. The main value of a statement is what `wdt` says already."""
INSTANCE_OF = f"{PROPERTIES['wdt']}P31"

_ITEM = re.compile(r"[QPL][1-9][0-9]*")
_RELATION = re.compile(r"(wdt|p|ps|pq)\.(P[1-9][0-9]*)(?:\.\w*)?")
_IRI = re.compile(r"http://www\.wikidata\.org/prop/(direct/|statement/|qualifier/|)(P[1-9][0-9]*)")
_KINDS = {iri.removeprefix(PROPERTIES["p"]): kind for kind, iri in PROPERTIES.items()}
_NO_LABELS: Mapping[str, str] = MappingProxyType({})


class WikidataGraph(OverGraph, BatchedGraph):
    """A graph of Wikidata's IRIs as an agent can read it: `Q42` for the entity's IRI, and
    `wdt.P19.place_of_birth` for a property's; a qualifier of a statement is the flattened
    `p.P39.position_held..pq.P580.start_time`.

    `shown` are the kinds of properties listed: `wdt`, `p`, `ps`, `pq`. With `ps` all statements
    are shown, the deprecated and outdated ones too, where `wdt` holds the best ranked only.
    `statements` are walked to instead of flattened: `p.P39.position_held` leads to nodes such as
    `position held: senator`, each with its own `pq.P580.start_time`.
    `labels` are property labels by PID; those missing are asked of the graph, once each, and what
    it does not name either has its usual label where the property is among those used most.
    Entities of one relation come in the order of their IRIs.
    """

    def __init__(
        self,
        graph: KnowledgeGraph,
        shown: Sequence[str] = SHOWN,
        labels: Mapping[str, str] = _NO_LABELS,
        statements: bool = False,
    ) -> None:
        under = StatementGraph(graph) if statements else graph
        super().__init__(_Statements(under, shown, mediators=not statements))
        self._labels = dict(labels)

    def leads_to_cvts(self, relation: str, direction: Direction) -> bool:
        """Statements stand at the end of `p` and at the beginning of `ps` and `pq`."""
        return self.graph.leads_to_cvts(inner_relation(relation), direction)

    def is_cvt_end(self, end: Entity, relation: str, direction: Direction) -> bool:
        """Take a statement for a mediator unless it is walked to, as `leads_to_cvts`."""
        return self.graph.is_cvt_end(end, inner_relation(relation), direction)

    def entity_at(self, index: int) -> Entity:
        return _outer_entity(self.graph.entity_at(index))

    def relation_ids(self) -> list[str]:
        relations = self.graph.relation_ids()
        self._learn(relations)
        return sorted(map(self._outer, relations))

    def resolve(self, name: str) -> list[Entity]:
        return _outer_entities(self.graph.resolve(name))

    def name(self, entity_id: str) -> str:
        return self.graph.name(inner_id(entity_id))

    def names_many(self, entity_ids: Sequence[str]) -> list[str]:
        return self.graph.names_many([inner_id(one) for one in entity_ids])

    def types(self, entity_id: str) -> list[str]:
        """Return what the entity is an instance of (P31), as QIDs."""
        found = self.graph.neighbors(inner_id(entity_id), INSTANCE_OF, Direction.OUT)
        return sorted(outer_id(one.id) for one in found)

    def relations_many(self, sides: Sequence[Side]) -> list[list[tuple[str, int]]]:
        found = self.graph.relations_many([Side(inner_id(i), d) for i, d in sides])
        self._learn(relation for relations in found for relation, _ in relations)
        return [sorted((self._outer(r), n) for r, n in relations) for relations in found]

    def count(self, entity_id: str, relation: str, direction: Direction) -> int:
        return self.graph.count(inner_id(entity_id), inner_relation(relation), direction)

    def neighbors_many(self, steps: Sequence[Step]) -> list[list[Entity]]:
        inner = [Step(inner_id(s.entity_id), inner_relation(s[1]), *s[2:]) for s in steps]
        return [_outer_entities(found) for found in self.graph.neighbors_many(inner)]

    def triples_many(
        self,
        sides: Sequence[Side],
        relations: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[list[Triple]]:
        inner = None if relations is None else [inner_relation(one) for one in relations]
        found = self.graph.triples_many([Side(inner_id(i), d) for i, d in sides], inner, limit)
        self._learn(triple.relation for triples in found for triple in triples)
        return [
            [
                Triple(_outer_entity(t.head), self._outer(t.relation), _outer_entity(t.tail))
                for t in triples
            ]
            for triples in found
        ]

    def _learn(self, relations: Iterable[str]) -> None:
        """Ask the graph for the labels of properties that have none yet, all in one call."""
        pids = {match[2] for r in relations if (match := _IRI.fullmatch(r))}
        new = sorted(pids - self._labels.keys())
        if new:
            self._labels |= property_labels(self.graph, new)

    def _outer(self, relation: str) -> str:
        match = _IRI.fullmatch(relation)
        if match is None:
            return relation
        words = "_".join(re.findall(r"\w+", self._labels.get(match[2], "")))
        return f"{_KINDS[match[1]]}.{match[2]}" + (f".{words}" if words else "")


class _Statements(FilteredGraph):
    """The graph of IRIs, with the wanted kinds of properties and with statements as mediators."""

    def __init__(self, graph: KnowledgeGraph, shown: Sequence[str], mediators: bool) -> None:
        super().__init__(graph)
        self._shown, self._mediators = frozenset(shown), mediators

    def keeps_relation(self, relation: str) -> bool:
        return _kind(relation) in self._shown

    def leads_to_cvts(self, relation: str, direction: Direction) -> bool:
        kind = _kind(relation) if self._mediators else ""
        return kind == "p" if direction == Direction.OUT else kind in ("ps", "pq")

    def is_cvt_end(self, end: Entity, relation: str, direction: Direction) -> bool:
        return self.leads_to_cvts(relation, direction)


def outer_id(entity_id: str) -> str:
    """`Q42` for its IRI; other ids (literals, statements, foreign IRIs) stay as they are."""
    short = entity_id.removeprefix(ENTITY)
    return short if _ITEM.fullmatch(short) else entity_id


def inner_id(entity_id: str) -> str:
    """Return the IRI of `Q42` (or `wd:Q42`); other ids stay as they are."""
    short = entity_id.removeprefix("wd:")
    return ENTITY + short if _ITEM.fullmatch(short) else entity_id


def inner_relation(relation: str) -> str:
    """Return the IRI of `wdt.P19.place_of_birth`; its label is not looked at."""
    match = _RELATION.fullmatch(relation)
    return PROPERTIES[match[1]] + match[2] if match else relation


def _kind(relation: str) -> str:
    match = _IRI.fullmatch(relation)
    return _KINDS[match[1]] if match else ""


def _outer_entity(entity: Entity) -> Entity:
    return Entity(outer_id(entity.id), entity.name)


def _outer_entities(found: Sequence[Entity]) -> list[Entity]:
    return [_outer_entity(entity) for entity in found]


def vocabulary() -> "Vocabulary":
    """Return how Wikidata's endpoints name and type things, for `SparqlGraph`."""
    from graphwalker.graphs.sparql.terms import RDFS_LABEL, Vocabulary

    # Of more than a hundred languages only these names are looked up.
    return Vocabulary(name=RDFS_LABEL, type=INSTANCE_OF, hidden=(), languages=("en", "mul"))
