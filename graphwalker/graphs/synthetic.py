"""The fictional world: a Freebase-shaped graph of any size, made entity by entity from a seed.

An entity is a function of (seed, index): nothing is kept between entities, so a world of ten
million needs no more memory than one of a thousand, and entity 4,711 is the same on any machine.
"""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from graphwalker.errors import UserError
from graphwalker.graphs.naming import NAMERS, Words, make_words
from graphwalker.graphs.schema import (
    FACTS,
    KINDS,
    MARRIAGE,
    MEDIATED,
    PARENTS,
    ROLES,
    SIBLINGS,
    Fact,
    Mediated,
    Slot,
)
from graphwalker.graphs.world_files import WorldFiles

SMALLEST, LARGEST = 1_000, 10_000_000
BLOCK = len(ROLES)
_STRIDE = 7
_BACK = pow(_STRIDE, -1, BLOCK)
_DIGITS = "0123456789bcdfghjklmnpqrstvwxyz_"
_XSD = "http://www.w3.org/2001/XMLSchema#"
_SLOTS = {role: tuple(i for i, r in enumerate(ROLES) if r == role) for role in set(ROLES)}
_MAIN_PROFESSION = {
    **{"actor": 0, "director": 1, "author": 2, "athlete": 3, "musician": 4, "executive": 5},
    **{"writer": 6, "producer": 7, "politician": 8, "composer": 9, "editor": 10, "coach": 11},
}


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

    def choose(self, target: str, skew: float, rng: random.Random) -> int:
        """The place of a random entity of a kind (`film`) or of a role (`person/director`)."""
        kind, _, role = target.partition("/")
        count, place = self.spans[kind].count, rng.random() ** skew
        if not role:
            return int(count * place)
        return int(count // BLOCK * place) * BLOCK + rng.choice(_SLOTS[role])

    def triples(self, kind: str, offset: int) -> Iterator[tuple[str, str, str]]:
        """Every triple that this entity brings into the world, its CVT nodes and twins included."""
        return _Facts(self, kind, offset).triples()

    def country_of(self, city: int) -> int:
        """Cities lie in regions, regions in countries, by turns: country k's capital is city k."""
        return city % self.spans["region"].count % self.spans["country"].count


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
                    yield from self._mediated(row)
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
            if fact.twin:
                yield tail, fact.twin, self.id

    def _tail(self, fact: Fact) -> str:
        world, relation = self.world, fact.relation
        if fact.target not in KINDS and "/" not in fact.target:
            return self._literal(fact.target, relation)
        place = self._settled(relation, fact)
        if relation == "people.person.place_of_birth":
            self.birth_city = place
        return world.entity_id(fact.target.partition("/")[0], place)

    def _settled(self, relation: str, fact: Fact) -> int:
        """The tail's place among its kind: by rule where the world hangs together, else drawn."""
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
        return f"m.1{_encode(self.index * 32 + self.mediators)}"

    def _mediated(self, row: Mediated) -> Iterator[tuple[str, str, str]]:
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
        """A league of the team's own sport, where there is one."""
        sports, leagues = self.world.spans["sport"].count, self.world.spans["league"].count
        own = place - place % sports + self.offset % sports
        return own if own < leagues else self.offset % sports % leagues

    def _family(self) -> Iterator[tuple[str, str, str]]:
        world, rng, offset = self.world, self.rng, self.offset
        siblings, parents = _family(world, offset)
        for parent in parents:
            yield self.id, PARENTS.relation, world.entity_id("person", parent)
            yield world.entity_id("person", parent), PARENTS.twin, self.id
        if siblings == offset + 2 * BLOCK:
            yield from self._pair(SIBLINGS, siblings)
        if offset // BLOCK % 2 == 0:
            for turn, share in ((0, MARRIAGE.share), (8, 0.1)):
                if rng.random() < share and (mate := _mate(offset, turn)) < world.people:
                    yield from self._pair(MARRIAGE, mate)

    def _pair(self, row: Mediated, other: int) -> Iterator[tuple[str, str, str]]:
        """Two persons on one CVT node, the same from either side."""
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
    """The likely other parent of a person's children."""
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
_MEDIATED_OF: dict[str, tuple[Mediated, ...]] = {
    kind: tuple(row for row in MEDIATED if row.source == kind) for kind in KINDS
}


def _encode(number: int) -> str:
    """A number in the letters of Freebase ids."""
    text = ""
    while True:
        number, digit = divmod(number, 32)
        text = _DIGITS[digit] + text
        if not number:
            return text


def make_world(
    entities: int, seed: int, out: Path, progress: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """Write the world's triples (TSV and N-Triples), names and types, and compile OUT/graph.

    Returns counts and seconds. Raises `UserError` for a size out of range.
    """
    from graphwalker.graphs.build import build_graph

    if not SMALLEST <= entities <= LARGEST:
        raise UserError(f"--entities {entities}: give a number from {SMALLEST} to {LARGEST}")
    if seed < 0:
        raise UserError(f"--seed {seed}: give a number from 0 on")
    started, out = time.perf_counter(), Path(out)
    if out.exists() and not out.is_dir():
        raise UserError(f"{out}: is a file; give a folder for the world")
    world = World(entities, seed)
    with WorldFiles(out) as files:
        count = _write(world, files, progress)
    info = build_graph(
        [files.triples], out / "graph", names=files.names, types=files.types, progress=progress
    )
    seconds = round(time.perf_counter() - started, 3)
    return {"entities": entities, "seed": seed, "triples": count, "graph": info, "seconds": seconds}


def _write(world: World, files: WorldFiles, progress: Callable[[str], None] | None) -> int:
    count = done = 0
    for kind, span in world.spans.items():
        types = KINDS[kind].types
        for offset in range(span.count):
            files.add_entity(world.entity_id(kind, offset), world.name(kind, offset), types)
            for triple in world.triples(kind, offset):
                files.add_triple(*triple)
                count += 1
            done += 1
            if progress and done % 50_000 == 0:
                progress(f"world: {done:,} of {world.entities:,} entities, {count:,} triples")
    return count
