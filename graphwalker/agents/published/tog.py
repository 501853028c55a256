"""Think-on-Graph (Sun et al., 2024): a beam of paths, pruned by the model at every depth."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from pydantic import Field

from graphwalker.agents.base import AgentPart, AgentRun
from graphwalker.agents.dialogue import BudgetSpent, Dialogue, DialogueAgent
from graphwalker.agents.preset import Preset
from graphwalker.agents.prompt import read_texts
from graphwalker.agents.published.decisions import (
    PathOptions,
    PathTools,
    listed_hop,
    prompt_for,
    shown_triple,
    tools_of,
    triple_text,
)
from graphwalker.graphs.base import Entity
from graphwalker.graphs.literals import is_literal
from graphwalker.oracle.gold_walk import DecisionOracle, branches_with_tail, ends_in_graph, query_of
from graphwalker.oracle.plan import Move, OwnOracle
from graphwalker.oracle.walk import prefer_gold, shared
from graphwalker.policies.base import Request
from graphwalker.protocols.base import FinalAnswer
from graphwalker.protocols.forms import FormProtocol
from graphwalker.query.query import Branch, Hop
from graphwalker.question import Question
from graphwalker.tools.base import Call, ErrorKind, Observation, mistake
from graphwalker.tools.namebook import quote

TEXTS = read_texts(__file__)
FORMS: Mapping[str, Mapping[str, Any]] = {
    "relations": {"relations": [{"relation": "RELATION", "score": 0.5}]},
    "entities": {"entities": [{"entity": "NAME OF AN ENTITY", "score": 0.5}]},
    "sufficient": {"sufficient": True},
}


class TogOptions(PathOptions):
    """`environment.options` of ToG, with the paper's numbers."""

    width: int = Field(default=3, ge=1)
    """Paths that are kept."""
    depth: int = Field(default=3, ge=1)
    """Hops of the longest path."""


@dataclass(frozen=True, slots=True)
class BeamPath:
    """A path of the beam: its topic, its steps, and the product of its scores."""

    topic: Entity
    steps: tuple[tuple[Hop, Entity], ...] = ()
    score: float = 1.0

    @property
    def tail(self) -> Entity:
        return self.steps[-1][1] if self.steps else self.topic

    @property
    def hops(self) -> tuple[Hop, ...]:
        return tuple(hop for hop, _ in self.steps)

    def __str__(self) -> str:
        starts = [self.topic, *(end for _, end in self.steps)]
        triples = [
            shown_triple(here, *step) for here, step in zip(starts, self.steps, strict=False)
        ]
        return ", ".join(map(triple_text, triples))


@dataclass(frozen=True, slots=True)
class Branching:
    """A hop that was chosen at the end of a path, its score, and where it leads."""

    path: BeamPath
    hop: Hop
    score: float
    ends: Sequence[Entity]

    def extend(self, scores: Mapping[str, float]) -> list[BeamPath]:
        """Return the path with each end that has a score above 0."""
        path, score = self.path, self.path.score * self.score
        return [
            BeamPath(path.topic, (*path.steps, (self.hop, end)), score * scores[end.name])
            for end in self.ends
            if scores.get(end.name, 0.0) > 0
        ]


def choose_hops(
    rows: Sequence[Mapping[str, Any]], listed: Sequence[Hop], width: int
) -> list[tuple[Hop, float]]:
    """Return the listed hops that were chosen, best first; others are passed over."""
    found: dict[Hop, float] = {}
    for row in rows:
        hop = listed_hop(str(row.get("relation") or ""), listed)
        if hop is not None:
            found.setdefault(hop, _score(row))
    return sorted(found.items(), key=lambda item: -item[1])[:width]


def _score(row: Mapping[str, Any]) -> float:
    value = row.get("score")
    known = isinstance(value, int | float) and not isinstance(value, bool) and value == value
    return min(1.0, max(0.0, float(value))) if known else 0.0  # pyright: ignore[reportArgumentType]


class TogAgent(DialogueAgent):
    """Keeps `width` paths, up to `depth` hops long. Every question to the model is a context of its
    own."""

    def play(self, talk: Dialogue, tools: PathTools) -> AgentRun:
        beam = [BeamPath(topic) for topic in tools.topics()]
        with suppress(BudgetSpent):
            yield from self._explore(tools, talk, beam)
        talk.begin()
        talk.say(TEXTS["final"], paths=_lines(beam) or "none")
        return (yield from talk.answer(about=beam))

    def _explore(self, tools: PathTools, talk: Dialogue, beam: list[BeamPath]) -> AgentPart[None]:
        """Deepen the paths of the beam, in place."""
        options = self.settings.read_options(TogOptions)
        for _ in range(options.depth):
            branchings: list[Branching] = []
            for path in beam:
                branchings += yield from self._branch(tools, talk, path, options.width)
            longer: list[BeamPath] = []
            # The best over all paths of the beam; equal ones in order.
            branchings.sort(key=lambda one: -one.path.score * one.score)
            for one in branchings[: options.width]:
                longer += yield from self._extend(talk, one)
            if not longer:
                return
            beam[:] = sorted(longer, key=lambda path: -path.score)[: options.width]
            talk.begin()
            talk.say(TEXTS["sufficient"], paths=_lines(beam))
            call = yield from talk.decide(("sufficient",), about=len(beam[0].steps))
            if isinstance(call, Call) and call.arguments["sufficient"]:
                return

    def _branch(
        self, tools: PathTools, talk: Dialogue, path: BeamPath, width: int
    ) -> AgentPart[list[Branching]]:
        here, listed = path.tail, tools.hops(path.tail)
        if not listed or is_literal(here.id):
            return []
        talk.begin()
        lines = "\n".join(map(str, listed))
        talk.say(TEXTS["relations"], entity=quote(here.name), width=width, listing=lines)

        def run(call: Call) -> Observation:
            hops = [hop for hop, _ in choose_hops(call.arguments["relations"], listed, width)]
            if call.arguments["relations"] and not hops:
                return mistake(ErrorKind.UNKNOWN_RELATION, "none of these relations was listed")
            return tools.triples(here, hops)

        call = yield from talk.decide(("relations",), run, path)
        rows = call.arguments["relations"] if isinstance(call, Call) else ()
        chosen = choose_hops(rows, listed, width)
        return [Branching(path, hop, score, tools.ends(here, hop)) for hop, score in chosen]

    def _extend(self, talk: Dialogue, one: Branching) -> AgentPart[list[BeamPath]]:
        if len(one.ends) <= 1:
            return one.extend({end.name: 1.0 for end in one.ends})
        talk.begin()
        lines = "\n".join(quote(end.name) for end in one.ends)
        here = quote(one.path.tail.name)
        talk.say(TEXTS["entities"], relation=one.hop, entity=here, listing=lines)
        call = yield from talk.decide(("entities",), about=one)
        rows = call.arguments["entities"] if isinstance(call, Call) else ()
        return one.extend({str(row.get("entity") or ""): _score(row) for row in rows})


def _lines(paths: Sequence[BeamPath]) -> str:
    """Return the paths, one a line; those without a step say nothing."""
    return "\n".join(str(path) for path in paths if path.steps)


class TogOracle(DecisionOracle):
    """Scores the next hop of each branch 1, and its ends by whether they lead to a gold answer."""

    def decide(self, request: Request) -> Move:
        question, about = request.question, request.about
        branches = branches_with_tail(query_of(question))
        match about:
            case BeamPath():  # nothing is chosen where the path is over
                hops = _hops_behind(branches, about)[:1]
                rows: list[Any] = [{"relation": str(hop), "score": 1.0} for hop in hops]
                return "", Call("relations", {"relations": rows})
            case Branching():
                rest = _hops_behind(branches, about.path)[1:]
                scores = {end.name: self._score(end, rest, question) for end in about.ends}
                rows = [{"entity": name, "score": score} for name, score in scores.items()]
                return "", Call("entities", {"entities": rows})
            case int():
                enough = about >= max(len(branch.hops) for branch in branches)
                return "", Call("sufficient", {"sufficient": enough})
            case _:
                found = prefer_gold(question, _common_tails(branches, cast("list[Any]", about)))
                names = tuple(dict.fromkeys(entity.name for entity in found))
                return "The paths answer it.", FinalAnswer(names)

    def _score(self, end: Entity, rest: Sequence[Hop], question: Question) -> float:
        """1 for an end from which the rest of its branch leads to a gold answer, else 0.5."""
        reached = {found.id for found in ends_in_graph(self.graph, end, rest)}
        return 1.0 if reached & {answer.id for answer in question.answers} else 0.5


def _hops_behind(branches: Sequence[Branch], path: BeamPath) -> tuple[Hop, ...]:
    """Return the hops that are left of the branch that the path goes along."""
    walked = path.hops
    same = (b for b in branches if b.topic.id == path.topic.id and b.hops[: len(walked)] == walked)
    return next((branch.hops[len(walked) :] for branch in same), ())


def _common_tails(branches: Sequence[Branch], paths: Sequence[BeamPath]) -> list[Entity]:
    """Return the tails of the beam's paths that every branch leads to."""
    return shared(
        [
            [p.tail for p in paths if p.topic.id == branch.topic.id and p.hops == branch.hops]
            for branch in branches
        ]
    )


TOG = Preset(
    name="tog",
    version=4,
    source="Think-on-Graph (Sun et al., 2024), width and depth 3",
    tools=tools_of(PathTools, TogOptions),
    protocol=lambda settings: FormProtocol(FORMS),
    agent=TogAgent,
    # 2 N D + D + 1 completions (N = D = 3), and as many topics more at the first depth.
    defaults={"max_turns": 40, "top_relations": 50},
    prompts={"tog": prompt_for("Paths are explored for you: you say which are worth following.")},
    options=TogOptions,
    most_entries=lambda settings: (own := settings.read_options(TogOptions)).width * own.ends,
    oracle=OwnOracle(TogOracle),
    calls=tuple(FORMS),
)
