"""Injected errors of the expert: calls that a careful reader would not make, refused or useless."""

import random
import re
from collections.abc import Sequence

from data_pipeline.experts.search import PhrasedHop, Search, Steps
from graphwalker.graphs.base import Entity
from graphwalker.graphs.cvt import is_literal
from graphwalker.oracle import thoughts
from graphwalker.oracle.plan import View

INJECTED_ERRORS = (
    "wrong_relation",
    "dead_end",
    "wrong_entity",
    "unlisted_relation",
    "foreign_relation",
    "misspelled_name",
)
"""Their kinds; wrong readings of vague phrases come on top of them by themselves."""

WRONG_SIDE = "wrong_side"
"""One more, of tools that look in one direction: a look at the other side of an entity."""

INSISTS = 0.5
"""Share of dead ends at which a stubborn expert first asks for what is not listed."""


def places(kind: str, lengths: Sequence[int]) -> list[int]:
    """The hops (counted over the paths of those lengths) at which such an error can be made; all of
    them where no hop is better than another."""
    hops = list(range(sum(lengths)))
    ends = {sum(lengths[: k + 1]) - 1 for k in range(len(lengths))}
    if kind == "dead_end":  # it needs a next hop to miss
        return [hop for hop in hops if hop not in ends] or hops
    return hops[1:] or hops if kind == "wrong_entity" else hops


class ErringSearch(Search):
    """A search with at most one injected error; a stubborn one may err at dead ends, too."""

    def __init__(self, view: View, rng: random.Random, max_turns: int, plain: bool = False) -> None:
        super().__init__(view, rng, max_turns, plain)
        self._at, self._kind, self._now = -1, "", ""
        self.stubborn = False
        """Whether it may ask for a relation that is not listed before it sees a dead end."""

    def inject(self, hop: int, kind: str) -> None:
        """Err once, at that hop of the question (counted over branches and tail)."""
        self._at, self._kind = hop, kind

    def before_listing(
        self, number: int, frontier: Sequence[Entity], slot: PhrasedHop, opening: str
    ) -> Steps:
        """Guess a relation or garble a name: the environment says that there is no such thing."""
        self._now, kind = "", self._kind
        if number != self._at:
            return opening
        self._now, self._at = kind, -1
        if kind == "misspelled_name":
            return (yield from self._misspell(frontier[0], slot, opening))
        relation = slot.readings[0].relation
        if kind != "unlisted_relation" or relation in self.view.listed:
            return opening
        why = opening or thoughts.choose(slot.phrase, [relation], self.choice)
        turn = yield from self.ask(frontier[0], relation, why)
        if turn.error:
            self.err(kind, relation, injected=True)
            self.say(thoughts.mend(turn.error, self.choice))
        return ""

    def _misspell(self, entity: Entity, slot: PhrasedHop, opening: str) -> Steps:
        """Ask for a name whose end belongs to another entity, as small models do."""
        name = self.view.name(entity)
        garbled = self.view.garble_name(name, self.rng)
        if not garbled:
            return opening
        why = (opening or thoughts.move(name, slot.phrase, self.choice)).replace(name, garbled)
        turn = yield from self.do(why, self.view.look(garbled))
        self.err("misspelled_name", garbled, injected=True)
        self.say(thoughts.mend(turn.error, self.choice))
        return ""

    def after_listing(
        self, number: int, frontier: Sequence[Entity], slot: PhrasedHop, later: Sequence[PhrasedHop]
    ) -> Steps:
        """Take a wrong relation, follow it into a dead end, or ask for what is not there."""
        kind = self._now
        if kind == "wrong_entity":
            yield from self._wrong_entity(frontier, slot)
        elif kind == "foreign_relation":
            yield from self._foreign_relation(frontier[0], slot)
        elif kind in ("wrong_relation", "dead_end"):
            kind = kind if later else "wrong_relation"
            found = yield from self._wrong_relation(kind, frontier[0], slot)
            if found and kind == "dead_end":
                yield from self._walk_into(found[0], later[0])
                self.say(thoughts.back(self.view.name(frontier[0]), slot.phrase, self.choice))
            elif found is not None:
                self.say(thoughts.wrong_result(slot.phrase, self.choice))

    def _wrong_entity(self, frontier: Sequence[Entity], slot: PhrasedHop) -> Steps:
        """Ask an entity seen earlier for what only the frontier has."""
        hops = self.listed_readings(frontier, slot)
        here = {entity.id for entity in frontier}
        others = [e for e in self.view.entities() if e.id not in here and not is_literal(e.id)]
        if not hops or not others:
            return
        entity = others[self.rng.randrange(len(others))]
        why = thoughts.choose(slot.phrase, [hops[0].relation], self.choice)
        turn = yield from self.ask(entity, hops[0].relation, why)
        self.err("wrong_entity", self.view.name(entity), injected=True)
        mended = thoughts.mend(turn.error, self.choice) if turn.error else ""
        self.say(mended or thoughts.wrong_result(slot.phrase, self.choice))

    def _foreign_relation(self, entity: Entity, slot: PhrasedHop) -> Steps:
        """Trust the phrase more than the list: ask for a relation that other entities have."""
        own = self.listings.get(entity.id, set())
        read = sorted({hop.relation for hop in slot.readings} - own)
        rivals = read or sorted(self.view.listed - own)
        if not rivals or not self.listed_readings([entity], slot):
            return
        relation = self.rng.choice(rivals)
        why = thoughts.choose(slot.phrase, [relation], self.choice)
        turn = yield from self.ask(entity, relation, why)
        if turn.error:
            self.err("foreign_relation", relation, injected=True)
            self.say(thoughts.mend(turn.error, self.choice))

    def _wrong_relation(self, kind: str, entity: Entity, slot: PhrasedHop) -> Steps:
        """Take the listed relation that looks most like the right ones.

        Returns what it found, `None` where there is no other relation to take.
        """
        meant = {hop.relation for hop in slot.readings}
        rivals = sorted(r for r in self.listings.get(entity.id, ()) if r not in meant)
        if not rivals:
            return None
        likeness = {r: max(_common_words(r, m) for m in meant) for r in rivals}
        best = max(likeness.values())
        relation = self.rng.choice([r for r in rivals if likeness[r] == best])
        why = thoughts.choose(slot.phrase, [relation], self.choice)
        turn = yield from self.ask(entity, relation, why)
        self.err(kind, relation, injected=True)
        return [e for e in turn.shown if e.id != entity.id and not is_literal(e.id)]

    def _walk_into(self, entity: Entity, slot: PhrasedHop) -> Steps:
        """Continue from a wrong entity and see that nothing there fits the next phrase."""
        name = self.view.name(entity)
        yield from self.look(entity, thoughts.move(name, slot.phrase, self.choice))
        yield from self.at_dead_end(entity, slot)
        self.say(thoughts.dead_end(name, slot.phrase, self.choice))

    def at_dead_end(self, entity: Entity, slot: PhrasedHop) -> Steps:
        """Now and then, ask for the relation that the phrase wants all the same."""
        own = self.listings.get(entity.id, set())
        wanted = [hop.relation for hop in slot.readings if hop.relation not in own]
        if self.stubborn and wanted and self.rng.random() < INSISTS:
            why = thoughts.choose(slot.phrase, wanted[:1], self.choice)
            turn = yield from self.ask(entity, wanted[0], why)
            self.err("foreign_relation", wanted[0], injected=True)
            self.say(thoughts.fault(turn.error, self.choice) if turn.error else "")


def _common_words(one: str, other: str) -> int:
    return len(_words(one) & _words(other))


def _words(relation: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", relation))
