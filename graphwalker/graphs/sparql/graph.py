"""A knowledge graph behind SPARQL endpoints: Virtuoso with Freebase, Wikidata, or any other."""

import logging
from collections.abc import Callable, Sequence
from typing import Any

from graphwalker.graphs.base import BatchedGraph, Direction, Entity, Side, Step, Triple
from graphwalker.graphs.literals import is_literal, literal_name
from graphwalker.graphs.names import fold
from graphwalker.graphs.sparql.answers import RowReader, count_in
from graphwalker.graphs.sparql.batch import BranchBatch
from graphwalker.graphs.sparql.client import SparqlClient
from graphwalker.graphs.sparql.listing import EDGES, ORDERED, CountedRelations, EndpointLister
from graphwalker.graphs.sparql.patterns import Patterns
from graphwalker.graphs.sparql.steps import TOGETHER, Stepper
from graphwalker.graphs.sparql.terms import RDF_TYPE, RDFS_LABEL, Vocabulary, text
from graphwalker.graphs.triples import direction_of, triple

log = logging.getLogger(__name__)

FREEBASE_VOCABULARY = Vocabulary()
LABEL_VOCABULARY = Vocabulary(name=RDFS_LABEL, type=RDF_TYPE)
"""Of RDF that is not Freebase's."""


class SparqlGraph(BatchedGraph):
    """A `KnowledgeGraph` over one or several endpoints (addresses, separated by white space).

    Every batched call, and every tool call's listing or step with its CVT nodes, is one request;
    hubs and lists of many may need a second. Only SELECT is ever sent. All options of
    `SparqlClient` (named graph, credentials, time-out, attempts) may be given by name.
    An answer that is missing, late or cut short raises `GraphError`, never an empty result.

    `listed_edges`: a side with more edges than that is a hub. What its relations lead to is known
    from probes of the relations, CVT nodes are looked for among any thousand ends of each, and
    counts that were not finished are an `AtLeast`.
    `ordered_ends`: of a relation with more ends than that at one entity, `step` shows any, not
    those of the least ids: to put a million ends into order takes a server seconds. `neighbors`
    keeps its order whatever that costs.

    `resolve` finds names by case where the graph has an index of folded names
    (`graphwalker virtuoso load` adds one); without it only exact names, in the languages of the
    vocabulary: a filter over all names would take minutes.
    """

    is_remote = True

    def __init__(
        self,
        endpoint: str | Sequence[str],
        vocabulary: Vocabulary = FREEBASE_VOCABULARY,
        listed_edges: int = EDGES,
        ordered_ends: int = ORDERED,
        **options: Any,
    ) -> None:
        addresses = endpoint.split() if isinstance(endpoint, str) else list(endpoint)
        self.client = SparqlClient(addresses, **options)
        named = self.client.default_graph
        self.checksum = self._place = " ".join(addresses) + (f"#{named}" if named else "")
        self.vocabulary, self._iri = vocabulary, vocabulary.iri
        self._patterns = Patterns(vocabulary, one_graph=bool(self.client.default_graph))
        self._read = RowReader(vocabulary)
        self._lister = EndpointLister(self.client, vocabulary, self._patterns, listed_edges)
        self._counted = CountedRelations()
        self._stepper = Stepper(
            self.client, vocabulary, self._patterns, ordered_ends, self._counted
        )
        self._warned = False

    def info(self) -> dict[str, int | str]:
        """Return where it is, and its triples where `graphwalker virtuoso load` counted them.
        Raises `GraphError` for an endpoint that does not answer, or holds nothing."""
        self.client.rows("SELECT ?s WHERE { ?s ?p ?o } LIMIT 1")
        proof = self.client.proof
        counted = int(proof.triples) if proof and proof.triples.isdigit() else "not counted"
        return {"endpoint": self._place, "triples": counted}

    def has_names(self) -> bool:
        """Return whether any entity has a name in this vocabulary."""
        name = self._iri(self.vocabulary.name)
        return bool(self.client.rows(f"SELECT ?s WHERE {{ ?s {name} ?n }} LIMIT 1"))

    def sparql(self, query: str, timeout_s: float = 60.0) -> list[dict[str, Entity]] | bool:
        rows = self.client.rows(query)
        ids = dict.fromkeys(self.vocabulary.node_id(one) for row in rows for one in row.values())
        known = {i: Entity(i, n) for i, n in zip(ids, self.names_many(list(ids)), strict=True)}
        return [{v: known[self.vocabulary.node_id(one)] for v, one in r.items()} for r in rows]

    def resolve(self, name: str) -> list[Entity]:
        batch = BranchBatch(self.client)
        found = self._lookups(batch, name)
        if not found:
            return []
        names = batch.add(self._patterns.candidates(found))
        types = batch.add(self._patterns.type_counts(found))
        index = batch.add(self._patterns.has_index())
        rows = batch.run()
        self._warn_without_index(bool(rows[index]))
        best = self._read.entities(rows[names], "s")
        count = {self._read.id(row, "s"): count_in(row, "n") for row in rows[types]}
        folded = fold(name)
        known = [entity for entity in best if fold(entity.name) == folded]
        return sorted(known, key=lambda e: (e.name != name, -count.get(e.id, 0), e.id))

    def name(self, entity_id: str) -> str:
        return self.names_many([entity_id])[0]

    def count(self, entity_id: str, relation: str, direction: Direction) -> int:
        terms = self._iri(entity_id), self._iri(relation)
        if terms[0] is None or terms[1] is None or self.vocabulary.hides(relation):
            return 0
        batch = BranchBatch(self.client)
        batch.add(self._patterns.count(batch.term(terms[0]), batch.term(terms[1]), direction))
        return sum(count_in(row, "n") for row in batch.run()[0])

    def types(self, entity_id: str) -> list[str]:
        entity, kind = self._iri(entity_id), self._iri(self.vocabulary.type)
        if entity is None or kind is None:
            return []
        batch = BranchBatch(self.client)
        batch.add(f"SELECT ?x WHERE {{ {batch.term(entity)} {kind} ?x }}")
        found = {self._read.id(row, "x") for row in batch.run()[0]}
        return sorted(one for one in found if not is_literal(one))

    def names_many(self, entity_ids: Sequence[str]) -> list[str]:
        iris = [i for i in entity_ids if not is_literal(i)]
        batch = BranchBatch(self.client)
        self._add_portions(batch, iris, self._patterns.names)
        rows = [row for found in batch.run() for row in found]
        names = {entity.id: entity.name for entity in self._read.entities(rows, "s")}
        return [literal_name(i) if is_literal(i) else names.get(i, "") for i in entity_ids]

    def relations_many(self, sides: Sequence[Side]) -> list[list[tuple[str, int]]]:
        sides = _sides(sides)
        batch = BranchBatch(self.client)
        places = {
            direction: self._add_portions(
                batch,
                [i for i, d in sides if d is direction],
                lambda some, d=direction: self._patterns.relations_of(some, d),
            )
            for direction in Direction
        }
        found = batch.run()
        by_side = {
            Side(entity_id, direction): self._read.relations(rows)
            for direction, into in places.items()
            for place in into
            for entity_id, rows in self._read.by(found[place], "s").items()
        }
        return [by_side.get(Side(*side), []) for side in sides]

    def neighbors_many(self, steps: Sequence[Step]) -> list[list[Entity]]:
        return self._stepper.neighbors_many(_steps(steps))

    def triples_many(
        self,
        sides: Sequence[Side],
        relations: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[list[Triple]]:
        if limit is not None:
            return super().triples_many(sides, relations, limit)
        sides = _sides(sides)
        batch = BranchBatch(self.client)
        named = self._add_portions(batch, [i for i, _ in sides], self._patterns.names)
        iris = None if relations is None else list(filter(None, map(self._iri, relations)))
        around = {
            direction: self._add_portions(
                batch,
                [i for i, d in sides if d is direction],
                lambda some, d=direction: self._patterns.triples_of(some, d, iris),
            )
            for direction in Direction
        }
        found = batch.run()
        heads = {e.id: e for p in named for e in self._read.entities(found[p], "s")}
        rows = {
            Side(entity_id, direction): self._read.by(of_entity, "r")
            for direction, places in around.items()
            for place in places
            for entity_id, of_entity in self._read.by(found[place], "s").items()
        }
        return [
            [
                triple(heads.get(side[0], Entity(side[0])), relation, other, side[1])
                for relation in (
                    sorted(rows.get(Side(*side), ())) if relations is None else relations
                )
                if not self.vocabulary.hides(relation)
                for other in self._read.entities(rows.get(Side(*side), {}).get(relation, ()))
            ]
            for side in sides
        ]

    def flat_relations_many(self, sides: Sequence[Side]) -> list[list[tuple[str, int]]]:
        """`flatten.flat_relations_many`, in one request (two for hubs)."""
        sides = _sides(sides)
        askable = [side for side in dict.fromkeys(sides) if self._iri(side.entity_id) is not None]
        listed = dict(zip(askable, self._lister.flat_relations_many(askable), strict=True))
        self._counted.add(listed)
        return [listed[side].relations if side in listed else [] for side in sides]

    def step_many(self, steps: Sequence[Step]) -> list[list[Entity]]:
        """`flatten.step_many`, in one request (more where nameless nodes fill a list)."""
        steps = _steps(steps)
        found = self._stepper.step_many(steps)
        if doubtful := self._counted.find_contradictions(steps, found):
            again = dict(zip(doubtful, self._stepper.step_many(doubtful), strict=True))
            self._counted.refuse(again)
            found = [again.get(step, ends) for step, ends in zip(steps, found, strict=True)]
        return found

    def _lookups(self, batch: BranchBatch, name: str) -> str:
        """Return a pattern of `?s` for entities that may go by the name; `""` where none can."""
        pairs = [(self.vocabulary.folded, text(fold(name)))]
        pairs += [(self.vocabulary.name, text(name, tag)) for tag in self.vocabulary.languages]
        terms = [(self._iri(predicate), term) for predicate, term in pairs if term and name]
        return " UNION ".join(f"{{ ?s {iri} {batch.term(term)} }}" for iri, term in terms)

    def _warn_without_index(self, has_index: bool) -> None:
        if not has_index and not self._warned:
            self._warned = True
            log.warning("no index of folded names here: names are found as they are written only")

    def _add_portions(
        self, batch: BranchBatch, node_ids: Sequence[str], branch: Callable[[str], str]
    ) -> list[int]:
        """Add a branch for every so many entities; return their places."""
        iris = [iri for i in dict.fromkeys(node_ids) if (iri := self._iri(i)) is not None]
        portions = (iris[first : first + TOGETHER] for first in range(0, len(iris), TOGETHER))
        return [batch.add(branch(" ".join(some))) for some in portions]


def _sides(sides: Sequence[Side]) -> list[Side]:
    return [Side(entity_id, direction_of(direction)) for entity_id, direction in sides]


def _steps(steps: Sequence[Step]) -> list[Step]:
    return [Step(i, r, direction_of(direction), limit) for i, r, direction, limit in steps]
