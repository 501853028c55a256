"""Plausibility: would a person ask this? Judged hop by hop from the listings of the graph."""

import fnmatch
import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import Field

from graphwalker.config import Config
from graphwalker.graphs.base import FLATTENED, Direction, KnowledgeGraph, Side
from graphwalker.query.query import Hop, parse_hop
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
    """Which walks are worth a question, judged by the listings of the graph alone."""

    on: bool = True
    """Whether walks are judged at all."""
    min_domain_share: float = Field(default=0.05, ge=0.0, le=1.0)
    """Skip relations whose domain (`film` of `film.film.genre`) covers a smaller share of an
    entity's facts. Relation ids without a domain are not judged by it."""
    max_middle_degree: int = Field(default=600, ge=1)
    """Most facts of an entity between topic and answer."""
    max_middle_shared: int = Field(default=100, ge=1)
    """Most entities that share an entity between topic and answer by the relation that reaches it:
    a profession has thousands."""
    max_fan_out: float = Field(default=15.0, ge=1.0)
    """Most entities that a relation between topic and answer leads to, on average over its facts.
    "The person born in Rome" fits hundreds."""
    max_fan_in: float = Field(default=120.0, ge=1.0)
    """The same in the opposite direction, which excludes genres and nationalities."""
    min_together: float = Field(default=0.2, ge=0.0, le=1.0)
    """Least share of the entities that a relation reaches which also have the next relation."""
    sample: int = Field(default=4000, ge=100)
    """Entities whose listings are read, to count which relations occur together; those of
    `seeds_file` where it is given, so that an endpoint and a graph file give the same walks."""
    worded_only: bool = True
    """Whether walks take only relations with hand-written wordings, where these cover most facts of
    the graph. Relations between topic and answer are then those of `describing.txt`."""

    def step(self, step: int) -> "PlausibilityConfig":
        """Return the rule relaxed `step` times."""
        if step == 0 or not self.on:
            return self
        return self.model_copy(
            update={
                "on": step < STEPS - 1,
                "worded_only": False,
                "min_domain_share": self.min_domain_share / LOOSER,
                "max_middle_degree": int(self.max_middle_degree * LOOSER),
                "max_middle_shared": int(self.max_middle_shared * LOOSER),
                "max_fan_out": self.max_fan_out * LOOSER,
                "max_fan_in": self.max_fan_in * LOOSER,
                "min_together": self.min_together / LOOSER,
            }
        )


TRUTHS = frozenset(
    form(word) for word in ("true", "false", "yes", "no") for form in (str, str.title, str.upper)
)
"""Ids of the nodes that a table of facts has for its truth values."""


class Company:
    """Which hops entities offer together, counted over a sample of a graph's listings."""

    def __init__(self, listings: Iterable[Listing]) -> None:
        listed: dict[Direction, dict[str, list[tuple[int, int]]]] = {d: {} for d in Direction}
        for number, listing in enumerate(listings):
            for direction, side in ((Direction.OUT, listing.out), (Direction.IN, listing.into)):
                of = listed[direction]
                for relation, ends in side.items():
                    of.setdefault(relation, []).append((number, ends))
        self._having: dict[Hop, int] = {}
        """One bit for each entity of the sample: a pair is counted by `&` and a bit count."""
        self._ends: Counter[Hop] = Counter()
        self._squares: Counter[Hop] = Counter()
        for direction, of in listed.items():
            for relation, found in of.items():
                hop = Hop(relation, direction)
                self._having[hop] = _bits([number for number, _ in found])
                self._ends[hop] = sum(ends for _, ends in found)
                self._squares[hop] = sum(ends * ends for _, ends in found)
        self.share = cache(self._share)
        """Of the entities that offer the first hop, how many offer the second, too; 1 where too few
        are known to tell."""

    def count_having(self, hop: Hop) -> int:
        """Return how many entities of the sample offer the hop."""
        return self._having.get(hop, 0).bit_count()

    def fan_out(self, hop: Hop) -> float:
        """Return how many entities the hop leads to, on average over its facts: an entity with many
        counts for as many. 1 where the sample has none."""
        return self._squares[hop] / self._ends[hop] if self._ends[hop] else 1.0

    def coverage(self, hops: Container[Hop], unused: Container[str] = ()) -> float:
        """Return the share that these hops have among all that the entities offer, but for the
        relations of `unused`."""
        counts = {
            hop: having.bit_count()
            for hop, having in self._having.items()
            if hop.relation not in unused
        }
        return sum(n for hop, n in counts.items() if hop in hops) / max(1, sum(counts.values()))

    def _share(self, given: Hop, other: Hop) -> float:
        having = self._having.get(given, 0)
        known = having.bit_count()
        both = (having & self._having.get(other, 0)).bit_count()
        return both / known if known >= SEEN_OFTEN else 1.0

    def often_with(self, given: Hop, least: float) -> list[Hop] | None:
        """Return the hops whose `share` is so large; `None` where too few entities are known."""
        having = self._having.get(given, 0)
        known = having.bit_count()
        if known < SEEN_OFTEN or not least:
            return None
        return [
            hop
            for hop, others in self._having.items()
            if (having & others).bit_count() / known >= least
        ]


def truth_relations(graph: KnowledgeGraph, company: Company) -> set[str]:
    """Return the relations that lead to nothing but truth values: `is active` asks for no entity,
    and nobody asks what is active of `true`."""
    nodes = () if graph.is_remote else sorted(TRUTHS)
    found = Counter(relation for n in nodes for relation, _ in graph.relations(n, Direction.IN))
    return {r for r, ends in found.items() if company.count_having(Hop(r, Direction.IN)) <= ends}


@dataclass(frozen=True)
class Plausibility:
    """Judges hops. It holds nothing that changes: the same graph and settings, the same verdicts.

    Nobody asks about the relations of `unused`. `worded` are the hops that people have put into
    words, `describing` those by which they describe things; both are `None` for a graph without
    such words. `inverse` gives the same fact stored the other way round.
    """

    config: PlausibilityConfig
    relations: Lister
    company: Company
    unused: Container[str]
    worded: Container[Hop] | None
    describing: Collection[Hop] | None
    inverse: Callable[[Hop], Hop | None]
    always: Container[Hop] = ()
    """The hops of questions that people have asked, which may always be asked."""

    @classmethod
    def off(cls, relations: Lister) -> "Plausibility":
        """Return one that lets every walk pass."""
        config = PlausibilityConfig(on=False)
        return cls(config, relations, Company(()), (), None, None, lambda hop: None)

    def step(self, step: int) -> "Plausibility":
        """Return this rule relaxed `step` times."""
        return replace(self, config=self.config.step(step))

    def allows(self, hop: Hop, alone: bool = False) -> bool:
        """Return whether people ask about the hop, whatever it starts from; `alone`: it is all that
        the question asks."""
        if not self.config.on or hop in self.always:
            return True
        if hop.relation in self.unused:
            return False
        if not alone and self.config.worded_only and stands_alone(hop):
            return False
        return not self.config.worded_only or self.worded is None or hop in self.worded

    def central(self, entity_id: str, hops: Sequence[Hop]) -> list[Hop]:
        """Return the hops whose domain is what the entity is about. Of a relation and its inverse
        keep the direction with more facts."""
        if not hops or not self.config.on:
            return list(hops)
        listing, facts = self.relations(entity_id), dict[str, int]()
        for side in (listing.out, listing.into):
            for relation, number in side.items():
                about = domain(relation)
                facts[about] = facts.get(about, 0) + number
        least = self.config.min_domain_share * sum(facts.values())
        own = [
            hop for hop in hops if hop in self.always or facts.get(domain(hop.relation), 0) >= least
        ]
        return [
            hop
            for hop in own
            if (inverse := self.inverse(hop)) is None
            or listed_ends(inverse, listing) <= listed_ends(hop, listing)
        ]

    def between(self, entity_id: str, reached_by: Hop) -> bool:
        """Return whether a question may describe the entity by that hop, to ask further from it."""
        if not self.config.on:
            return True
        listing = self.relations(entity_id)
        return (
            listed_ends(reversed_hop(reached_by), listing) <= self.config.max_middle_shared
            and sum(listing.out.values()) + sum(listing.into.values())
            <= self.config.max_middle_degree
        )

    def describes(self, hop: Hop) -> bool:
        """Return whether a question may describe things by the hop, to ask further from them."""
        if not self.config.on:
            return True
        listed = self.describing if self.config.worded_only else None
        return (
            (listed is None or hop in listed)
            and self.company.fan_out(hop) <= self.config.max_fan_out
            and self.company.fan_out(reversed_hop(hop)) <= self.config.max_fan_in
        )

    def _one_spelling(self, hop: Hop) -> Hop:
        """Return one spelling of the hop and its inverse."""
        return min(hop, self.inverse(hop) or hop)

    @property
    def forbids_repeats(self) -> bool:
        """Whether a path takes no hop twice, in either spelling."""
        return self.config.on and self.config.worded_only

    def follows(self, reached_by: Hop, hop: Hop) -> bool:
        """Return whether one hop makes sense behind another: it does not lead back, does not ask
        for what there are many of, and what the first leads to commonly has it."""
        if not self.config.on:
            return True
        back = reversed_hop(reached_by)
        # What is cheap and says no most often comes first.
        return (
            self.company.fan_out(hop) <= self.config.max_fan_out
            and self.company.share(back, hop) >= self.config.min_together
            and self._one_spelling(hop) != self._one_spelling(back)
            and not (self.config.worded_only and self._apart(reached_by, hop))
        )

    def _apart(self, one: Hop, two: Hop) -> bool:
        """Return whether `apart.txt` keeps the two from following one another."""
        ones, twos = ([hop, self.inverse(hop) or hop] for hop in (one, two))
        return any(keeps_apart(a, b) for a in ones for b in twos)

    def meets(self, one: Hop, two: Hop) -> bool:
        """Return whether both may lead to the same thing: of what the rarer one leads to, enough is
        led to by the other, too."""
        if not self.config.on:
            return True
        a, b = reversed_hop(one), reversed_hop(two)
        common = max(self.company.share(a, b), self.company.share(b, a))
        return common >= self.config.min_together


def company_of(graph: KnowledgeGraph, entity_ids: Sequence[str]) -> Company:
    """Return what those entities list, asked for in few requests."""
    found: list[Listing] = []
    for start in range(0, len(entity_ids), BATCH):
        batch = entity_ids[start : start + BATCH]
        sides = [Side(entity_id, d) for entity_id in batch for d in Direction]
        listed = list(map(dict, graph.flat_relations_many(sides)))
        found += map(Listing, listed[::2], listed[1::2])
    return Company(found)


def _bits(numbers: Sequence[int]) -> int:
    """Return the number with these bits, the last of them the highest one."""
    made = bytearray((numbers[-1] >> 3) + 1)
    for number in numbers:
        made[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(made, "little")


@cache
def stands_alone(hop: Hop) -> bool:
    """Return whether `alone.txt` names the hop, or its relation in both directions."""
    return any(map(_alone(), _spellings(hop)))


@cache
def _alone() -> Callable[[str], Any]:
    lines = _lines("alone.txt")
    return re.compile("|".join(map(fnmatch.translate, lines))).match


def _lines(name: str) -> list[str]:
    text = files("data_pipeline.walks").joinpath(name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and line[0] != "#"]


def keeps_apart(one: Hop, two: Hop) -> bool:
    """Return whether `apart.txt` names the second hop behind the first."""
    return bool(_lines_with(one, 0) & _lines_with(two, 1))


@cache
def _lines_with(hop: Hop, place: int) -> int:
    """Return the lines of `apart.txt` that name the hop first (0) or second (1), one bit each."""
    spelled = _spellings(hop)
    return sum(1 << k for k, pair in enumerate(_pairs()) if any(map(pair[place], spelled)))


def _spellings(hop: Hop) -> tuple[str, str]:
    return hop.relation, f"{hop.direction}:{hop.relation}"


@cache
def _pairs() -> list[tuple[Callable[[str], Any], Callable[[str], Any]]]:
    def matching(pattern: str) -> Callable[[str], Any]:
        return re.compile(fnmatch.translate(pattern)).match

    lines = [line.split(" -> ") for line in _lines("apart.txt")]
    return [(matching(first), matching(second)) for first, second in lines]


@cache
def describing() -> frozenset[Hop]:
    """Return the hops of `describing.txt`."""
    return frozenset(map(parse_hop, _lines("describing.txt")))


def listed_ends(hop: Hop, listing: Listing) -> int:
    """Return how many entities a listing counts at the end of the hop."""
    side = listing.out if hop.direction is Direction.OUT else listing.into
    return side.get(hop.relation, 0)


hop_over = cache(Hop)
"""The hop over a relation in a direction, the same object each time: caches compare it faster."""


def reversed_hop(hop: Hop) -> Hop:
    return hop_over(hop.relation, hop.direction.reverse)


@cache
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
