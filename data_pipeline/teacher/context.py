"""What a graph knows of the entities of a walk, for the teacher: kinds, descriptions, facts."""

import random
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from data_pipeline.teacher.paths import one_line, placeholders
from data_pipeline.wording.english import mentions, words_of
from data_pipeline.wording.lexicon import Lexicon
from data_pipeline.wording.type_nouns import TYPES, type_nouns
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Step
from graphwalker.graphs.literals import is_literal
from graphwalker.query.query import Execution, Query

DESCRIBING = ("description", "comment", "abstract", "summary", "definition", "short description")
"""Relations that lead to a description of an entity, by their words."""
KINDS, FACTS, LOOKED_AT = 3, 2, 5
"""Kinds and facts told of an entity; entities of one place of a walk that are looked at."""
DESCRIPTION_WORDS = 30
FACT_WORDS = 8
_VAGUE_KINDS = ("topic", "entity", "thing", "agent", "object", "node", "resource")


class Surroundings:
    """Looks around the entities of a walk. Thread-safe, and deterministic for a graph."""

    def __init__(self, graph: KnowledgeGraph, lexicon: Lexicon) -> None:
        self._graph, self._lexicon = graph, lexicon
        relations = [(relation, _words(relation)) for relation in graph.relation_ids()]
        self._typing = [relation for relation, words in relations if words in TYPES]
        self._describing = {relation for relation, words in relations if words in DESCRIBING}
        self._facts_of = lru_cache(4096)(self._all_facts)
        self._kinds_of = lru_cache(1 << 14)(self._all_kinds)

    def lines(self, query: Query, run: Execution, rng: random.Random) -> str:
        """Return one line for each entity that is named and for each placeholder of the query, but
        no name of what is behind a placeholder: `- Anna: person; "..."; her country is Spain`."""
        hidden = {e.name for frontiers in run.frontiers for f in frontiers[1:] for e in f}
        hidden |= {entity.name for frontier in run.tail_frontiers for entity in frontier}
        topics = {topic.name for topic in query.topics}
        path = set(query.relations)
        places: dict[str, tuple[Sequence[Entity], str]] = {
            one_line(topic.name): ((topic,), "") for topic in query.topics
        }
        frontiers = [f for found in run.frontiers for f in found[1:]]
        frontiers += run.tail_frontiers[1 : len(query.tail) + 1]
        hops = [hop for branch in query.branches for hop in branch.hops] + list(query.tail)
        for name, frontier, hop in zip(placeholders(query), frontiers, hops, strict=True):
            ends = run.answers if name == "answer" else frontier
            places.setdefault(name, (ends, self._lexicon.entry(hop).noun))
        lines = []
        for name, (entities, noun) in places.items():
            facts = [self._kind(entities, noun)]
            if name != "answer":
                facts += self._about(entities[0], name, hidden | topics, path, rng)
            line = "; ".join(filter(None, facts))
            lines.append(f"- {name}: {line or 'nothing more'}")
        return "\n".join(lines)

    def kinds(self, entities: Sequence[Entity]) -> list[str]:
        """Return what most of them are, the most telling first: kinds of few words, and shared."""
        sample = entities[:LOOKED_AT]
        counts = Counter(kind for entity in sample for kind in self._kinds_of(entity))
        shared = [kind for kind, count in counts.items() if 2 * count > len(sample)]
        return sorted(shared, key=lambda kind: (-counts[kind], len(kind.split()), kind))

    def _kind(self, entities: Sequence[Entity], noun: str) -> str:
        """`noun`: what the hop that leads there finds, in the lexicon's words."""
        found = [] if noun in ("", *_VAGUE_KINDS) else [noun]
        if not found and entities and is_literal(entities[0].id):
            found = ["a value"]
        return ", ".join(list(dict.fromkeys([*found, *self.kinds(entities)]))[:KINDS])

    def _all_kinds(self, entity: Entity) -> tuple[str, ...]:
        own = [_words(kind) for kind in self._graph.types(entity.id) if not _private(kind)]
        more = type_nouns(self._graph, entity, self._typing) if self._typing else set[str]()
        found = dict.fromkeys((*own, *sorted(more)))
        return tuple(kind for kind in found if kind not in _VAGUE_KINDS)

    def _about(
        self, entity: Entity, called: str, walked: set[str], path: set[str], rng: random.Random
    ) -> list[str]:
        """Return a description and some facts of an entity that the prompt calls so. `walked`: the
        names of the walk; of another entity than this one, and of this one where it is hidden, none
        is told."""
        description, facts = self._facts_of(entity)
        others = walked - {called}
        sentences = re.split(r"(?<=[.!?]) ", description.replace(one_line(entity.name), called))
        known = " ".join(s for s in sentences if not any(mentions(s, name) for name in others))
        possible = [
            f"{label}: {name}"
            for relation, label, name in facts
            if relation not in path and not any(mentions(name, other) for other in walked)
        ]
        chosen = sorted(rng.sample(range(len(possible)), min(FACTS, len(possible))))
        return [*([f'"{known}"'] if known else []), *(possible[k] for k in chosen)]

    def _all_facts(self, entity: Entity) -> tuple[str, tuple[tuple[str, str, str], ...]]:
        """Return the description, and (relation, words, name of one end) of each relation out of
        it."""
        description, facts = "", dict[tuple[str, str], str]()
        listed = self._graph.flat_relations(entity.id, Direction.OUT)
        relations = [r for r, _ in listed if r not in self._typing and not _private(r)]
        steps = [Step(entity.id, relation, Direction.OUT, 1) for relation in relations]
        for relation, ends in zip(relations, self._graph.step_many(steps), strict=True):
            name = one_line(ends[0].name) if ends else ""
            if relation in self._describing:
                description = description or " ".join(name.split()[:DESCRIPTION_WORDS])
            elif name and len(name.split()) <= FACT_WORDS:
                facts.setdefault((_words(relation), name), relation)
        return description, tuple((r, label, name) for (label, name), r in facts.items())


def _private(name: str) -> bool:
    """Freebase's types and relations that are somebody's own, or bookkeeping."""
    return name.startswith(("base.", "user.", "common.", "type."))


def _words(relation: str) -> str:
    return " ".join(words_of(relation.rpartition(".")[2] or relation))
