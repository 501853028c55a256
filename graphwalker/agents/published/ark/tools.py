"""ARK-V1's look-ups: an anchor's outgoing relations, one relation's triples under short keys."""

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Step
from graphwalker.graphs.properties import PropertyGraph
from graphwalker.question import Question
from graphwalker.tools.base import Call, ErrorKind, Listed, Observation, ShownTriple, mistake
from graphwalker.tools.listing import Lister
from graphwalker.tools.namebook import NamedTopics, quote

NEAR_ENTITIES, NEAR_RELATIONS = 5, 2
"""Proposals after a wrong name, as in the released code."""
KEY_LENGTH = 4
Nearest = Callable[[str, int], list[Entity]]


class ArkTools(NamedTopics):
    """The tools of one episode. `anchor` and `relation` look up, `reason` checks keys."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        question: Question,
        listed: Lister,
        nearest: Nearest,
        limits: tuple[int, int],
        longest: int = 0,
    ) -> None:
        """`limits`: most relations and most triples that one look shows; `longest`: characters of
        a name."""
        super().__init__(graph, question, longest)
        self._list = listed
        self._nearest = nearest
        self._most_relations, self._most_triples = limits
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
            what = f"{quote(name[:200])} is the head of no triple"
            return mistake(ErrorKind.UNKNOWN_ENTITY, f"{what}{self._near(name)}", calls=2)
        self._anchor = entity
        shown = list(out)[: self._most_relations]
        hidden = len(out) - len(shown)
        more = f"\n... ({hidden} more)" if hidden else ""
        return Observation(
            f"Relations from {quote(entity.name)}:\n" + "\n".join(shown) + more,
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
            near = self._near_relations(relation, list(out))
            copy = f"; nearest are {', '.join(near)}" if near else ""
            return mistake(ErrorKind.UNKNOWN_RELATION, f"no {quote(relation[:200])} here{copy}")
        step = Step(anchor.id, relation, Direction.OUT, self._most_triples)
        ends = self._graph.step_many([step])[0]
        hidden = max(0, out[relation] - len(ends))
        triples = [
            ShownTriple(anchor, relation, Entity(end.id, self._book.show(end))) for end in ends
        ]
        self._triples = key_triples(triples)
        lines = [f"{key}: {self._line(one)}" for key, one in self._triples.items()]
        more = f"\n... ({hidden} more)" if hidden else ""
        return Observation(
            "Triples:\n" + "\n".join(lines) + more,
            triples=tuple(triples),
            hidden=hidden,
            graph_calls=1,
        )

    def _check_keys(self, keys: Sequence[str]) -> Observation:
        unknown = [key for key in keys if key not in self._triples]
        if not unknown:
            return Observation("")
        wrong, known = ", ".join(map(quote, unknown[:5])), ", ".join(self._triples)
        return mistake(ErrorKind.BAD_ARGUMENTS, f"no triple has the key {wrong}; keys are {known}")

    def evidence(self, keys: Sequence[str]) -> str:
        """The triples of those keys in words, for the notes."""
        return "; ".join(self._line(self._triples[key]) for key in keys if key in self._triples)

    def _line(self, triple: ShownTriple) -> str:
        parts = (quote(triple.head.name), triple.relation, quote(triple.tail.name))
        return f"({', '.join(parts)}){self._qualifiers(triple)}"

    def _qualifiers(self, triple: ShownTriple) -> str:
        """Properties of the edge, behind its triple: `{since: 1990}`."""
        if not isinstance(self._graph, PropertyGraph):
            return ""
        found = self._graph.relationship_properties(triple.head.id, triple.relation, triple.tail.id)
        return "".join(f" {_pairs(properties)}" for properties in found if properties)

    def _near(self, name: str) -> str:
        known = self._book.near(name, NEAR_ENTITIES)
        others = [self._book.show(entity) for entity in self._nearest(name, NEAR_ENTITIES)]
        near = list(dict.fromkeys([*known, *others]))[:NEAR_ENTITIES] or list(self._topics)
        return f"; nearest are {', '.join(map(quote, near))}" if near else ""

    def _near_relations(self, relation: str, known: Sequence[str]) -> Sequence[str]:
        from graphwalker.ranking.bm25 import bm25_stems

        return bm25_stems(relation[:200], "", tuple(known))[:NEAR_RELATIONS]


def key_triples(triples: Sequence[ShownTriple]) -> dict[str, ShownTriple]:
    """Short keys that depend on the triple alone; where two would be equal, on their place too."""
    by_key: dict[str, ShownTriple] = {}
    for one in triples:
        text, count = f"{one.head.id}\t{one.relation}\t{one.tail.id}", 0
        while (key := _digest(f"{text}\t{count}" if count else text)) in by_key:
            count += 1
        by_key[key] = one
    return by_key


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_LENGTH // 2).hexdigest()


def _pairs(properties: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"{key}: {value}" for key, value in sorted(properties.items())) + "}"
