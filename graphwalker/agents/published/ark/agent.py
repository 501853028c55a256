"""ARK-V1 (Klein and Ohnemus, 2025): anchor, relation, triples, reasoning, summary, and anew."""

from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import cache, partial

from pydantic import Field

from graphwalker.agents.base import AgentRun, Ask
from graphwalker.agents.preset import AgentSettings, Preset
from graphwalker.agents.published.ark.oracle import ARK_ORACLE
from graphwalker.agents.published.ark.tools import ArkTools, Nearest
from graphwalker.agents.published.dialogue import (
    BudgetSpent,
    DecisionAgent,
    Dialogue,
)
from graphwalker.config import Config
from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.policies.base import Completion
from graphwalker.protocols.forms import FormProtocol
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker
from graphwalker.ranking.nodes.index import NodeIndexName, open_node_index
from graphwalker.tools.base import Call, ToolBox
from graphwalker.tools.listing import lister

FORMS = {
    "anchor": {"anchor": "Name"},
    "relation": {"relation": "relation"},
    "reason": {
        "triples": ["ab12"],
        "implication": "what follows",
        "continue": True,
        "reset": False,
    },
    "summary": {"summary": "what is known so far"},
}
ANCHOR = (
    "Choose one entity to explore next. Only an entity with outgoing triples counts.\n"
    'Write {"thought": "why", "anchor": "Name"}'
)
RELATION = (
    'Choose the one of these relations that helps most; "" if none does, then another entity can '
    'be chosen.\nWrite {"thought": "why", "relation": "relation"}'
)
REASON = (
    "Choose the triples that matter by their keys, and say what follows from them, common sense "
    'included. "continue": is more to be explored? "reset": is this step of no use?\n'
    'Write {"thought": "why", "triples": ["ab12"], "implication": "what follows", '
    '"continue": true, "reset": false}'
)
SUMMARY = (
    "Sum up every step so far in a few sentences: the facts found, and what follows from them.\n"
    'Write {"summary": "what is known so far"}'
)
FINAL = (
    "Answer the question from the steps and common sense. A question of yes or no: true, false, or "
    'null where it cannot be decided. Any other: every name, as shown.\nWrite {"thought": "why", '
    '"answer": true} or {"thought": "why", "answer": ["Name"]}'
)


PROMPT = """You answer questions with the help of a knowledge graph of triples (head, relation, \
tail). You explore it in reasoning steps: you choose an entity, one of its outgoing relations, \
then the triples that matter, and say what follows from them. After each step you sum up, and only \
the summary is kept. Answer from the triples found together with common sense. Every message of \
yours is one JSON object as requested, names copied as shown.
---
Question: {question}
Entities: {entities}"""


class Route(Enum):
    """Where a sub-step leads besides the next one."""

    ANSWER = "state 11"
    ANCHOR = "state 4"
    DROP = "the step is dropped"


@dataclass(frozen=True, slots=True)
class ReasonStep:
    """A reasoning step that counts: its evidence and implication, and whether to continue."""

    text: str
    more: bool


SubStep = Generator[Ask, Completion, Call | Route]


class ArkOptions(Config):
    """`environment.options` of ARK-V1."""

    attempts: int = Field(default=5, ge=1)
    """C_max: attempts at an anchor, a relation, or a reasoning (the released code's number)."""
    steps: int = Field(default=8, ge=1)
    """K_max: reasoning steps (the released code's number)."""
    relations: int = Field(default=200, ge=1)
    """Most relations of an anchor that are listed."""
    triples: int = Field(default=50, ge=1)
    """Most triples of a relation that are shown."""
    nearest: NodeIndexName = "tfidf"
    """What proposes entities after a wrong name: a node index (`bm25`, `tfidf`, `embed:MODEL`;
    the paper's code takes `embed:sentence-transformers/all-MiniLM-L6-v2`), or `none`."""
    nearest_nodes: int = Field(default=1_000_000, ge=0)
    """Graphs of more nodes are not indexed for that; then only names seen so far are proposed."""


@dataclass(frozen=True, slots=True)
class ArkAgent(DecisionAgent):
    """Explores by ARK-V1's states. With `code_counting` an attempt that reaches C_max leads to the
    answer even if it is valid (Eqs. 3, 7, 10 as written, and the released code): of five attempts
    four are of use."""

    code_counting: bool = False

    def play(self, talk: Dialogue, tools: ArkTools) -> AgentRun:
        notes: list[str] = []
        with suppress(BudgetSpent):
            yield from self._explore(tools, talk, notes)
        self._open(talk, notes)
        return (yield from talk.answer(FINAL))

    def _explore(
        self, tools: ArkTools, talk: Dialogue, notes: list[str]
    ) -> Generator[Ask, Completion, None]:
        """States 2 to 10. `notes` holds the summary so far, or the steps that none covers yet."""
        options = self.settings.read_options(ArkOptions)
        for _ in range(options.steps):
            self._open(talk, notes)
            step = yield from self._step(tools, talk, options.attempts)
            if step is Route.ANSWER:
                return
            if isinstance(step, ReasonStep):
                notes.append(step.text)
                talk.say(SUMMARY)
                call = yield from talk.decide(("summary",), tools.call)
                if isinstance(call, Call) and call.arguments["summary"].strip():
                    notes[:] = [call.arguments["summary"].strip()]
                if not step.more:
                    return

    def _step(
        self, tools: ArkTools, talk: Dialogue, attempts: int
    ) -> Generator[Ask, Completion, ReasonStep | Route]:
        relation: Call | Route = Route.ANCHOR
        while relation is Route.ANCHOR:
            anchor = yield from self._attempt(talk, "anchor", ANCHOR, attempts)
            if isinstance(anchor, Route):
                return anchor
            relation = yield from self._attempt(talk, "relation", RELATION, attempts)
        if isinstance(relation, Route):
            return relation
        reason = yield from self._attempt(talk, "reason", REASON, attempts)
        if isinstance(reason, Route):
            return reason
        keys, values = reason.arguments["triples"], reason.arguments
        if not keys or values["reset"]:
            return Route.DROP
        return ReasonStep(
            f"{tools.evidence(keys)}: {values['implication'].strip()}", values["continue"]
        )

    def _attempt(self, talk: Dialogue, form: str, prompt: str, attempts: int) -> SubStep:
        """One sub-step: up to C_max attempts at a valid value (the counter starts anew)."""
        talk.say(prompt)
        for attempt in range(1, attempts + 1):
            call = yield from talk.decide((form,), talk.tools.call)
            if self.code_counting and attempt >= attempts:
                break
            if isinstance(call, Call) and not talk.log.turns[-1].error:
                no_relation = form == "relation" and not call.arguments["relation"]
                return Route.ANCHOR if no_relation else call
        return Route.ANSWER

    def _open(self, talk: Dialogue, notes: list[str]) -> None:
        known = self.protocol.observe("\n".join(notes))
        talk.begin(talk.tools.signatures(), f"Known so far: {known}" if notes else "")


def _tools(
    graph: KnowledgeGraph, settings: AgentSettings, rank: Ranker
) -> Callable[[Question], ToolBox]:
    options, listed = settings.read_options(ArkOptions), lister(graph, settings)
    nearest = _nearest(graph, options)
    limits = options.relations, options.triples
    longest = settings.longest_name
    return lambda question: ArkTools(graph, question, listed, nearest, limits, longest)


def _most_entries(settings: AgentSettings) -> int:
    options = settings.read_options(ArkOptions)
    return options.relations + options.triples


def _nearest(graph: KnowledgeGraph, options: ArkOptions) -> Nearest:
    """The index is opened at the first wrong name."""
    if options.nearest == "none" or not 0 < graph.size <= options.nearest_nodes:
        return lambda name, limit: []
    opened = cache(lambda: open_node_index(graph, options.nearest))

    def find(name: str, limit: int) -> list[Entity]:
        return [hit.entity for hit in opened().search(name[:200], limit=limit)]

    return find


ARK = Preset(
    name="ark-v1",
    version=3,
    source="ARK-V1 (Klein and Ohnemus, 2025); the fifth of five attempts may succeed",
    tools=_tools,
    protocol=lambda settings: FormProtocol(FORMS),
    agent=ArkAgent,
    # Eight steps of four completions, and room for wrong attempts; K_max ends it before.
    defaults={"max_turns": 60, "max_malformed": 5},
    prompts={"ark-v1": PROMPT},
    options=ArkOptions,
    most_entries=_most_entries,
    oracle=ARK_ORACLE,
    calls=tuple(FORMS),
    graphs="any graph with names; it walks outgoing relations alone",
)
ARK_CODE = Preset(
    name="ark-v1-code",
    version=3,
    source="ARK-V1 as its equations and its released code count attempts: of five, four can win",
    tools=_tools,
    protocol=lambda settings: FormProtocol(FORMS),
    agent=partial(ArkAgent, code_counting=True),
    defaults=ARK.defaults,
    prompts=ARK.prompts,
    options=ArkOptions,
    most_entries=_most_entries,
    oracle=ARK_ORACLE,
    calls=tuple(FORMS),
    graphs="any graph with names; it walks outgoing relations alone",
)
