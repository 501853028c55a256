"""The triples of one entity of the fictional world, drawn from its own generator."""

from collections.abc import Iterator

from graphwalker.world.kinds import BLOCK, KINDS, ROLES, World
from graphwalker.world.schema import (
    FACTS,
    MARRIAGE,
    MEDIATED,
    PARENTS,
    SIBLINGS,
    Fact,
    MediatorFact,
    Slot,
)

_STRIDE = 7
_BACK = pow(_STRIDE, -1, BLOCK)
_XSD = "http://www.w3.org/2001/XMLSchema#"
_MAIN_PROFESSION = {
    **{"actor": 0, "director": 1, "author": 2, "athlete": 3, "musician": 4, "executive": 5},
    **{"writer": 6, "producer": 7, "politician": 8, "composer": 9, "editor": 10, "coach": 11},
}


def entity_triples(world: World, kind: str, offset: int) -> Iterator[tuple[str, str, str]]:
    """Return every triple that this entity brings, its CVT nodes and inverses included."""
    return _Facts(world, kind, offset).triples()


class _Facts:
    """The triples of one entity while they are drawn."""

    def __init__(self, world: World, kind: str, offset: int) -> None:
        self.world, self.kind, self.offset = world, kind, offset
        self.index = world.spans[kind].start + offset
        self.id = world.entity_id(kind, offset)
        self.role = ROLES[offset % BLOCK] if kind == "person" else ""
        self.rng = world.rng(self.index, 0)
        self.mediators = 0
        self.birth_city = -1
        people = world.spans["person"].count
        self.birth_year = 1880 + 110 * offset // people + self.rng.randrange(8)
        self.last_year = self.birth_year + self.rng.randrange(45, 95)

    def triples(self) -> Iterator[tuple[str, str, str]]:
        for fact in _FACTS_OF.get(self.kind, ()):
            if not fact.roles or self.role in fact.roles:
                yield from self._fact(fact)
        for row in _MEDIATED_OF.get(self.kind, ()):
            if (not row.roles or self.role in row.roles) and self.rng.random() < row.share:
                for _ in range(self.rng.randint(1, row.most)):
                    yield from self._mediator_facts(row)
        if self.kind == "person":
            yield from self._family()

    def _fact(self, fact: Fact) -> Iterator[tuple[str, str, str]]:
        rng = self.rng
        if rng.random() >= fact.share:
            return
        if fact.relation.startswith("people.deceased_person.") and self.last_year > 2020:
            return
        tails: set[str] = set()
        for _ in range(rng.randint(1, fact.most) if fact.most > 1 else 1):
            tail = self._tail(fact)
            if tail == self.id or tail in tails:
                continue
            tails.add(tail)
            yield self.id, fact.relation, tail
            if fact.inverse:
                yield tail, fact.inverse, self.id

    def _tail(self, fact: Fact) -> str:
        world, relation = self.world, fact.relation
        if fact.target not in KINDS and "/" not in fact.target:
            return self._literal(fact.target, relation)
        place = self._settle(relation, fact)
        if relation == "people.person.place_of_birth":
            self.birth_city = place
        return world.entity_id(fact.target.partition("/")[0], place)

    def _settle(self, relation: str, fact: Fact) -> int:
        """Return the tail's place among its kind: by rule where the world has one, else drawn."""
        world = self.world
        if self.kind == "city" and relation == "location.location.containedby":
            return self.offset % world.spans["region"].count
        if relation == "location.administrative_division.country":
            return self.offset % world.spans["country"].count
        if relation == "location.country.capital":
            return self.offset
        if relation in ("sports.sports_team.sport", "sports.sports_league.sport"):
            return self.offset % world.spans["sport"].count
        if relation == "people.person.nationality" and self.birth_city >= 0:
            return world.country_of(self.birth_city)
        if relation == "people.person.profession" and self.rng.random() < 0.75:
            return _MAIN_PROFESSION[self.role]
        return world.choose(fact.target, fact.skew, self.rng)

    def _literal(self, kind: str, relation: str) -> str:
        rng = self.rng
        if kind == "year":
            return f'"{rng.randrange(1930, 2021)}"^^<{_XSD}gYear>'
        if kind == "integer":
            return f'"{int(10 ** rng.uniform(3, 6))}"^^<{_XSD}integer>'
        if kind == "height":
            return f'"{rng.uniform(1.5, 2.05):.2f}"^^<{_XSD}decimal>'
        year = rng.randrange(1900, 2021)
        if relation == "people.person.date_of_birth":
            year = self.birth_year
        elif relation == "people.deceased_person.date_of_death":
            year = self.last_year
        elif self.kind == "person":
            year = self.birth_year + rng.randrange(20, 40)
        return f'"{year}-{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d}"^^<{_XSD}date>'

    def _mediator(self) -> str:
        self.mediators += 1
        return self.world.mediator_id(self.index, self.mediators)

    def _mediator_facts(self, row: MediatorFact) -> Iterator[tuple[str, str, str]]:
        node = self._mediator()
        yield self.id, row.relation, node
        if row.home:
            yield node, row.home, self.id
        for number, slot in enumerate(row.slots):
            if number and self.rng.random() >= slot.share:
                continue
            value = self._slot(slot)
            yield node, slot.relation, value
            if row.back and not number:
                yield value, row.back, node

    def _slot(self, slot: Slot) -> str:
        world = self.world
        if slot.target not in KINDS and "/" not in slot.target:
            return self._literal(slot.target, slot.relation)
        place = world.choose(slot.target, slot.skew, self.rng)
        if slot.target == "league":
            place = self._league(place)
        if slot.target == self.kind and place == self.offset:
            place = (place + 1) % world.spans[self.kind].count
        return world.entity_id(slot.target.partition("/")[0], place)

    def _league(self, place: int) -> int:
        """Return a league of the team's own sport, where there is one."""
        sports, leagues = self.world.spans["sport"].count, self.world.spans["league"].count
        own = place - place % sports + self.offset % sports
        return own if own < leagues else self.offset % sports % leagues

    def _family(self) -> Iterator[tuple[str, str, str]]:
        world, rng, offset = self.world, self.rng, self.offset
        siblings, parents = _family(world, offset)
        for parent in parents:
            yield self.id, PARENTS.relation, world.entity_id("person", parent)
            yield world.entity_id("person", parent), PARENTS.inverse, self.id
        if siblings == offset + 2 * BLOCK:
            yield from self._pair(SIBLINGS, siblings)
        if offset // BLOCK % 2 == 0:
            for turn, share in ((0, MARRIAGE.share), (8, 0.1)):
                if rng.random() < share and (mate := _mate(offset, turn)) < world.people:
                    yield from self._pair(MARRIAGE, mate)

    def _pair(self, row: MediatorFact, other: int) -> Iterator[tuple[str, str, str]]:
        """Yield two persons on one CVT node, the same from either side."""
        node, first = self._mediator(), row.slots[0].relation
        for person in (self.id, self.world.entity_id("person", other)):
            yield person, row.relation, node
            yield node, first, person
        for slot in row.slots[1:]:
            if self.rng.random() < slot.share:
                yield node, slot.relation, self._slot(slot)


def _mate(offset: int, turn: int) -> int:
    """Whom a person of an even block may marry: somebody in the next block, so of the same age."""
    block, slot = divmod(offset, BLOCK)
    return (block + 1) * BLOCK + (slot * _STRIDE + 3 + turn) % BLOCK


def _spouse_side(offset: int) -> int:
    """Return the likely other parent of a person's children."""
    block, slot = divmod(offset, BLOCK)
    if block % 2 == 0:
        return _mate(offset, 0)
    return (block - 1) * BLOCK + (slot - 3) * _BACK % BLOCK


def _family(world: World, offset: int) -> tuple[int, list[int]]:
    """(sibling or -1, parents): siblings stand two blocks apart and have the same parents."""
    upper = offset // BLOCK % 4 >= 2
    elder = offset - 2 * BLOCK if upper else offset
    rng = world.rng(world.spans["person"].start + elder, 2)
    together = rng.random() < SIBLINGS.share and elder + 2 * BLOCK < world.people
    if upper and not together:
        elder = offset
        rng = world.rng(world.spans["person"].start + elder, 3)
    parents: list[int] = []
    first = elder - int(world.people * rng.uniform(0.25, 0.35))
    if first >= 0 and rng.random() < PARENTS.share:
        second = _spouse_side(first)
        parents = [first, second] if second < world.people and rng.random() < 0.8 else [first]
    if not together:
        return -1, parents
    return (elder if upper else elder + 2 * BLOCK), parents


_FACTS_OF: dict[str, tuple[Fact, ...]] = {
    kind: tuple(fact for fact in FACTS if fact.source == kind) for kind in KINDS
}
_MEDIATED_OF: dict[str, tuple[MediatorFact, ...]] = {
    kind: tuple(row for row in MEDIATED if row.source == kind) for kind in KINDS
}
