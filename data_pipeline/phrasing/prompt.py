"""The prompt for the wordings of one relation: its types, three of its facts, what is wanted."""

from collections.abc import Sequence
from dataclasses import dataclass

from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph

FACTS = 3
LOOKED_AT = 4_000
"""Entities that are looked at for facts."""


@dataclass(frozen=True, slots=True)
class ShownRelation:
    """A relation as the prompt shows it."""

    relation: str
    subject: str
    """What it starts from: `person`; `""` where nobody knows."""
    object: str
    facts: tuple[tuple[str, str], ...]
    """Names of both ends of some of its edges."""

    @property
    def names(self) -> tuple[str, ...]:
        """What no wording may contain."""
        return tuple(name for fact in self.facts for name in fact)


PROMPT = """You write down how English speakers ask about one kind of fact in a knowledge graph.

Relation: {relation}
It leads from {subject} to {object}. Three facts:
{facts}

"out" asks for what the relation leads to; {{x}} is what it starts from, such as {first}.
"in" asks the other way round; {{x}} is what it leads to, such as {last}.

For each direction write
- "phrase": 2 or 3 noun phrases that begin with "the" and end in {{x}}, such as
  "the birthplace of {{x}}";
- "clause": 1 or 2 predicates of what is asked for, such as "was written by {{x}}";
- "question": 2 or 3 plain questions with a capital and a question mark; say the kind of the
  answer in one of them;
- "casual": 3 or 4 questions as people type them into a search box: lower case, no marks, everyday
  words.
Every text has {{x}} exactly once and would fit any other such fact: no names in it, no ids.
Where nobody would ask in a direction, leave its lists empty.

Reply with JSON and nothing else, "in" having the same four lists as "out":
{{"out": {{"phrase": [], "clause": [], "question": [], "casual": []}}, "in": {{}}}}"""


def prompt_of(seen: ShownRelation) -> str:
    """The whole prompt."""
    lines = [f"- {_line(start)} -> {_line(end)}" for start, end in seen.facts]
    first, last = seen.facts[0] if seen.facts else ("the one", "the other")
    return PROMPT.format(
        relation=seen.relation,
        subject=_a(seen.subject),
        object=_a(seen.object),
        facts="\n".join(lines) or "- none is known",
        first=_line(first),
        last=_line(last),
    )


def facts_of(
    graph: KnowledgeGraph, relations: Sequence[str], entities: Sequence[Entity]
) -> dict[str, tuple[tuple[str, str], ...]]:
    """Up to three facts of every relation, of different entities, in the order of the graph."""
    found: dict[str, list[tuple[str, str]]] = {relation: [] for relation in relations}
    for entity in entities:
        if not entity.name.strip():
            continue
        for relation, _ in graph.flat_relations(entity.id, Direction.OUT):
            facts = found.get(relation)
            if facts is None or len(facts) >= FACTS:
                continue
            ends = graph.step(entity.id, relation, Direction.OUT, 5)
            named = next((end.name for end in ends if end.name.strip()), "")
            if named and all(named != end for _, end in facts):
                facts.append((entity.name, named))
    return {relation: tuple(facts) for relation, facts in found.items()}


def _a(noun: str) -> str:
    return f"a {noun}" if noun and noun != "entity" else "one thing"


def _line(name: str) -> str:
    """A name without line breaks, so that it stays what it is inside a prompt."""
    return " ".join(name.split())
