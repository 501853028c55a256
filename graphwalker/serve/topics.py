"""Topic entities found in a question's own words, for clients that name none."""

import re

from graphwalker.graphs.base import Entity, KnowledgeGraph

LONGEST = 8
"""Words of the longest name that is looked for."""
_QUOTED = re.compile(r"[\"“«]([^\"”»]+)[\"”»]")
_WORD = re.compile(r"\S+")
_EDGES = "\"'“”«»‘’.,;:!?()[]"


def find_topics(graph: KnowledgeGraph, text: str, most: int = 3) -> tuple[Entity, ...]:
    """Entities whose names stand in the text, in its order: quoted names first, then the longest
    runs of words that are a name and hold a capital or a digit. Raises `GraphError`.
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
    """How many words to step over: those of the longest name that begins here, else one."""
    for size in range(len(words), 0, -1):
        for name in _forms(" ".join(words[:size])):
            if name != name.lower() or any(map(str.isdigit, name)):
                before = len(found)
                if _add(graph, name, found) or len(found) > before:
                    return size
    return 1


def _forms(span: str) -> tuple[str, ...]:
    """The span as it stands, and without punctuation and possessive."""
    bare = span.strip(_EDGES)
    return tuple(dict.fromkeys((span, bare, re.sub(r"['’]s?$", "", bare))))


def _add(graph: KnowledgeGraph, name: str, found: dict[str, Entity]) -> bool:
    candidates = graph.resolve(name) if name else []
    if candidates:
        found.setdefault(candidates[0].id, candidates[0])
    return bool(candidates)
