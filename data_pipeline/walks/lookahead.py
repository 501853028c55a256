"""Walks drawn ahead: only over hops that all entities reached so far have, and that lead on.

A blind walker looks at one entity at a time and often reaches a dead end, or a query that must be
dropped. This one executes its query hop by hop. It costs more, so it serves structures of which few
blind attempts are kept.
"""

import random
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import islice
from operator import attrgetter

from data_pipeline.outcomes import Drop, SampledWalk
from data_pipeline.walks.memory import HopEnds
from data_pipeline.walks.sampler import HOP_TRIES, STRUCTURES, TOPIC_TRIES, Walk, Walker, some_of
from graphwalker.graphs.base import Entity
from graphwalker.query.query import Branch, Execution, Hop, Query, in_order

AHEAD = frozenset(
    name for name, (lengths, tail) in STRUCTURES.items() if len(lengths) == 1 < lengths[0] + tail
)
"""The structures that it draws: paths of several hops."""
TOPICS = 40
"""Entities that a walk tries to start from."""
PROOFS = 6
"""Walks that are proven, for one topic."""
LOOKS, MANY_LOOKS = 16, 48
"""Entities at which hops are chosen, for one topic: in search of one walk, and of some."""
WALKS = 24
"""Walks that are remembered of one topic."""
ENDS, ENDINGS = 2, 3
"""Entities that one hop leads to, of which it tries some; last hops of a walk that are tried. Of a
large graph it tries one such entity: all that a hop leads to need the next hop in common, so
that where one leads nowhere the others seldom do."""
SMALL = 1 << 15
"""Entities up to which a graph is small: each hop is checked to the end of the walk, and the walks
of a topic are cached. For larger graphs nothing is cached; hops without valid successors are
pruned, and the next entity must have one of the successors."""
REMEMBERED = 1 << 14
"""Topics whose walks are remembered."""


@dataclass(frozen=True, slots=True)
class Widths:
    """The most entities that a query of a walk may find, and the most calls that an agent may make
    to find them; 0 where that is not known."""

    frontier: int
    answers: int
    calls: int = 0

    def allows(self, frontiers: Sequence[Collection[str]], left: int) -> bool:
        """Whether the calls for the hops from these frontiers, and for so many more, are allowed:
        one look at the relations for each hop, and one at the triples of each entity."""
        return not self.calls or sum(map(len, frontiers)) + len(frontiers) + 2 * left <= self.calls

    def room(self, frontiers: Sequence[Collection[str]], left: int) -> int:
        """The most entities that the next hop from these frontiers may lead to, where so many are
        left with it."""
        most = self.answers if left == 1 else self.frontier
        if left == 1 or not self.calls:
            return most
        return min(
            most, self.calls - sum(map(len, frontiers)) - len(frontiers) - 1 - 2 * (left - 2)
        )


Prove = Callable[[Walk, Execution], SampledWalk | Drop]
"""What comes of a walk whose query was executed."""


@dataclass(slots=True)
class _Path:
    """What was walked, and what its query finds after each hop."""

    entities: list[Entity]
    frontiers: list[dict[str, Entity]]
    avoided: frozenset[str]
    looks: int
    first: tuple[Hop, ...] = ()
    """The ways to write its first hop, where that is given."""
    hops: list[Hop] = field(default_factory=list[Hop])
    vain: list[tuple[str, Hop, int]] = field(default_factory=list[tuple[str, Hop, int]])
    """Looks in vain that may still have to be counted: an entity that leads no further, the hop
    that leads there and how many hops are left."""


@dataclass(slots=True)
class _Found:
    """A whole walk, and what came of it once that was asked."""

    hops: tuple[Hop, ...]
    entities: tuple[Entity, ...]
    frontiers: tuple[dict[str, Entity], ...]
    relations: frozenset[str]
    """Those of its hops, as they are stored."""
    proven: SampledWalk | Drop | None = None

    def walk(self, structure: str) -> Walk:
        return Walk(structure, Query((Branch(self.entities[0], self.hops),)), (self.entities,))

    def run(self) -> Execution:
        """The execution of its query."""
        frontiers = tuple(map(in_order, self.frontiers))
        return Execution((frontiers,), (frontiers[-1],))


class LookaheadWalker:
    """Samples the walks that its `walker` may take. A walk depends on `rng` and on the relations
    that it is to keep off, on nothing else."""

    def __init__(
        self, walker: Walker, seed: int, widths: Widths, own: Callable[[Hop], Hop], prove: Prove
    ) -> None:
        """`own` gives the spelling of a hop in which it is stored; `prove` what comes of a walk."""
        self._walker, self._widths, self._prove = walker, widths, prove
        self._seed = seed
        self._places = walker.places
        self._is_small = walker.seeds.size <= SMALL
        self._ends = ENDS if self._is_small else 1
        shares = walker.seeds.shares
        self._key = cache(shares.name if shares else lambda hop: own(hop).relation)
        """What counts a hop: its name among the shares, else its relation as it is stored."""
        self._keys = shares.names_of if shares else attrgetter("relations")
        self._after, self._further = cache(self._hops_after), cache(self._test_after)
        self._remembered = lru_cache(REMEMBERED)(self._some_from)

    def sample(
        self, structure: str, rng: random.Random, avoided: frozenset[str]
    ) -> SampledWalk | Drop:
        """A proven walk of the structure, or why this attempt found none. It takes none of the
        `avoided` relations."""
        seeds, usable = self._walker.seeds, self._walker.rules.usable_topic
        (length,), _ = STRUCTURES[structure]
        fault = Drop("walk", "dead_end")
        begins = self._further(None, length, avoided)
        for _ in range(TOPICS):
            start = seeds.draw_start(rng, usable, TOPIC_TRIES, avoided)
            if start is None:
                return Drop("walk", "no_topic")
            topic, first = start
            if begins is not None and not begins(topic.id):
                continue
            if self._is_small and not self._places.leads(topic.id, None, length):
                continue
            for found in islice(self._from(topic, length, rng, avoided, first), PROOFS):
                proven = found.proven or self._prove(found.walk(structure), found.run())
                found.proven = proven
                if isinstance(proven, Drop):
                    fault = proven
                # Only now it is known from which side each hop is written.
                elif avoided.isdisjoint(self._keys(proven.walk.query)):
                    return proven
        return fault

    def _from(
        self,
        topic: Entity,
        length: int,
        rng: random.Random,
        avoided: frozenset[str],
        first: tuple[Hop, ...],
    ) -> Iterator[_Found]:
        """Walks from there over one of the `first` hops, where that is given, in random order."""
        if not self._is_small:
            yield from self._paths(self._start(topic, avoided, LOOKS, first), length, rng)
            return
        for found in some_of(rng, self._remembered(topic, length, first), WALKS):
            if avoided.isdisjoint(found.relations):
                yield found

    def _some_from(self, topic: Entity, length: int, first: tuple[Hop, ...]) -> list[_Found]:
        """The same walks whenever they are asked for."""
        rng = random.Random(f"{self._seed}/{topic.id}/{length}/{'|'.join(map(str, first))}/ahead")
        path = self._start(topic, frozenset(), MANY_LOOKS, first)
        return [*islice(self._paths(path, length, rng), WALKS)]

    def _start(
        self, topic: Entity, avoided: frozenset[str], looks: int, first: tuple[Hop, ...]
    ) -> _Path:
        return _Path([topic], [{topic.id: topic}], avoided, looks, first)

    def _paths(self, path: _Path, left: int, rng: random.Random) -> Iterator[_Found]:
        """The walks that the path grows to by so many more hops."""
        path.looks -= 1
        places, here, endings = self._places, path.entities[-1].id, 0
        hops = some_of(rng, self._candidates(path, left), HOP_TRIES)
        for hop in places.no_wider(here, hops, self._widths.room(path.frontiers, left)):
            way = places.way(here, hop)
            targets = self._targets(path, way, left)
            reached = self._reach(path, hop, left) if targets else None
            if reached is None:
                continue
            if left == 1:
                target = rng.choice(targets)
                hops = (*path.hops, hop)
                relations = frozenset(map(self._key, hops))
                entities, frontiers = (*path.entities, target), (*path.frontiers, reached)
                yield _Found(hops, entities, frontiers, relations)
                endings += 1
                if endings == ENDINGS:
                    return
                continue
            for target in some_of(rng, targets, self._ends):
                if self._has_looked(path):
                    return
                further = self._further(hop, left - 1, path.avoided)
                if further is not None and not further(target.id):
                    path.vain.append((target.id, hop, left - 1))
                elif places.passes(target.id, hop) and self._leads(target.id, hop, left - 1):
                    yield from self._over(path, hop, target, reached, left, rng)

    def _has_looked(self, path: _Path) -> bool:
        """Whether the path has looked around as often as it may. A look at an entity that leads no
        further is one where the rule lets a walk stand there, which takes a listing to know: that
        is found out once it matters."""
        if path.looks > len(path.vain):
            return False
        for entity_id, hop, left in path.vain:
            if self._places.passes(entity_id, hop) and self._leads(entity_id, hop, left):
                path.looks -= 1
        path.vain.clear()
        return not path.looks

    def _test_after(
        self, hop: Hop | None, left: int, avoided: frozenset[str]
    ) -> Callable[[str], bool] | None:
        """A cheap test whether an entity may have any of the hops that may follow that one (`None`:
        that may be the first) where so many are left; `None` where that is not known."""
        after = None if self._is_small else self._after(hop, left, avoided)
        return None if after is None else self._places.offers(after)

    def _hops_after(self, hop: Hop | None, left: int, avoided: frozenset[str]) -> list[Hop] | None:
        """The hops that the rule lets follow that one, at whatever entity, where so many are left;
        `None` where it is not known."""
        followers = self._places.followers(hop)
        if followers is None:
            return None
        return [
            after
            for after in followers
            if self._key(after) not in avoided
            and (
                left == 1
                or (self._places.describes(after) and self._after(after, left - 1, avoided) != [])
            )
        ]

    def _over(
        self,
        path: _Path,
        hop: Hop,
        target: Entity,
        reached: dict[str, Entity],
        left: int,
        rng: random.Random,
    ) -> Iterator[_Found]:
        """The walks that take this hop; the path is left as it was."""
        path.entities.append(target)
        path.hops.append(hop)
        path.frontiers.append(reached)
        yield from self._paths(path, left - 1, rng)
        for part in (path.entities, path.hops, path.frontiers):
            part.pop()

    def _candidates(self, path: _Path, left: int) -> list[Hop]:
        """The hops that may follow those of the path."""
        taken, avoided = path.hops, path.avoided
        reached_by = taken[-1] if taken else None
        hops = self._places.onward(path.entities[-1].id, reached_by, left == 1, False)
        hops = self._walker.hops_not_walked(taken, hops)
        if path.first and not taken:
            hops = [hop for hop in hops if hop in path.first]
        if avoided:
            hops = [hop for hop in hops if self._key(hop) not in avoided]
        if left > 1 and not self._is_small:
            hops = [hop for hop in hops if self._after(hop, left - 1, avoided) != []]
        return hops

    def _targets(self, path: _Path, way: HopEnds, left: int) -> list[Entity]:
        """The entities that the hop leads to where the path ends; none where it leads back."""
        entities = path.entities
        before = entities[-2].id if path.hops else ""
        literals = self._walker.rules.literals and left == 1
        return way.beyond(before, {entity.id for entity in entities}, literals)

    def _reach(self, path: _Path, hop: Hop, left: int) -> dict[str, Entity] | None:
        """What the query finds over one more hop; `None` where that may not be asked: an entity
        lacks the hop, that are too many entities or calls, or fewer hops find the same."""
        step, widths = self._walker.graph.step, self._widths
        most = widths.answers if left == 1 else widths.frontier
        found: dict[str, Entity] = {}
        for entity_id in path.frontiers[-1]:
            ends = step(entity_id, hop.relation, hop.direction, most + 1)
            for end in ends:
                found[end.id] = end
            if not ends or len(found) > most:
                return None
        if left > 1 and not self._widths.allows((*path.frontiers, found), left - 2):
            return None
        if left == 1 and (
            path.entities[0].id in found
            or any(found.keys() == frontier.keys() for frontier in path.frontiers)
        ):
            return None
        return found

    def _leads(self, entity_id: str, hop: Hop, left: int) -> bool:
        """Whether so many hops may follow, as far as the walk looks."""
        if self._is_small:
            return self._places.leads(entity_id, hop, left)
        return bool(self._places.onward(entity_id, hop, left == 1, False))
