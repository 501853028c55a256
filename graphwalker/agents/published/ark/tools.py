"""ARK-V1's look-ups: an anchor's outgoing relations, one relation's triples under short keys."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from hashlib import blake2b

from pydantic import Field

from graphwalker.agents.preset import AgentSettings
from graphwalker.config import Config
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Step
from graphwalker.graphs.properties import PropertyGraph
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker, bm25_stems
from graphwalker.ranking.nodes.index import NodeIndexName, open_node_index
from graphwalker.tools.base import Call, ErrorKind, Listed, Observation, ShownTriple, mistake
from graphwalker.tools.listing import Lister, lister
from graphwalker.tools.namebook import NamedTopics, quote

NEAR_ENTITIES, NEAR_RELATIONS = 5, 2
"""Proposals after a wrong name, as in the released code."""
KEY_LENGTH = 4
Nearest = Callable[[str, int], list[Entity]]


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


class ArkTools(NamedTopics):
    """The tools of one episode. `anchor` and `relation` look up, `reason` checks keys."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        question: Question,
        longest: int,
        options: ArkOptions,
        listed: Lister,
        nearest: Nearest,
    ) -> None:
        super().__init__(graph, question, longest)
        self._options, self._list, self._nearest = options, listed, nearest
        self._anchor: Entity | None = None
        self._triples: dict[str, ShownTriple] = {}

    def call(self, call: Call) -> Observation:
        """Run a filled-in form; a wrong value comes back with what is near it."""
        values = call.arguments
        if call.tool == "anchor":
            return self._choose_anchor(str(values.get("anchor", "")))
        if call.tool == "relation":
            return self._choose_relation(str(values.get("relation", "")))
        if call.tool == "reason":
            return self._check_keys([str(key) for key in values.get("triples") or ()])
        if call.tool == "summary":
            return Observation("")
        return mistake(ErrorKind.UNKNOWN_TOOL, f"there is no {call.tool}")

    def signatures(self) -> str:
        return "anchor, relation, triples: chosen one after the other, along outgoing relations."

    def _choose_anchor(self, name: str) -> Observation:
        entity = self._book.find(name) if name.strip() else None
        # Valid iff it is the head of some triple (Eq. 2): nothing else has outgoing relations.
        out = self._list(entity.id).out if entity else {}
        if entity is None or not out:
            known = self._book.near(name, NEAR_ENTITIES)
            others = [self._book.show(one) for one in self._nearest(name, NEAR_ENTITIES)]
            near = list(dict.fromkeys([*known, *others]))[:NEAR_ENTITIES] or list(self._topics)
            text = f"{quote(name[:200])} is the head of no triple{_nearest(map(quote, near))}"
            return mistake(ErrorKind.UNKNOWN_ENTITY, text, calls=2)
        self._anchor = entity
        shown = list(out)[: self._options.relations]
        hidden = len(out) - len(shown)
        return Observation(
            f"Relations from {quote(entity.name)}:\n" + "\n".join(shown) + _more(hidden),
            shown=(entity,),
            listed=(Listed(entity.id, self._list(entity.id).hops(shown)),),
            hidden=hidden,
            graph_calls=2,
        )

    def _choose_relation(self, relation: str) -> Observation:
        """The triples of the anchor with that relation; `""` asks for another anchor."""
        anchor = self._anchor
        out = self._list(anchor.id).out if anchor else {}
        if not relation or anchor is None:
            return Observation("")
        if relation not in out:
            near = bm25_stems(relation[:200], "", tuple(out))[:NEAR_RELATIONS]
            text = f"no {quote(relation[:200])} here{_nearest(near)}"
            return mistake(ErrorKind.UNKNOWN_RELATION, text)
        step = Step(anchor.id, relation, Direction.OUT, self._options.triples)
        ends = self._graph.step_many([step])[0]
        hidden = max(0, out[relation] - len(ends))
        self._triples = key_triples(
            [ShownTriple(anchor, relation, self._book.show_entity(end)) for end in ends]
        )
        lines = [f"{key}: {self._line(one)}" for key, one in self._triples.items()]
        return Observation(
            "Triples:\n" + "\n".join(lines) + _more(hidden),
            triples=tuple(self._triples.values()),
            hidden=hidden,
            graph_calls=1,
        )

    def _check_keys(self, keys: Sequence[str]) -> Observation:
        unknown = [key for key in keys if key not in self._triples]
        wrong, known = ", ".join(map(quote, unknown[:5])), ", ".join(self._triples)
        text = f"no triple has the key {wrong}; keys are {known}"
        return mistake(ErrorKind.BAD_ARGUMENTS, text) if unknown else Observation("")

    def evidence(self, keys: Sequence[str]) -> str:
        """The triples of those keys in words, for the notes."""
        return "; ".join(self._line(self._triples[key]) for key in keys if key in self._triples)

    def _line(self, triple: ShownTriple) -> str:
        """The triple, and the properties of its edge behind it: `{since: 1990}`."""
        head, relation, tail = triple
        line = f"({quote(head.name)}, {relation}, {quote(tail.name)})"
        if not isinstance(self._graph, PropertyGraph):
            return line
        for known in self._graph.relationship_properties(head.id, relation, tail.id):
            pairs = ", ".join(f"{key}: {value}" for key, value in sorted(known.items()))
            line += f" {{{pairs}}}" if pairs else ""
        return line


def _more(hidden: int) -> str:
    return f"\n... ({hidden} more)" if hidden else ""


def _nearest(names: Iterable[str]) -> str:
    near = ", ".join(names)
    return f"; nearest are {near}" if near else ""


def key_triples(triples: Sequence[ShownTriple]) -> dict[str, ShownTriple]:
    """Short keys that depend on the triple alone; where two would be equal, on their place too."""
    by_key: dict[str, ShownTriple] = {}
    for one in triples:
        text, count = f"{one.head.id}\t{one.relation}\t{one.tail.id}", 0
        while (key := _short_hash(f"{text}\t{count}" if count else text)) in by_key:
            count += 1
        by_key[key] = one
    return by_key


def _short_hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_LENGTH // 2).hexdigest()


def ark_tools(
    graph: KnowledgeGraph, settings: AgentSettings, rank: Ranker
) -> Callable[[Question], ArkTools]:
    """The tools of the preset; the index of names is opened at the first wrong name."""
    options, listed = settings.read_options(ArkOptions), lister(graph, settings)
    nearest, longest = _node_finder(graph, options), settings.longest_name
    return lambda question: ArkTools(graph, question, longest, options, listed, nearest)


def _node_finder(graph: KnowledgeGraph, options: ArkOptions) -> Nearest:
    if options.nearest == "none" or not 0 < graph.size <= options.nearest_nodes:
        return lambda name, limit: []
    index = cache(lambda: open_node_index(graph, options.nearest))
    return lambda name, limit: [hit.entity for hit in index().search(name[:200], limit=limit)]
