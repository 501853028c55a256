"""Think-on-Graph (Sun et al., 2024): a beam of paths, pruned by the model at every depth."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from graphwalker.agents.base import AgentRun, Ask
from graphwalker.agents.preset import AgentSettings, Preset
from graphwalker.agents.published.dialogue import (
    BudgetSpent,
    DecisionAgent,
    Dialogue,
)
from graphwalker.agents.published.oracles import (
    DecisionOracle,
    branches_with_tail,
    decide,
    ends_in_graph,
    ends_shown,
    prefer_gold,
    query_of,
)
from graphwalker.agents.published.pathwise.tools import (
    PROMPT,
    PathOptions,
    PathTools,
    listed_hop,
    path_tools,
    shown_triple,
    triple_text,
)
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph
from graphwalker.graphs.literals import is_literal
from graphwalker.oracle.oracle import shared
from graphwalker.oracle.plan import Move, OwnOracle, Plan, View
from graphwalker.policies.base import Completion
from graphwalker.protocols.base import FinalAnswer
from graphwalker.protocols.forms import FormProtocol
from graphwalker.query.query import Branch, Hop
from graphwalker.question import Question
from graphwalker.tools.base import Call, ErrorKind, Observation
from graphwalker.tools.namebook import quote
from graphwalker.trajectory import Turn


@dataclass(frozen=True, slots=True)
class BeamPath:
    """A path of the beam: its topic, its steps, and the product of its scores."""

    topic: Entity
    steps: tuple[tuple[Hop, Entity], ...] = ()
    score: float = 1.0

    @property
    def tail(self) -> Entity:
        return self.steps[-1][1] if self.steps else self.topic

    def text(self) -> str:
        here, parts = self.topic, list[str]()
        for hop, end in self.steps:
            parts.append(triple_text(shown_triple(here, hop, end)))
            here = end
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Branching:
    """A hop that was chosen at the end of a path, its score, and where it leads."""

    path: BeamPath
    hop: Hop
    score: float
    ends: tuple[Entity, ...]


def chosen_hops(
    arguments: Mapping[str, Any], listed: Sequence[Hop], width: int
) -> list[tuple[Hop, float]]:
    """The listed hops that were chosen, best first; others are passed over."""
    found: dict[Hop, float] = {}
    for row in arguments["relations"]:
        hop = listed_hop(str(row.get("relation") or ""), listed)
        if hop is not None:
            found.setdefault(hop, _score(row))
    return sorted(found.items(), key=lambda item: -item[1])[:width]


def scores_of(arguments: Mapping[str, Any]) -> dict[str, float]:
    """The scores of entities by name."""
    return {str(row.get("entity") or ""): _score(row) for row in arguments["entities"]}


def best_branchings(branchings: Sequence[Branching], width: int) -> list[Branching]:
    """The `width` best over all paths of the beam; equal ones in order."""
    return sorted(branchings, key=lambda one: -one.path.score * one.score)[:width]


def extend_path(one: Branching, scores: Mapping[str, float]) -> list[BeamPath]:
    """The path with each end that has a score above 0."""
    return [
        BeamPath(
            one.path.topic,
            (*one.path.steps, (one.hop, end)),
            one.path.score * one.score * scores[end.name],
        )
        for end in one.ends
        if scores.get(end.name, 0.0) > 0
    ]


def best_paths(paths: Sequence[BeamPath], width: int) -> list[BeamPath]:
    """The `width` best paths; equal ones in order."""
    return sorted(paths, key=lambda path: -path.score)[:width]


def path_lines(paths: Sequence[BeamPath]) -> str:
    """The paths, one a line; those without a step say nothing."""
    return "\n".join(path.text() for path in paths if path.steps)


def _score(row: Mapping[str, Any]) -> float:
    value = row.get("score")
    known = isinstance(value, int | float) and not isinstance(value, bool) and value == value
    return min(1.0, max(0.0, float(value))) if known else 0.0  # pyright: ignore[reportArgumentType]


FORMS: Mapping[str, Mapping[str, Any]] = {
    "relations": {"relations": [{"relation": "relation", "score": 0.5}]},
    "entities": {"entities": [{"entity": "Name", "score": 0.5}]},
    "sufficient": {"sufficient": True},
}
RELATIONS = (
    "Which of these relations of {entity} help to answer the question? Choose up to {width}, each "
    "with a score from 0 to 1; `~` marks an incoming one.\n{listing}\n"
    'Write {{"thought": "why", "relations": [{{"relation": "relation", "score": 0.5}}]}}'
)
ENTITIES = (
    "By {relation}, {entity} leads to these. Score from 0 to 1 how much each helps to answer the "
    'question.\n{listing}\nWrite {{"thought": "why", "entities": [{{"entity": "Name", "score": '
    "0.5}}]}}"
)
SUFFICIENT = (
    "These are the paths so far:\n{paths}\nAre they and what you know enough to answer?\n"
    'Write {{"thought": "why", "sufficient": true}}'
)
FINAL = (
    "These paths were found:\n{paths}\nAnswer from them, else from what you know.\n"
    'Write {{"thought": "why", "answer": ["Name"]}}'
)


class TogOptions(PathOptions):
    """`environment.options` of ToG, with the paper's numbers."""

    width: int = Field(default=3, ge=1)
    """Paths that are kept."""
    depth: int = Field(default=3, ge=1)
    """Hops of the longest path."""


class TogAgent(DecisionAgent):
    """Keeps `width` paths, up to `depth` hops long. Every question to the model is a context of its
    own."""

    def play(self, talk: Dialogue, tools: PathTools) -> AgentRun:
        paths = [BeamPath(topic) for topic in tools.topics()]
        beam = [paths]
        with suppress(BudgetSpent):
            yield from self._explore(tools, talk, beam)
        talk.begin()
        found = self.protocol.observe(path_lines(beam[-1]) or "none")
        return (yield from talk.answer(FINAL.format(paths=found)))

    def _explore(
        self, tools: PathTools, talk: Dialogue, beam: list[list[BeamPath]]
    ) -> Generator[Ask, Completion, None]:
        options = self.settings.read_options(TogOptions)
        for _ in range(options.depth):
            branchings: list[Branching] = []
            for path in beam[-1]:
                branchings += yield from self._relations(tools, talk, path, options.width)
            longer: list[BeamPath] = []
            for one in best_branchings(branchings, options.width):
                longer += yield from self._entities(talk, one)
            if not longer:
                return
            beam.append(best_paths(longer, options.width))
            talk.begin()
            talk.say(SUFFICIENT.format(paths=self.protocol.observe(path_lines(beam[-1]))))
            call = yield from talk.decide(("sufficient",))
            if isinstance(call, Call) and call.arguments["sufficient"]:
                return

    def _relations(
        self, tools: PathTools, talk: Dialogue, path: BeamPath, width: int
    ) -> Generator[Ask, Completion, list[Branching]]:
        listing, listed = tools.listing(path.tail)
        if not listed.hops or is_literal(path.tail.id):
            return []
        talk.begin()
        entity = self.protocol.observe(quote(path.tail.name))
        shown = self.protocol.observe(listing)
        talk.say(RELATIONS.format(entity=entity, width=width, listing=shown))

        def run(call: Call) -> Observation:
            hops = [hop for hop, _ in chosen_hops(call.arguments, listed.hops, width)]
            if call.arguments["relations"] and not hops:
                kind = ErrorKind.UNKNOWN_RELATION
                return Observation(f"Error {kind}: none of these relations was listed", kind)
            return tools.triples(path.tail, hops)

        call = yield from talk.decide(("relations",), run)
        if not isinstance(call, Call):
            return []
        chosen = chosen_hops(call.arguments, listed.hops, width)
        return [
            Branching(path, hop, score, tuple(tools.ends(path.tail, hop))) for hop, score in chosen
        ]

    def _entities(
        self, talk: Dialogue, one: Branching
    ) -> Generator[Ask, Completion, list[BeamPath]]:
        if len(one.ends) <= 1:
            return extend_path(one, {end.name: 1.0 for end in one.ends})
        talk.begin()
        talk.say(
            ENTITIES.format(
                relation=self.protocol.observe(str(one.hop)),
                entity=self.protocol.observe(quote(one.path.tail.name)),
                listing=self.protocol.observe("\n".join(quote(end.name) for end in one.ends)),
            )
        )
        call = yield from talk.decide(("entities",))
        return extend_path(one, scores_of(call.arguments)) if isinstance(call, Call) else []


class TogOracle(DecisionOracle):
    """Scores the next hop of each branch 1, and its ends by whether they lead to a gold answer."""

    def plan(self, key: str, question: Question) -> Plan:
        query = query_of(question)
        options = self.settings.options
        width, depth = int(options.get("width", 3)), int(options.get("depth", 3))
        view = View(self.graph, question.topic_entities)
        branches = branches_with_tail(query)
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
                    yield from decide(view, "entities", entities=rows)
                longer += extend_path(one, scores)
            if not longer:
                break
            paths = best_paths(longer, width)
            enough = at + 1 >= max(len(branch.hops) for branch in branches)
            yield from decide(view, "sufficient", sufficient=enough)
            if enough:
                break
        names = [view.name(end) for end in prefer_gold(question, _common_tails(branches, paths))]
        while True:
            yield "The paths answer it.", FinalAnswer(tuple(dict.fromkeys(names)))

    def _relations(
        self, view: View, path: BeamPath, hop: Hop | None
    ) -> Generator[Move, Turn, list[Entity]]:
        """Nothing is chosen where the path is over; nothing is decided where nothing is listed."""
        if not _has_hops(self.graph, path.tail):
            return []
        chosen = [{"relation": str(hop), "score": 1.0}] if hop else []
        turn = yield from decide(view, "relations", relations=chosen)
        return ends_shown(turn.triples, path.tail, hop) if hop else []

    def _scores(
        self, branches: Sequence[Branch], one: Branching, at: int, question: Question
    ) -> dict[str, float]:
        """1 for an end from which the rest of its branch leads to a gold answer, else 0.5."""
        branch = _branch_of(branches, one.path)
        rest = branch.hops[at + 1 :] if branch else ()
        gold = {answer.id for answer in question.answers}
        return {
            end.name: 1.0 if gold & {e.id for e in ends_in_graph(self.graph, end, rest)} else 0.5
            for end in one.ends
        }


def _branch_of(branches: Sequence[Branch], path: BeamPath) -> Branch | None:
    walked = tuple(hop for hop, _ in path.steps)
    same = (b for b in branches if b.topic.id == path.topic.id and b.hops[: len(walked)] == walked)
    return next(same, None)


def _hop_at(branches: Sequence[Branch], path: BeamPath, at: int) -> Hop | None:
    branch = _branch_of(branches, path)
    return branch.hops[at] if branch and at < len(branch.hops) else None


def _common_tails(branches: Sequence[Branch], paths: Sequence[BeamPath]) -> list[Entity]:
    """The tails of the beam's paths that every branch leads to."""
    ends: list[list[Entity]] = []
    for branch in branches:
        walks = [p for p in paths if p.topic.id == branch.topic.id]
        full = [p for p in walks if tuple(hop for hop, _ in p.steps) == branch.hops]
        ends.append([path.tail for path in full])
    return shared(ends)


def _has_hops(graph: KnowledgeGraph, entity: Entity) -> bool:
    return any(graph.flat_relations(entity.id, way) for way in Direction)


def _as_shown(view: View, topic: Entity) -> Entity:
    return Entity(topic.id, view.name(topic))


def _most_entries(settings: AgentSettings) -> int:
    options = settings.read_options(TogOptions)
    return options.width * options.ends


TOG = Preset(
    name="tog",
    version=3,
    source="Think-on-Graph (Sun et al., 2024), width and depth 3",
    tools=lambda graph, settings, rank: path_tools(graph, settings, rank, TogOptions),
    protocol=lambda settings: FormProtocol(FORMS),
    agent=TogAgent,
    # 2 N D + D + 1 completions (N = D = 3), and as many topics more at the first depth.
    defaults={"max_turns": 40, "top_relations": 50},
    prompts={
        "tog": PROMPT.format(role="Paths are explored for you: you say which are worth following.")
    },
    options=TogOptions,
    most_entries=_most_entries,
    oracle=OwnOracle(TogOracle),
    calls=tuple(FORMS),
)
