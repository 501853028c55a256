"""A search through the readings of a question, step by step; it may err on purpose."""

import random
import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.literals import is_literal
from graphwalker.oracle import thoughts
from graphwalker.oracle.oracle import opening, shared
from graphwalker.oracle.plan import Move, View, listed_in
from graphwalker.oracle.steps import moving
from graphwalker.query.query import Hop
from graphwalker.tools.base import Call, ErrorKind
from graphwalker.trajectory import Turn

Steps = Generator[Move, Turn, Any]
"""Yields moves, is sent the turns that came of them, returns what was found."""

HopPath = tuple[Hop, ...]

INJECTED_ERRORS = (
    *("wrong_relation", "dead_end", "wrong_entity"),
    *("unlisted_relation", "foreign_relation", "misspelled_name"),
)
"""Calls that a careful reader would not make, refused or useless. Wrong readings of vague phrases
come on top of them by themselves."""
WRONG_SIDE = "wrong_side"
"""One more, of tools that look in one direction: a look at the other side of an entity."""
INSISTS = 0.5
"""Share of dead ends at which a stubborn expert first asks for what is not listed."""


class OutOfTurns(Exception):
    """The turn budget is spent: answer with what there is."""


@dataclass(frozen=True, slots=True)
class PhrasedHop:
    """One hop of the question as a reader sees it: its phrase, and what that may mean."""

    phrase: str
    readings: tuple[Hop, ...]


class Search:
    """The state of one episode: what was listed, what was asked, what went wrong. It has at most
    one injected error; a stubborn search may err at dead ends, too."""

    def __init__(
        self,
        view: View,
        rng: random.Random,
        max_turns: int,
        plain: bool = False,
        stubborn: bool = False,
    ) -> None:
        """`stubborn`: it may ask for a relation that is not listed before it sees a dead end."""
        self.view = view
        self.rng = rng
        self.choice = None if plain else rng
        self.errors: list[dict[str, Any]] = []
        self.listings: dict[str, set[str]] = {}
        self._hidden: dict[str, int] = {}
        self._looked_up: dict[tuple[str, str], tuple[Turn, int]] = {}
        self._left = max_turns
        self._turn = -1
        self._pending: list[str] = []
        self._at, self._kind, self._now = -1, "", ""
        self._stubborn = stubborn

    def inject(self, hop: int, kind: str) -> None:
        """Err once, at that hop of the question (counted over branches and tail)."""
        self._at, self._kind = hop, kind

    def run(
        self,
        topics: Sequence[Entity],
        branches: Sequence[Sequence[PhrasedHop]],
        tail: Sequence[PhrasedHop],
    ) -> Steps:
        """The answers. Where the branches do not meet, or the tail is dead, another reading."""
        dead: list[set[HopPath]] = [set() for _ in branches]
        opened: set[int] = set()
        while True:
            ends: list[tuple[HopPath, list[Entity]]] = []
            for b, (topic, slots) in enumerate(zip(topics, branches, strict=True)):
                begins = opening(self.view.name(topic), slots[0].phrase, b, self.choice)
                number = sum(map(len, branches[:b]))
                begins, opened = ("" if b in opened else begins), opened | {b}
                found = yield from self._path([topic], slots, (), dead[b], number, begins)
                if found is None:
                    return []
                ends.append(found)
            answers = shared([end for _, end in ends])
            if answers and tail:
                answers = yield from self._tail(answers, tail, sum(map(len, branches)))
            if answers:
                self.recover()
                return answers
            self._doubt(ends, branches, dead)

    def _tail(self, meet: list[Entity], tail: Sequence[PhrasedHop], number: int) -> Steps:
        names = [self.view.name(entity) for entity in meet]
        opening = thoughts.intersect(names, tail[0].phrase, self.choice)
        found = yield from self._path(meet, tail, (), set(), number, opening)
        return [] if found is None else found[1]

    def _doubt(
        self,
        ends: Sequence[tuple[HopPath, list[Entity]]],
        branches: Sequence[Sequence[PhrasedHop]],
        dead: Sequence[set[HopPath]],
    ) -> None:
        """The ends do not fit: give up the reading of the branch that has most others left."""
        b = max(range(len(ends)), key=lambda i: (_open(branches[i], dead[i]), i))
        path = ends[b][0]
        dead[b].add(path)
        self.err("wrong_relation", str(path[-1]))
        self.say(thoughts.wrong_result(branches[b][-1].phrase, self.choice))

    def _path(
        self,
        frontier: list[Entity],
        slots: Sequence[PhrasedHop],
        taken: HopPath,
        dead: set[HopPath],
        number: int,
        opening: str = "",
    ) -> Steps:
        """(hops, end) of the first reading of these slots that the graph does not contradict."""
        if not slots:
            return taken, frontier
        slot = slots[0]
        opening = yield from self._err_before_listing(number, frontier, slot, opening)
        yield from self._list(frontier, slot, opening)
        yield from self._err_after_listing(number, frontier, slot, slots[1:])
        tried: set[Hop] = set()
        while left := [h for h in self.listed_readings(frontier, slot) if h not in tried]:
            hop = left[0]
            path = (*taken, hop)
            if path in dead:
                tried.add(hop)
                continue
            if tried and (frontier[0].id, hop.relation) not in self._looked_up:
                self.say(thoughts.back(self.view.name(frontier[0]), slot.phrase, self.choice))
            tried.add(hop)
            done = yield from self._try(frontier, hop, slots, path, dead, number)
            if done is not None:
                return done
            dead.add(path)
            if len(tried) == len(self.listed_readings(frontier, slot)):
                yield from self._list(frontier[:1], slot, "", again=True)
        if not tried:
            yield from self._insist(frontier[0], slot)
            self.say(thoughts.dead_end(self.view.name(frontier[0]), slot.phrase, self.choice))
        return None

    def _try(
        self,
        frontier: list[Entity],
        hop: Hop,
        slots: Sequence[PhrasedHop],
        path: HopPath,
        dead: set[HopPath],
        number: int,
    ) -> Steps:
        found = yield from self._follow(frontier, hop, slots[0].phrase)
        _, at = self._looked_up[frontier[0].id, hop.relation]
        if not found and Hop(hop.relation, hop.direction.reverse) in slots[0].readings:
            return None  # the same triples, read from their other end, are not another try
        if not found:
            self.err("wrong_relation", str(hop), at)
            self.say(thoughts.wrong_result(slots[0].phrase, self.choice))
            return None
        done = yield from self._path(found, slots[1:], path, dead, number + 1)
        if done is None:
            self.err("dead_end", str(hop), at)
        return done

    def listed_readings(self, frontier: Sequence[Entity], slot: PhrasedHop) -> list[Hop]:
        """Readings that the frontier's own list offers; without a list, those seen anywhere."""
        own = [self.listings[e.id] for e in frontier if e.id in self.listings]
        known = set[str]().union(*own) if own else self.view.listed
        return [hop for hop in slot.readings if hop.relation in known]

    def _list(
        self, frontier: Sequence[Entity], slot: PhrasedHop, opening: str, again: bool = False
    ) -> Steps:
        """Look at the frontier until a relation that fits the phrase has been listed."""
        for entity in frontier[:2]:
            seen = any(e.id in self.listings for e in frontier)
            if not again and seen and self.listed_readings(frontier, slot):
                break
            if entity.id not in self.listings:
                why = opening
                if not why and not self._pending:
                    why = moving(self.view, frontier, entity, slot.phrase, self.choice)
                opening = ""
                yield from self.look(entity, why)
        self.say(opening)
        yield from self._read_on(frontier[0], frontier, slot)

    def look(self, entity: Entity, why: str) -> Steps:
        turn = yield from self.do(why, self.view.look(entity))
        self.listings[entity.id] = set() if turn.error else listed_in(turn)
        self._hidden[entity.id] = 0 if turn.error else turn.hidden

    def _read_on(self, entity: Entity, frontier: Sequence[Entity], slot: PhrasedHop) -> Steps:
        """Page by page, until a relation that fits the phrase has been listed."""
        page, pages = 2, self.view.abilities.pages
        while pages and self._hidden.get(entity.id) and not self.listed_readings(frontier, slot):
            call = pages.relations_page(self.view.name(entity), page)
            turn = yield from self.do(thoughts.next_relations(self.choice), call)
            self.listings[entity.id] |= set() if turn.error else listed_in(turn)
            self._hidden[entity.id], page = 0 if turn.error else turn.hidden, page + 1

    def _follow(self, frontier: Sequence[Entity], hop: Hop, phrase: str) -> Steps:
        found: dict[str, Entity] = {}
        for k, entity in enumerate(frontier):
            if (entity.id, hop.relation) not in self._looked_up:
                why = (
                    moving(self.view, frontier, entity, phrase, self.choice)
                    if k
                    else self.view.why(frontier, hop, phrase, self.choice)
                )
                yield from self.ask(entity, hop.relation, why, hop.direction)
            turn, _ = self._looked_up[entity.id, hop.relation]
            found.update((e.id, e) for e in self.view.found_ends(turn, [entity], hop))
        return list(found.values())

    def ask(
        self, entity: Entity, relation: str, why: str, direction: Direction | None = None
    ) -> Steps:
        """The turn that asks where a relation leads, remembered."""
        turn = yield from self.do(why, self.view.ask(entity, relation, direction))
        if turn.error != ErrorKind.NOT_LISTED_YET:
            self._looked_up[entity.id, relation] = turn, self._turn
        return turn

    def do(self, why: str, call: Call) -> Steps:
        """Every action goes through here. Raises `OutOfTurns` once the budget is spent."""
        if not self._left:
            raise OutOfTurns
        self._left -= 1
        turn = yield self.speak(why), call
        self._turn += 1
        self.view.see(turn)
        return turn

    def say(self, thought: str) -> None:
        """A thought to open the next step with."""
        self._pending.append(thought)

    def speak(self, thought: str) -> str:
        parts, self._pending = [*self._pending, thought], []
        return " ".join(filter(None, parts))

    def err(self, kind: str, what: str, turn: int | None = None, injected: bool = False) -> None:
        """Note what went wrong at a turn (the last one): an injected error, or an honest one."""
        at = self._turn if turn is None else turn
        about = {"turn": at, "kind": kind, "what": what, "slip": injected}
        self.errors.append({**about, "recovered": False, "recovered_at": None})

    def recover(self) -> None:
        """The search came through: what went wrong was put right by the next turn without a fault,
        which may be the answer."""
        wrong = {error["turn"] for error in self.errors}
        for error in self.errors:
            later = range(error["turn"] + 1, self._turn + 2)
            error["recovered"] = True
            error["recovered_at"] = next(turn for turn in later if turn not in wrong)

    def _err_before_listing(
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

    def _err_after_listing(
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
        yield from self._insist(entity, slot)
        self.say(thoughts.dead_end(name, slot.phrase, self.choice))

    def _insist(self, entity: Entity, slot: PhrasedHop) -> Steps:
        """Now and then, ask for the relation that the phrase wants all the same."""
        own = self.listings.get(entity.id, set())
        wanted = [hop.relation for hop in slot.readings if hop.relation not in own]
        if self._stubborn and wanted and self.rng.random() < INSISTS:
            why = thoughts.choose(slot.phrase, wanted[:1], self.choice)
            turn = yield from self.ask(entity, wanted[0], why)
            self.err("foreign_relation", wanted[0], injected=True)
            self.say(thoughts.fault(turn.error, self.choice) if turn.error else "")


def _open(slots: Sequence[PhrasedHop], dead: set[HopPath]) -> int:
    combinations = 1
    for slot in slots:
        combinations *= len(slot.readings)
    return combinations - len(dead)


def _common_words(one: str, other: str) -> int:
    words, others = (set(re.findall(r"[^\W_]+", relation)) for relation in (one, other))
    return len(words & others)
