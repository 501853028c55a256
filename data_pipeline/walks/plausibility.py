"""Plausibility: would a person ask this? Judged hop by hop, from what the graph lists alone."""

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace

from pydantic import Field

from graphwalker.config import Config
from graphwalker.graphs.base import FLATTENED, Direction, KnowledgeGraph, Side
from graphwalker.query.query import Hop
from graphwalker.tools.listing import Lister, Listing

COVERED = 0.8
"""Share of a graph's facts whose relations are in people's words, from which only those are asked
about."""
BATCH = 200
"""Listings asked for at once."""
STEP_NAMES = ("as set", "looser", "off")
"""Steps in which the rule gives way where a graph has no more walks."""
STEPS = len(STEP_NAMES)
LOOSER = 4.0
"""What the second step divides the least shares by, and multiplies the largest numbers by."""
SEEN_OFTEN = 10
"""Entities with a relation in the sample, from which its company is judged."""
WIDE_DOMAINS = ("base", "user")
"""Freebase domains that hold many small ones."""


class PlausibilityConfig(Config):
    """Which walks are worth a question. All of it is read off the listings of the graph."""

    on: bool = True
    """Whether walks are judged at all."""
    min_domain_share: float = Field(default=0.05, ge=0.0, le=1.0)
    """Least share that a relation's domain (`film` of `film.film.genre`) has of an entity's facts,
    for a walk to leave the entity by it: an athlete's one guest part in a film is no film career.
    Graphs without domains in their relation ids are not judged by it."""
    max_middle_degree: int = Field(default=600, ge=1)
    """Most facts of an entity between topic and answer: nobody describes a country by a hotel."""
    max_middle_shared: int = Field(default=100, ge=1)
    """Most entities that lead to an entity in between by the relation by which it was reached:
    nobody describes a profession by one of thousands who have it."""
    max_fan_out: float = Field(default=15.0, ge=1.0)
    """Most entities that a relation leads to, on average over its facts, where a question describes
    them to ask further: nobody says "the person born in Rome" for one of hundreds."""
    max_fan_in: float = Field(default=120.0, ge=1.0)
    """The same for the way back: through a genre or a nationality nothing is described."""
    min_together: float = Field(default=0.1, ge=0.0, le=1.0)
    """Least share of the entities with the relation by which one was reached that also have the
    relation by which it is left. Entities of one relation are of one kind: what few of them have is
    beside the point."""
    sample: int = Field(default=4000, ge=100)
    """Entities whose listings are looked at, to know which relations occur together. They are
    those of the seeds file where there is one: an endpoint and a graph file give one verdict."""
    worded_only: bool = True
    """Whether a graph whose relations people have put into words is walked by those only: what is
    left over is bookkeeping."""

    def step(self, step: int) -> "PlausibilityConfig":
        """The rule that is in force when it has given way so many times."""
        if step == 0 or not self.on:
            return self
        return self.model_copy(
            update={
                "on": step < STEPS - 1,
                "min_domain_share": self.min_domain_share / LOOSER,
                "max_middle_degree": int(self.max_middle_degree * LOOSER),
                "max_middle_shared": int(self.max_middle_shared * LOOSER),
                "max_fan_out": self.max_fan_out * LOOSER,
                "max_fan_in": self.max_fan_in * LOOSER,
                "min_together": self.min_together / LOOSER,
            }
        )


def stream_of(structure: str, step: int) -> str:
    """How attempts at a structure are called when the rule has given way so many times.

    >>> stream_of("2-hop", 0), stream_of("2-hop", 1)
    ('2-hop', '2-hop~1')
    """
    return f"{structure}~{step}" if step else structure


def parse_stream(stream: str) -> tuple[str, int]:
    """Inverse of `stream_of`."""
    structure, _, step = stream.partition("~")
    return structure, int(step or 0)


class Company:
    """Which hops entities offer together, counted over a sample of a graph's listings."""

    def __init__(self, listings: Iterable[Listing]) -> None:
        # One bit for each entity of the sample: a pair is counted by `&` and a bit count.
        self._having: defaultdict[Hop, int] = defaultdict(int)
        self._ends: Counter[Hop] = Counter()
        self._squares: Counter[Hop] = Counter()
        for number, listing in enumerate(listings):
            bit = 1 << number
            for direction, side in ((Direction.OUT, listing.out), (Direction.IN, listing.into)):
                for relation, ends in side.items():
                    hop = Hop(relation, direction)
                    self._having[hop] |= bit
                    self._ends[hop] += ends
                    self._squares[hop] += ends * ends
        self._shares: dict[tuple[Hop, Hop], float] = {}

    def fan_out(self, hop: Hop) -> float:
        """How many entities the hop leads to, on average over its facts: an entity with many counts
        for as many. 1 where the sample has none."""
        return self._squares[hop] / self._ends[hop] if self._ends[hop] else 1.0

    def coverage(self, hops: Container[Hop]) -> float:
        """The share that these hops have among all that the entities offer."""
        counts = {hop: having.bit_count() for hop, having in self._having.items()}
        return sum(n for hop, n in counts.items() if hop in hops) / max(1, sum(counts.values()))

    def share(self, given: Hop, other: Hop) -> float:
        """Of the entities that offer the one hop, how many offer the other, too; 1 where too few
        are known to tell."""
        key = given, other
        found = self._shares.get(key)
        if found is None:
            having = self._having.get(given, 0)
            known = having.bit_count()
            both = (having & self._having.get(other, 0)).bit_count()
            found = self._shares[key] = both / known if known >= SEEN_OFTEN else 1.0
        return found


@dataclass(frozen=True)
class Plausibility:
    """Judges hops. It holds nothing that changes: the same graph and settings, the same verdicts.

    `usable` says whether anybody asks about a hop, `same` gives the one spelling of a hop and its
    inverse.
    """

    config: PlausibilityConfig
    relations: Lister
    company: Company
    usable: Callable[[Hop], bool]
    same: Callable[[Hop], Hop]

    def step(self, step: int) -> "Plausibility":
        """As it judges when it has given way so many times."""
        return replace(self, config=self.config.step(step))

    def allows(self, hop: Hop) -> bool:
        """Whether people ask about the hop, whatever it starts from."""
        return not self.config.on or self.usable(hop)

    def central(self, entity_id: str, hops: Iterable[Hop]) -> list[Hop]:
        """The hops whose domain is what the entity is about."""
        if not self.config.on:
            return list(hops)
        listing = self.relations(entity_id)
        facts: Counter[str] = Counter()
        for side in (listing.out, listing.into):
            for relation, number in side.items():
                facts[domain(relation)] += number
        least = self.config.min_domain_share * sum(facts.values())
        return [hop for hop in hops if facts[domain(hop.relation)] >= least]

    def between(self, entity_id: str, reached_by: Hop) -> bool:
        """Whether a question may describe the entity by that hop, to ask further from it."""
        if not self.config.on:
            return True
        listing = self.relations(entity_id)
        back = listing.into if reached_by.direction is Direction.OUT else listing.out
        return (
            back.get(reached_by.relation, 0) <= self.config.max_middle_shared
            and sum(listing.out.values()) + sum(listing.into.values())
            <= self.config.max_middle_degree
        )

    def describes(self, hop: Hop) -> bool:
        """Whether a question may describe things by the hop, to ask further from them."""
        return not self.config.on or (
            self.company.fan_out(hop) <= self.config.max_fan_out
            and self.company.fan_out(reversed_hop(hop)) <= self.config.max_fan_in
        )

    def follows(self, reached_by: Hop, hop: Hop) -> bool:
        """Whether one hop makes sense behind another: it does not lead back, and what the first
        leads to commonly has it."""
        if not self.config.on:
            return True
        back = reversed_hop(reached_by)
        if self.same(hop) == self.same(back):
            return False
        return self.company.share(back, hop) >= self.config.min_together

    def meets(self, one: Hop, two: Hop) -> bool:
        """Whether both may lead to the same thing: of what the rarer one leads to, enough is led
        to by the other, too."""
        if not self.config.on:
            return True
        a, b = reversed_hop(one), reversed_hop(two)
        common = max(self.company.share(a, b), self.company.share(b, a))
        return common >= self.config.min_together


def company_of(graph: KnowledgeGraph, entity_ids: Sequence[str]) -> Company:
    """What those entities list, asked for in few requests."""
    found: list[Listing] = []
    for start in range(0, len(entity_ids), BATCH):
        batch = entity_ids[start : start + BATCH]
        sides = [Side(entity_id, d) for entity_id in batch for d in Direction]
        listed = list(map(dict, graph.flat_relations_many(sides)))
        found += map(Listing, listed[::2], listed[1::2])
    return Company(found)


def reversed_hop(hop: Hop) -> Hop:
    return Hop(hop.relation, hop.direction.reverse)


def domain(relation: str) -> str:
    """`film` of `film.film.genre`; of `base` and `user` with the name of the part; `""` of an id
    that has none.

    >>> domain("film.film.genre"), domain("base.popstra.celebrity.dated"), domain("livesIn")
    ('film', 'base.popstra', '')
    """
    parts = relation.partition(FLATTENED)[0].split(".")
    if len(parts) < 3 or ":" in relation:
        return ""
    return ".".join(parts[:2]) if parts[0] in WIDE_DOMAINS else parts[0]
