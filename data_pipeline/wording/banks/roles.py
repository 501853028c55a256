"""Do the words of a question fit the part that people have in it? No senator is asked for as the
president of a country."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from data_pipeline.wording.english import packaged_table
from graphwalker.graphs.base import FLATTENED, KnowledgeGraph
from graphwalker.query.query import Hop, parse_hop

TitlesOf = Callable[[str, tuple[Hop, ...]], frozenset[str]]
"""The titles of an entity by its id, in small letters, over the hops that lead to them."""


@dataclass(frozen=True, slots=True)
class _Roles:
    """The words that claim a role of people of a kind, with the titles that bear them out."""

    hops: tuple[Hop, ...]
    words: dict[str, frozenset[str]]
    pattern: re.Pattern[str]


@cache
def _roles() -> dict[str, _Roles]:
    """Return the roles of `nouns.toml` by the noun of those who have them."""
    found: dict[str, _Roles] = {}
    for row in packaged_table("banks", "nouns.toml")["role"]:
        words = {word: frozenset(titles) for word, titles in row["words"].items()}
        longest_first = sorted(map(re.escape, words), key=len, reverse=True)
        pattern = re.compile(rf"\b(?:{'|'.join(longest_first)})\b", re.IGNORECASE)
        hops = tuple(map(parse_hop, row["titles"]))
        found[row["holder"]] = _Roles(hops, words, pattern)
    return found


def titles_of(graph: KnowledgeGraph) -> TitlesOf:
    """Return the titles that a graph gives to its people, remembered; none where it has no such
    relation."""
    known = set(graph.relation_ids())

    @lru_cache(maxsize=100_000)
    def titles(entity_id: str, hops: tuple[Hop, ...]) -> frozenset[str]:
        there = [
            hop
            for hop in hops
            if hop.relation in known or known.issuperset(hop.relation.split(FLATTENED))
        ]
        ends = (graph.step(entity_id, hop.relation, hop.direction) for hop in there)
        return frozenset(end.name.lower() for found in ends for end in found)

    return titles


def has_roles(
    form: str, source: str, noun: str, start: str, found: Sequence[str], titles: TitlesOf
) -> bool:
    """Return whether a form claims no role that the graph does not bear out. `source` and `noun`:
    what its hop starts from and finds, `start` and `found` their ids. Who has other titles, too,
    may have had this one elsewhere, as Jimmy Carter was president, but not of Georgia.

    >>> ids = {"m.thatcher": frozenset({"prime minister"})}
    >>> form = "who was the prime minister of {x}"
    >>> has_roles(form, "place", "politician", "m.uk", ["m.thatcher"], lambda one, _: ids[one])
    True
    >>> form = "who was the king of {x}"
    >>> has_roles(form, "place", "politician", "m.uk", ["m.thatcher"], lambda one, _: ids[one])
    False
    """
    return _titles_fit(form, source, [start], titles) and _titles_fit(form, noun, found, titles)


def _titles_fit(form: str, kind: str, people: Iterable[str], titles: TitlesOf) -> bool:
    if (roles := _roles().get(kind)) is None:
        return True
    for word in roles.pattern.findall(form):
        fitting = roles.words[word.lower()]
        held = [titles(one, roles.hops) for one in people]
        if not all(own and own <= fitting for own in held):
            return False
    return True
