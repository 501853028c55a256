"""How ToG, RoG and GoG are played by who knows the query: their best case, and so their limits."""

from collections.abc import Generator, Sequence

from graphwalker.agents.published.oracles import DecisionOracle, DecisionTurn, meant, query_of
from graphwalker.agents.published.pathwise.beam import (
    BeamPath,
    Branching,
    best_branchings,
    best_paths,
    extended,
)
from graphwalker.agents.published.pathwise.rog import query_paths
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph
from graphwalker.oracle.oracle import shared
from graphwalker.oracle.plan import Move, OwnOracle, Plan, View
from graphwalker.protocols.base import FinalAnswer
from graphwalker.query.query import Branch, Hop, Query
from graphwalker.question import Question
from graphwalker.tools.base import Call, ShownTriple
from graphwalker.trajectory import Turn


class TogOracle(DecisionOracle):
    """Scores the next hop of each branch 1, and its ends by whether they lead to a gold answer."""

    def plan(self, key: str, question: Question) -> Plan:
        query = query_of(question)
        options = self.settings.options
        width, depth = int(options.get("width", 3)), int(options.get("depth", 3))
        view = View(self.graph, question.topic_entities)
        branches = _whole_branches(query)
        # The agent begins at the topics that the graph has, in the order of the question.
        paths = [BeamPath(_as_shown(view, t)) for t in question.topic_entities if t.id]
        for at in range(depth):
            branchings: list[Branching] = []
            for path in paths:
                hop = _hop_at(branches, path, at)
                listed = yield from self._relations(view, path, hop)
                if hop is not None and listed:
                    branchings.append(Branching(path, hop, 1.0, tuple(listed)))
            longer: list[BeamPath] = []
            for one in best_branchings(branchings, width):
                scores = self._scores(branches, one, at, question)
                if len(one.ends) > 1:
                    rows = [{"entity": name, "score": score} for name, score in scores.items()]
                    yield from _do(view, "entities", entities=rows)
                longer += extended(one, scores)
            if not longer:
                break
            paths = best_paths(longer, width)
            enough = at + 1 >= max(len(branch.hops) for branch in branches)
            yield from _do(view, "sufficient", sufficient=enough)
            if enough:
                break
        names = [view.name(end) for end in meant(question, _met(branches, paths))]
        while True:
            yield "The paths answer it.", FinalAnswer(tuple(dict.fromkeys(names)))

    def _relations(
        self, view: View, path: BeamPath, hop: Hop | None
    ) -> Generator[Move, Turn, list[Entity]]:
        """Nothing is chosen where the path is over; nothing is decided where nothing is listed."""
        if not _has_hops(self.graph, path.tail):
            return []
        chosen = [{"relation": str(hop), "score": 1.0}] if hop else []
        turn = yield from _do(view, "relations", relations=chosen)
        return _ends_of(turn.triples, path.tail, hop) if hop else []

    def _scores(
        self, branches: Sequence[Branch], one: Branching, at: int, question: Question
    ) -> dict[str, float]:
        """1 for an end from which the rest of its branch leads to a gold answer, else 0.5."""
        branch = _branch_of(branches, one.path)
        rest = branch.hops[at + 1 :] if branch else ()
        gold = {answer.id for answer in question.answers}
        return {
            end.name: 1.0 if gold & {e.id for e in _walked(self.graph, end, rest)} else 0.5
            for end in one.ends
        }


class RogOracle(DecisionOracle):
    """Plans the relation paths of the query, and reads where all of them end."""

    def plan(self, key: str, question: Question) -> Plan:
        query = query_of(question)
        turn = yield "These lead to the answer.", Call("paths", {"paths": query_paths(query)})
        ends: list[list[Entity]] = []
        for branch in _whole_branches(query):
            ends.append(_followed(turn.triples, branch.topic, branch.hops))
        found = [] if turn.error else meant(question, shared(ends))
        while True:
            yield "They end here.", FinalAnswer(tuple(dict.fromkeys(e.name for e in found)))


class GogOracle(DecisionOracle):
    """Searches each entity on the way; gold triples of the last hop that the graph lacks it
    generates, as a model that knows the fact would."""

    def plan(self, key: str, question: Question) -> Plan:
        query, view = query_of(question), View(self.graph, question.topic_entities)
        ends: list[list[Entity]] = []
        for branch in query.branches:
            last = not query.tail
            ends.append((yield from self._walk(view, question, [branch.topic], branch.hops, last)))
        found = yield from self._walk(view, question, shared(ends), query.tail, True)
        names = tuple(dict.fromkeys(view.name(end) for end in meant(question, found)))
        while True:
            yield "That is the answer.", FinalAnswer(names)

    def _walk(
        self, view: View, question: Question, start: list[Entity], hops: Sequence[Hop], last: bool
    ) -> Generator[Move, Turn, list[Entity]]:
        frontier = start
        for number, hop in enumerate(hops):
            found: dict[str, Entity] = {}
            for entity in frontier:
                turn = yield from _do(view, "search", search=view.name(entity))
                ends = [] if turn.error else _ends_of(turn.triples, entity, hop)
                found.update((end.id, end) for end in ends)
            gold = [Entity(a.id, a.name) for a in question.answers if a.id not in found]
            # What the graph has and the search did not show is lost: only what it lacks is made.
            has = {end.id for here in frontier for end in _walked(self.graph, here, [hop])}
            gold = [entity for entity in gold if entity.id not in has]
            if gold and frontier and last and number == len(hops) - 1:
                head = view.name(frontier[0])
                rows = [[head, str(hop), entity.name] for entity in gold]
                yield from _do(view, "generate", generate=rows)
                found.update((entity.id, entity) for entity in gold)
            frontier = list(found.values())
        return frontier


def _do(view: View, form: str, **values: object) -> DecisionTurn:
    turn = yield "", Call(form, values)
    view.see(turn)
    return turn


def _whole_branches(query: Query) -> list[Branch]:
    """Each branch with the tail behind it."""
    return [Branch(b.topic, (*b.hops, *query.tail)) for b in query.branches]


def _branch_of(branches: Sequence[Branch], path: BeamPath) -> Branch | None:
    walked = tuple(hop for hop, _ in path.steps)
    same = (b for b in branches if b.topic.id == path.topic.id and b.hops[: len(walked)] == walked)
    return next(same, None)


def _hop_at(branches: Sequence[Branch], path: BeamPath, at: int) -> Hop | None:
    branch = _branch_of(branches, path)
    return branch.hops[at] if branch and at < len(branch.hops) else None


def _met(branches: Sequence[Branch], paths: Sequence[BeamPath]) -> list[Entity]:
    """The tails of the beam's paths that every branch leads to."""
    ends: list[list[Entity]] = []
    for branch in branches:
        walks = [p for p in paths if p.topic.id == branch.topic.id]
        full = [p for p in walks if tuple(hop for hop, _ in p.steps) == branch.hops]
        ends.append([path.tail for path in full])
    return shared(ends)


def _ends_of(triples: Sequence[ShownTriple], here: Entity, hop: Hop) -> list[Entity]:
    out = hop.direction is Direction.OUT
    return [
        (one.tail if out else one.head)
        for one in triples
        if one.relation == hop.relation and (one.head if out else one.tail).id == here.id
    ]


def _followed(triples: Sequence[ShownTriple], topic: Entity, hops: Sequence[Hop]) -> list[Entity]:
    frontier = [topic]
    for hop in hops:
        found = [end for here in frontier for end in _ends_of(triples, here, hop)]
        frontier = list({end.id: end for end in found}.values())
    return frontier


def _walked(graph: KnowledgeGraph, start: Entity, hops: Sequence[Hop]) -> list[Entity]:
    frontier = [start]
    for hop in hops:
        found = [
            end
            for here in frontier
            for end in graph.step(here.id, hop.relation, hop.direction, 200)
        ]
        frontier = list({end.id: end for end in found}.values())
    return frontier


def _has_hops(graph: KnowledgeGraph, entity: Entity) -> bool:
    return any(graph.flat_relations(entity.id, way) for way in Direction)


def _as_shown(view: View, topic: Entity) -> Entity:
    return Entity(topic.id, view.name(topic))


TOG_ORACLE = OwnOracle(TogOracle)
ROG_ORACLE = OwnOracle(RogOracle)
GOG_ORACLE = OwnOracle(GogOracle)
