"""The thought of a choice: the question's words that decide, and what the nearest relations give.

A model that copies such thoughts learns what to compare; "this fits" teaches it to take whatever is
listed first.
"""

import random
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from graphwalker.graphs.base import FLATTENED
from graphwalker.oracle.thoughts import about
from graphwalker.query.query import Hop
from graphwalker.question import Question
from graphwalker.ranking.words import last_part, stem, stems

Says = Callable[[Hop], str]
"""A hop as a noun phrase with `{x}` for where it starts (`the director of {x}`); `""`: unknown."""

RIVALS = 2
"""Relations that a thought compares with the one taken."""
LONGEST = 8
"""Words of a rival's phrase: a thought stays within 60 tokens."""
_LIGHT = frozenset(
    re.findall(
        r"\w+",
        "a an the of in on at to for by from with and or is are was were be do does did has have "
        "had it its what which who whom whose where when how that this",
    )
)
"""Words that tell no relation from another at the edge of a quote."""


def says_nothing(hop: Hop) -> str:
    """Know no phrase, as where there is no phrase bank."""
    return ""


class ChoiceThoughts:
    """Explains the choices of one episode among the relations that were listed."""

    def __init__(self, question: Question, says: Says = says_nothing) -> None:
        self._question, self._says = question, says
        query = question.query
        paths = [*(b.hops for b in query.branches), query.tail] if query else []
        self._needed = {hop.relation for path in paths for hop in path}

    def explain(
        self, hop: Hop, shown_as: str, phrase: str, listed: Sequence[Hop], rng: random.Random
    ) -> str:
        """Return why `hop` is taken for the phrase. `listed`: the relations to choose from, in the
        order shown; `shown_as`: the relation as the tools write it."""
        own = self._says(hop)
        rivals = self._rivals(hop, phrase, listed)
        taken, *names = short_names([shown_as, *(rival.relation for rival in rivals)])
        others = {n: rival for n, rival in zip(names, rivals, strict=True) if n != taken}
        quoted = self._quote(f"{phrase} {own}" if phrase or own else hop.relation, not phrase)
        wanted, gives = about(phrase or own), about(own or phrase)
        if not others:
            return _alone(quoted, taken, wanted, rng)
        if not all(map(self._says, rivals)):
            return _prefer(quoted, taken, list(others), rng)
        would = [(name, about(self._says(rival))) for name, rival in others.items()]
        return _compare(quoted, taken, gives, wanted, would, rng)

    def _rivals(self, hop: Hop, phrase: str, listed: Iterable[Hop]) -> list[Hop]:
        """Return the other relations that come nearest: those that share most words with the one
        taken, then those listed first. What another step of the question takes is none."""
        own = self._says(hop)
        rivals: dict[str, Hop] = {}
        for other in listed:
            gives = self._says(other)
            known = gives or self._says is says_nothing
            if other.relation in self._needed or not known or len(gives.split()) > LONGEST:
                continue
            if not gives or gives not in (own, phrase, *map(self._says, rivals.values())):
                rivals.setdefault(other.relation, other)
        words = _stems(f"{phrase} {own} {last_part(hop.relation)}")

        def nearness(rival: Hop) -> int:
            return -len(words & _stems(f"{self._says(rival)} {last_part(rival.relation)}"))

        return sorted(rivals.values(), key=nearness)[:RIVALS]

    def _quote(self, phrase: str, whole: bool) -> str:
        """Return the longest run of the question's words that the phrase has, less the light words
        at its ends. Where there is none and `whole`, return the question around its topics."""
        text = self._question.text
        for topic in self._question.topic_entities:
            text = re.sub(re.escape(topic.name), " | ", text, flags=re.IGNORECASE)
        words = re.findall(r"[^\W_]+(?:['’-][^\W_]+)*|\|", text)
        wanted, runs = _stems(phrase), [list[str]()]
        for word in words:
            if word != "|" and (stem(word.casefold()) in wanted or word.casefold() in _LIGHT):
                runs[-1].append(word)
            else:
                runs.append([])
        run = max(map(_trim_edges, runs), key=lambda run: len(_stems(" ".join(run)) & wanted))
        if not run and whole:
            run = ["..." if word == "|" else word for word in words[:8]]
        return " ".join(run)


def short_names(relations: Sequence[str]) -> list[str]:
    """Name relations by the last parts of their ids, longer where those are the same.

    >>> short_names(["film.film.directed_by", "film.film.genre", "music.artist.genre"])
    ['directed_by', 'film.genre', 'artist.genre']
    >>> short_names(["a.winner.won..a.honor.winner", "a.work.won..a.honor.winner"])
    ['winner.winner', 'work.winner']
    """
    names = [last_part(relation) for relation in relations]
    owners = [relation.partition(FLATTENED)[0].split(".")[-2:-1] for relation in relations]
    return [
        name if names.count(name) == 1 else ".".join([*owner, name])
        for name, owner in zip(names, owners, strict=True)
    ]


@lru_cache(1 << 14)
def _stems(text: str) -> frozenset[str]:
    return frozenset(stems(text)) - _LIGHT


def _trim_edges(run: Sequence[str]) -> list[str]:
    heavy = [k for k, word in enumerate(run) if word.casefold() not in _LIGHT]
    return list(run[heavy[0] : heavy[-1] + 1]) if heavy else []


def _alone(quoted: str, taken: str, wanted: str, rng: random.Random) -> str:
    forms = [f"I take {taken} to find {wanted}.", f"{taken} gives {wanted}."]
    return rng.choice([*forms, f'"{quoted}" points to {taken}.'] if quoted else forms)


def _prefer(quoted: str, taken: str, others: Sequence[str], rng: random.Random) -> str:
    near = " and ".join(others)
    if not quoted:
        return f"{taken} comes nearest to the question; {near} would give something else."
    return rng.choice(
        [
            f'"{quoted}" fits {taken} better than {" or ".join(others)}.',
            f'"{quoted}" asks for {taken}; {near} would give something else.',
        ]
    )


def _compare(
    quoted: str,
    taken: str,
    own: str,
    wanted: str,
    rivals: Sequence[tuple[str, str]],
    rng: random.Random,
) -> str:
    would = " and ".join(f"{name} {gives}" for name, gives in rivals).replace(
        " ", " would give ", 1
    )
    nots = " or ".join(f"{name} ({gives})" for name, gives in rivals)
    gives = f"{taken} gives {own}" if own != wanted else f"{taken} gives that"
    forms = [
        f"I need {wanted}: {gives}. {would}.",
        f"{would}, but I need {wanted}: {taken}.",
    ]
    if quoted:
        forms.append(f'"{quoted}" points to {taken} ({own}), not to {nots}.')
    return rng.choice(forms)
