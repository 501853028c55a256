"""What a free wording may mean: the relations beside each hop that its words fit as well."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from data_pipeline.certificates import FRONTIER_LIMIT, ids_of
from data_pipeline.wording.lexicon import Lexicon, reads_both_ways
from data_pipeline.wording.type_nouns import nouns_of_type
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Side, Step
from graphwalker.query.draft import Draft
from graphwalker.query.query import Branch, Execution, Hop, Query, execute
from graphwalker.ranking.words import stem

LOOKED_AT = 3
"""Entities that a hop starts from whose relations are looked at."""
MOST_RIVALS = 20
"""Relations that a judge chooses from, beside the true one."""
PLACES = frozenset(("place", "country", "state", "county", "city", "town", "continent", "region"))
"""What a place has by the places around it, whatever relation says so."""
_EMPTY = re.compile(
    "a|an|the|of|is|are|was|were|be|been|it|its|this|that|which|who|whom|whose|what|where|when|how|"
    "do|does|did|has|have|had|and|or|to"
)
_LIGHT = re.compile("in|on|at|by|for|from|with|as|about|into|under|through|s")
"""Words that tell relations apart (`from`, `for`), but stand in many sentences for other reasons:
they weigh half."""

Place = tuple[int, int]
"""Where a hop stands: its branch (-1: the tail) and its number there."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A hop in words that its phrases do not have, and other relations that lead to answers of the
    same kind: a judge says which of them the question means."""

    start: str
    end: str
    hop: Hop
    rivals: tuple[Hop, ...]


class TextReadings:
    """Readings of a question in anybody's words. Thread-safe.

    A phrase is entailed by a text when all its content words stand there, by their stems; what kind
    of thing it finds (`the film that`) is no content. A
    relation of the entity that a hop starts from is a reading of the text at this hop when one of
    its phrases is entailed by the words that no other hop of the query has taken, and by at least
    as many of them as the hop's own best phrase: nothing in the text tells the two apart then.
    The hop's relation read backwards needs more words: English tells them apart by their order.
    """

    def __init__(self, graph: KnowledgeGraph, lexicon: Lexicon) -> None:
        self._graph, self._lexicon = graph, lexicon
        self._phrases = lru_cache(1 << 14)(self._content_of)

    def of(self, text: str, query: Query, run: Execution, plain: Draft) -> Draft:
        """`plain` with the text, and for each hop all readings of it, the true one first;
        `own_words` lists the hops of which the text has no known phrase."""
        words = _content(_without(text, query.topics))
        hops = dict(_places(query))
        taken = {place: self._best(hop, words) for place, hop in hops.items()}
        found: dict[Place, tuple[Hop, ...]] = {}
        for place, hop in hops.items():
            others = frozenset[str]().union(*(w for p, w in taken.items() if p != place))
            free = words - (others - taken[place])
            last = place == list(hops)[-1]
            rivals = self._readings_of(query, run, place, free, taken[place])
            same = (r for r in rivals if not self._is_other_kind(hop, r, text, last))
            found[place] = (hop, *same)
        branches = tuple(
            tuple(found[b, k] for k in range(len(branch.hops)))
            for b, branch in enumerate(query.branches)
        )
        tail = tuple(found[-1, k] for k in range(len(query.tail)))
        own = tuple(dict.fromkeys(str(hop) for place, hop in hops.items() if not taken[place]))
        return replace(plain, text=text, readings=branches, tail_readings=tail, own_words=own)

    def doubts(self, query: Query, draft: Draft, run: Execution) -> Iterator[Doubt]:
        """Yield the hops in words of the writer's own, where another relation would give other
        answers of the same kind."""
        gold = ids_of(run.answers)
        for place, hop in _places(query):
            if str(hop) not in draft.own_words:
                continue
            noun = self._lexicon.entry(hop).noun
            same = (
                r
                for r in self._rival_hops(query, run, place)
                if self._lexicon.entry(r).noun == noun
            )
            rivals: list[Hop] = []
            for rival in same:
                answers = execute(
                    self._graph, _replace_hop(query, place, rival), FRONTIER_LIMIT
                ).answers
                if answers and ids_of(answers) != gold:
                    rivals.append(rival)
                if len(rivals) == MOST_RIVALS:
                    break
            if rivals:
                start = _starts(run, place)[0].name
                yield Doubt(start, noun, hop, tuple(rivals))

    def answer_of_absent(self, text: str, query: Query, run: Execution) -> str:
        """Return a relation that does answer a question whose own relation is missing, as its words
        or the place that it leads to say; `""` where there is none."""
        place = list(_places(query))[-1][0]
        rivals = self._rival_hops(query, run, place)
        words = _content(_without(text, query.topics))
        named = (hop for hop in rivals if _weight(self._best(hop, words)) >= 1)
        entry = self._lexicon.entry(query.all_hops[-1])
        # The country of a town is known where its county, or the country of its county, is.
        if entry.noun in PLACES and (entry.noun != "place" or entry.source == "place"):
            starts = _starts(run, place)[:LOOKED_AT]
            around = (hop for hop in rivals if self._leads_to(starts, hop, entry.noun))
            return str(next(named, "") or next(around, ""))
        return str(next(named, ""))

    def _leads_to(self, starts: Sequence[Entity], hop: Hop, noun: str) -> bool:
        """Return whether the hop leads from there to a place of that noun."""
        if noun == "place" == self._lexicon.entry(hop).noun:
            return True
        steps = [Step(start.id, hop.relation, hop.direction, LOOKED_AT) for start in starts]
        ends = [end.id for found in self._graph.step_many(steps) for end in found]
        return any(noun in nouns_of_type(kind) for end in ends for kind in self._graph.types(end))

    def _best(self, hop: Hop, words: frozenset[str]) -> frozenset[str]:
        """Get the words of the hop's best phrase in the text, none where it has no phrase there."""
        entailed = (phrase for phrase in self._phrases(hop) if phrase <= words)
        return max(entailed, key=lambda p: (_weight(p), sorted(p)), default=frozenset[str]())

    def _readings_of(
        self, query: Query, run: Execution, place: Place, free: frozenset[str], own: frozenset[str]
    ) -> Iterator[Hop]:
        hop = dict(_places(query))[place]
        for other in self._rival_hops(query, run, place):
            weight = _weight(self._best(other, free))
            backwards = other.relation == hop.relation and not reads_both_ways(hop.relation)
            if weight > _weight(own) or (weight and weight == _weight(own) and not backwards):
                yield other

    def _is_other_kind(self, hop: Hop, rival: Hop, text: str, last: bool) -> bool:
        """Return whether the text names the kind of thing that the hop finds, and the rival finds
        another: `who` asks for no company, `which city` for no person."""
        own, other = self._lexicon.entry(hop), self._lexicon.entry(rival)
        asks_who = last and text.casefold().startswith("who ")
        if asks_who and own.question_word == "Who" != other.question_word:
            return True
        named, rival_named = (
            re.search(rf"\b{re.escape(entry.noun)}s?\b", text, re.IGNORECASE)
            for entry in (own, other)
        )
        return named is not None and rival_named is None

    def _rival_hops(self, query: Query, run: Execution, place: Place) -> list[Hop]:
        """Return the other relations that can be taken where the hop is, sorted."""
        hop = dict(_places(query))[place]
        sides = [
            Side(entity.id, direction)
            for entity in _starts(run, place)[:LOOKED_AT]
            for direction in Direction
        ]
        found = {
            Hop(relation, side.direction)
            for side, listed in zip(sides, self._graph.flat_relations_many(sides), strict=True)
            for relation, _ in listed
        }
        return sorted(found - {hop, self._lexicon.inverse(hop)})

    def _content_of(self, hop: Hop) -> tuple[frozenset[str], ...]:
        """Return the words of each phrase; the kinds at its ends (`the film that ...`) only where
        there are no others."""
        entry = self._lexicon.entry(hop)
        texts = (*entry.texts, *entry.questions)
        kinds = _content(f"{entry.noun} {entry.source}")
        found = (_content(text.replace("{x}", " ")) for text in texts)
        return tuple(dict.fromkeys(words - kinds or words for words in found if words))


def _paths(query: Query) -> list[tuple[Hop, ...]]:
    return [*(branch.hops for branch in query.branches), query.tail]


def _places(query: Query) -> Iterator[tuple[Place, Hop]]:
    *branches, tail = _paths(query)
    for path, hops in (*enumerate(branches), (-1, tail)):
        yield from (((path, k), hop) for k, hop in enumerate(hops))


def _starts(run: Execution, place: Place) -> Sequence[Entity]:
    path, k = place
    return [*run.frontiers, run.tail_frontiers][path][k]


def _replace_hop(query: Query, place: Place, hop: Hop) -> Query:
    paths, (path, k) = _paths(query), place
    paths[path] = (*paths[path][:k], hop, *paths[path][k + 1 :])
    *own, tail = paths
    branches = (Branch(b.topic, hops) for b, hops in zip(query.branches, own, strict=True))
    return replace(query, branches=tuple(branches), tail=tail)


def _without(text: str, topics: Sequence[Entity]) -> str:
    for name in sorted((topic.name for topic in topics), key=len, reverse=True):
        text = text.replace(name, " ")
    return text


def _content(text: str) -> frozenset[str]:
    words = re.findall(r"[^\W_]+", text.casefold())
    return frozenset(stem(word) for word in words if not _EMPTY.fullmatch(word))


def _weight(words: frozenset[str]) -> float:
    return sum(0.5 if _LIGHT.fullmatch(word) else 1.0 for word in words)
