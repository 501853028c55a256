"""Walks with a constraint: a short walk to several entities, and a bound between their values, or a
type that some of them have."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal
from itertools import combinations, pairwise

from data_pipeline.certificates import ids_of
from data_pipeline.walks.absent import ABSENT, sample_absent
from data_pipeline.walks.plausibility import reversed_hop
from data_pipeline.walks.sampler import Walk, Walker
from data_pipeline.wording.type_nouns import tells_apart
from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph
from graphwalker.graphs.literals import is_literal
from graphwalker.query.constraint import (
    CONSTRAINED,
    TYPE,
    Constraint,
    Operator,
    ValueKind,
    constraint_fault,
    filter_candidates,
    kind_of,
    literals_of,
)
from graphwalker.query.query import Branch, Hop, Query, execute

ONE_HOP_SHARE = 0.6
"""Share of constrained walks of one hop; the others have two."""
TYPE_ONE_HOP_SHARE = 0.8
"""The same of those that name a type."""
TYPE_TRIES = 10
"""Walks drawn in search of one that leads to things of several types: most lead to one."""
THAN_TRIES = 40
"""Entities drawn in search of one with the same kind of value to compare with."""


class ConstraintWalker(Walker):
    """Samples every structure: 3I, `CONSTRAINED` and `ABSENT`, too."""

    def sample(
        self, structure: str, rng: random.Random, avoided: frozenset[str] = frozenset()
    ) -> Walk | str:
        """Return a walk of the structure, or the reason why this attempt found none."""
        if structure == "3I":
            return sample_three(self, rng, avoided)
        if structure == ABSENT:
            return sample_absent(self, rng, avoided)
        if structure not in CONSTRAINED:
            return super().sample(structure, rng, avoided)
        reason = ""
        for _ in range(TYPE_TRIES if structure == "type" else 1):
            found = self._sample_constrained(structure, rng, avoided)
            if isinstance(found, Walk):
                return found
            reason = reason or found
        return reason

    def _sample_constrained(
        self, structure: str, rng: random.Random, avoided: frozenset[str]
    ) -> Walk | str:
        one_hop = TYPE_ONE_HOP_SHARE if structure == "type" else ONE_HOP_SHARE
        base = super().sample("1-hop" if rng.random() < one_hop else "2-hop", rng, avoided)
        if isinstance(base, str):
            return base
        most = self.rules.max_degree
        candidates = execute(self.graph, base.query, most).answers
        if not 1 < len(candidates) <= most:
            return "single_candidate" if len(candidates) < 2 else "frontier_too_wide"
        if structure == "type":
            made = self._of_a_type(base.query, candidates, rng)
            if isinstance(made, str):
                return made
            return Walk(structure, replace(base.query, constraint=made), base.visited)
        reason = "no_value"
        for relation, kind in self._relations_with_values(candidates[0], structure, rng):
            constraint = self._constraint(structure, relation, kind, candidates, rng)
            if isinstance(constraint, Constraint):
                query = replace(base.query, constraint=constraint)
                return Walk(structure, query, base.visited)
            reason = constraint
        return reason

    def _of_a_type(
        self, query: Query, candidates: Sequence[Entity], rng: random.Random
    ) -> Constraint | str:
        """Get one that keeps the candidates of a type by whose noun the others are not called."""
        types = {entity.id: self.graph.types(entity.id) for entity in candidates}
        kinds = {kind for found in types.values() for kind in found}
        apart = [k for k in sorted(kinds) if tells_apart(k, candidates, types.__getitem__)]
        if not apart:
            return "one_type"
        hop = query.branches[0].hops[-1]
        apart = [kind for kind in apart if self.rules.takes_type(hop, kind)]
        if not apart:
            return "no_wording"
        made = Constraint(TYPE, "type", "is", rng.choice(apart))
        return constraint_fault(self.graph, made, candidates) or made

    def _relations_with_values(
        self, entity: Entity, structure: str, rng: random.Random
    ) -> list[tuple[str, ValueKind]]:
        """Relations of the entity to one date or number, in random order."""
        found: list[tuple[str, ValueKind]] = []
        for relation in sorted(self.listed(entity.id).out):
            if not self.seeds.allows(relation):
                continue
            ends = self.graph.step(entity.id, relation, Direction.OUT, 2)
            kind = kind_of(ends[0].id) if len(ends) == 1 else None
            if kind and structure in (kind, "comparative", "superlative"):
                found.append((relation, kind))
        return rng.sample(found, len(found))

    def _constraint(
        self,
        structure: str,
        relation: str,
        kind: ValueKind,
        candidates: Sequence[Entity],
        rng: random.Random,
    ) -> Constraint | str:
        """Return one that every candidate has a value for, and that keeps some of them, not all."""
        if structure == "superlative":
            made = Constraint(relation, kind, rng.choice(("highest", "lowest")))
            return constraint_fault(self.graph, made, candidates) or made
        if structure == "comparative":
            return self._comparative(relation, kind, candidates, rng)
        values = [literals_of(self.graph, e.id, relation) for e in candidates]
        if any(len(found) != 1 for found in values):
            return "value_missing" if not all(values) else "value_ambiguous"
        made = _draw_bound(relation, kind, [found[0] for found in values], rng)
        if made is None:
            return "values_too_close"
        return constraint_fault(self.graph, made, candidates) or made

    def _comparative(
        self, relation: str, kind: ValueKind, candidates: Sequence[Entity], rng: random.Random
    ) -> Constraint | str:
        """Return one with an entity whose value lies between those of the candidates: drawn from
        the graph, else one of themselves."""
        operator: Operator = rng.choice(("above", "below"))
        usable = self.rules.usable_topic
        drawn = (self.seeds.draw(rng, usable, THAN_TRIES) for _ in range(THAN_TRIES))
        others = [e for e in drawn if e and literals_of(self.graph, e.id, relation)]
        among = [entity for entity in candidates if usable(entity.id)]
        for than in (*others, *rng.sample(among, len(among))):
            made = Constraint(relation, kind, operator, than=than)
            if constraint_fault(self.graph, made, candidates):
                continue
            if 0 < len(filter_candidates(self.graph, made, candidates)) < len(candidates):
                return made
        return "nothing_to_compare_with"


def _draw_bound(
    relation: str, kind: ValueKind, values: Sequence[str], rng: random.Random
) -> Constraint | None:
    """Return a year or a round number between two of the values, or a year that only some have."""
    if kind == "date":
        years = sorted(int(value[:4]) for value in values)
        some = [y for y in sorted(set(years)) if years.count(y) < len(years)]
        if some and rng.random() < 1 / 3:
            return Constraint(relation, kind, "in", f"{rng.choice(some):04d}")
        gaps = [(low, high) for low, high in pairwise(years) if high - low > 1]
        if not gaps:
            return None
        low, high = rng.choice(gaps)
        return Constraint(relation, kind, _side(rng), f"{rng.randrange(low + 1, high):04d}")
    numbers = sorted(Decimal(value) for value in values)
    gaps = [(low, high) for low, high in pairwise(numbers) if low < high]
    if not gaps:
        return None
    bound = round_between(*rng.choice(gaps))
    return Constraint(relation, kind, _side(rng), f"{bound:f}")


def _side(rng: random.Random) -> Operator:
    return rng.choice(("above", "below"))


def round_between(low: Decimal, high: Decimal) -> Decimal:
    """Return the roundest number strictly between two others: the one with the fewest digits.

    >>> round_between(Decimal("3456"), Decimal("87654")), round_between(Decimal("1.63"), Decimal(2))
    (Decimal('10000'), Decimal('1.7'))
    """
    unit = Decimal(1).scaleb(max(low.adjusted(), high.adjusted()) + 1)
    while True:
        found = ((low / unit).to_integral_value(ROUND_FLOOR) + 1) * unit
        if found < high:
            return found.quantize(Decimal(1)) if unit >= 1 else found
        unit /= 10


def require_values(graph: KnowledgeGraph, mix: Iterable[str]) -> None:
    """Raise `UserError` where a mix has constraints that nothing in the graph decides."""
    if "type" in mix and not graph.info().get("types", 1):
        raise UserError(
            "mix.type: this graph has no types of entities to constrain answers by; leave type out "
            "of the mix, or build the graph with its types"
        )
    wanted = sorted(set(mix) & set(CONSTRAINED) - {"type"})
    if wanted and not graph.info().get("literals", 1):
        raise UserError(
            f"mix.{wanted[0]}: this graph has no dates or numbers to constrain answers by; leave "
            f"{', '.join(wanted)} out of the mix, or build the graph with its literals"
        )


TOPICS_PER_HOP = 20
"""Entities considered as the topic of another branch, of one relation of the meeting entity."""
MOST_BRANCHES = 60
"""Branches to the meeting entity that are compared with each other."""


@dataclass(frozen=True, slots=True)
class _Found:
    branch: Branch
    ends: frozenset[str]


def sample_three(walker: Walker, rng: random.Random, avoided: frozenset[str]) -> Walk | str:
    """Get a walk whose every two branches share an entity that the third one lacks, or the reason
    why this attempt found none. Drawing branches blindly finds one in thousands of attempts."""
    base = walker.sample("1-hop", rng, avoided)
    if isinstance(base, str):
        return base
    first, meet = base.query.branches[0], base.visited[0][-1]
    ends = ids_of(execute(walker.graph, base.query, walker.rules.max_degree).answers)
    if len(ends) < 3:
        return "trivial_branch"
    seen = {first.topic.id, meet.id}
    near = [found for found in _branches(walker, meet, rng) if _apart(found.ends, ends)]
    for one, two in combinations(near[:MOST_BRANCHES], 2):
        topics = {one.branch.topic.id, two.branch.topic.id}
        if len(topics) < 2 or topics & seen:
            continue
        if _are_needed(ends, one.ends, two.ends):
            branches = (first, one.branch, two.branch)
            return Walk("3I", Query(branches), tuple((b.topic, meet) for b in branches))
    return "no_second_topic"


def _branches(walker: Walker, meet: Entity, rng: random.Random) -> Iterator[_Found]:
    """Get every branch of one hop that leads to the meeting entity among a few, in random order."""
    listing, rules = walker.listed(meet.id), walker.rules
    sides = ((Direction.OUT, listing.out), (Direction.IN, listing.into))
    hops = [Hop(r, d) for d, side in sides for r in sorted(side)]
    hops = [hop for hop in hops if walker.seeds.takes(reversed_hop(hop))]
    for hop in rng.sample(hops, len(hops)):
        topics = walker.graph.step(meet.id, hop.relation, hop.direction, TOPICS_PER_HOP)
        for topic in rng.sample(topics, len(topics)):
            if is_literal(topic.id) or not rules.usable_topic(topic.id):
                continue
            back = Hop(hop.relation, hop.direction.reverse)
            most = rules.max_degree + 1
            found = walker.graph.step(topic.id, back.relation, back.direction, most)
            if max(2, rules.min_degree) < len(found) < most:
                yield _Found(Branch(topic, (back,)), ids_of(found))


def _apart(one: frozenset[str], two: frozenset[str]) -> bool:
    """Return whether both share more than the meeting entity, and neither holds the other."""
    return len(one & two) > 1 and not one <= two and not two <= one


def _are_needed(*ends: frozenset[str]) -> bool:
    """Return whether leaving out any of the three would give more answers."""
    met = frozenset.intersection(*ends)
    return all(len(one & two) > len(met) for one, two in combinations(ends, 2))
