"""Planned policies: episodes as generators of (thought, action), and what each has seen so far."""

import json
from collections.abc import Callable, Generator, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol, Self

from graphwalker.errors import PolicyError, UserError
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Step
from graphwalker.oracle import thoughts
from graphwalker.oracle.choices import Aim, ChoiceThoughts, short_names
from graphwalker.oracle.speakers import Speaker, WalkerSpeaker, call_name
from graphwalker.policies.base import Completion, Policy, Request
from graphwalker.protocols.base import ActionProtocol, FinalAnswer
from graphwalker.query.query import Hop
from graphwalker.question import Question
from graphwalker.tools.base import Call, abilities_of
from graphwalker.trajectory import Turn

WALKER = WalkerSpeaker()
Move = tuple[str, Call | FinalAnswer]
Plan = Generator[Move, Turn, None]
"""Yields (thought, action), is sent the turn that came of it."""


class PlannedPolicy:
    """A policy whose episodes are generators: each completion is the plan's next action, spoken in
    the environment's protocol."""

    name = "planned"

    def __init__(
        self, graph: KnowledgeGraph, protocol: ActionProtocol, speaker: Speaker | None = WALKER
    ) -> None:
        """`speaker`: the preset's own; raises `UserError` where it has none."""
        if speaker is None:
            raise UserError("this preset has no speaker: no oracle can play it")
        self.graph = graph
        self.speaker = speaker
        self._protocol = protocol
        self._plans: dict[str, Plan] = {}
        self._done: list[tuple[str, Completion | PolicyError]] = []

    def plan(self, key: str, question: Question) -> Plan:
        """Return the episode of one question; a policy without plans has a `move` of its own."""
        raise NotImplementedError

    def move(self, request: Request) -> Move:
        """Return the next step of the request's episode."""
        if request.turns:
            return self._plans[request.key].send(request.turns[-1])
        plan = self._plans[request.key] = self.plan(request.key, request.question)
        return next(plan)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def on_graph_of(self, question: Question) -> Self:
        """Return the same policy on the graph that the question is asked of."""
        if (graph := self.graph.for_question(question)) is self.graph:
            return self
        own = copy(self)
        own.graph = graph
        return own

    def submit(self, request: Request) -> None:
        done: Completion | PolicyError
        try:
            thought, action = self.on_graph_of(request.question).move(request)
        except PolicyError as error:
            done = error
        except (StopIteration, KeyError):
            done = PolicyError(f"{self.name}: the plan of {request.key} has no further step")
        else:
            done = Completion(self._protocol.render(thought, action))
        self._done.append((request.key, done))

    def collect(self) -> list[tuple[str, Completion | PolicyError]]:
        done, self._done = self._done, []
        return done

    def release(self, key: str) -> None:
        self._plans.pop(key, None)


class View:
    """What an episode has seen so far: names by entity id, and every relation listed.

    `avoided` are entities that no step is to find (`Query.avoided_ids`).
    """

    def __init__(
        self,
        graph: KnowledgeGraph,
        topics: Iterable[Entity],
        speaker: Speaker = WALKER,
        avoided: frozenset[str] = frozenset(),
        choices: ChoiceThoughts | None = None,
        counts_steps: bool = False,
    ) -> None:
        """`choices` words what a hop is for, and explains a choice among listed relations;
        `counts_steps`: thoughts say how many steps the question takes, and which one they tell."""
        self._avoided = avoided
        self.choices = choices or ChoiceThoughts(Question())
        self.graph, self.counts_steps = graph, counts_steps
        self.speaker = speaker
        self.abilities = abilities_of(speaker)
        self._names = {entity.id: entity.name for entity in topics}
        self.listed: set[str] = set()
        self._hops: dict[str, list[Hop]] = {}
        self._last: Turn | None = None
        self._fresh: list[Entity] = []
        self._fresh_by = ""
        self._answered: dict[str, Turn] = {}
        self._unused: Turn | None = None

    def recall(self, turns: Sequence[Turn]) -> None:
        """See the turns of an episode that another policy began; its calls need no repeating."""
        for turn in turns:
            self.see(turn)
            self._unused = turn
            if not turn.error:
                self._answered.setdefault(_key(turn.action), turn)

    def recalled_turn(self, call: Call) -> Turn | None:
        """Return the recalled turn that made this very call, where there is one."""
        if not self._answered:  # nothing was recalled, as in most episodes
            return None
        found = self._answered.get(_key({"tool": call.tool, "arguments": call.arguments}))
        self._unused = None if found is self._unused else self._unused
        return found

    def regret(self, rng: thoughts.Choice) -> str:
        """Return what there is to say, once, of the last recalled turn where it was of no use."""
        turn, self._unused = self._unused, None
        if turn is None:
            return ""
        return thoughts.mend(turn.error, rng) if turn.error else thoughts.astray(rng)

    def see(self, turn: Turn) -> None:
        self._last = turn
        self._names.update((entity.id, entity.name) for entity in turn.shown)
        if not turn.error:
            for one in turn.listed:
                self.listed.update(hop.relation for hop in one.hops)
                self._hops.setdefault(one.entity_id, []).extend(one.hops)

    def why(self, frontier: Sequence[Entity], hop: Hop, aim: Aim, rng: thoughts.Choice) -> str:
        """Return the thought of taking a relation that was listed of these entities."""
        shown_as = self.shown_as(hop.relation)
        if rng is None:
            return thoughts.choose(short_names([shown_as])[0], aim.wanted, rng)
        listed = [other for entity in frontier for other in self.listed_of(entity)]
        return self.choices.explain(hop, shown_as, aim, listed, rng)

    def shown_as(self, relation: str) -> str:
        """Return the relation as the tools write it."""
        directed = self.abilities.directed
        return directed.relation_name(relation) if directed else relation

    def name(self, entity: Entity) -> str:
        """Return the entity's name as the episode has shown it."""
        return self._names.get(entity.id, entity.name)

    def look(self, entity: Entity | str, direction: Direction | None = None) -> Call:
        """Return the call that lists the relations of an entity, or of whatever has that name;
        `direction` is for tools that look in one alone."""
        named = entity if isinstance(entity, str) else self._call_name(entity)
        directed = self.abilities.directed
        if direction is not None and directed:
            return directed.look(named, direction)
        return self.speaker.relations(named)

    def ask(self, entity: Entity, relation: str, direction: Direction | None = None) -> Call:
        """Return the call that shows where a relation leads."""
        return self.speaker.triples(self._call_name(entity), relation, direction)

    def _call_name(self, entity: Entity) -> str:
        return call_name(self.speaker, Entity(entity.id, self.name(entity)))

    def listed_of(self, entity: Entity) -> list[Hop]:
        """Return the hops that were listed of the entity, in the order shown."""
        return list(dict.fromkeys(self._hops.get(entity.id, ())))

    def has(self, entity: Entity, relation: str) -> bool:
        """Return whether the relation leads anywhere from the entity, in either direction."""
        steps = [Step(entity.id, relation, direction, 1) for direction in Direction]
        return any(self.graph.step_many(steps))

    def may_have(self, entity: Entity, relation: str) -> bool:
        """Return whether to ask for the relation: not where its absence was seen in a list."""
        return not self.listed_of(entity) or self.has(entity, relation)

    def entities(self) -> list[Entity]:
        """Return every entity that the episode knows, as shown, in the order of appearance."""
        return [Entity(entity_id, name) for entity_id, name in self._names.items()]

    def found_ends(self, turn: Turn, frontier: Sequence[Entity], hop: Hop) -> list[Entity]:
        """Return the entities that the turn shows at the end of that hop from any of these."""
        shown = {e.id: e for e in turn.shown}
        ends = self.ends_of(frontier, hop)
        found = [shown[end] for end in ends if end in shown]
        if turn is self._last:
            self._fresh = found
        return found

    def ends_of(self, frontier: Sequence[Entity], hop: Hop) -> dict[str, None]:
        """Return ids of all that the hop leads to from any of these, each once."""
        steps = [Step(entity.id, hop.relation, hop.direction) for entity in frontier]
        found = (end.id for ends in self.graph.step_many(steps) for end in ends)
        return dict.fromkeys(end for end in found if end not in self._avoided)

    def triple_ends(
        self, turn: Turn, entity: Entity, hop: Hop, by_call: bool = True
    ) -> list[Entity]:
        """Return the entities that the turn's triples show at the end of that hop, CVT nodes too.

        `by_call`: its call named the relation; else the next thought does.
        """
        out = hop.direction is Direction.OUT
        pairs = [(t.head, t.tail) if out else (t.tail, t.head) for t in turn.triples
                 if t.relation == hop.relation]  # fmt: skip
        ends = {far.id: far for near, far in pairs if near.id == entity.id}
        found = [end for end in ends.values() if end.id not in self._avoided]
        if turn is self._last:
            self._fresh, self._fresh_by = found, "" if by_call else hop.relation
        return found

    def findings(self, rng: thoughts.Choice, step: str = "") -> str:
        """Return what the last turn gave, in words, once; then, or where it gave nothing, `""`.

        `step` says which step of the question gave it.
        """
        fresh, self._fresh = self._fresh, []
        relation, self._fresh_by = self._fresh_by, ""
        names = [self.name(entity) for entity in fresh]
        directed = self.abilities.directed
        if relation and fresh and directed:
            return thoughts.found_by(directed.relation_name(relation), names, rng, step)
        return thoughts.found_names(names, rng, step) if fresh else ""


def retell(plan: Plan, tell: Callable[[str], str]) -> Plan:
    """Yield the plan, each thought as `tell` words it."""
    try:
        thought, action = next(plan)
        while True:
            turn = yield tell(thought), action
            thought, action = plan.send(turn)
    except StopIteration:
        return


def _key(action: dict[str, Any]) -> str:
    return json.dumps([action.get("tool"), action.get("arguments")], sort_keys=True, default=list)


class OracleWorld(Protocol):
    """The environment, as the oracle of a preset needs it."""

    graph: KnowledgeGraph
    protocol: ActionProtocol

    @property
    def config(self) -> Any: ...


class PresetOracle(PlannedPolicy):
    """The oracle of a preset that it is made for: its plans know the preset's settings."""

    name = "oracle"

    def __init__(self, world: OracleWorld) -> None:
        super().__init__(world.graph, world.protocol)
        self.settings = world.config


def has_query(question: Question) -> bool:
    """Return whether the question says what it asks."""
    return question.query is not None


@dataclass(frozen=True, slots=True)
class OwnOracle:
    """Makes the oracle of a preset, and says which questions it can play."""

    make: Callable[[OracleWorld], Policy]
    plays: Callable[[Question], bool] = has_query
    needs: str = "a query"
    """What a question must have, in words for people."""
