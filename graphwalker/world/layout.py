"""Which entity of the fictional world is of which kind, and how one is named, found and drawn."""

import random
from dataclasses import dataclass
from functools import cached_property

from graphwalker.world.kinds import KINDS, ROLES
from graphwalker.world.names import NAMERS, Words, make_words

BLOCK = len(ROLES)
_SLOTS = {role: tuple(i for i, r in enumerate(ROLES) if r == role) for role in set(ROLES)}
_DIGITS = "0123456789bcdfghjklmnpqrstvwxyz_"


@dataclass(frozen=True, slots=True)
class Span:
    """The entities of one kind: `count` of them from index `start` on."""

    start: int
    count: int


@dataclass(frozen=True)
class World:
    """Which index is of which kind, and how an entity's facts are drawn. Holds no entities."""

    entities: int
    seed: int

    @cached_property
    def spans(self) -> dict[str, Span]:
        spans, start = dict[str, Span](), 0
        for name, kind in KINDS.items():
            if name == "person":
                continue
            count = len(kind.pool) or min(
                kind.most, max(kind.least, int(self.entities * kind.share))
            )
            spans[name] = Span(start, count)
            start += count
        spans["person"] = Span(start, self.entities - start)
        return spans

    @cached_property
    def words(self) -> Words:
        return make_words(self.entities, self.seed)

    def name(self, kind: str, offset: int) -> str:
        """The name of the entity at that place among its kind."""
        if KINDS[kind].pool:
            return KINDS[kind].pool[offset]
        index = self.spans[kind].start + offset
        return NAMERS[kind](self.words, self.rng(index, 1), offset)

    @cached_property
    def people(self) -> int:
        return self.spans["person"].count

    def rng(self, index: int, purpose: int) -> random.Random:
        """The generator of one entity for one purpose."""
        return random.Random((self.seed << 40) ^ (index << 4) ^ purpose)

    def entity_id(self, kind: str, offset: int) -> str:
        return f"m.0{_encode(self.spans[kind].start + offset)}"

    def mediator_id(self, index: int, number: int) -> str:
        """The id of an unnamed node: the `number`-th that entity `index` brings."""
        return f"m.1{_encode(index * 32 + number)}"

    def choose(self, target: str, skew: float, rng: random.Random) -> int:
        """The place of a random entity of a kind (`film`) or of a role (`person/director`)."""
        kind, _, role = target.partition("/")
        count, place = self.spans[kind].count, rng.random() ** skew
        if not role:
            return int(count * place)
        return int(count // BLOCK * place) * BLOCK + rng.choice(_SLOTS[role])

    def country_of(self, city: int) -> int:
        """Cities lie in regions, regions in countries, by turns: country k's capital is city k."""
        return city % self.spans["region"].count % self.spans["country"].count


def _encode(number: int) -> str:
    """A number in the letters of Freebase ids."""
    text = ""
    while True:
        number, digit = divmod(number, 32)
        text = _DIGITS[digit] + text
        if not number:
            return text
