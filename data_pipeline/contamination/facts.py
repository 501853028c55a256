"""Same fact: whether a question asks what a test question asks, in whatever words."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from data_pipeline.contamination.embed import spell
from graphwalker.answers.values import value_key
from graphwalker.datasets.loaders.other.ours import Ours
from graphwalker.datasets.records import DatasetFile
from graphwalker.graphs.base import FLATTENED, Entity
from graphwalker.graphs.literals import is_literal
from graphwalker.query.query import Hop, Query, parse_hop, stored_query
from graphwalker.question import Answer, Question

Inverse = Callable[[Hop], Hop | None]
"""The same fact stored the other way round, where the graph has that."""
FactKey = tuple[Any, ...]


_OTHER = {"typed": "stated", "stated": "typed"}


class KnownFacts:
    """The facts of questions: topic entities with the relation path, or else with the answers.

    Where a query is known, with the directions of its hops; a data set that states relations alone
    is compared without them.
    """

    def __init__(self, inverse: Inverse) -> None:
        self._inverse = inverse
        self._known: dict[FactKey, str] = {}
        self.with_a_path = 0

    def add(self, question: Question, name: str) -> None:
        """`name` is what the fact is found again by."""
        # Namesakes with ids differ: names stand for topics without one.
        paths = [(kind, *path) for kind, path in self._paths(question, most=1)]
        self.with_a_path += bool(paths)
        for key in paths or _by_answers(question):
            self._known.setdefault(key, name)

    def find(self, question: Question) -> str:
        """Return the known question that asks for the same fact; `""` where none does."""
        paths = [
            (other, *path)
            for kind, path in self._paths(question)
            for other in ((kind,) if kind == "query" else (_OTHER[kind], "stated"))
        ]
        keys = (*paths, *_by_answers(question))
        return next((self._known[key] for key in keys if key in self._known), "")

    def _paths(self, question: Question, most: int = 2) -> Iterator[tuple[str, FactKey]]:
        """Return kinds and keys: the whole query; topic and relations without directions, all that
        is known where a data set `stated` them, not where a query is `typed`."""
        kind = "stated"
        if question.query is not None:
            kind = "typed"
            yield "query", (self._spell_query(question.query).key,)
        for topics, hops in _relations(question):
            for side in _sides(topics)[:most]:
                yield kind, (side, self._relation_names(hops))

    def _spell_query(self, query: Query) -> Query:
        """Return one spelling for a relation and its inverse."""
        return replace(
            query,
            branches=tuple(replace(b, hops=self._own(b.hops)) for b in query.branches),
            tail=self._own(query.tail),
        )

    def _own(self, hops: Iterable[Hop]) -> tuple[Hop, ...]:
        return tuple(min(hop, self._inverse(hop) or hop) for hop in hops)

    def _relation_names(self, hops: Iterable[Hop]) -> tuple[str, ...]:
        """Return the relations alone, a hop through a mediator as its two halves."""
        return tuple(half for hop in self._own(hops) for half in hop.relation.split(FLATTENED))


def _relations(question: Question) -> Iterator[tuple[Sequence[Entity], Sequence[Hop]]]:
    """Topic entities and relations: of a query of one branch, else what the record states."""
    query, known = question.query, question.annotations
    if query is not None:
        if len(query.branches) == 1 and not query.constraint:
            branch = query.branches[0]
            yield [branch.topic], (*branch.hops, *query.tail)
        return
    chains = [known.get("relation_path"), *(p.get("chain") for p in known.get("parses") or ())]
    for chain in filter(None, chains):
        yield question.topic_entities, [parse_hop(hop) for hop in chain]


def _by_answers(question: Question) -> Iterator[FactKey]:
    """Topic entities and answers, each side by ids and by names where all are known; values by what
    they mean."""
    topics, answers = (_sides(side) for side in (question.topic_entities, question.answers))
    yield from ((*one, *other) for one, other in product(topics, answers))


def _sides(side: Sequence[Entity | Answer]) -> list[tuple[str, frozenset[str]]]:
    read: dict[str, Callable[[Any], str]] = {
        "id": lambda one: "" if is_literal(one.id) else one.id,
        "name": lambda one: value_key(one.name) or spell(one.name),
    }
    found = [(name, frozenset(map(key, side))) for name, key in read.items()]
    return [(name, values) for name, values in found if values and "" not in values]


def as_question(record: Mapping[str, Any]) -> Question:
    """Return the question of a record: a walk's, a trajectory's, or one in either of our forms.

    Raises `UserError` for what is none.
    """
    if "visited" not in record:
        return Ours.read(record).to_question(1, DatasetFile(Path()))
    found = stored_query(record)
    assert found is not None
    answers = tuple(Answer(a["name"], a["id"]) for a in record["answers"])
    return Question(str(record["id"]), "", found[0].topics, answers, query=found[0])
