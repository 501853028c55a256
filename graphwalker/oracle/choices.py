"""The words of an episode's choices: what each hop is to find, and why a relation is taken.

A model that copies such thoughts learns what to compare; "this fits" teaches it to take whatever is
listed first.
"""

import random
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from graphwalker.graphs.base import FLATTENED
from graphwalker.oracle.thoughts import about
from graphwalker.query.query import Hop
from graphwalker.question import Question
from graphwalker.ranking.words import last_part, stem, stems

RIVALS = 2
"""Relations that a thought compares with the one taken."""
LONGEST = 8
"""Words of a rival's phrase, and of a quote: a thought stays within 60 tokens."""
_LIGHT = frozenset(
    re.findall(
        r"\w+",
        "a an the of in on at to for by from with and or is are was were be do does did has have "
        "had it its this one thing what which who whom whose where when how that",
    )
)
"""Words that tell no relation from another at the edge of a quote."""
_GENERIC = frozenset(stems("place person people name kind type work year date"))
"""Words that a phrase may have beyond the question: they tell what is found, not by what."""


class Phrases:
    """How the relations of a graph are worded; this one knows no words."""

    def says(self, hop: Hop) -> tuple[str, ...]:
        """Return phrases with `{x}` for where the hop starts (`the director of {x}`), the plainest
        noun phrase first; none where nobody knows any."""
        return ()

    def questions(self, hop: Hop) -> Collection[str]:
        """Return whole questions of a hop, as people type them: `time zone for {x}`."""
        return ()

    def pronoun(self, hop: Hop) -> str:
        """Return what stands for the entity that the hop starts from: `it`, `this actor`."""
        return "it"

    def inverse(self, hop: Hop) -> Hop | None:
        """Return the relation that says the same from the other end."""
        return None


NO_PHRASES = Phrases()


class Aim(NamedTuple):
    """What a hop is to find, in words."""

    phrase: str
    """The phrase to choose a relation by, with `{x}` for where it starts; `""`: none is known."""
    wanted: str
    """What it finds, as the object of a sentence: `the spouse of this person`."""
    sought: str
    """The same before any relation is listed: what the question itself says."""
    is_guessable: bool = True
    """Whether the question has the phrase's words; else they are known from the graph alone."""


class ChoiceThoughts:
    """Explains the choices of one episode among the relations that were listed."""

    def __init__(self, question: Question, phrases: Phrases = NO_PHRASES) -> None:
        self.phrases = phrases
        text = re.sub(r"\s+(?=['’]s\b)", "", question.text)  # some datasets write `Rome 's`
        for topic in question.topic_entities:
            text = re.sub(rf"{re.escape(topic.name)}(?:['’]s\b)?", " | ", text, flags=re.IGNORECASE)
        self._words = re.findall(r"[^\W_]+(?:['’-][^\W_]+)*|\|", text)
        self._stems_of_text = _stems(text)
        query = question.query
        paths = [*(b.hops for b in query.branches), query.tail] if query else []
        self._needed = {hop.relation for path in paths for hop in path}

    def aim(self, hop: Hop, own: str, plain: bool = False, is_last: bool = True) -> Aim:
        """Return the words of a hop that the question's draft words as `own` (`""`: it has none).

        What is no noun phrase, such as a whole question, hardly fits into a sentence: the known
        phrase that is nearest to the question says the same. `plain`: `own` is taken as it is.
        A hop that is not the last one finds no answer to the question, so it says what it finds.
        """
        known = self.phrases.says(hop)
        if own not in known:  # `the shop that {x} are sold at`, in a question of two things
            own = next((text for text in known if _verbless(text) == _verbless(own)), own)
        if not plain and own in self.phrases.questions(hop) and about(own).startswith("the one "):
            own = ""  # a question without a verb
        nouns = [text for text in (own, *known) if text.startswith("the ")]
        phrase = own if plain and own else max(nouns or [own, *known], key=self._nearness)
        entailed = next((text for text in (own, phrase, *known) if text and self._has(text)), "")
        pronoun = self.phrases.pronoun(hop)
        is_guessable = bool(entailed or plain or not phrase or not is_last)
        wanted = about(phrase, pronoun) if phrase or is_last else "what leads to the answer"
        whole = f'the answer to "{self._whole()}"' if self._words else about("")
        sought = about(entailed, pronoun) if entailed else wanted
        return Aim(phrase, wanted, sought if is_guessable else whole, is_guessable)

    def _nearness(self, phrase: str) -> tuple[int, int]:
        words = _stems(phrase)
        return len(words & self._stems_of_text), -len(words - self._stems_of_text)

    def _has(self, phrase: str) -> bool:
        """Return whether the question has every word of the phrase that counts."""
        return all(
            any(word == other or _alike(word, other) for other in self._stems_of_text)
            for word in _stems(phrase) - _GENERIC
        )

    def explain(
        self, hop: Hop, shown_as: str, aim: Aim, listed: Sequence[Hop], rng: random.Random
    ) -> str:
        """Return why `hop` is taken for the aim. `listed`: the relations to choose from, in the
        order shown; `shown_as`: the relation as the tools write it."""
        pronoun, own = self.phrases.pronoun(hop), self._says(hop)
        rivals = self._rivals(hop, aim.phrase, listed)
        taken, *names = short_names([shown_as, *(rival.relation for rival in rivals)])
        others = {n: self._says(r) for n, r in zip(names, rivals, strict=True) if n != taken}
        text = f"{aim.phrase} {own}".strip() or hop.relation
        quoted = self._quote(text, " ".join(others.values()), last_part(hop.relation))
        quoted = quoted or ("" if aim.phrase and aim.is_guessable else self._whole())
        gives = about(own, pronoun) if own else aim.wanted
        would = {name: other and about(other, pronoun) for name, other in others.items()}
        return rng.choice(_forms(quoted, taken, gives, aim, would))

    def _says(self, hop: Hop) -> str:
        """Return the plainest words of what a hop leads to, `""` where there are none."""
        return next(iter(self.phrases.says(hop)), "")

    def _rivals(self, hop: Hop, phrase: str, listed: Iterable[Hop]) -> list[Hop]:
        """Return the other relations that come nearest: those that share most words with the one
        taken, then those listed first. What another step of the question takes is none, nor is
        what fits the question better than the phrase or the plainest words of the one taken."""
        own, inverse = self._says(hop), self.phrases.inverse(hop)
        rivals: dict[str, Hop] = {}
        given = {own, phrase}
        fit = min(self._fit(text) for text in (phrase, own or phrase))
        for other in listed:
            says = self._says(other)
            if other.relation in self._needed or other in (hop, inverse):
                continue
            unknown = own and not says
            if unknown or len(says.split()) > LONGEST or self._fit(says) > fit:
                continue
            if not says or says not in given:
                rivals.setdefault(other.relation, other)
                given.add(says)
        words = _stems(f"{phrase} {own} {last_part(hop.relation)}")

        def nearness(rival: Hop) -> int:
            return -len(words & _stems(f"{self._says(rival)} {last_part(rival.relation)}"))

        return sorted(rivals.values(), key=nearness)[:RIVALS]

    def _fit(self, phrase: str) -> int:
        return len(_stems(phrase) & self._stems_of_text)

    def _quote(self, phrase: str, rivals: str, relation: str) -> str:
        """Return the run of the question's words that the phrase has, less the light words at its
        ends: that with most words that no rival has, then of the relation, then of all; `""` where
        there is none."""
        wanted, runs = _stems(phrase), [list[str]()]
        for word in self._words:
            if word != "|" and (stem(word.casefold()) in wanted or word.casefold() in _LIGHT):
                runs[-1].append(word)
            else:
                runs.append([])
        own, named = wanted - _stems(rivals), wanted & _stems(relation)

        def weight(run: str) -> list[int]:
            return [len(_stems(run) & words) for words in (own, named, wanted)]

        return max((" ".join(_trim_edges(run)) for run in runs), key=weight)

    def _whole(self) -> str:
        """Return the question around its topics, cut to a few words."""
        shown = ["..." if word == "|" else word for word in self._words]
        cut = shown[:LONGEST] + (["..."] if len(shown) > LONGEST else [])
        return re.sub(r"(?:\.\.\. )+\.\.\.", "...", " ".join(cut))


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
    return frozenset(stems(text.replace("{x}", " "))) - _LIGHT


def _verbless(phrase: str) -> str:
    return re.sub(r"(?<=\{x\} )\w+", "", phrase)


def _alike(one: str, other: str) -> bool:
    """Return whether two stems are forms of one word, all but their last letter being the same."""
    short, long = sorted((len(one), len(other)))
    return 3 < short >= long - 2 and one[: short - 1] == other[: short - 1]


def _trim_edges(run: Sequence[str]) -> list[str]:
    heavy = [k for k, word in enumerate(run) if word.casefold() not in _LIGHT]
    return list(run[heavy[0] : heavy[-1] + 1]) if heavy else []


def _forms(quoted: str, taken: str, gives: str, aim: Aim, rivals: Mapping[str, str]) -> list[str]:
    """Return ways to say why a relation is taken; `rivals`: what others would give, by name."""
    if not rivals:
        wanted = aim.wanted if aim.is_guessable else gives
        forms = [f"I take {taken} to find {wanted}.", f"{taken} gives {wanted}."]
        return [*forms, f'"{quoted}" points to {taken}.'] if quoted else forms
    if not all(rivals.values()):
        near = " and ".join(rivals)
        return (
            [
                f'"{quoted}" fits {taken} better than {" or ".join(rivals)}.',
                f'"{quoted}" asks for {taken}; {near} would give something else.',
            ]
            if quoted
            else [f"{taken} comes nearest to the question; {near} give something else."]
        )
    would = " and ".join(f"{name} {what}" for name, what in rivals.items())
    first = next(iter(rivals))  # which may be several words, such as `born in`
    would = f"{first} would give{would.removeprefix(first)}"
    nots = " or ".join(f"{name} ({what})" for name, what in rivals.items())
    points = f'"{quoted}" points to {taken} ({gives}), not to {nots}.'
    if not aim.is_guessable:
        return [points, f'"{quoted}" asks for {gives}: {taken}. {would}.']
    forms = [
        f"I need {aim.wanted}: {taken} gives {gives if gives != aim.wanted else 'that'}. {would}.",
        f"{would}, but I need {aim.wanted}: {taken}.",
    ]
    return [*forms, points] if quoted else forms
