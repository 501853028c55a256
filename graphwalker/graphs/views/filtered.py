"""Views that hide some relations or triples of a graph, and the incomplete graph made by one."""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType

from graphwalker.errors import UserError
from graphwalker.files import read_columns
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

LOOKED_AT = 10_000
"""Triples of one relation looked at to count what a view hides; those beyond count as shown."""


class FilteredGraph(OverGraph, BatchedGraph):
    """Shows `graph` without what `keeps_relation` and `keeps` refuse; a subclass overrides them.

    Counts are exact up to `LOOKED_AT` triples of one relation, and upper bounds beyond.
    Batched calls stay batched, so a view over an endpoint costs a few round trips, not hundreds.
    """

    def keeps_relation(self, relation: str) -> bool:
        """Return whether triples of that relation are shown at all."""
        return True

    def sifts(self, relation: str, direction: Direction) -> bool:
        """Return whether some triples of that relation may be hidden, seen from that side."""
        return False

    def keeps(self, head_id: str, relation: str, tail_id: str) -> bool:
        """Return whether that triple is shown; asked only where `sifts`."""
        return True

    def leads_to_cvts(self, relation: str, direction: Direction) -> bool:
        return self.graph.leads_to_cvts(relation, direction)

    def is_cvt_end(self, end: Entity, relation: str, direction: Direction) -> bool:
        return self.graph.is_cvt_end(end, relation, direction)

    def is_cvt(self, entity: Entity) -> bool:
        return self.graph.is_cvt(entity)

    def inverse_of(self, relation: str) -> str:
        return self.graph.inverse_of(relation)

    def relation_ids(self) -> list[str]:
        return [relation for relation in self.graph.relation_ids() if self.keeps_relation(relation)]

    def relations_many(self, sides: Sequence[Side]) -> list[list[tuple[str, int]]]:
        listed = [
            [(r, n) for r, n in relations if self.keeps_relation(r)]
            for relations in self.graph.relations_many(sides)
        ]
        looks = [
            Step(side.entity_id, relation, side.direction, LOOKED_AT)
            for side, relations in zip(sides, listed, strict=True)
            for relation, _ in relations
            if self.sifts(relation, side.direction)
        ]
        gone = self._hidden_counts(looks)
        counted = [
            [(r, n - gone.get(Step(*_look_at(side, r)), 0)) for r, n in relations]
            for side, relations in zip(sides, listed, strict=True)
        ]
        return [[(r, n) for r, n in relations if n > 0] for relations in counted]

    def count(self, entity_id: str, relation: str, direction: Direction) -> int:
        if not self.keeps_relation(relation):
            return 0
        count = self.graph.count(entity_id, relation, direction)
        if not count or not self.sifts(relation, direction):
            return count
        look = Step(entity_id, relation, direction, LOOKED_AT)
        return count - self._hidden_counts([look])[look]

    def neighbors_many(self, steps: Sequence[Step]) -> list[list[Entity]]:
        """Asks for more than is wanted where triples are hidden, and again until it is enough."""
        found: dict[Step, list[Entity]] = {s: [] for s in steps if not self.keeps_relation(s[1])}
        open_steps = {s: _widen(s, self.sifts(s[1], s[2])) for s in steps if s not in found}
        while open_steps:
            widened = list(open_steps.values())
            answers = self.graph.neighbors_many(widened) if widened else []
            for step, look, ends in zip(list(open_steps), widened, answers, strict=True):
                kept = self._sift(step, ends)
                enough = step.limit is None or len(kept) >= step.limit
                if enough or look.limit is None or len(ends) < look.limit:
                    found[step] = kept[: step.limit]
                    del open_steps[step]
                else:
                    open_steps[step] = look._replace(limit=look.limit * 4)
        return [list(found[step]) for step in steps]

    def triples_many(
        self,
        sides: Sequence[Side],
        relations: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[list[Triple]]:
        kept = None if relations is None else [r for r in relations if self.keeps_relation(r)]
        if limit is None or not any(self.sifts(r, s.direction) for r in kept or () for s in sides):
            found = self.graph.triples_many(sides, kept, limit)
            return [
                [t for t in triples if self._shows(t, side.direction)]
                for side, triples in zip(sides, found, strict=True)
            ]
        return super().triples_many(sides, kept, limit)

    def _shows(self, triple: Triple, direction: Direction) -> bool:
        head, relation, tail = triple.head.id, triple.relation, triple.tail.id
        if not self.keeps_relation(relation):
            return False
        return not self.sifts(relation, direction) or self.keeps(head, relation, tail)

    def _sift(self, step: Step, ends: list[Entity]) -> list[Entity]:
        if not self.sifts(step.relation, step.direction):
            return ends
        if step.direction == Direction.OUT:
            return [e for e in ends if self.keeps(step.entity_id, step.relation, e.id)]
        return [e for e in ends if self.keeps(e.id, step.relation, step.entity_id)]

    def _hidden_counts(self, looks: list[Step]) -> dict[Step, int]:
        found = self.graph.neighbors_many(looks) if looks else []
        return {
            look: len(ends) - len(self._sift(look, ends))
            for look, ends in zip(looks, found, strict=True)
        }


def _look_at(side: Side, relation: str) -> tuple[str, str, Direction, int]:
    return (side.entity_id, relation, side.direction, LOOKED_AT)


def _widen(step: Step, sifted: bool) -> Step:
    """Return what to ask for at first: twice as many, and a few, where some may be hidden."""
    if step.limit is None or not sifted:
        return step
    return step._replace(limit=max(8, step.limit * 2))


_NO_INVERSES: Mapping[str, str] = MappingProxyType({})
IdTriple = tuple[str, str, str]


class HiddenGraph(FilteredGraph):
    """`graph` as if some facts had never been entered (the setting of Generate-on-Graph).

    `share` (0 to 1) of the triples are hidden, drawn for each triple from `seed` and its three
    ids: the same on every backend, from either end, in any order. `triples` are hidden besides.
    With `inverses` (relation -> its inverse) a fact and its inverse are hidden together.
    """

    def __init__(
        self,
        graph: KnowledgeGraph,
        share: float = 0.0,
        seed: int = 0,
        triples: Iterable[IdTriple] = (),
        inverses: Mapping[str, str] = _NO_INVERSES,
    ) -> None:
        if not 0 <= share <= 1:
            raise UserError(f"the share of hidden triples must be between 0 and 1, not {share}")
        super().__init__(graph)
        self._below = round(share * 2**64)
        self._salt = seed.to_bytes(8, "big", signed=True)
        self._inverses = inverses
        self._hidden = {self._canonical(*triple) for triple in triples}
        self._relations = {relation for _, relation, _ in self._hidden}

    def sifts(self, relation: str, direction: Direction) -> bool:
        return self._below > 0 or bool(self._relations & {relation, self._inverses.get(relation)})

    def keeps(self, head_id: str, relation: str, tail_id: str) -> bool:
        fact = self._canonical(head_id, relation, tail_id)
        return fact not in self._hidden and (not self._below or self._draw(fact) >= self._below)

    def _canonical(self, head: str, relation: str, tail: str) -> IdTriple:
        """Return one form for a fact and its inverse."""
        inverse = self._inverses.get(relation)
        return (
            (head, relation, tail)
            if inverse is None
            else min((head, relation, tail), (tail, inverse, head))
        )

    def _draw(self, fact: IdTriple) -> int:
        text = "\t".join(fact).encode("utf-8", "surrogatepass")
        return int.from_bytes(blake2b(text, digest_size=8, salt=self._salt).digest(), "big")


def read_facts(path: Path | str) -> list[IdTriple]:
    """Triples of ids, one `head<TAB>relation<TAB>tail` on each line. Raises `UserError`."""
    return [(h, r, t) for h, r, t in read_columns(path, "head", "relation", "tail")]
