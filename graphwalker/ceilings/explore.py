"""Walks through an environment by its own tools: what they show, and how many calls they cost."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby
from operator import attrgetter

from graphwalker.agents.environment import Environment
from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, Entity
from graphwalker.oracle.speakers import call_name
from graphwalker.oracle.walk import halves
from graphwalker.query.query import Hop, Query
from graphwalker.question import Question
from graphwalker.tools.base import Call, Directed, Observation, abilities_of


@dataclass(frozen=True, slots=True)
class Reached:
    """Where a walk stands: the entities shown to it, under the names shown, and what it cost."""

    ends: tuple[Entity, ...]
    calls: int
    listed: bool = True
    """Every relation so far was shown at an entity that it was taken from."""
    known: frozenset[str] = frozenset()
    """The relations shown so far: each may be followed from anywhere."""


class Explorer:
    """One question in a fresh tool box. An observation that two walks share is made once, and
    costs each of them a call."""

    def __init__(self, environment: Environment, question: Question) -> None:
        """Raise `UserError` for a preset whose tools the oracle cannot call."""
        if environment.speaker is None:
            raise UserError(
                f"the ceiling of the preset {environment.name} is not computable: it has no speaker"
            )
        self._speaker = environment.speaker
        self._paged = abilities_of(self._speaker).pages
        self._budget = environment.config.max_turns
        self.graph = environment.graph.for_question(question)
        self._box = environment.toolbox(question)
        names = zip(question.topic_entities, self._box.topic_names(), strict=True)
        self.topics = tuple(Entity(topic.id, name) for topic, name in names)
        self._listings: dict[str, list[tuple[Hop, ...]]] = {}
        self._pages: dict[tuple[str, str], list[Observation]] = {}

    @cached_property
    def _shown_as(self) -> Mapping[str, str]:
        return {topic.id: topic.name for topic in self.topics}

    def start(self, topic: Entity, known: frozenset[str] = frozenset()) -> Reached:
        """Start at a topic, under the name that its question shows."""
        here = Entity(topic.id, self._shown_as.get(topic.id, topic.name))
        return Reached((here,), 0, known=known)

    def follow(self, here: Reached, hops: Sequence[Hop], avoided: frozenset[str]) -> Reached:
        """Follow these hops, each look and each query a call, until the calls are spent.

        As the oracle goes: entities are looked at until one lists the relation, then it is followed
        from all of them.
        """
        for hop in hops:
            here = self._look_for(here, hop)
            if hop.relation not in here.known:
                return replace(here, ends=())
            here = self.take(here, (hop,), avoided)
        return here

    def listings(self, here: Reached) -> Iterator[tuple[tuple[Hop, ...], Reached]]:
        """Yield what the first start lists within the calls left, and the cost to see it: each
        relation in one direction, and in both where it has both."""
        for start in here.ends[:1]:
            for page, hops in enumerate(self._listing(start.name), start=1):
                if here.calls + page > self._budget:
                    return
                seen = replace(here, calls=here.calls + page)
                for _, same in groupby(hops, key=lambda hop: hop.relation):
                    both = tuple(same)
                    yield from ((taken, seen) for taken in dict.fromkeys([(both[0],), both]))
                    yield from (((hop,), seen) for hop in both[1:])

    def take(self, here: Reached, hops: Sequence[Hop], avoided: frozenset[str]) -> Reached:
        """Return what is shown at the end of the hops, being one relation, from every entity."""
        found: dict[str, Entity] = {}
        calls = here.calls
        for start in here.ends:
            for seen in self._triples(start.name, hops[0].relation):
                if calls == self._budget:
                    break
                calls += 1
                found.update((end.id, end) for end in ends_of(seen, [start], hops))
        kept = (end for key, end in found.items() if key not in avoided)
        return replace(here, ends=tuple(kept), calls=calls)

    def _look_for(self, here: Reached, hop: Hop) -> Reached:
        calls, known, listed = here.calls, set(here.known), False
        for start in here.ends:
            for hops in self._listing(start.name):
                if listed or calls == self._budget:
                    break
                calls += 1
                shown = {one.relation for one in hops}
                known |= shown
                listed = hop.relation in shown
            if hop.relation in known:
                break
        listed = here.listed and listed
        return replace(here, calls=calls, listed=listed, known=frozenset(known))

    def _listing(self, name: str) -> list[tuple[Hop, ...]]:
        """Return the hops on each page of an entity's listing."""
        if name not in self._listings:
            pages = self._paged
            further = partial(pages.relations_page, name) if pages else None
            shown = self._read_pages(self._speaker.relations(name), further)
            self._listings[name] = [_listed_hops(page) for page in shown]
        return self._listings[name]

    def _triples(self, name: str, relation: str) -> list[Observation]:
        """Return what each page of the entity's triples of that relation shows."""
        if (name, relation) not in self._pages:
            pages = self._paged
            further = partial(pages.triples_page, name, relation) if pages else None
            call = self._speaker.triples(name, relation)
            self._pages[name, relation] = self._read_pages(call, further)
        return self._pages[name, relation]

    def _read_pages(self, call: Call, further: Callable[[int], Call] | None) -> list[Observation]:
        """Return what the call shows, then each further page while something is hidden; no more of
        them than an episode has calls."""
        seen, found = self._box.call(call), list[Observation]()
        while not seen.error:
            found.append(seen)
            if further is None or not seen.hidden or len(found) == self._budget:
                break
            seen = self._box.call(further(len(found) + 1))
        return found


def _listed_hops(page: Observation) -> tuple[Hop, ...]:
    """Return the hops that a page lists, those of one relation side by side; of several entities
    each once."""
    hops = dict.fromkeys(hop for one in page.listed for hop in one.hops)
    return tuple(sorted(hops, key=attrgetter("relation")) if len(page.listed) > 1 else hops)


def ends_of(seen: Observation, starts: Sequence[Entity], hops: Sequence[Hop]) -> Iterator[Entity]:
    """Yield what the observation shows at the end of the hops, which are one relation."""
    ids = {start.id for start in starts}
    for triple in seen.triples:
        for hop in hops:
            out = hop.direction is Direction.OUT
            near, far = (triple.head, triple.tail) if out else (triple.tail, triple.head)
            if near.id in ids and triple.relation == hop.relation:
                yield far


def branches(explorer: Explorer, query: Query) -> list[Reached]:
    """Get the gold walk of each branch of the query; what one has been shown the next ones know."""
    walked: list[Reached] = []
    for branch in query.branches:
        start = explorer.start(branch.topic, walked[-1].known if walked else frozenset())
        walked.append(explorer.follow(start, branch.hops, query.avoided_ids))
    return walked


Ends = dict[str, tuple[Entity, ...]]
"""By the id of the entity that they were reached from."""


class DirectedExplorer(Explorer):
    """One question in a fresh tool box whose speaker is `Directed`."""

    def __init__(self, environment: Environment, question: Question, speaker: Directed) -> None:
        super().__init__(environment, question)
        self._look = speaker
        self._seen: dict[tuple[str, Direction, str], Observation] = {}

    def follow(self, here: Reached, hops: Sequence[Hop], avoided: frozenset[str]) -> Reached:
        for hop in hops:
            here = self._follow_hop(here, hop, avoided)
        return here

    def listings(self, here: Reached) -> Iterator[tuple[tuple[Hop, ...], Reached]]:
        """Yield what the first entity shows on either side, each a call."""
        for entity in here.ends[:1] if here.calls < self._budget else ():
            for direction in Direction:
                seen = self._shown_of(entity, direction)
                for hop in _hops(seen, entity):
                    yield (hop,), here

    def take(self, here: Reached, hops: Sequence[Hop], avoided: frozenset[str]) -> Reached:
        found, calls, _ = self._step(here.ends, hops[0], here.calls)
        return _reach_ends(here, found, calls, True, avoided)

    def _follow_hop(self, here: Reached, hop: Hop, avoided: frozenset[str]) -> Reached:
        steps = halves(self.graph, here.ends, hop) if self._look.walks_cvts else (hop,)
        found, calls, listed = self._step(here.ends, steps[0], here.calls)
        if len(steps) == 2:
            nodes = {node.id: node for ends in found.values() for node in ends}
            behind, calls, again = self._step(list(nodes.values()), steps[1], calls)
            listed = listed and again
            found = {
                start: tuple(e for n in ends for e in behind.get(n.id, ()) if e.id != start)
                for start, ends in found.items()
            }
        return _reach_ends(here, found, calls, listed, avoided)

    def _step(self, entities: Sequence[Entity], hop: Hop, calls: int) -> tuple[Ends, int, bool]:
        """Looks at entities until one shows the relation, then asks the others for it alone."""
        found: Ends = {}
        listed = False
        for entity in entities:
            if not listed:
                if calls == self._budget:
                    break
                calls += 1
                seen = self._shown_of(entity, hop.direction)
                listed = self._look.listed_as(hop) in _hops(seen, entity)
                if not listed:
                    continue
                if seen.triples and not seen.hidden:
                    found[entity.id] = tuple(ends_of(seen, [entity], (hop,)))
                    continue
            if calls == self._budget:
                break
            calls += 1
            seen = self._shown_of(entity, hop.direction, hop.relation)
            found[entity.id] = tuple(ends_of(seen, [entity], (hop,)))
        return found, calls, listed

    def _shown_of(self, entity: Entity, direction: Direction, relation: str = "") -> Observation:
        key = (entity.id, direction, relation)
        if key not in self._seen:
            self._seen[key] = self._box.call(self._call(entity, direction, relation))
        return self._seen[key]

    def _call(self, entity: Entity, direction: Direction, relation: str) -> Call:
        name = call_name(self._speaker, entity)
        if relation:
            return self._speaker.triples(name, relation, direction)
        return self._look.look(name, direction)


def explorer_for(environment: Environment, question: Question) -> Explorer:
    """Get the explorer of the environment's tools. Raises `UserError` where the oracle has none."""
    if directed := abilities_of(environment.speaker).directed:
        return DirectedExplorer(environment, question, directed)
    return Explorer(environment, question)


def _hops(seen: Observation, entity: Entity) -> tuple[Hop, ...]:
    listed = () if seen.error else seen.listed
    return tuple(hop for one in listed if one.entity_id == entity.id for hop in one.hops)


def _reach_ends(
    here: Reached, found: Ends, calls: int, listed: bool, avoided: frozenset[str]
) -> Reached:
    ends = {end.id: end for reached in found.values() for end in reached if end.id not in avoided}
    return Reached(tuple(ends.values()), calls, here.listed and listed, here.known)
