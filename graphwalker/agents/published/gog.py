"""Generate-on-Graph (Xu et al., 2024): search, and generate what an incomplete graph lacks."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from pydantic import Field

from graphwalker.agents.base import AgentRun
from graphwalker.agents.dialogue import ANSWER, Dialogue, DialogueAgent
from graphwalker.agents.preset import Preset
from graphwalker.agents.prompt import read_texts
from graphwalker.agents.published.decisions import PathOptions, PathTools, prompt_for, tools_of
from graphwalker.graphs.base import Entity
from graphwalker.oracle.gold_walk import EntitySearch, WalkOracle, ends_in_graph
from graphwalker.oracle.plan import OwnOracle
from graphwalker.protocols.forms import FormProtocol
from graphwalker.query.query import Hop
from graphwalker.tools.base import Call, ErrorKind, Observation, mistake
from graphwalker.tools.namebook import quote

ACTIONS = read_texts(__file__)["actions"]
FORMS: Mapping[str, Mapping[str, Any]] = {
    "search": {"search": "NAME OF AN ENTITY"},
    "generate": {"generate": [["head", "relation", "tail"]]},
}


class GogOptions(PathOptions):
    """`environment.options` of GoG."""

    relations: int = Field(default=10, ge=1)
    """Relations whose triples one search shows, the most relevant ones."""


class GogAgent(DialogueAgent):
    """One conversation. Generated triples stand in it as generated: they are the model's, and what
    is answered from them counts as ungrounded."""

    def play(self, talk: Dialogue, tools: PathTools) -> AgentRun:
        talk.begin(tools=ACTIONS)
        run = partial(self._run, tools, self.settings.read_options(GogOptions).relations)
        return talk.answer((*FORMS, ANSWER), run, "Nothing more can be searched.")

    def _run(self, tools: PathTools, relations: int, call: Call) -> Observation:
        if call.tool == "generate":
            return _accept_generated(call.arguments["generate"], tools)
        entity = tools.find(call.arguments["search"])
        if entity is None:
            name = quote(call.arguments["search"][:200])
            return mistake(ErrorKind.UNKNOWN_ENTITY, f"no entity {name}", calls=1)
        seen = tools.triples(entity, tools.hops(entity)[:relations])
        known = f"nothing is known of {quote(entity.name)}"
        return seen if seen.triples else mistake(ErrorKind.NO_TRIPLES, known)


def _accept_generated(rows: list[list[str]], tools: PathTools) -> Observation:
    """Show the model's own triples as such. Each begins or ends at an entity shown before."""
    if not rows or any(len(row) != 3 or not all(part.strip() for part in row) for row in rows):
        return mistake(ErrorKind.BAD_ARGUMENTS, "each triple is [head, relation, tail]")
    for head, _, tail in rows:
        if not tools.entity_id(head.strip()) and not tools.entity_id(tail.strip()):
            what = f"neither {quote(head[:100])} nor {quote(tail[:100])} was shown"
            return mistake(ErrorKind.UNKNOWN_ENTITY, f"{what}; generate from an entity shown")
    lines = [f"({', '.join(quote(part.strip()) for part in row)})" for row in rows]
    return Observation("Generated, not in the graph:\n" + "\n".join(lines))


class GogOracle(WalkOracle):
    """Searches each entity on the way; gold triples of the last hop that the graph lacks it
    generates, as a model that knows the fact would."""

    def look(self, frontier: list[Entity], hop: Hop, last: bool, over: bool) -> EntitySearch:
        found: list[Entity] = []
        for entity in frontier:
            turn = yield from self.fill("search", search=self.view.name(entity))
            found += self.ends(turn, [entity], hop)
        # What the graph has and the search did not show is lost: only what it lacks is made.
        has = {end.id for here in frontier for end in ends_in_graph(self.graph, here, [hop])}
        has.update(end.id for end in found)
        gold = [Entity(one.id, one.name) for one in self.question.answers if one.id not in has]
        if gold and frontier and last:
            head = self.view.name(frontier[0])
            yield from self.fill("generate", generate=[[head, str(hop), e.name] for e in gold])
            found += gold
        return found


GOG = Preset(
    name="gog",
    version=4,
    source="Generate-on-Graph (Xu et al., 2024); hide triples with layers.hidden_share",
    tools=tools_of(PathTools, GogOptions),
    protocol=lambda settings: FormProtocol(FORMS),
    agent=GogAgent,
    defaults={"max_turns": 20, "top_relations": 50},
    prompts={
        "gog": prompt_for("The graph is incomplete: what it lacks you may generate yourself.")
        + "\n{tools}"
    },
    options=GogOptions,
    most_entries=lambda settings: (own := settings.read_options(GogOptions)).relations * own.ends,
    oracle=OwnOracle(GogOracle),
    calls=tuple(FORMS),
)
