"""The index of BM25: the very numbers of `rank_bm25`."""

import random

from rank_bm25 import BM25Okapi

from graphwalker.ranking.okapi import Okapi


def test_scores_are_those_of_rank_bm25_to_the_last_bit() -> None:
    rng = random.Random(0)
    known = [f"word{i}" for i in range(40)]
    for _ in range(200):
        sizes = [rng.randrange(1, 9) for _ in range(rng.randrange(1, 60))]
        texts = [tuple(rng.choices(known, k=size)) for size in sizes]
        query = rng.choices(known, k=8)
        ours, theirs = Okapi(texts), BM25Okapi(list(map(list, texts)))
        assert ours.idf == theirs.idf
        found = ours.scores(query)
        wanted = list(map(float, theirs.get_scores(query)))
        assert [found.get(place, 0.0) for place in range(len(texts))] == wanted
