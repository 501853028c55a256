"""Relation ranking: BM25 between the question and the words of a relation id."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

from graphwalker.ranking.okapi import Okapi

_WORD = re.compile(r"[^\W_]+")


class Ranker(Protocol):
    """The relations of an entity, most relevant to the question first. May raise `PolicyError`."""

    def __call__(self, question: str, entity: str, relations: tuple[str, ...]) -> Sequence[str]: ...


def bm25(question: str, entity: str, relations: tuple[str, ...]) -> Sequence[str]:
    """The order of BM25 between the question with the entity's name and the relation ids."""
    return _ranked(words(question) + words(entity), relations)


def bm25_ids(question: str, entity: str, relations: tuple[str, ...]) -> Sequence[str]:
    """The same with underscores that do not separate, as in GraphWalker's released client.

    >>> bm25_ids("a place of birth", "", ("x.place", "x.place_of_birth"))
    ('x.place', 'x.place_of_birth')
    """
    joined = {relation.replace("_", ""): relation for relation in sorted(set(relations))}
    if len(joined) < len(set(relations)):  # two ids that differ by an underscore alone
        return bm25(question, entity, relations)
    return tuple(joined[one] for one in rank_relations(f"{question} {entity}", tuple(joined)))


@lru_cache(maxsize=65_536)
def words(text: str) -> tuple[str, ...]:
    """Case-folded words; dots and underscores separate.

    >>> words("people.person.place_of_birth")
    ('people', 'person', 'place', 'of', 'birth')
    """
    return tuple(_WORD.findall(text.casefold()))


def rank_relations(query: str, relations: tuple[str, ...]) -> tuple[str, ...]:
    """The relations, best first; equal scores by relation id, whatever the order they came in.

    >>> rank_relations("Where was she born?", ("b.film.genre", "a.person.born_in"))
    ('a.person.born_in', 'b.film.genre')
    """
    return _ranked(words(query), relations)


@lru_cache(maxsize=16_384)
def _ranked(query: tuple[str, ...], relations: tuple[str, ...]) -> tuple[str, ...]:
    ordered, index = _index(relations)
    if index is None:
        return ordered
    known = [word for word in query if word in index.idf]  # the others score nothing
    # Rounded, so that a tie stays a tie whatever the order of additions.
    scored = [(-score, i) for i, found in index.scores(known).items() if (score := round(found, 9))]
    scored.sort()
    better = [ordered[i] for negated, i in scored if negated < 0]
    worse = [ordered[i] for negated, i in scored if negated > 0]
    # Most relations share no word with the question: they stay in their order.
    others = list(ordered)
    for place in sorted([i for _, i in scored], reverse=True):
        del others[place]
    return (*better, *others, *worse)


@lru_cache(maxsize=4_096)
def _index(relations: tuple[str, ...]) -> tuple[tuple[str, ...], Okapi | None]:
    """The relations in order, each once, and their index where there are several. Entities of one
    type share their relations, so it is often there already."""
    ordered = tuple(sorted(set(relations)))
    if len(ordered) < 2:
        return ordered, None
    return ordered, Okapi([words(relation) or (relation,) for relation in ordered])
