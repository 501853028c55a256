"""Retrieval and one answer: the nodes that fit a question, alone or with the graph around them."""

from collections.abc import Iterator

from pydantic import Field

from graphwalker.agents.base import AgentRun
from graphwalker.agents.dialogue import Dialogue, DialogueAgent
from graphwalker.agents.preset import Preset
from graphwalker.agents.prompt import read_texts
from graphwalker.agents.published.decisions import (
    CHARS_PER_TOKEN,
    DecisionTools,
    EpisodeResources,
    tools_of,
    triple_text,
)
from graphwalker.agents.react import has_answers
from graphwalker.config import Config
from graphwalker.graphs.base import Direction, Entity, Side
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.names import fold
from graphwalker.oracle.plan import Move, OwnOracle, PresetOracle
from graphwalker.policies.base import Request
from graphwalker.protocols.base import FinalAnswer
from graphwalker.protocols.forms import FormProtocol
from graphwalker.protocols.tags import neutral
from graphwalker.question import Question
from graphwalker.ranking.nodes.index import NodeIndexName
from graphwalker.tools.base import Observation, ShownTriple
from graphwalker.tools.namebook import quote

TEXTS = read_texts(__file__)


class TextRagOptions(Config):
    """`environment.options` of text RAG."""

    index: NodeIndexName = "bm25"
    """What finds nodes by the question: `bm25`, `tfidf`, or `embed:MODEL`."""
    nodes: int = Field(default=10, ge=1)
    """Nodes that are retrieved."""
    tokens: int = Field(default=2000, ge=50)
    """Tokens (of four characters) of retrieved text."""

    @property
    def around(self) -> tuple[int, int]:
        """Hops around the nodes (0: their own values alone), and triples of a node and relation."""
        return 0, 50


class GraphRagOptions(TextRagOptions):
    """`environment.options` of graph RAG."""

    nodes: int = Field(default=5, ge=1)
    """Nodes that are retrieved, and around which the graph is read."""
    hops: int = Field(default=2, ge=1)
    """Hops around them (GraphRunner, section 4.1)."""
    each: int = Field(default=50, ge=1)
    """Most triples of one node and relation."""

    @property
    def around(self) -> tuple[int, int]:
        return self.hops, self.each


class RagTools(DecisionTools[TextRagOptions]):
    """The retrieval of one episode; nothing else is called."""

    def __init__(self, shared: EpisodeResources[TextRagOptions], question: Question) -> None:
        super().__init__(shared, question)
        self._hops, self._each = self._options.around

    def retrieve(self) -> Observation:
        """Get the nodes nearest to the question, then triples ring by ring, cut at the budget."""
        hits = self._shared.index.search(self._question.text, limit=self._options.nodes)
        nodes = [self._book.show_entity(hit.entity) for hit in hits]
        budget = self._options.tokens * CHARS_PER_TOKEN
        lines = [f"- {quote(node.name)}" for node in nodes]
        budget -= sum(map(len, lines))
        kept: dict[ShownTriple, None] = {}
        hidden = 0
        for triple in self._around(nodes):
            line = triple_text(triple)
            budget -= len(line) + 1
            if budget < 0:
                hidden += 1
            elif triple not in kept:
                kept[triple] = None
                lines.append(line)
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
        ways = [Direction.OUT, Direction.IN] if self._hops else [Direction.OUT]
        for _ in range(max(1, self._hops)):
            outer: dict[str, Entity] = {}
            for node in ring:
                for triple in self._triples(node, ways):
                    if not self._hops and not is_literal(triple.tail.id):
                        continue
                    yield triple
                    ends = (triple.head, triple.tail)
                    outer |= {e.id: e for e in ends if e.id not in seen and not is_literal(e.id)}
            seen.update(outer)
            ring = list(outer.values())

    def _triples(self, node: Entity, ways: list[Direction]) -> Iterator[ShownTriple]:
        found = self._graph.triples_many([Side(node.id, way) for way in ways], None, self._each)
        show = self._book.show_entity
        for one in (one for triples in found for one in triples[: self._each]):
            yield ShownTriple(show(one.head), one.relation, show(one.tail))


class RagAgent(DialogueAgent):
    """One retrieval, one completion (malformed ones again)."""

    def play(self, talk: Dialogue, tools: RagTools) -> AgentRun:
        talk.begin()
        talk.retrieved = tools.retrieve()
        talk.say(TEXTS["final"], seen=talk.retrieved.text)
        return (yield from talk.answer())


class RetrievalOracle(PresetOracle):
    """The gold answers, where retrieval shows all of them; else those that it shows."""

    def move(self, request: Request) -> Move:
        text = fold(request.messages[-1].content)
        names = dict.fromkeys(answer.name for answer in request.question.answers)
        seen = tuple(name for name in names if fold(neutral(quote(name))) in text)
        return "", FinalAnswer(seen)


def _preset(name: str, source: str, kind: type[TextRagOptions]) -> Preset:
    return Preset(
        name=name,
        version=3,
        source=f"{source} (baseline of GraphRunner)",
        tools=tools_of(RagTools, kind),
        protocol=lambda settings: FormProtocol({}),
        agent=RagAgent,
        defaults={"max_turns": 3},
        prompts={"rag": TEXTS["prompt"]},
        options=kind,
        most_entries=lambda settings: max(
            settings.most_entries, settings.read_options(kind).tokens // 50
        ),
        oracle=OwnOracle(RetrievalOracle, has_answers, "gold answers"),
        graphs="graphs that list their nodes",
    )


TEXT_RAG = _preset("text-rag", "retrieval of single nodes", TextRagOptions)
GRAPH_RAG = _preset("graph-rag", "retrieval of nodes with two hops around them", GraphRagOptions)
