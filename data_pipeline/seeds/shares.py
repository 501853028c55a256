"""Hop shares: how many walks take each hop, as the weights of a predicates file say."""

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate
from pathlib import Path

from graphwalker.errors import UserError
from graphwalker.files import open_text, write_text
from graphwalker.graphs.base import Direction
from graphwalker.query.query import Hop, Query, parse_hop
from graphwalker.tools.listing import Listing

LEAST = 3
"""Records of a rare hop: fewer teach little, however seldom people ask for it."""


class HopShares:
    """Weights of hops. A hop and its inverse are one, under the spelling of the file."""

    def __init__(self, weights: Mapping[Hop, float], inverses: Mapping[Hop, Hop]) -> None:
        """`inverses`: of a hop of `weights`, its other spelling."""
        self.weights = weights
        self.spellings = {hop: tuple(filter(None, (hop, inverses.get(hop)))) for hop in weights}
        """Of each hop, the one or two ways to write it."""
        self._own = {way: hop for hop, ways in self.spellings.items() for way in ways}
        self.quotas = lru_cache(maxsize=64)(self._quotas)

    def __contains__(self, hop: Hop) -> bool:
        return hop in self._own

    def name(self, hop: Hop) -> str:
        """Return the spelling of a hop that is counted; its own where the file lacks the hop."""
        return str(self._own.get(hop, hop))

    def names_of(self, query: Query) -> tuple[str, ...]:
        """Return the names of a query's hops, each once."""
        return tuple(dict.fromkeys(map(self.name, query.all_hops)))

    def draw(self, rng: random.Random) -> Hop:
        """Return a hop, drawn by the weights of `LEAST` uses and more."""
        hops, sums = self._sums
        return rng.choices(hops, cum_weights=sums)[0]

    @cached_property
    def _sums(self) -> tuple[Sequence[Hop], Sequence[float]]:
        # A rare hop needs as many draws as `_quotas` gives it records of a usual run.
        quotas = self.quotas(8 * len(self.weights))
        return list(self.weights), list(accumulate(quotas[str(hop)] for hop in self.weights))

    def _quotas(self, uses: int) -> dict[str, int]:
        """So many uses shared out by weight, `LEAST` for each hop first where there are enough.

        >>> shares = HopShares({Hop("a"): 96.0, Hop("b"): 3.0, Hop("c"): 1.0}, {})
        >>> shares.quotas(50)
        {'a': 44, 'b': 3, 'c': 3}
        """
        least = min(LEAST, uses / len(self.weights))
        left, rest = float(uses), dict(self.weights)
        while rest and (
            low := [h for h, w in rest.items() if w / sum(rest.values()) * left < least]
        ):
            left -= least * len(low)
            rest = {hop: weight for hop, weight in rest.items() if hop not in low}
        total = sum(rest.values())
        return {
            str(hop): math.ceil(rest[hop] / total * left if hop in rest else least)
            for hop in self.weights
        }

    def names_at(self, listing: Listing, most: int) -> set[str]:
        """Get the names of the hops that lead from an entity to at most so many, by its listing."""
        sides = ((Direction.OUT, listing.out), (Direction.IN, listing.into))
        hops = [Hop(r, d) for d, side in sides for r, ends in side.items() if ends <= most]
        return {str(self._own[hop]) for hop in hops if hop in self._own}

    def coverage(self, queries: Iterable[Query]) -> dict[str, float | int]:
        """Return which share of the hops (by weight) queries take at least 1, 3 and 10 times."""
        uses = dict.fromkeys(map(str, self.weights), 0)
        for query in queries:
            for hop in query.all_hops:
                if hop in self:
                    uses[self.name(hop)] += 1
        total = sum(self.weights.values())
        seen = {
            f"seen_{least}_times": sum(w for h, w in self.weights.items() if uses[str(h)] >= least)
            for least in (1, 3, 10)
        }
        return {
            "hops": len(uses),
            **{key: round(weight / total, 4) for key, weight in seen.items()},
        }


def write_shares(path: Path, shares: HopShares) -> None:
    """Write a predicates file with weights: a hop (`~` before an inverse one), its weight and the
    hop's other spelling, with tabs between."""
    lines = [
        "\t".join((str(hop), f"{shares.weights[hop]:g}", *map(str, shares.spellings[hop][1:])))
        for hop in shares.weights
    ]
    write_text(path, "".join(f"{line}\n" for line in lines))


def read_shares(path: str) -> HopShares | None:
    """Return the weights of a predicates file; `None` for one without. Raises `UserError` for a
    weight that is no number above 0."""
    with open_text(path) as file:
        rows = [line.rstrip("\n").split("\t") for line in file if line.strip()]
    if not any(len(row) > 1 for row in rows):
        return None
    weights, inverses = dict[Hop, float](), dict[Hop, Hop]()
    for number, (text, *more) in enumerate(rows, 1):
        hop = parse_hop(text)
        try:
            weights[hop] = float(more[0])
        except (IndexError, ValueError):
            weights[hop] = 0
        if not 0 < weights[hop] < math.inf:
            raise UserError(f"{path}: line {number}: write a hop, a tab and a weight above 0")
        if len(more) > 1:
            inverses[hop] = parse_hop(more[1])
    return HopShares(weights, inverses)


def relations_of(line: str) -> list[str]:
    """Return the relations of a line of a predicates file.

    >>> relations_of("~directed_by\\t12\\tdirected"), relations_of("directed_by")
    (['directed_by', 'directed'], ['directed_by'])
    """
    hop, *more = line.split("\t")
    return [parse_hop(text).relation for text in (hop, *more[1:])] if more else [hop]
