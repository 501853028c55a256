"""Our own strict metrics: one module is the metric, the reward and the rejection filter.

Names are compared after Unicode NFKC, case folding, stripping and folding of inner white space;
nothing else is dropped. Where both sides carry an id, ids are compared instead. Dates, numbers and
truth values are compared by what they mean (`graphwalker.answers.values`), unless the gold answer
is an entity with an id.
"""

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb
from typing import NamedTuple
from unicodedata import category

from graphwalker.answers.kinds import Absent
from graphwalker.answers.values import answer_key
from graphwalker.graphs.base import Entity
from graphwalker.graphs.names import fold
from graphwalker.question import Answer
from graphwalker.trajectory import Trajectory

SHOWN = ("em", "f1", "hits1")
"""Metrics that Inspect shows of an episode."""


@lru_cache(1 << 16)
def normalise(name: str) -> str:
    """Return the form in which names are compared.

    >>> normalise("  Saint\\u00a0Étienne ")
    'saint étienne'
    """
    return fold(name)


_TYPED = str.maketrans(
    {**dict.fromkeys("‘’‚‛ʼ´`′", "'"), **dict.fromkeys("“”„‟″«»", '"'), "_": " "}
    | dict.fromkeys("‐‑‒–—―−", "-")
)


@lru_cache(1 << 16)
def loosen(name: str) -> str:
    """Return the form in which names are equal that differ only in the way they are typed. It
    finds near misses and never makes an answer right.

    >>> loosen("Queen\u2019s &amp; New_York\u200b") == loosen("Queen's & New York")
    True
    """
    text = "".join(c for c in html.unescape(name) if category(c) != "Cf")
    return re.sub(r" ?- ?", "-", normalise(text.translate(_TYPED))).strip(" '\"")


def near_miss(predictions: Sequence[Entity] | None, answers: "Iterable[Answer] | GoldSet") -> str:
    """Return the first prediction that misses an answer only by the way it is typed, else `""`.

    >>> near_miss([Entity("", "1990\u201392")], [Answer("1990-92")])
    '1990–92'
    """
    gold = GoldSet.of(answers)
    names = [p.name for p in predictions or () if not _id(p.id) and normalise(p.name)]
    missed = [name for name in names if normalise(name) not in gold.with_name]
    loose = {loosen(name) for name in gold.with_name} if missed else set[str]()
    return next((name for name in missed if loosen(name) in loose), "")


def pass_at_k(n: int, c: int, k: int) -> float:
    """Unbiased chance that one of `k` samples is right, from `n` samples of which `c` are.

    >>> pass_at_k(8, 8, 1), pass_at_k(8, 0, 8), round(pass_at_k(4, 1, 2), 3)
    (1.0, 0.0, 0.5)
    """
    if not 0 < k <= n or not 0 <= c <= n:
        raise ValueError(f"pass@{k} is not defined for {c} right of {n} samples")
    return 1.0 - comb(n - c, k) / comb(n, k)


@dataclass(frozen=True, slots=True)
class GoldSet:
    """Gold answers, distinct, found by id and by name: built once, compared with many times."""

    ids: tuple[str, ...]
    """One an answer, `""` where it has none."""
    with_id: dict[str, int]
    with_name: dict[str, list[int]]

    @classmethod
    def of(cls, answers: "Iterable[Answer] | GoldSet") -> "GoldSet":
        if isinstance(answers, GoldSet):
            return answers
        distinct = _distinct(answers)
        ids = tuple(_id(answer.id) for answer in distinct)
        with_name: dict[str, list[int]] = {}
        for i, answer in enumerate(distinct):
            for name in _names(answer):
                with_name.setdefault(name, []).append(i)
        return cls(ids, {id_: i for i, id_ in enumerate(ids) if id_}, with_name)


def is_right(predictions: Sequence[Entity] | None, answers: Iterable[Answer] | GoldSet) -> bool:
    """`em` = 1: the predicted set equals the gold set, and there was an answer.

    >>> is_right([Entity("", "oslo")], [Answer("Oslo")]), is_right(None, [])
    (True, False)
    """
    return predictions is not None and _match(predictions, GoldSet.of(answers)).exact == 1.0


def compare(
    predictions: Sequence[Entity] | None, answers: Iterable[Answer] | GoldSet
) -> dict[str, float]:
    """`em`, `f1`, `precision`, `recall`, `hits1` and `hit_any` of predictions, best first.

    Ids decide where both sides have them, else names and aliases. `None` means that no answer was
    given: every score is 0, even without gold answers.

    >>> found = compare([Entity("m.1", "Springfield")], [Answer("Springfield", "m.2")])
    >>> found["em"], compare(None, [])["em"], compare([], [])["em"]
    (0.0, 0.0, 1.0)
    """
    match = _match(predictions or (), GoldSet.of(answers))
    scores = {
        "em": match.exact,
        "f1": match.f1,
        "precision": match.precision,
        "recall": match.recall,
        "hits1": match.hits1,
        "hit_any": float(match.found > 0),
    }
    return scores if predictions is not None else dict.fromkeys(scores, 0.0)


def score(trajectory: Trajectory) -> dict[str, float]:
    """Return every metric of one episode.

    Raises `ValueError` for an infrastructure failure: it says nothing about the agent and has no
    score.
    """
    if trajectory.stop.infrastructure_failure:
        raise ValueError(f"{trajectory.id} stopped with {trajectory.stop.value}: it has no score")
    had_error = any(turn.error for turn in trajectory.turns)
    scores = _by_kind(trajectory) if trajectory.question.gold else _by_names(trajectory)
    return {
        **scores,
        "had_error": float(had_error),
        "recovered": float(had_error and scores["em"] == 1.0),
    }


def _by_names(trajectory: Trajectory) -> dict[str, float]:
    gold = GoldSet.of(trajectory.question.answers)
    shown = [entity for turn in trajectory.turns for entity in turn.shown]
    return {
        **compare(predicted_entities(trajectory), gold),
        **_retrieval(shown, gold),
        "grounded": float(_is_grounded(trajectory, shown)),
    }


def _by_kind(trajectory: Trajectory) -> dict[str, float]:
    """Score an answer that is no set of names; what was shown is read from the texts."""
    gold = trajectory.question.gold
    assert gold is not None
    observations = [turn.observation for turn in trajectory.turns]
    answer = trajectory.answer
    if gold.kind == Absent.kind:
        # Only who has looked may say that the graph does not hold it.
        observations = [t.observation for t in trajectory.turns if t.listed or t.triples]
        answer = answer if observations else None
    some, everything = gold.find_in(observations)
    return {
        **gold.compare(answer),
        "retrieval_any": float(some),
        "retrieval_all": float(everything),
        "grounded": float(gold.is_grounded(answer, observations)),
    }


class _Match(NamedTuple):
    """How predictions meet gold answers; predictions of one gold answer count as one."""

    found: int
    wrong: int
    gold: int
    hits1: float

    @property
    def precision(self) -> float:
        predicted = self.found + self.wrong
        return self.found / predicted if predicted else float(self.gold == 0)

    @property
    def recall(self) -> float:
        return self.found / self.gold if self.gold else float(self.wrong == 0)

    @property
    def f1(self) -> float:
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0

    @property
    def exact(self) -> float:
        return float(self.wrong == 0 and self.found == self.gold)


def _match(predictions: Sequence[Entity], gold: GoldSet) -> _Match:
    found: set[int] = set()
    wrong: set[str] = set()
    hits1 = 0.0
    for rank, prediction in enumerate(predictions):
        id_, name = _id(prediction.id), normalise(prediction.name)
        hits = gold.with_name.get(name, [])
        if not hits and (not id_ or normalise(prediction.id) == name):  # a value is its own id
            hits = gold.with_name.get(answer_key(name), [])
        if id_:  # where both sides have ids, they decide; a name then says nothing
            hits = [i for i in hits if not gold.ids[i]]
            if id_ in gold.with_id:
                hits.append(gold.with_id[id_])
        found.update(hits)
        if not hits:
            wrong.add(id_ or answer_key(name))
        elif rank == 0:
            hits1 = 1.0
    return _Match(len(found), len(wrong), len(gold.ids), hits1)


def _id(entity_id: str) -> str:
    """Return the id, `""` for a literal: values are compared by meaning, not by datatype."""
    return "" if entity_id.startswith('"') else entity_id


def _names(answer: Answer) -> frozenset[str]:
    names = {normalise(name) for name in (answer.name, *answer.aliases)}
    # An entity may be called 1984 or May 1968: a value is no name of it.
    keys = set[str]() if _id(answer.id) else set(map(answer_key, (answer.name, *answer.aliases)))
    return frozenset(names | keys) - {""}


def _distinct(answers: Iterable[Answer]) -> list[Answer]:
    found: dict[str, Answer] = {}
    for answer in answers:
        found.setdefault(f"id {answer.id}" if _id(answer.id) else answer_key(answer.name), answer)
    return list(found.values())


def predicted_entities(trajectory: Trajectory) -> list[Entity] | None:
    """Return the answered entities, each with the id behind its name, `""` where it has none."""
    if trajectory.answer is None:
        return None
    names = trajectory.answer
    ids = (*trajectory.answer_ids, *[""] * len(names))
    return [Entity(entity_id, name) for name, entity_id in zip(names, ids, strict=False)]


def _retrieval(shown: Sequence[Entity], gold: GoldSet) -> dict[str, float]:
    """Did an observation show a gold answer, all of them? As entities, never as substrings."""
    match = _match(shown, gold)
    everything = match.gold > 0 and match.found == match.gold
    return {"retrieval_any": float(match.found > 0), "retrieval_all": float(everything)}


def _is_grounded(trajectory: Trajectory, shown: Sequence[Entity]) -> bool:
    """Return whether every answered entity was shown in some observation."""
    predictions = predicted_entities(trajectory)
    ids = {entity.id for entity in shown if entity.id}
    names = {normalise(entity.name) for entity in shown}
    names |= {answer_key(entity.name) for entity in shown if not _id(entity.id)}
    return bool(predictions) and all(
        entity.id in ids if entity.id else {normalise(entity.name), answer_key(entity.name)} & names
        for entity in predictions
    )
