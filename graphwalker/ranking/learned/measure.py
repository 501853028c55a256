"""How well a ranker ranks: the share of gold relations among its first ones."""

from collections.abc import Sequence
from typing import Any

from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker
from graphwalker.ranking.learned.examples import RelationsOf, examples, has_path

FIRST = (1, 5, 10, 20)


def first_shares(
    questions: Sequence[Question], graph: KnowledgeGraph, listed: RelationsOf, rank: Ranker
) -> dict[str, Any]:
    """The share of hops whose relation is among the first 1, 5, 10, 20 at the entity that it is
    taken from; a hop that no listing holds counts as missed. `questions` are those that say
    their relations."""
    places: list[int] = []
    used = 0
    for question in questions:
        if not has_path(question):
            continue
        used += 1
        for example in examples(question, graph, listed):
            if example is None:
                places.append(-1)
                continue
            order = list(rank(example.question, example.entity, example.relations))
            places.append(order.index(example.gold[0]))
    shares = {
        f"first_{k}": round(sum(0 <= place < k for place in places) / max(1, len(places)), 4)
        for k in FIRST
    }
    return {"questions": used, "hops": len(places), "unlisted": places.count(-1), **shares}
