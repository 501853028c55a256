"""Tools that walk from a whole frontier: a call may start at `#2`, all that one call led to."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydantic import Field

from graphwalker.config import Config
from graphwalker.graphs.base import AtLeast, Direction, Entity, KnowledgeGraph, Step
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker, bm25
from graphwalker.tools.base import ErrorKind, Listed, Observation, ShownTriple
from graphwalker.tools.listing import Listing, ManyLister, many_lister
from graphwalker.tools.namebook import NameBook, quote
from graphwalker.tools.page import Page, more
from graphwalker.tools.settings import WalkerSettings
from graphwalker.tools.walker import Lister
from graphwalker.tools.wide.paged import PagedEnds
from graphwalker.tools.wide.references import ReferenceTools, member_reference

Near = Mapping[tuple[str, Direction, str], Entity]
"""The first entity of a frontier that leads to an end, by relation, direction and the end's id."""


class FrontierOptions(Config):
    """What only tools with frontiers have."""

    ends: int = Field(default=100, ge=1)
    """Entities shown for each relation and direction of a call that starts at a result; those
    beyond are on its further pages."""
    pointing: bool = False
    """Whether calls and answers point at entities (`#2`, `#2.3`; `#0.1` is the first one of the
    question): the oracle and the experts do, and constrained decoding offers nothing else. A tiny
    model then copies no names."""


class FrontierTools(ReferenceTools):
    """As `ReferenceTools`; a call may start at `#2`, too: the frontier of all entities that query 2
    led to, so that a hop from many entities is one call.

    Its relations are those that any of them has; its triples are shown as their ends, each once:
    `#3: [#2, film.film.genre, [Drama, Horror]]`. `#2.3` is the third entity, as if named, and
    `#1 & #2` a frontier, too.
    """

    def __init__(
        self,
        graph: KnowledgeGraph,
        question: Question,
        settings: WalkerSettings | None = None,
        list_relations: Lister | None = None,
        rank: Ranker = bm25,
        options: FrontierOptions | None = None,
        list_many: ManyLister | None = None,
    ) -> None:
        super().__init__(graph, question, settings, list_relations, rank)
        self._options = options or FrontierOptions()
        self._list_many = list_many or many_lister(graph, self._settings)
        self._members: tuple[Entity, ...] = ()
        self._member_listings: list[Listing] = []
        self._near: dict[tuple[str, Direction, str], Entity] = {}
        self._fault = ""

    def signatures(self) -> str:
        named = "\nThe entities of the question are #0.1, #0.2, ..., in their order."
        return (
            f"{super().signatures()}\n"
            'get_relations("#2") and get_triples("#2", ["relation", ...]) start at all of these '
            f"entities at once, and show up to {self._options.ends} that they lead to."
            f"{named if self._options.pointing else ''}"
        )

    def places(self) -> dict[str, str]:
        """Ids of entities by their places (`#0.1`, `#2.3`), where calls and answers point."""
        if not self._options.pointing:
            return {}
        topics = [topic.id for topic in self._question.topic_entities]
        parts = {n: list(r.ends) for n, r in enumerate(self._results, 1) if len(r.ends) > 1}
        return {
            member_reference(number, place): entity_id
            for number, ids in {0: topics, **parts}.items()
            for place, entity_id in enumerate(ids, 1)
        }

    def _pointed_at(self, number: int, place: str | None) -> list[Entity] | str:
        if number or not place or not self._options.pointing:
            return super()._pointed_at(number, place)
        topics = self._question.topic_entities
        if not 0 < int(place) <= len(topics):
            return f"there is no #0.{int(place)}; the question has {len(topics)} entities"
        return [topics[int(place) - 1]]

    def members(self, name: str) -> tuple[Entity, ...]:
        """The entities at which a call starts that names them so; none where it is no reference."""
        found = self._referred(name)
        return () if found is None or isinstance(found, str) else tuple(found)

    def _find(self, name: str) -> Entity | None:
        self._members, self._fault = (), ""
        found, written = self._referred(name), name.strip()
        if found is None:
            return super()._find(name)
        if isinstance(found, str) or not found:
            alone = f"{written} leads to entities of the question alone; copy names"
            self._fault = found if isinstance(found, str) else alone
            return None
        if "." in written:
            return super()._find(found[0].name)
        self._members = tuple(found)
        # An id that no entity of a graph has: the result is asked for as if it was an entity.
        return Entity(f"\0{written}", written)

    def _unknown_entity(self, name: str) -> Observation:
        if self._fault:
            return self._error(ErrorKind.UNKNOWN_REFERENCE, self._fault)
        return super()._unknown_entity(name)

    def _list_relations(self, entity: Entity) -> Listing:
        if not self._members:
            return super()._list_relations(entity)
        self._graph_calls += 2 * len(self._members)
        self._member_listings = self._list_many([member.id for member in self._members])
        return Listing.merged(self._member_listings)

    def _show_relations(
        self, entity: Entity, listing: Listing, ranked: Sequence[str]
    ) -> Observation:
        seen = super()._show_relations(entity, listing, ranked)
        return replace(seen, listed=self._of_members(seen.listed)) if self._members else seen

    def _refuse(self, entity: Entity, listing: Listing, relations: Sequence[str]) -> Observation:
        refusal = super()._refuse(entity, listing, relations)
        if not self._members:
            return refusal
        return replace(refusal, listed=self._of_members(refusal.listed))

    def _of_members(self, listed: Sequence[Listed]) -> tuple[Listed, ...]:
        """What is listed of a frontier, as the relations of its entities."""
        shown = list(dict.fromkeys(hop.relation for one in listed for hop in one.hops))
        each = zip(self._members, self._member_listings, strict=True)
        of_each = (Listed(member.id, own.hops(shown)) for member, own in each)
        return tuple(one for one in of_each if one.hops)

    def _ends(self, entity: Entity, listing: Listing, relations: Sequence[str]) -> list[PagedEnds]:
        if not self._members:
            return super()._ends(entity, listing, relations)
        self._near = {}
        return [
            self._ends_of_all(relation, direction)
            for relation in relations
            for direction, _ in listing.sides(relation)
        ]

    def _ends_of_all(self, relation: str, direction: Direction) -> PagedEnds:
        """The ends of one hop from the frontier, each once, in the order of its entities."""
        # One more than is shown says whether there is a next page. An entity that has more than
        # that fills the page alone, so what is left of it is never missed here.
        limit = self._page * self._page_size + 1
        starts = [
            member
            for member, own in zip(self._members, self._member_listings, strict=True)
            if direction in dict(own.sides(relation))
        ]
        self._graph_calls += len(starts)
        steps = [Step(member.id, relation, direction, limit) for member in starts]
        ends, every = dict[str, Entity](), True
        for member, found in zip(starts, self._graph.step_many(steps), strict=True):
            every = every and len(found) < limit
            for end in found:
                if end.id not in ends:
                    ends[end.id] = end
                    self._near[relation, direction, end.id] = member
        total = len(ends) if every else AtLeast(len(ends))
        return PagedEnds(relation, direction, list(ends.values()), total)

    @property
    def _page_size(self) -> int:
        return self._options.ends if self._members else super()._page_size

    def _empty_page(self) -> Page:
        if not self._members:
            return super()._empty_page()
        return EndsPage(self._book, self._settings.max_observation_chars, self._near)

    def _led_to(
        self, seen: Observation, entity: Entity, topics: frozenset[str]
    ) -> dict[str, Entity]:
        if not self._members:
            return super()._led_to(seen, entity, topics)
        return {end.id: end for end in seen.shown if end.id not in topics}


class EndsPage(Page):
    """The ends of a frontier's triples, written out until the observation is full."""

    def __init__(self, book: NameBook, budget: int, near: Near) -> None:
        super().__init__(book, budget)
        self._near = near

    def add(
        self,
        entity: Entity,
        relation: str,
        direction: Direction,
        ends: Sequence[Entity],
        total: int,
    ) -> None:
        count = self._fitting(entity, relation, ends)
        for end in ends[:count]:
            shown, near = (
                Entity(end.id, self._book.show(end)),
                self._near_of(relation, direction, end),
            )
            self.shown.setdefault(end.id, shown)
            head, tail = (near, shown) if direction is Direction.OUT else (shown, near)
            self.triples.append(ShownTriple(head, relation, tail))
        if count:
            names = f"[{', '.join(quote(self._book.label(end)) for end in ends[:count])}]"
            head, tail = entity.name, names
            if direction is Direction.IN:
                head, tail = tail, head
            self.text += f"{', ' if self.text else ''}[{head}, {relation}, {tail}]"
        self.counts.append(count)
        self.hidden += total - count
        self.text += more(total - count) if self.text else ""

    def _near_of(self, relation: str, direction: Direction, end: Entity) -> Entity:
        near = self._near[relation, direction, end.id]
        return Entity(near.id, self._book.label(near))

    def _fitting(self, entity: Entity, relation: str, ends: Sequence[Entity]) -> int:
        """How many of the ends still have a place: at least one on an empty page."""
        if self._full or self._budget <= 0:
            return 0 if self._full else len(ends)
        length = len(self.text) + len(entity.name) + len(relation) + len(", [, , []]")
        for count, end in enumerate(ends):
            length += len(quote(self._book.label(end))) + 2 * (count > 0)
            if length > self._budget and (count or self.text):
                self._full = True
                return count
        return len(ends)
