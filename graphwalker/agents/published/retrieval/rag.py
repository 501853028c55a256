"""Retrieval and one answer: the nodes that fit a question as text, alone or with what is around."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from graphwalker.agents.base import AgentRun, Log
from graphwalker.agents.prompt import Prompt
from graphwalker.agents.published.dialogue import (
    BudgetSpent,
    Dialogue,
    EpisodeBudget,
    WritesNoAction,
)
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Side
from graphwalker.graphs.literals import is_literal
from graphwalker.protocols.base import ActionProtocol
from graphwalker.question import Question
from graphwalker.ranking.nodes.index import NodeIndex
from graphwalker.tools.base import Call, Observation, ShownTriple, ToolBox
from graphwalker.tools.namebook import NamedTopics, quote

CHARS_PER_TOKEN = 4
FINAL = (
    "Retrieved:\n{seen}\nAnswer from this: every name that answers the question.\n"
    'Write {{"thought": "why", "answer": ["Name"]}}'
)


@dataclass(frozen=True, slots=True)
class RagLimits:
    """`nodes` that are retrieved; triples up to `hops` around them (0: their own values alone);
    at most so many `tokens` (of four characters), and `each` triples of a node."""

    nodes: int
    hops: int
    tokens: int
    each: int


class RagTools(NamedTopics):
    """The retrieval of one episode; nothing else is called."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        question: Question,
        index: Callable[[], NodeIndex],
        limits: RagLimits,
    ) -> None:
        super().__init__(graph, question)
        self._index, self._limits = index, limits

    def call(self, call: Call) -> Observation:
        return Observation("")

    def signatures(self) -> str:
        return ""

    def retrieved(self) -> Observation:
        """The nodes nearest to the question, then triples ring by ring, cut at the budget."""
        hits = self._index().search(self._question.text, limit=self._limits.nodes)
        nodes = [self._shown(hit.entity) for hit in hits]
        budget = self._limits.tokens * CHARS_PER_TOKEN
        lines = [f"- {quote(node.name)}" for node in nodes]
        budget -= sum(map(len, lines))
        kept: dict[ShownTriple, None] = {}
        hidden = 0
        for triple in self._around(nodes):
            line = ", ".join((quote(triple.head.name), triple.relation, quote(triple.tail.name)))
            budget -= len(line) + 3
            if budget < 0:
                hidden += 1
            elif triple not in kept:
                kept[triple] = None
                lines.append(f"({line})")
        if hidden:
            lines.append(f"({hidden} more triples are not shown)")
        return Observation(
            "\n".join(lines) or "nothing",
            shown=tuple(nodes),
            triples=tuple(kept),
            hidden=hidden,
            graph_calls=1 + 2 * len(nodes),
        )

    def _around(self, nodes: list[Entity]) -> Iterator[ShownTriple]:
        ring, seen = nodes, {node.id for node in nodes}
        for _ in range(max(1, self._limits.hops)):
            outer: dict[str, Entity] = {}
            sides = [Direction.OUT, Direction.IN] if self._limits.hops else [Direction.OUT]
            for node in ring:
                for triple in self._triples(node, sides):
                    ends = (triple.head, triple.tail)
                    if not self._limits.hops and not is_literal(triple.tail.id):
                        continue
                    yield triple
                    outer |= {e.id: e for e in ends if e.id not in seen and not is_literal(e.id)}
            seen.update(outer)
            ring = list(outer.values())

    def _triples(self, node: Entity, sides: list[Direction]) -> Iterator[ShownTriple]:
        found = self._graph.triples_many([Side(node.id, s) for s in sides], None, self._limits.each)
        for triples in found:
            for one in triples[: self._limits.each]:
                yield ShownTriple(self._shown(one.head), one.relation, self._shown(one.tail))

    def _shown(self, entity: Entity) -> Entity:
        return Entity(entity.id, self._book.show(entity))


@dataclass(frozen=True, slots=True)
class RagAgent:
    """Builds the generator of an episode: one retrieval, one completion (malformed ones again)."""

    protocol: ActionProtocol
    prompt: Prompt
    budget: EpisodeBudget

    def __call__(self, question: Question, tools: ToolBox, log: Log) -> AgentRun:
        if not isinstance(tools, RagTools):
            raise TypeError("retrieval needs its own tools")
        talk = Dialogue(self.protocol, self.budget, log)
        talk.begin(
            *self.prompt.messages(
                {
                    "question": question.text,
                    "entities": ", ".join(map(quote, tools.topic_names())),
                    "tools": "",
                    "max_turns": str(self.budget.max_turns),
                }
            )
        )
        seen = tools.retrieved()
        try:
            talk.retrieved = seen
            return (yield from talk.answer(FINAL.format(seen=self.protocol.observe(seen.text))))
        except (BudgetSpent, WritesNoAction):
            return None
