"""The walk of a query with errors on the way, each seen and put right."""

import random
import re
from collections.abc import Iterable, Sequence
from typing import Any

from data_pipeline.config import WRONG_SIDE
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.literals import is_literal
from graphwalker.oracle import thoughts
from graphwalker.oracle.choices import Aim, short_names
from graphwalker.oracle.plan import View
from graphwalker.oracle.walk import QueryWalk, Steps
from graphwalker.query.query import Hop
from graphwalker.question import Question
from graphwalker.tools.base import Call
from graphwalker.trajectory import Turn

DIRECTED_ERRORS = (
    WRONG_SIDE,
    "wrong_relation",
    "wrong_entity",
    "foreign_relation",
    "misspelled_name",
)
"""The kinds that can be made with such tools."""
MOST_ENDS = 20
"""Entities that a wrong reading may lead to: each is looked at."""


class ErringWalk(QueryWalk):
    """Has at most one injected error, at a drawn hop or the next one where it can be made; and
    honest ones, where another reading of a phrase comes first and the graph contradicts it."""

    def __init__(self, view: View, question: Question, plain: bool, rng: random.Random) -> None:
        super().__init__(view, question, None if plain else rng)
        wording = self.wording
        self.errors: list[dict[str, Any]] = []
        self._draws, self._kind, self._at, self._turn = rng, "", 0, -1
        self._readings = [r for path in (*wording.readings, wording.tail_readings) for r in path]
        self._lengths = [*map(len, wording.phrases), len(wording.tail_phrases)]

    def inject(self, kind: str) -> None:
        """Err once in that way."""
        self._kind, self._at = kind, self._draws.choice(_places(kind, self._lengths))

    def recoveries(self) -> list[dict[str, Any]]:
        """Return what went wrong, by turn; the next turn without a fault, the answer at the latest,
        has put it right."""
        wrong = {error["turn"] for error in self.errors}
        right = {at: next(k for k in range(at, self._turn + 2) if k not in wrong) for at in wrong}
        return [{**e, "recovered": True, "recovered_at": right[e["turn"]]} for e in self.errors]

    def do(self, why: str, call: Call) -> Steps[Turn]:
        turn = yield from super().do(why, call)
        self._turn += 1
        return turn

    def before_look(self, entity: Entity, hop: Hop, aim: Aim, why: str) -> Steps[str]:
        """Guess a relation, garble a name, or look at the wrong side or the wrong entity."""
        directed, what = self.view.abilities.directed, str(hop)
        if self._is_due("misspelled_name"):
            name = self.view.name(entity)
            by_id = directed and directed.by_id
            what = name if by_id else self._garble(name)
            call = self.view.look(what, hop.direction) if what else None
            why = why if by_id or not what else _rename(why, name, what)
        elif self._is_due("unlisted_relation") and hop.relation not in self.view.listed:
            call = self.view.ask(entity, hop.relation, hop.direction)
        elif directed and self._is_due(WRONG_SIDE):
            call = self.view.look(entity, hop.direction.reverse)
        elif directed and self._is_due("wrong_entity") and (other := self._other([entity])):
            call, what = self.view.look(other, hop.direction), self.view.name(other)
        else:
            return why
        if call in (None, self.view.look(entity, hop.direction)):
            return why
        turn = yield from self.do(why, call)
        self._err(what)
        self._regret(turn)
        return ""

    def before_ask(self, frontier: Sequence[Entity], hop: Hop, aim: Aim) -> Steps[None]:
        """Follow other readings of the phrase; then take a wrong relation, perhaps into a dead end,
        or ask the wrong entity, or for what the entity does not have."""
        for taken in self._wrong_readings(frontier[0], hop):
            yield from self._detour(frontier[0], taken, aim, injected=False)
        if self._is_due("wrong_entity"):
            if other := self._other(frontier):
                yield from self._ask_wrongly(other, hop, aim, self.view.name(other))
        elif self._is_due("foreign_relation"):
            own = {one.relation for one in self.view.listed_of(frontier[0])}
            foreign = (Hop(name, hop.direction) for name in sorted(self.view.listed - own))
            if rivals := [one for one in foreign if not self._is_same_call(frontier[0], one, hop)]:
                rival = self._draws.choice(rivals)
                yield from self._ask_wrongly(frontier[0], rival, aim, rival.relation)
        elif self._is_due("wrong_relation", "dead_end") and (
            rival := self._nearest_rival(frontier[0], hop)
        ):
            yield from self._detour(frontier[0], rival, aim, injected=True)

    def _garble(self, name: str) -> str:
        """Return the name with the last word of another known one, a single word with two letters
        changed round, where no entity is called so."""
        *before, last = name.split() or [""]
        known = (entity.name for entity in self.view.entities() if entity.name != name)
        # The last word of another name alone would name that one: not `Furtado` for Victoria.
        others = sorted({other.split()[-1] for other in known} if before else _misspellings(last))
        self._draws.shuffle(others)
        for word in others:
            mixed = " ".join([*before, word])
            if mixed != name and not self.view.graph.resolve(mixed):
                return mixed
        return ""

    def _other(self, frontier: Sequence[Entity]) -> Entity | None:
        """Return an entity that the episode knows besides these."""
        here = {entity.id for entity in frontier}
        known = (e for e in self.view.entities() if e.id not in here and not is_literal(e.id))
        others = list(known)
        return self._draws.choice(others) if others else None

    def _is_due(self, *kinds: str) -> bool:
        return self._kind in kinds and self.number >= self._at

    def _err(self, what: str, kind: str = "", injected: bool = True) -> None:
        about = {"turn": self._turn, "kind": kind or self._kind, "what": what, "slip": injected}
        self.errors.append(about)
        self._kind = "" if injected else self._kind

    def _regret(self, turn: Turn) -> None:
        mended = thoughts.mend(turn.error, self.rng) if turn.error else thoughts.astray(self.rng)
        self.say(mended)

    def _guess(self, hop: Hop, aim: Aim) -> str:
        return thoughts.guess(
            short_names([self.view.shown_as(hop.relation)])[0], aim.sought, self.rng
        )

    def _ask_wrongly(self, entity: Entity, hop: Hop, aim: Aim, what: str) -> Steps[None]:
        call = self.view.ask(entity, hop.relation, hop.direction)
        turn = yield from self.do(self._guess(hop, aim), call)
        self._err(what)
        self._regret(turn)

    def _detour(self, entity: Entity, taken: Hop, aim: Aim, *, injected: bool) -> Steps[None]:
        """Take a wrong relation and see that it is wrong: by what it gives, or, one entity further,
        by what is not listed there."""
        call = self.view.ask(entity, taken.relation, taken.direction)
        turn = yield from self.do(self._guess(taken, aim), call)
        found = self.view.triple_ends(turn, entity, taken)
        dead = self._dead_ends(found) if not injected or self._kind == "dead_end" else []
        self._err(str(taken), "dead_end" if dead else "wrong_relation", injected)
        if not dead:
            self.say(thoughts.wrong_result(aim.sought, self.rng))
            return
        name, (_, beyond) = self.view.name(dead[0]), self.later[0]
        why = self.moving([dead[0]], dead[0], beyond)
        yield from self.do(why, self.view.look(dead[0], taken.direction))
        self.say(thoughts.dead_end(name, beyond.sought, self.rng))
        self.say(thoughts.back(self.view.name(entity), aim.sought, self.rng))

    def _dead_ends(self, found: Iterable[Entity]) -> list[Entity]:
        """Return those of the entities that lack the relation of the next hop."""
        wanted = [hop.relation for hop, _ in self.later[:1]]
        return [
            e for e in found for r in wanted if not is_literal(e.id) and not self.view.has(e, r)
        ]

    def _nearest_rival(self, entity: Entity, hop: Hop) -> Hop | None:
        """Return the listed relation most like the right one that leads to none of its ends."""
        meant = {r.relation for r in (hop, *self._readings[self.number])}
        right = self.view.ends_of([entity], hop).keys()
        rivals = [
            r
            for r in self.view.listed_of(entity)
            if r.relation not in meant and not self._is_same_call(entity, r, hop)
        ]
        self._draws.shuffle(rivals)
        rivals.sort(key=lambda r: -max(_common_words(r.relation, m) for m in meant))
        for rival in rivals:
            both = [Hop(rival.relation, direction) for direction in Direction]
            found = [self.view.ends_of([entity], one) for one in both]
            ends = [Entity(end) for end in found[rival.direction is Direction.IN]]
            is_blind = self._kind == "dead_end" and self.later and not self._dead_ends(ends)
            if not is_blind and all(map(right.isdisjoint, found)):
                return rival
        return None

    def _is_same_call(self, entity: Entity, one: Hop, other: Hop) -> bool:
        """Return whether the tools write both alike, as those that show halves of relations do."""
        first, second = (self.view.ask(entity, h.relation, h.direction) for h in (one, other))
        return first == second

    def _wrong_readings(self, entity: Entity, hop: Hop) -> list[Hop]:
        """Other readings of the phrase that come before the right one in a drawn order, as far as
        they are listed and the graph contradicts them within the episode."""
        readings, inverse = self._readings[self.number], self.view.choices.phrases.inverse
        if len(readings) < 2 or self.view.abilities.directed:
            return []
        order = sorted(set(readings))
        self._draws.shuffle(order)
        right = {hop, inverse(hop)}
        before = order[: min(k for k, one in enumerate(order) if one in right)]
        listed = self.view.listed_of(entity)
        taken: dict[str, Hop] = {}
        for one in before:
            other = inverse(one)
            is_new = one.relation not in taken and (other is None or other.relation not in taken)
            if one in listed and is_new and self._is_contradicted(entity, one):
                taken[one.relation] = one
        return list(taken.values())

    def _is_contradicted(self, entity: Entity, taken: Hop) -> bool:
        """Return whether what the relation leads to is seen to be wrong: the next hop cannot be
        taken from there, or no other branch ends there."""
        found = self.view.ends_of([entity], taken)
        if self.later:
            few = [Entity(end) for end in found][:MOST_ENDS]
            return len(found) <= MOST_ENDS and len(self._dead_ends(few)) == len(few)
        met = [{end.id for end in ends} for ends in self.ends]
        return not found or any(ends.isdisjoint(found) for ends in met)


def _places(kind: str, lengths: Sequence[int]) -> list[int]:
    """Return the hops (counted over the paths of those lengths) at which such an error can be made;
    all of them where no hop is better than another."""
    hops = list(range(sum(lengths)))
    ends = {sum(lengths[: k + 1]) - 1 for k in range(len(lengths))}
    if kind == "dead_end":  # it needs a next hop to miss
        return [hop for hop in hops if hop not in ends] or hops
    return hops[1:] or hops if kind == "wrong_entity" else hops


def _misspellings(word: str) -> list[str]:
    """Return the word with two neighboring letters changed round, each way but for the first.

    >>> _misspellings("Boll"), _misspellings("1998")
    (['Blol'], [])
    """
    pairs = ((k, word[k : k + 2]) for k in range(1, len(word) - 1))
    return [
        word[:k] + pair[::-1] + word[k + 2 :]
        for k, pair in pairs
        if pair.isalpha() and pair[0] != pair[1]
    ]


def _rename(thought: str, name: str, other: str) -> str:
    """Return the thought with another name for an entity, not for parts of words."""
    return re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", lambda _: other, thought)


def _common_words(one: str, other: str) -> int:
    words, others = (set(re.findall(r"[^\W_]+", relation)) for relation in (one, other))
    return len(words & others)
