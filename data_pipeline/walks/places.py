"""What walks know of a graph: which hops lead on from an entity, and where they lead.

A walk stands where others stood before it. What the rule of plausibility says and what a step finds
depend on no walk, so both are found out once.
"""

from collections.abc import Callable, Iterable

from data_pipeline.seeds.seeds import Seeds
from data_pipeline.walks.memory import RememberedGraph
from data_pipeline.walks.plausibility import Plausibility, reversed_hop
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.literals import is_literal
from graphwalker.query.query import Hop
from graphwalker.tools.listing import Lister

PLACES = 1 << 14
"""Places of one generation; two generations are kept: of a large graph mostly hubs come again, a
small one fits."""


class KnownHop:
    """A hop, the same object wherever a walk meets it (so compared by identity), and what the rule
    says of it."""

    __slots__ = (
        "after",
        "allowed",
        "alone",
        "back",
        "back_allowed",
        "describes",
        "hop",
        "inverse",
        "is_out",
        "spellings",
    )

    def __init__(self, hop: Hop, judge: Plausibility | None) -> None:
        self.hop = hop
        self.is_out = hop.direction is Direction.OUT
        self.allowed = not judge or judge.allows(hop)
        self.alone = not judge or judge.allows(hop, alone=True)
        self.back = reversed_hop(hop)
        self.back_allowed = not judge or judge.allows(self.back)
        self.describes = not judge or judge.describes(hop)
        self.inverse = judge.inverse(hop) if judge else None
        self.spellings: tuple[KnownHop, ...] = (self,)
        """It and its inverse."""
        self.after: dict[KnownHop, bool] = {}
        """Whether it makes sense behind another."""


class HopEnds:
    """Where a hop leads from one entity: nowhere, where that are too many for a walk."""

    __slots__ = ("ends", "ids", "literal", "passes")

    def __init__(self, ends: list[Entity]) -> None:
        self.ends = ends
        self.ids = [entity.id for entity in ends]
        self.literal = any(map(is_literal, self.ids))
        self.passes: dict[str, bool] = {}
        """By entity that it leads to: whether a question may ask further from there."""


NOWHERE = HopEnds([])


class WalkedPlace:
    """An entity as walks see it."""

    __slots__ = ("central", "entity_id", "leads", "listed", "onward", "ways")

    def __init__(self, entity_id: str, listed: list[KnownHop]) -> None:
        self.entity_id = entity_id
        self.listed = listed
        """Every hop that walks may take from there, if the rule lets them."""
        self.central: list[KnownHop] | None = None
        """Those whose domain is what the entity is about, once that was asked."""
        self.onward: dict[tuple[KnownHop | None, bool, bool], list[KnownHop]] = {}
        self.ways: dict[KnownHop, HopEnds] = {}
        self.leads: dict[tuple[KnownHop | None, int], bool] = {}
        """Whether so many hops may follow the one that leads there."""


class WalkedPlaces:
    """The entities that walks looked at lately. Safe among threads where `graph` is: what two of
    them find out at once is the same."""

    def __init__(
        self,
        graph: RememberedGraph,
        seeds: Seeds,
        degrees: tuple[int, int],
        relations: Lister,
        judge: Plausibility | None,
    ) -> None:
        """`degrees`: the fewest and the most entities that a hop of a walk leads to."""
        self._graph, self._seeds, self._relations = graph, seeds, relations
        self._least, self._most = degrees
        self._judge = judge
        self._known: dict[Hop, KnownHop] = {}
        self._listed = {d: _ListedHops(d, self._known_if_allowed) for d in Direction}
        self._followers: dict[KnownHop, list[KnownHop] | None] = {}
        self._young: dict[str, WalkedPlace] = {}
        self._old: dict[str, WalkedPlace] = {}

    def at(self, entity_id: str) -> WalkedPlace:
        """The place of an entity."""
        place = self._young.get(entity_id)
        if place is None:
            place = self._old.get(entity_id) or WalkedPlace(entity_id, self._listed_at(entity_id))
            if len(self._young) >= PLACES:
                self._old, self._young = self._young, {}
            self._young[entity_id] = place
        return place

    def known_hop(self, hop: Hop) -> KnownHop:
        """The one object of a hop."""
        found = self._known.get(hop)
        if found is None:
            found = self._known[hop] = KnownHop(hop, self._judge)
            if found.inverse is not None and found.inverse != hop:
                found.spellings = (found, self.known_hop(found.inverse))
        return found

    def onward(
        self, place: WalkedPlace, reached_by: KnownHop | None, is_end: bool, alone: bool
    ) -> list[KnownHop]:
        """The hops that make sense from there, behind the hop that leads there. `is_end`: as the
        last one of a path; `alone`: as all that the question asks."""
        key = reached_by, is_end, alone
        found = place.onward.get(key)
        if found is None:
            judge = self._judge
            # Which hops are central costs most: of a place that is seen once, it is asked last.
            central = self.hops(place) if place.onward else place.central
            hops = [
                hop
                for hop in (place.listed if central is None else central)
                if (hop.alone if alone else hop.allowed)
                and (is_end or hop.describes)
                and (reached_by is None or not judge or self._follows(judge, reached_by, hop))
            ]
            found = self._central(place, hops) if central is None else hops
            place.onward[key] = found
        return found

    def hops(self, place: WalkedPlace) -> list[KnownHop]:
        """The hops whose domain is what the entity is about."""
        if place.central is None:
            place.central = self._central(place, place.listed)
        return place.central

    def way(self, place: WalkedPlace, hop: KnownHop) -> HopEnds:
        """Where the hop leads from there."""
        found = place.ways.get(hop)
        if found is None:
            found = place.ways[hop] = self._way(place.entity_id, hop.hop)
        return found

    def no_wider(self, place: WalkedPlace, hops: Iterable[KnownHop], most: int) -> list[KnownHop]:
        """The hops that may lead from there to at most so many entities: a hop leads to as many as
        are listed, or more."""
        listing = self._relations(place.entity_id)
        out, into = listing.out, listing.into
        return [
            hop for hop in hops if (out if hop.is_out else into).get(hop.hop.relation, 0) <= most
        ]

    def _way(self, entity_id: str, hop: Hop) -> HopEnds:
        listing, most = self._relations(entity_id), self._most
        side = listing.out if hop.direction is Direction.OUT else listing.into
        # As `no_wider`: half of the hops are not looked at.
        if side.get(hop.relation, 0) > most:
            return NOWHERE
        ends = self._graph.step(entity_id, hop.relation, hop.direction, most + 1)
        # GraphWalker Eq. 1: neither trivially unique nor excessively branching.
        return HopEnds(ends) if self._least <= len(ends) <= most else NOWHERE

    def passes(self, way: HopEnds, hop: KnownHop, entity_id: str) -> bool:
        """Whether a question may describe the entity by the hop that leads to it."""
        if self._judge is None:
            return True
        found = way.passes.get(entity_id)
        if found is None:
            found = way.passes[entity_id] = self._judge.between(entity_id, hop.hop)
        return found

    def leads(self, entity_id: str, reached_by: KnownHop | None, left: int) -> bool:
        """Whether a path of so many hops makes sense from there, each hop judged by itself."""
        place = self.at(entity_id)
        key = reached_by, left
        found = place.leads.get(key)
        if found is None:
            hops = self.onward(place, reached_by, left == 1, False)
            found = place.leads[key] = any(self._leads_over(place, hop, left) for hop in hops)
        return found

    def _leads_over(self, place: WalkedPlace, hop: KnownHop, left: int) -> bool:
        way = self.way(place, hop)
        if left == 1 or way.literal:
            return left == 1 and bool(way.ends)
        return any(self.passes(way, hop, end) and self.leads(end, hop, left - 1) for end in way.ids)

    def followers(self, hop: KnownHop) -> list[KnownHop] | None:
        """The hops that may follow that one, wherever it leads; `None` where that is not known."""
        if hop not in self._followers:
            after = self._judge.followers(hop.hop) if self._judge else None
            self._followers[hop] = after if after is None else self._usable(after)
        return self._followers[hop]

    def describers(self) -> list[KnownHop] | None:
        """The hops that may lead to an entity from which others follow; `None` where that is not
        known."""
        hops = self._judge.describers() if self._judge else None
        return hops if hops is None else self._usable(hops)

    def offers(self, hops: Iterable[KnownHop]) -> Callable[[str], bool]:
        """A cheap test of entities: False where walks find none of those hops."""
        return self._graph.offers((one.hop.relation, one.hop.direction) for one in hops)

    def _usable(self, hops: Iterable[Hop]) -> list[KnownHop]:
        known = [self.known_hop(hop) for hop in hops if self._seeds.allows(hop.relation)]
        return [hop for hop in known if hop.allowed]

    def _follows(self, judge: Plausibility, reached_by: KnownHop, hop: KnownHop) -> bool:
        found = hop.after.get(reached_by)
        if found is None:
            found = hop.after[reached_by] = judge.follows(reached_by.hop, hop.hop)
        return found

    def _central(self, place: WalkedPlace, hops: list[KnownHop]) -> list[KnownHop]:
        """Those of the hops whose domain is what the entity is about."""
        if not hops or self._judge is None or not self._judge.config.on:
            return hops
        is_central = self._judge.centrality(place.entity_id)
        return [known for known in hops if is_central(known.hop, known.inverse)]

    def _listed_at(self, entity_id: str) -> list[KnownHop]:
        listing = self._relations(entity_id)
        out, into = self._listed[Direction.OUT], self._listed[Direction.IN]
        found = [known for relation in listing.out if (known := out[relation])]
        found += [known for relation in listing.into if (known := into[relation])]
        return found

    def _known_if_allowed(self, hop: Hop) -> KnownHop | None:
        """The hop, if walks may take it."""
        return self.known_hop(hop) if self._seeds.allows(hop.relation) else None


class _ListedHops(dict[str, KnownHop | None]):
    """The hops over the relations of one direction that walks may take, each found out once."""

    def __init__(self, direction: Direction, allowed: Callable[[Hop], KnownHop | None]) -> None:
        super().__init__()
        self._direction, self._allowed = direction, allowed

    def __missing__(self, relation: str) -> KnownHop | None:
        found = self[relation] = self._allowed(Hop(relation, self._direction))
        return found
