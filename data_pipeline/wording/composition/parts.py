"""The parts of a question: names, noun phrases nested into one another, clauses."""

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from data_pipeline.wording.lexicon import Lexicon
from graphwalker.query.query import Branch, Hop
from graphwalker.ranking.words import stem

INTRODUCED = ("film", "movie", "book", "album", "song", "band", "TV show", "video game")
"""Kinds that a topic entity may be introduced with, as in `the film Anna Brek`: those whose names
may be anything."""
_PLAIN = """
the a an of in on at by for to from with as is was are were be been has have had does do did it
its his her their that which who whom whose where when what how and or one x s there
"""
PLAIN_WORDS = frozenset(re.findall(r"[a-z]+", _PLAIN))
"""Words that may come again in a question without a stammer."""
MANY_WORDS = 7
"""Words of a phrase from which nothing should stand behind it any more."""
EASY, WEIGHT = 4, 0.4
"""Words of a phrase behind which something may well stand; how much each one more weighs."""
PLAINER = 2.0
"""How much oftener a hop's phrase comes than the one behind it, inside of a question."""
SHORTER = 1.5
"""How much oftener a phrase comes than one that is a word longer, around other phrases."""
_RELATIVE = re.compile(r"\b(that|which|who|whom|whose|where|when)\b")
_CONTACT = re.compile(r"the \w+ (people|someone|somebody|you|they) \w+")
"""How a phrase with a relative clause without a pronoun begins that ends on its slot: `the language
people use in {x}`."""
_WORD = re.compile(r"[a-z]+")


@dataclass(frozen=True, slots=True)
class Shape:
    """What decides how a form reads around something else."""

    final: bool
    """Whether its slot is at its end."""
    initial: bool
    """Whether it begins with its slot: `{x} belongs to which club?`."""
    possessive: bool
    relatives: int
    """Relative clauses, with a pronoun (`the city where {x} lives`) or without (`the film {x}
    made`)."""
    of: bool
    words: frozenset[str]
    """Stems of the words that should not come twice."""


@cache
def shape(form: str) -> Shape:
    """Return the shape of a phrase, a clause or a whole question."""
    bare = form.rstrip("?")
    final, possessive = bare.endswith("{x}"), "{x}'s" in form
    relatives = len(_RELATIVE.findall(form if form[0].islower() else form[form.find(" ") :]))
    without_pronoun = not (final or possessive) or _CONTACT.match(form)
    if form.startswith("the ") and without_pronoun and not relatives:
        relatives = 1
    words = {word for word in _WORD.findall(form.lower()) if word not in PLAIN_WORDS}
    return Shape(
        final,
        form.startswith("{x} "),
        possessive,
        relatives,
        "of {x}" in form,
        frozenset(map(stem, words)),
    )


@dataclass(frozen=True, slots=True)
class Fragment:
    """A part of a question: its text, the phrases that made it, and a topic's kind of thing."""

    text: str
    phrases: tuple[str, ...] = ()
    kind: str = ""
    relatives: int = 0
    ofs: int = 0
    words: frozenset[str] = field(default=frozenset())
    plain: bool = False
    """Whether all that it is made of are words of plain ids (`Entry.plain`)."""
    strain: float = 0.0
    """How badly its phrases read within one another."""
    unfinished: bool = False
    """Whether it ends on a verb or a preposition: `the line that Ana trained on`."""

    @property
    def is_nested(self) -> bool:
        """A phrase, not a mere name."""
        return bool(self.phrases) or " and " in self.text

    def around(self, form: str, rng: random.Random) -> "Fragment":
        """Return what the form makes of it: a longer fragment."""
        seen = shape(form)
        return Fragment(
            self.within(form, rng),
            (*self.phrases, form),
            "",
            self.relatives + seen.relatives,
            self.ofs + seen.of,
            self.words | seen.words,
            self.plain,
            self.strain + (self.roughness(form) if self.plain else 0.0),
            not seen.final or self.unfinished,
        )

    def within(self, form: str, rng: random.Random) -> str:
        """Return the form filled with this fragment; now and then a topic is introduced: `the film
        Anna Brek`."""
        if self.kind and self.kind not in form and rng.random() < 0.25:
            return form.replace("{x}", f"the {self.kind} {self.text}")
        return form.replace("{x}", self.text)

    def roughness(self, form: str) -> float:
        """Return how badly the form would read around this fragment; 0 where it reads well."""
        if not self.is_nested:
            return 0.0
        seen = shape(form)
        if self.plain:
            return self._plain_roughness(seen)
        rough = 2.0 * len(seen.words & self.words)
        if seen.relatives and self.relatives:
            rough += 2.0 + (self.relatives > 1)  # one relative clause within another, at most
        if seen.of and self.ofs > 1:
            rough += 1.0
        if seen.possessive:
            rough += 3.0
        elif not seen.final:
            # `What awards did the director of {x} win?` reads well, around a few words alone.
            rough += 0.0 if len(self.text.split()) <= MANY_WORDS and not self.relatives else 4.0
        return rough

    def _plain_roughness(self, seen: Shape) -> float:
        """Words of plain ids say one thing in few ways. What is hard to read is a long phrase with
        something behind it: `the house that the man who sold the boat that ... lives in`."""
        rough = 0.5 * len(seen.words & self.words)
        rough += 0.5 * bool(seen.relatives and self.relatives > 1) + 0.5 * (
            seen.of and self.ofs > 1
        )
        # Not `the line that Ana trained on runs at what?`.
        rough += 2.0 * (self.unfinished and not seen.final)
        if seen.initial:
            rough += 1.5  # `What does she own?` rather than `She owns what?`
        elif not seen.final:
            rough += 1.0 + WEIGHT * max(0, len(self.text.split()) - EASY) + self.relatives
        return rough


def smoothest(forms: Iterable[str], inner: Fragment, margin: float = 0.0) -> list[str]:
    """Return those of the forms that read best around the fragment, within a margin."""
    rated = [(inner.roughness(form), form) for form in forms]
    least = min((rough for rough, _ in rated), default=0.0)
    return [form for rough, form in rated if rough <= least + margin]


@dataclass(frozen=True, slots=True)
class Phraser:
    """Chooses phrases of a lexicon for the hops of a query."""

    lexicon: Lexicon
    vague: float = 0.5
    """Probability of a vague phrase for a hop that has one and is not the last of its question.
    Of the branches that meet, at most one ends vaguely: the other tells which relation is meant."""

    def topic(self, branch: Branch) -> Fragment:
        """Return the branch's topic entity, introduced by its kind of thing where that may be."""
        kind, name = self.lexicon.entry(branch.hops[0]).source, branch.topic.name
        introduced = kind in INTRODUCED and kind.casefold() not in name.casefold()
        plain = self.lexicon.entry(branch.hops[0]).plain
        return Fragment(name, kind=kind if introduced else "", plain=plain)

    def nest(self, inner: Fragment, hops: Sequence[Hop], rng: random.Random) -> Fragment:
        """Return what the hops lead to: phrase within phrase."""
        for hop in hops:
            if inner.plain and not self.lexicon.entry(hop).plain:
                inner = replace(inner, plain=False)
            inner = inner.around(self.noun_phrase(hop, inner, rng, vague=self.vague), rng)
        return inner

    def noun_phrase(self, hop: Hop, inner: Fragment, rng: random.Random, vague: float) -> str:
        """Return a noun phrase of the hop that reads well around `inner`."""
        entry = self.lexicon.entry(hop)
        is_vague = bool(entry.vague) and rng.random() < vague
        chosen = list(entry.vague if is_vague else entry.phrases)
        if inner.is_nested:
            best = smoothest(chosen, inner)
            chosen = [phrase for phrase in chosen if phrase in best]
        # The first phrases of a hop are its plainest: long questions have enough to be understood.
        weights = [PLAINER**-k for k in range(len(chosen))]
        if inner.is_nested:
            words = [len(phrase.split()) for phrase in chosen]
            weights = [w * SHORTER**-n for w, n in zip(weights, words, strict=True)]
        return rng.choices(chosen, weights)[0]

    def clauses(self, hop: Hop, nested: bool = False) -> list[str]:
        """Exact predicates about what the hop finds; never empty. Those around a phrase (`nested`)
        end on it: not `has the genre of the film that ... as its subject`."""
        entry = self.lexicon.entry(hop)
        clauses = [text for text in entry.clauses if text.endswith("{x}") or not nested]
        if clauses:
            return clauses
        made = [f"is {phrase}" for phrase in entry.phrases]
        # Held-out clauses are those of the whole lexicon that this one lacks.
        return [text for text in made if not self.lexicon.readings(text)] or made
