"""BM25 over stems and letter trigrams: `directed` finds `director`, `country` finds `countries`."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from graphwalker.ranking.words import grams, stems


def bm25_stems(question: str, entity: str, relations: tuple[str, ...]) -> Sequence[str]:
    """The order of BM25 over stems and letter trigrams; equal scores by relation id.

    >>> bm25_stems("Who directed it?", "It", ("film.film.director", "film.film.genre"))
    ('film.film.director', 'film.film.genre')
    """
    ordered = tuple(sorted(set(relations)))
    return _ranked(f"{question} {entity}", ordered) if len(ordered) > 1 else ordered


@lru_cache(maxsize=16_384)
def stem_scores(text: str, relations: tuple[str, ...]) -> tuple[float, ...]:
    """What BM25 gives each relation for the text."""
    index = _index(relations)
    known = [term for term in _terms(text) if term in index.idf]
    # Rounded, so that a tie stays a tie whatever order of additions numpy chose.
    return tuple(round(float(score), 9) for score in index.get_scores(known))


def _ranked(text: str, relations: tuple[str, ...]) -> tuple[str, ...]:
    scores = stem_scores(text, relations)
    order = sorted(range(len(relations)), key=lambda i: (-scores[i], relations[i]))
    return tuple(relations[i] for i in order)


@lru_cache(maxsize=1_024)
def _index(relations: tuple[str, ...]) -> Any:
    from rank_bm25 import BM25Okapi  # pyright: ignore[reportMissingTypeStubs]

    return BM25Okapi([_terms(relation) or [relation] for relation in relations])


def _terms(text: str) -> list[str]:
    """Trigrams put the relation among the first 10 more often than longer ones do, on WebQSP's
    training questions: 0.71, with four letters 0.67, with stems alone 0.62, with words 0.54."""
    found = stems(text)
    return [*found, *(gram for word in found for gram in sorted(grams(word, 3)))]
