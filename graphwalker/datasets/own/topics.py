"""Topic entities found in the text of a question, or by the name or id that is given for one."""

import re
from collections.abc import Callable, Sequence

from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.graphs.views.freebase import machine_id
from graphwalker.graphs.views.name_index import NameIndex, index_of


def find_topic(
    graph: KnowledgeGraph,
    name: str,
    note: Callable[[str], None] | None = None,
    index: NameIndex | None = None,
) -> Entity:
    """Return the best entity of that name, or the one of that id.

    Raises `UserError`, with the names that look like it, where there is none.
    """
    found = graph.resolve(name)
    if found:
        if note and len(found) > 1:
            note(f"{name!r} names {len(found)} entities: {_describe(graph, found)}; took the first")
        return found[0]
    entity_id = machine_id(name)
    if graph.name(entity_id):
        return Entity(entity_id, graph.name(entity_id))
    near = [hit.entity.name for hit in index_of(graph, index).search(name, 3)]
    advice = f"did you mean {', '.join(near)}?" if near else "copy a name exactly, or give its id"
    raise UserError(f"no entity is named {name!r} in this graph: {advice}")


def _describe(graph: KnowledgeGraph, found: Sequence[Entity]) -> str:
    kinds = ((entity, graph.types(entity.id)[:1]) for entity in found[:5])
    shown = [f"{e.name} ({', '.join([e.id, *kind])})" for e, kind in kinds]
    return ", ".join(shown) + (", ..." if len(found) > 5 else "")


def one_of_each_name(
    graph: KnowledgeGraph, text: str, index: NameIndex | None = None
) -> tuple[Entity, ...]:
    """Return the entities that the text names. Raises `UserError`, with the candidates, where it
    names none or where several bear the same name."""
    entities = find_topics(graph, text)
    for entity in entities:
        if len(found := graph.resolve(entity.name)) > 1:
            shown = _describe(graph, found)
            raise UserError(
                f"{entity.name!r} names {len(found)} entities: {shown}; choose with --topic ID"
            )
    if not entities:
        near = similar_names(text, index_of(graph, index))
        advice = f"did you mean {', '.join(near)}? " if near else ""
        raise UserError(f"the question names no entity of the graph: {advice}give --topic NAME")
    return entities


LEAST_LIKENESS = 0.85
"""Of a name that is suggested for a few words of a question."""


def similar_names(text: str, index: NameIndex, most: int = 3) -> list[str]:
    """Return the names that look most like some words of the text, the best and longest first."""
    words = [word for match in _WORD.finditer(text) if (word := match[0].strip(_EDGES))]
    spans = [
        " ".join(words[start : start + size])
        for size in range(4, 0, -1)
        for start in range(len(words) - size + 1)
    ]
    hits = [hit for span in spans if len(span) > 3 for hit in index.search(span, 2)]
    near = sorted((hit for hit in hits if hit.score >= LEAST_LIKENESS), key=lambda hit: -hit.score)
    return list(dict.fromkeys(hit.entity.name for hit in near))[:most]


LONGEST = 8
"""Words of the longest name that is looked for."""
_QUOTED = re.compile(r"[\"“«]([^\"”»]+)[\"”»]")
_WORD = re.compile(r"\S+")
_EDGES = "\"'“”«»‘’.,;:!?()[]"


def find_topics(graph: KnowledgeGraph, text: str, most: int = 3) -> tuple[Entity, ...]:
    """Return entities whose names stand in the text, in its order: quoted names first, then the
    longest runs of words that are a name and hold a capital or a digit. Raises `GraphError`.
    """
    found: dict[str, Entity] = {}
    for quoted in _QUOTED.finditer(text):
        _add(graph, quoted[1].strip(), found)
    words = [match[0] for match in _WORD.finditer(_QUOTED.sub(" ", text))]
    start = 0
    while start < len(words) and len(found) < most:
        start += _longest(graph, words[start : start + LONGEST], found)
    return tuple(found.values())[:most]


def _longest(graph: KnowledgeGraph, words: list[str], found: dict[str, Entity]) -> int:
    """Return how many words to step over: those of the longest name that begins here, else one."""
    for size in range(len(words), 0, -1):
        for name in _forms(" ".join(words[:size])):
            if name != name.lower() or any(map(str.isdigit, name)):
                before = len(found)
                if _add(graph, name, found) or len(found) > before:
                    return size
    return 1


def _forms(span: str) -> tuple[str, ...]:
    """Return the span as it stands, without punctuation and possessive, and without its last marks
    one by one: a name may end with one itself, as `Kim (singer)` does."""
    shortest = len(span.rstrip(_EDGES))
    cut = [span[:end] for end in range(len(span), shortest - 1, -1)]
    whole = [*cut, *(text.lstrip(_EDGES) for text in cut)]
    return tuple(dict.fromkeys([*whole, *(re.sub(r"['’]s?$", "", text) for text in whole)]))


def _add(graph: KnowledgeGraph, name: str, found: dict[str, Entity]) -> bool:
    candidates = graph.resolve(name) if name else []
    if candidates:
        found.setdefault(candidates[0].id, candidates[0])
    return bool(candidates)
