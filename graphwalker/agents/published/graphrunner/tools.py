"""GraphRunner's execution: a verified plan, step by step, and what its last step found, as text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pydantic import Field

from graphwalker.agents.published.graphrunner.plans import (
    RINGS,
    FetchByEdge,
    FetchByType,
    FindCommon,
    FindNode,
    PlanFault,
    PlanStep,
    examples_of,
    hint_types,
    read_plan,
    source_step,
    types_of_steps,
)
from graphwalker.agents.published.graphrunner.schema import (
    UNTYPED,
    TraversalSchema,
    types_of,
)
from graphwalker.config import Config
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Side, Step
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.properties import PropertyGraph
from graphwalker.oracle.oracle import shared
from graphwalker.question import Question
from graphwalker.ranking.nodes.index import NodeIndex, NodeIndexName
from graphwalker.tools.base import Call, ErrorKind, Observation, mistake
from graphwalker.tools.namebook import NamedTopics, quote
from graphwalker.trust import Text

CHARS_PER_TOKEN = 4
"""A bound for budgets of text that no tokenizer has seen yet."""


class RunnerOptions(Config):
    """`environment.options` of GraphRunner."""

    index: NodeIndexName = "bm25"
    """What finds nodes by a hint: `bm25`, `tfidf`, or `embed:MODEL` (sentence-transformers, as in
    the paper)."""
    theta: float = Field(default=0.8, ge=0, le=1)
    """A node is found whose similarity is at least this share of the best one's."""
    hits: int = Field(default=5, ge=1)
    """Most nodes that one hint finds."""
    nodes: int = Field(default=1000, ge=1)
    """Most nodes that a step keeps."""
    answer_tokens: int = Field(default=2000, ge=50)
    """Tokens (of four characters) of retrieved nodes that the answer is written from."""
    replans: int = Field(default=3, ge=0)
    """Further plans after one that verification rejects."""
    schema_edges: int = Field(default=200, ge=1)
    """Edge types in the prompt; of more, those that fit the question best."""
    examples: Text = "auto"
    """Few-shot plans behind the schema. `auto`: of the shipped ones, for GRBench's domains, those
    that the graph could execute; `""` shows none, any other text stands there as it is."""


@dataclass(slots=True)
class _Found:
    """The nodes of each step so far, and how much was looked up."""

    steps: list[list[Entity]] = field(default_factory=list[list[Entity]])
    hidden: int = 0
    graph_calls: int = 0


class RunnerTools(NamedTopics):
    """The tools of one episode: `plan` verifies a plan and, where it is sound, executes it."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        question: Question,
        longest: int,
        schema: TraversalSchema,
        index: NodeIndex,
        options: RunnerOptions,
    ) -> None:
        super().__init__(graph, question, longest)
        self.schema = schema
        self._index, self._options = index, options

    def call(self, call: Call) -> Observation:
        if call.tool != "plan":
            return mistake(ErrorKind.UNKNOWN_TOOL, f"there is no {call.tool}")
        try:
            plan = read_plan(list(call.arguments.get("plan") or ()))
            standing = types_of_steps(plan, self.schema)
        except PlanFault as fault:
            # The kind of the fault, so that the classes of errors can be counted.
            return mistake(fault.kind, str(fault))
        return self._execute(plan, standing)

    def signatures(self) -> str:
        """The graph's schema, and example plans for it."""
        schema = self.schema.describe(self._question.text, self._options.schema_edges)
        wanted = self._options.examples
        examples = examples_of(self.schema) if wanted == "auto" else wanted
        return f"{schema}\n{examples}" if examples else schema

    def _execute(self, plan: Sequence[PlanStep], standing: Sequence[frozenset[str]]) -> Observation:
        """What the last step found: how many nodes, then each with its attributes, as far as the
        token budget goes; what does not fit is counted."""
        found = _Found()
        for number, step in enumerate(plan):
            nodes = self._run(step, found, standing[:number])
            found.hidden += max(0, len(nodes) - self._options.nodes)
            found.steps.append(nodes[: self._options.nodes])
        return self._describe(found)

    def _run(
        self, step: PlanStep, found: _Found, standing: Sequence[frozenset[str]]
    ) -> list[Entity]:
        match step:
            case FindNode(hint, node_type):
                return self._hits(hint, [node_type], found)
            case FetchByEdge(edge, wanted):
                direction = self.schema.direction(standing[-1], edge, wanted)
                return self._neighbors(found.steps[-1], edge, direction or Direction.OUT, found)
            case FetchByType(node_type):
                return self._nearest(found.steps[-1], node_type, found)
            case FindCommon(sources):
                return self._common(sources, found, standing)

    def _hits(self, hint: str, types: Iterable[str], found: _Found) -> list[Entity]:
        found.graph_calls += 1
        most, share = self._options.hits, self._options.theta
        hits = [
            hit
            for kind in types
            # Nodes without a type have no label that the index could look for.
            for hit in self._index.nearest(hint, "" if kind == UNTYPED else kind, most, share)
            if kind in types_of(self._graph, hit.entity)
        ]
        best = max((hit.score for hit in hits), default=0.0)
        return _distinct(hit.entity for hit in hits if hit.score >= share * best)[:most]

    def _neighbors(
        self, nodes: Sequence[Entity], edge: str, direction: Direction, found: _Found
    ) -> list[Entity]:
        limit = self._options.nodes + 1
        steps = [Step(node.id, edge, direction, limit) for node in nodes if not is_literal(node.id)]
        found.graph_calls += len(steps)
        return _distinct(end for ends in self._graph.step_many(steps) for end in ends)

    def _nearest(self, nodes: Sequence[Entity], node_type: str, found: _Found) -> list[Entity]:
        """The first ring, at most `RINGS` hops away, that holds nodes of the type."""
        ring, seen = list(nodes), {node.id for node in nodes}
        for _ in range(RINGS):
            ring = [one for one in self._around(ring, found) if one.id not in seen]
            hits = [one for one in ring if node_type in types_of(self._graph, one)]
            if hits:
                return hits
            seen.update(one.id for one in ring)
        return []

    def _around(self, nodes: Sequence[Entity], found: _Found) -> list[Entity]:
        sides = [Side(n.id, way) for n in nodes if not is_literal(n.id) for way in Direction]
        limit = self._options.nodes + 1
        steps = [
            Step(side.entity_id, relation, side.direction, limit)
            for side, listed in zip(sides, self._graph.flat_relations_many(sides), strict=True)
            for relation, _ in listed
            if relation in self.schema.edges
        ]
        found.graph_calls += len(sides) + len(steps)
        return _distinct(end for ends in self._graph.step_many(steps) for end in ends)

    def _common(
        self,
        sources: Sequence[tuple[str, str, str]],
        found: _Found,
        standing: Sequence[frozenset[str]],
    ) -> list[Entity]:
        ends: list[list[Entity]] = []
        for node, edge, wanted in sources:
            number = source_step(node)
            types = standing[number - 1] if number else hint_types(edge, self.schema)
            nodes = found.steps[number - 1] if number else self._hits(node, sorted(types), found)
            direction = self.schema.direction(types, edge, wanted) or Direction.OUT
            ends.append(self._neighbors(nodes, edge, direction, found))
        return shared(ends)

    def _describe(self, found: _Found) -> Observation:
        nodes, budget = found.steps[-1], self._options.answer_tokens * CHARS_PER_TOKEN
        total = len(nodes) + found.hidden
        lines = [f"{total} nodes found." if total != 1 else "1 node found."]
        shown: list[Entity] = []
        for node in nodes:
            entity = self._book.show_entity(node)
            line = self._line(entity)
            if len(line) > budget and shown:
                break
            lines.append(line[:budget])
            budget -= len(line)
            shown.append(entity)
        hidden = total - len(shown)
        if hidden:
            lines.append(f"({hidden} more nodes are not shown)")
        return Observation(
            "\n".join(lines), shown=tuple(shown), hidden=hidden, graph_calls=found.graph_calls
        )

    def _line(self, node: Entity) -> str:
        """The name, and what else is known of the node."""
        if not isinstance(self._graph, PropertyGraph) or is_literal(node.id):
            return quote(node.name)
        properties = self._graph.properties(node.id)
        parts = [
            f"{key}: {', '.join(map(quote, map(str, values)))}"
            for key, values in sorted(properties.items())
        ]
        return f"{quote(node.name)} ({'; '.join(parts)})" if parts else quote(node.name)


def _distinct(nodes: Iterable[Entity]) -> list[Entity]:
    return list({node.id: node for node in nodes}.values())
