"""Slips of the expert: calls that a careful reader would not make, shown wrong by the graph."""

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

from graphwalker.graphs.base import Entity
from graphwalker.graphs.literals import is_literal
from graphwalker.oracle import thoughts
from graphwalker.tools.base import Call

if TYPE_CHECKING:
    from data_pipeline.demonstrators.search import Search, Slot

SLIPS = (
    "wrong_relation",
    "dead_end",
    "wrong_entity",
    "unlisted_relation",
    "foreign_relation",
    "misspelled_name",
)
"""Kinds of injected slips; wrong readings of vague phrases come on top of them by themselves."""

INSISTS = 0.5
"""Share of dead ends at which a stubborn expert first asks for what is not listed."""


def places(kind: str, lengths: Sequence[int]) -> list[int]:
    """The hops (counted over the paths of those lengths) at which such a slip can be made; all of
    them where no hop is better than another."""
    hops = list(range(sum(lengths)))
    ends = {sum(lengths[: k + 1]) - 1 for k in range(len(lengths))}
    if kind == "dead_end":  # it needs a next hop to miss
        return [hop for hop in hops if hop not in ends] or hops
    return hops[1:] or hops if kind == "wrong_entity" else hops


Steps = Generator[Any, Any, Any]


def slip_before_listing(
    search: "Search", kind: str, frontier: Sequence[Entity], slot: "Slot", opening: str
) -> Steps:
    """Guess a relation or garble a name: the environment answers that there is no such thing.

    Returns the opening thought, `""` once it is spoken.
    """
    if kind == "misspelled_name":
        return (yield from _misspelled(search, frontier[0], slot, opening))
    relation = slot.readings[0].relation
    if kind != "unlisted_relation" or relation in search.view.listed:
        return opening
    why = opening or thoughts.choose(slot.phrase, [relation], search.voice)
    turn = yield from search.ask(frontier[0], relation, why)
    if turn.error:
        search.err(kind, relation, slip=True)
        search.say(thoughts.mend(turn.error, search.voice))
    return ""


def _misspelled(search: "Search", entity: Entity, slot: "Slot", opening: str) -> Steps:
    """Ask for a name whose end belongs to another entity, as small models do."""
    name = search.view.name(entity)
    garbled = search.view.garbled(name, search.rng)
    if not garbled:
        return opening
    why = (opening or thoughts.move(name, slot.phrase, search.voice)).replace(name, garbled)
    turn = yield from search.do(why, Call("get_relations", {"entity": garbled}))
    search.err("misspelled_name", garbled, slip=True)
    search.say(thoughts.mend(turn.error, search.voice))
    return ""


def slip_after_listing(
    search: "Search",
    kind: str,
    frontier: Sequence[Entity],
    slot: "Slot",
    later: Sequence["Slot"],
) -> Steps:
    """Take a wrong relation, follow it into a dead end, or ask for what an entity does not have."""
    if kind == "wrong_entity":
        yield from _wrong_entity(search, frontier, slot)
    elif kind == "foreign_relation":
        yield from _foreign_relation(search, frontier[0], slot)
    elif kind in ("wrong_relation", "dead_end"):
        kind = kind if later else "wrong_relation"
        found = yield from _wrong_relation(search, kind, frontier[0], slot)
        if found and kind == "dead_end":
            yield from _walk_into(search, found[0], later[0])
            search.say(thoughts.back(search.view.name(frontier[0]), slot.phrase, search.voice))
        elif found is not None:
            search.say(thoughts.wrong_result(slot.phrase, search.voice))


def _wrong_entity(search: "Search", frontier: Sequence[Entity], slot: "Slot") -> Steps:
    """Ask an entity seen earlier for what only the frontier has."""
    hops = search.listed(frontier, slot)
    here = {entity.id for entity in frontier}
    others = [e for e in search.view.entities() if e.id not in here and not is_literal(e.id)]
    if not hops or not others:
        return
    entity = others[search.rng.randrange(len(others))]
    why = thoughts.choose(slot.phrase, [hops[0].relation], search.voice)
    turn = yield from search.ask(entity, hops[0].relation, why)
    search.err("wrong_entity", search.view.name(entity), slip=True)
    mended = thoughts.mend(turn.error, search.voice) if turn.error else ""
    search.say(mended or thoughts.wrong_result(slot.phrase, search.voice))


def _foreign_relation(search: "Search", entity: Entity, slot: "Slot") -> Steps:
    """Trust the phrase more than the list: ask for a relation that other entities have."""
    own = search.listings.get(entity.id, set())
    read = sorted({hop.relation for hop in slot.readings} - own)
    rivals = read or sorted(search.view.listed - own)
    if not rivals or not search.listed([entity], slot):
        return
    relation = search.rng.choice(rivals)
    why = thoughts.choose(slot.phrase, [relation], search.voice)
    turn = yield from search.ask(entity, relation, why)
    if turn.error:
        search.err("foreign_relation", relation, slip=True)
        search.say(thoughts.mend(turn.error, search.voice))


def _wrong_relation(search: "Search", kind: str, entity: Entity, slot: "Slot") -> Steps:
    """Take the listed relation that looks most like the right ones.

    Returns what it found, `None` where there is no other relation to take.
    """
    meant = {hop.relation for hop in slot.readings}
    rivals = sorted(r for r in search.listings.get(entity.id, ()) if r not in meant)
    if not rivals:
        return None
    likeness = {r: max(_common_words(r, m) for m in meant) for r in rivals}
    best = max(likeness.values())
    relation = search.rng.choice([r for r in rivals if likeness[r] == best])
    why = thoughts.choose(slot.phrase, [relation], search.voice)
    turn = yield from search.ask(entity, relation, why)
    search.err(kind, relation, slip=True)
    return [e for e in turn.shown if e.id != entity.id and not is_literal(e.id)]


def _walk_into(search: "Search", entity: Entity, slot: "Slot") -> Steps:
    """Go on from a wrong entity and see that nothing there fits the next phrase."""
    name = search.view.name(entity)
    yield from search.look(entity, thoughts.move(name, slot.phrase, search.voice))
    yield from insist(search, entity, slot)
    search.say(thoughts.dead_end(name, slot.phrase, search.voice))


def insist(search: "Search", entity: Entity, slot: "Slot") -> Steps:
    """At a dead end, now and then, ask for the relation that the phrase wants all the same."""
    own = search.listings.get(entity.id, set())
    wanted = [hop.relation for hop in slot.readings if hop.relation not in own]
    if search.stubborn and wanted and search.rng.random() < INSISTS:
        why = thoughts.choose(slot.phrase, wanted[:1], search.voice)
        turn = yield from search.ask(entity, wanted[0], why)
        search.err("foreign_relation", wanted[0], slip=True)
        search.say(thoughts.fault(turn.error, search.voice) if turn.error else "")


def _common_words(one: str, other: str) -> int:
    return len(_words(one) & _words(other))


def _words(relation: str) -> set[str]:
    return set(relation.replace(".", " ").replace("_", " ").split())
