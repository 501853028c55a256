"""Steps over SPARQL: the entities along relations, plain or flattened, in one request.

What comes out is what `flatten.step` and `neighbors` give on any other graph.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum

from graphwalker.graphs.base import FLATTENED, AtLeast, Direction, Entity, Step
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.sparql.answers import RowReader, count_in, is_nameless
from graphwalker.graphs.sparql.batch import BranchBatch
from graphwalker.graphs.sparql.client import SparqlClient
from graphwalker.graphs.sparql.listing import CountedRelations
from graphwalker.graphs.sparql.patterns import Patterns
from graphwalker.graphs.sparql.terms import Vocabulary

SPARE = 11
"""Entities asked for beyond a limit, in the place of nameless ones that are not shown."""
TOGETHER = 150
"""Entities per branch that are asked about at once."""


class _Take(IntEnum):
    """Which ends a step takes."""

    FEW = 0
    """All of them, as they come: fewer than may be shown."""
    FIRST = 1
    """Those of the least ids."""
    ANY = 2
    """Any: they are too many to be put into order. Of a flattened hop the first ones behind any
    thousand CVT nodes."""


class Stepper:
    """Takes steps from entities, in one vocabulary."""

    def __init__(
        self,
        client: SparqlClient,
        vocabulary: Vocabulary,
        patterns: Patterns,
        ordered: int,
        counted: CountedRelations,
    ) -> None:
        """Take any ends of a relation with more than `ordered`, not the first by id. What was
        listed a moment ago is known from `counted`."""
        self._client, self._vocabulary, self._patterns = client, vocabulary, patterns
        self._iri = vocabulary.known_iri
        self._ordered, self._counted = ordered, counted
        self._read = RowReader(vocabulary)

    def neighbors_many(self, steps: Sequence[Step]) -> list[list[Entity]]:
        """`neighbors` of each step, nameless nodes among them."""
        wanted = [step for step in dict.fromkeys(steps) if self._is_askable(step, step.relation)]
        found = self._all_ends([step for step in wanted if step.limit is None])
        limits = {step: step.limit for step in wanted if step.limit is not None}
        found.update(self._ends(limits))
        cut = [step for step in limits if _order_is_unsure(found[step], step.limit)]
        found.update(self._ends(dict.fromkeys(cut)))
        return [found.get(step, [])[: step.limit] for step in steps]

    def step_many(self, steps: Sequence[Step]) -> list[list[Entity]]:
        """`cvt.step_many`: no CVT nodes among the ends, flattened hops across them."""
        results: dict[Step, list[Entity]] = {}
        limits = {step: None if step.limit is None else step.limit + SPARE for step in steps}
        takes = self._takes(limits)
        while limits:
            more: dict[Step, int | None] = {}
            for step, ends in self._hops(limits, takes).items():
                limit, take = limits[step], takes[step]
                kept = [end for end in ends if not is_nameless(end)]
                enough = limit is None or len(ends) < limit or len(kept) >= (step.limit or 0)
                if take is _Take.ANY and FLATTENED in step.relation:
                    enough = len(kept) >= (step.limit or 0)
                if take is _Take.FEW and limit is not None and len(ends) >= limit:
                    more[step], takes[step] = limit, _Take.FIRST
                elif take is _Take.FIRST and _order_is_unsure(ends, limit):
                    more[step] = None
                elif enough:
                    results[step] = kept[: step.limit]
                elif take is _Take.ANY and FLATTENED in step.relation:
                    more[step], takes[step] = limit, _Take.FIRST
                else:
                    more[step] = max(64, (limit or 0) * 4)
            limits = more
        return [results[step] for step in steps]

    def _takes(self, limits: Mapping[Step, int | None]) -> dict[Step, _Take]:
        """Return which of its ends each step takes: by their number, as it was listed a moment ago.
        A plain relation that was not listed is counted, as far as need be."""
        takes: dict[Step, _Take] = {}
        batch = BranchBatch(self._client)
        places: dict[Step, int] = {}
        for step, limit in limits.items():
            takes[step], known = _Take.FIRST, self._counted.count_of(step)
            if limit is None:
                continue
            if known is not None:
                takes[step] = self._take(known, limit)
            elif self._is_askable(step, step.relation):
                entity = batch.term(self._iri(step.entity_id))
                relation = batch.term(self._iri(step.relation))
                most = self._ordered + 1
                branch = self._patterns.count_up_to(entity, relation, step.direction, most)
                places[step] = batch.add(branch)
        found = batch.run()
        for step, place in places.items():
            if sum(count_in(row, "n") for row in found[place]) > self._ordered:
                takes[step] = _Take.ANY
        return takes

    def _take(self, count: int, limit: int) -> _Take:
        if count > self._ordered or isinstance(count, AtLeast):
            return _Take.ANY
        return _Take.FEW if count < limit else _Take.FIRST

    def _hops(
        self, limits: Mapping[Step, int | None], takes: Mapping[Step, _Take]
    ) -> dict[Step, list[Entity]]:
        """Return the ends of each step, up to so many; a stored `a..b` wins over a crossing."""
        # Beside others in one text, Virtuoso 7.2.5 plans a crossing of many CVT nodes so that it
        # takes four times as long as by itself.
        alone = [step for step in limits if self._crosses_many(step, takes[step])]
        found: dict[Step, list[Entity]] = {}
        for some in ([step for step in limits if step not in alone], *([step] for step in alone)):
            found.update(self._hops_together(some, limits, takes))
        return {step: found.get(step, []) for step in limits}

    def _crosses_many(self, step: Step, take: _Take) -> bool:
        count = self._counted.count_of(step) or 0
        return FLATTENED in step.relation and (take is _Take.ANY or count > TOGETHER)

    def _hops_together(
        self, steps: Sequence[Step], limits: Mapping[Step, int | None], takes: Mapping[Step, _Take]
    ) -> dict[Step, list[Entity]]:
        batch = BranchBatch(self._client)
        plain: dict[Step, int] = {}
        across: dict[Step, int] = {}
        # In an order of kinds: few texts for many calls, and each is planned once.
        for step in sorted(steps, key=lambda s: _kind(s, limits[s], takes[s])):
            limit, take = limits[step], takes[step]
            near, far = _halves(step)
            is_stored = self._counted.is_stored(step) if far else True
            if is_stored is not False and self._is_askable(step, step.relation):
                plain[step] = self._add_ends(batch, step, limit, take)
            halves = [self._is_askable(step, half) for half in (near, far)]
            if far and is_stored is not True and all(halves):
                first, second = batch.term(self._iri(near)), batch.term(self._iri(far))
                here = batch.term(self._iri(step.entity_id))
                of_any, in_order = take is _Take.ANY, take is not _Take.FEW
                branch = self._patterns.across(
                    here, first, second, step.direction, limit, of_any, in_order
                )
                across[step] = batch.add(branch)
        found = batch.run()
        ends = {step: self._read.entities(found[place]) for step, place in plain.items()}
        for step, place in across.items():
            ends[step] = ends.get(step) or self._read.entities(found[place])
        return ends

    def _ends(self, limits: Mapping[Step, int | None]) -> dict[Step, list[Entity]]:
        batch = BranchBatch(self._client)
        places = {s: self._add_ends(batch, s, limit, _Take.FIRST) for s, limit in limits.items()}
        found = batch.run()
        return {step: self._read.entities(found[place]) for step, place in places.items()}

    def _all_ends(self, steps: Iterable[Step]) -> dict[Step, list[Entity]]:
        """Return all ends of each step, many entities to a branch where they share a relation."""
        groups: dict[tuple[str, Direction], list[Step]] = {}
        for step in steps:
            groups.setdefault((step.relation, step.direction), []).append(step)
        batch = BranchBatch(self._client)
        places: list[tuple[int, list[Step]]] = []
        for (relation, direction), group in groups.items():
            for first in range(0, len(group), TOGETHER):
                some = group[first : first + TOGETHER]
                entities = " ".join(self._iri(step.entity_id) for step in some)
                term = batch.term(self._iri(relation))
                branch = self._patterns.ends_of(entities, term, direction)
                places.append((batch.add(branch), some))
        found = batch.run()
        results: dict[Step, list[Entity]] = {}
        for place, some in places:
            rows = self._read.by(found[place], "s")
            results.update((s, self._read.entities(rows.get(s.entity_id, ()))) for s in some)
        return results

    def _add_ends(self, batch: BranchBatch, step: Step, limit: int | None, take: _Take) -> int:
        entity = batch.term(self._iri(step.entity_id))
        relation = batch.term(self._iri(step.relation))
        if take is _Take.ANY and limit is not None:
            return batch.add(self._patterns.some_ends(entity, relation, step.direction, limit))
        in_order = take is not _Take.FEW
        return batch.add(self._patterns.ends(entity, relation, step.direction, limit, in_order))

    def _is_askable(self, step: Step, relation: str) -> bool:
        iri = self._vocabulary.iri
        known = iri(step.entity_id) is not None and iri(relation) is not None
        return known and not self._vocabulary.hides(relation) and step.limit != 0


def _kind(step: Step, limit: int | None, take: _Take) -> tuple[bool, str, int, int]:
    return FLATTENED in step.relation, str(step.direction), take, limit or 0


def _halves(step: Step) -> tuple[str, str]:
    """Get the relation next to the entity and the one behind the CVT node, `""` for a plain hop."""
    first, joined, second = step.relation.partition(FLATTENED)
    if not joined:
        return first, ""
    return (first, second) if step.direction == Direction.OUT else (second, first)


def _order_is_unsure(ends: Sequence[Entity], limit: int | None) -> bool:
    """True where an endpoint cut a list of literals: their ids are ordered here, not there."""
    return limit is not None and len(ends) >= limit and any(is_literal(end.id) for end in ends)
