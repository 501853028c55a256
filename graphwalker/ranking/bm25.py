"""Relation ranking: BM25 between the question and the words, or stems, of relation ids.

`rank_bm25.BM25Plus` scores. Of n relations, a word that m have weighs log((n + 1) / m), so one that
half of them have still counts. An index of our own took 0.12 ms to list the relations of an entity
of FB15k for the first time, this one takes 0.20 ms; synthesis takes as long with either.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Protocol

from graphwalker.ranking.words import grams, stems

_WORD = re.compile(r"[^\W_]+")
_Terms = Callable[[str], tuple[str, ...]]


class Ranker(Protocol):
    """The relations of an entity, most relevant to the question first. May raise `PolicyError`."""

    def __call__(self, question: str, entity: str, relations: tuple[str, ...]) -> Sequence[str]: ...


def bm25(question: str, entity: str, relations: tuple[str, ...]) -> Sequence[str]:
    """Return the order of BM25 between the question with the entity's name and the relation ids.

    >>> bm25("which river crosses Kestrup?", "Kestrup", ("mayor", "river"))
    ('river', 'mayor')
    """
    return _rank_by_words(words(question) + words(entity), relations)


def bm25_ids(question: str, entity: str, relations: tuple[str, ...]) -> Sequence[str]:
    """Return the same with underscores that do not separate, as in GraphWalker's released client.

    >>> bm25_ids("a place of birth", "", ("x.place", "x.place_of_birth"))
    ('x.place', 'x.place_of_birth')
    """
    joined = {relation.replace("_", ""): relation for relation in sorted(set(relations))}
    if len(joined) < len(set(relations)):  # two ids that differ by an underscore alone
        return bm25(question, entity, relations)
    return tuple(joined[one] for one in rank_relations(f"{question} {entity}", tuple(joined)))


def bm25_stems(question: str, entity: str, relations: tuple[str, ...]) -> Sequence[str]:
    """Return the order of BM25 over stems and letter trigrams: `directed` finds `director`.

    >>> bm25_stems("Who directed it?", "It", ("film.film.director", "film.film.genre"))
    ('film.film.director', 'film.film.genre')
    """
    ordered = tuple(sorted(set(relations)))
    return _by_score(ordered, stem_scores(f"{question} {entity}", ordered))


def rank_relations(query: str, relations: tuple[str, ...]) -> tuple[str, ...]:
    """Get the relations, best first; equal scores by relation id, whatever the order they came in.

    >>> rank_relations("Where was she born?", ("b.film.genre", "a.person.born_in"))
    ('a.person.born_in', 'b.film.genre')
    """
    return _rank_by_words(words(query), relations)


@lru_cache(maxsize=16_384)
def stem_scores(text: str, relations: tuple[str, ...]) -> tuple[float, ...]:
    """Tell what BM25 over stems and letter trigrams gives each of these relations, being sorted."""
    return _scores(stem_terms(text), relations, stem_terms)


@lru_cache(maxsize=65_536)
def words(text: str) -> tuple[str, ...]:
    """Case-folded words; dots and underscores separate.

    >>> words("people.person.place_of_birth")
    ('people', 'person', 'place', 'of', 'birth')
    """
    return tuple(_WORD.findall(text.casefold()))


@lru_cache(maxsize=65_536)
def stem_terms(text: str) -> tuple[str, ...]:
    """Stems and their trigrams. Trigrams put the relation among the first 10 more often than longer
    ones do, on WebQSP's training questions: 0.71, with four letters 0.67, with stems alone 0.62,
    with words 0.54."""
    found = stems(text)
    return (*found, *(gram for word in found for gram in sorted(grams(word, 3))))


@lru_cache(maxsize=16_384)
def _rank_by_words(query: tuple[str, ...], relations: tuple[str, ...]) -> tuple[str, ...]:
    ordered = tuple(sorted(set(relations)))
    return _by_score(ordered, _scores(query, ordered, words))


def _by_score(ordered: tuple[str, ...], scores: Sequence[float]) -> tuple[str, ...]:
    # The sort is stable: equal scores stay in the order of their ids.
    places = sorted(range(len(ordered)), key=lambda place: -scores[place])
    return tuple(ordered[place] for place in places)


def _scores(query: tuple[str, ...], relations: tuple[str, ...], terms: _Terms) -> tuple[float, ...]:
    """Return the score of each relation; 0 where it has no word of the query."""
    if len(relations) < 2:
        return (0.0,) * len(relations)
    index = _index(relations, terms)
    known = [term for term in query if term in index.idf]  # the others score nothing
    # The package gives `delta` for a word to texts that do not have it, too.
    least = index.delta * sum(index.idf[term] for term in known)
    # Rounded, so that a tie stays a tie whatever the order of additions.
    return tuple(round(float(score) - least, 9) for score in index.get_scores(known))


@lru_cache(maxsize=4_096)
def _index(relations: tuple[str, ...], terms: _Terms) -> Any:
    """Index the relations; entities of one type share theirs, so it is often there already."""
    from rank_bm25 import BM25Plus  # pyright: ignore[reportMissingTypeStubs]

    return BM25Plus([terms(relation) or (relation,) for relation in relations])
