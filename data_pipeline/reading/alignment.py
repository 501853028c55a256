"""Alignment: which words of questions speak of which relations, learned from other questions.

IBM Model 1 (Brown et al., 1993): every word of a question is said by one of the hops of its walk,
or by none. A hop speaks by its relation and by the words of the relation's id.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from graphwalker.ranking.learned.examples import Example
from graphwalker.ranking.words import last_part, stem, stems

ROUNDS = 4
PRIOR = 5.0
"""Questions that the mean over all relations counts as, beside a relation's own."""
FLOOR = 0.05
"""Share of every word that is said by no hop at all, whatever was learned."""

RelationsTaken = Sequence[str]
"""The relations of a walk."""
_NONE = ("",)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the words of a text say for a walk."""

    hops: tuple[float, ...]
    """For each hop: nats of evidence that it is spoken of, in the words that are its own."""
    lacking: tuple[float, ...]
    """For each hop: the same, less what its relation has in other questions."""
    words: tuple[float, ...]
    """For each word: how much likelier the walk makes it than any walk would, in nats."""


class Alignment:
    """Learned from pairs of words and hops."""

    def __init__(self, pairs: Iterable[tuple[Sequence[str], RelationsTaken]]) -> None:
        found = [(_content(words), [*map(sources, hops), _NONE]) for words, hops in pairs]
        counts = Counter(word for words, _ in found for word in words)
        total = sum(counts.values()) + len(counts) + 1
        self._usual = {word: (count + 1) / total for word, count in counts.items()}
        self._new = 1 / total
        self._says: dict[str, dict[str, float]] = {}
        for _ in range(ROUNDS):
            self._round(found)
        self._tables: dict[str, dict[str, float]] = {}
        self._expected = self._expectations(found)

    def _round(self, found: Sequence[tuple[list[str], list[tuple[str, ...]]]]) -> None:
        """One step of expectation and maximisation."""
        sums: dict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
        for words, hops in found:
            names = [name for hop in hops for name in hop]
            tables = [self._says.get(name) for name in names]
            for word in words:
                usual = self._usual[word]
                shares = [usual if t is None else t.get(word, 0.0) for t in tables]
                whole = sum(shares)
                for name, share in zip(names, shares, strict=True):
                    if share > 1e-6 * whole:
                        sums[name][word] += share / whole
        self._says = {name: _shares(row, self._usual) for name, row in sums.items()}

    def _expectations(
        self, found: Sequence[tuple[list[str], list[tuple[str, ...]]]]
    ) -> dict[str, float]:
        """The mean evidence of each relation, a rare one drawn towards that of all (`""`)."""
        sums: defaultdict[str, float] = defaultdict(float)
        counts: Counter[str] = Counter()
        for words, hops in found:
            relations = [names[0].removeprefix("r ") for names in hops[:-1]]
            for relation, gain in zip(relations, self._gains(words, relations)[0], strict=True):
                sums[relation] += gain
                counts[relation] += 1
        usual = sum(sums.values()) / max(1, counts.total())
        drawn = {r: (sums[r] + PRIOR * usual) / (counts[r] + PRIOR) for r in counts}
        return {**drawn, "": usual}

    def evidence(self, words: Sequence[str], hops: RelationsTaken) -> Evidence:
        """What a text says for a walk."""
        gained, surprise = self._gains(_content(words), hops)
        usual_gain = self._expected.get("", 0.0)
        lacking = (g - self._expected.get(h, usual_gain) for g, h in zip(gained, hops, strict=True))
        return Evidence(tuple(gained), tuple(lacking), tuple(surprise))

    def _gains(self, words: Sequence[str], hops: RelationsTaken) -> tuple[list[float], list[float]]:
        """Evidence for each hop, and how likely each word is."""
        gained, surprise = [0.0] * len(hops), list[float]()
        tables = [self._table(hop) for hop in hops]
        for word in words:
            usual = self._usual.get(word, self._new)
            by_hop = [table.get(word, 0.0) for table in tables]
            whole = sum(by_hop)
            surprise.append(math.log(FLOOR + (1 - FLOOR) * whole / len(hops) / usual))
            for place, share in enumerate(by_hop):
                gain = math.log(share / usual) if share > usual else 0.0
                gained[place] += gain * share / (whole + usual)
        return gained, surprise

    def choice(
        self, words: Sequence[str], hops: RelationsTaken, place: int, example: Example
    ) -> float:
        """How sure a reader of the text is of the hop at that place, among all relations listed at
        an entity where it is taken: the log of its probability, the other hops being as they are.
        """
        found = _content(words)
        others = [self._table(hop) for k, hop in enumerate(hops) if k != place]
        base = [sum(table.get(word, 0.0) for table in others) for word in found]
        usual = [self._usual.get(word, self._new) * len(hops) for word in found]
        none = [math.log(FLOOR + (1 - FLOOR) * b / u) for b, u in zip(base, usual, strict=True)]
        scores: dict[str, float] = {}
        for relation in {*example.relations, *example.gold}:
            table, gain = self._table(relation), 0.0
            for k, word in enumerate(found):
                if word in table:
                    whole = (base[k] + table[word]) / usual[k]
                    gain += math.log(FLOOR + (1 - FLOOR) * whole) - none[k]
            scores[relation] = gain
        gold = math.fsum(math.exp(scores[relation]) for relation in dict.fromkeys(example.gold))
        return math.log(gold / math.fsum(math.exp(score) for score in scores.values()))

    def _table(self, relation: str) -> dict[str, float]:
        """What a hop may say by any of its sources, and how likely."""
        if relation not in self._tables:
            found: dict[str, float] = {}
            for name in sources(relation):
                for word, share in self._says.get(name, {}).items():
                    found[word] = max(share, found.get(word, 0.0))
            self._tables[relation] = found
        return self._tables[relation]


def sources(relation: str) -> tuple[str, ...]:
    """What a hop speaks by.

    >>> sources("film.film.directed_by")
    ('r film.film.directed_by', 'direct', 'by')
    """
    halves = relation.split("..")
    words = dict.fromkeys(word for half in halves for word in stems(last_part(half)))
    return (f"r {relation}", *words)


def _content(words: Sequence[str]) -> list[str]:
    return [stem(word) for word in words if word[0].isalpha()]


def _shares(row: dict[str, float], usual: dict[str, float]) -> dict[str, float]:
    """Counts as shares, drawn towards what is usual: a rare relation is not believed at once."""
    total = sum(row.values()) + 1.0
    return {word: (count + usual[word]) / total for word, count in row.items()}
