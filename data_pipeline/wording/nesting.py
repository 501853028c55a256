"""Noun phrases nested into one another, and clauses: the parts that questions are made of."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from data_pipeline.wording.lexicon import Lexicon, Phrase
from graphwalker.query.query import Branch, Hop

INTRODUCED = ("film", "book", "album", "song", "band", "company", "school", "team", "city")
"""Kinds that a topic entity may be introduced with, as in `the film Anna Brek`."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """A part of a question: its text, the phrases that made it, and a topic's kind of thing."""

    text: str
    phrases: tuple[str, ...] = ()
    kind: str = ""

    @property
    def nested(self) -> bool:
        """A phrase, not a mere name."""
        return bool(self.phrases) or " and " in self.text

    def within(self, form: str, rng: random.Random) -> str:
        """The form filled with this fragment; now and then a topic is introduced: `the film Anna
        Brek`."""
        if self.kind and self.kind not in form and rng.random() < 0.5:
            return form.replace("{x}", f"the {self.kind} {self.text}")
        return form.replace("{x}", self.text)


@dataclass(frozen=True, slots=True)
class Phraser:
    """Chooses phrases of a lexicon for the hops of a query."""

    lexicon: Lexicon
    vague: float = 0.5
    """Probability of a vague phrase for a hop that has one and is not the last of its question.
    Of the branches that meet, at most one ends vaguely: the other tells which relation is meant."""

    def topic(self, branch: Branch) -> Fragment:
        """The branch's topic entity, with its kind of thing where it may be introduced by it."""
        kind = self.lexicon.entry(branch.hops[0]).source
        return Fragment(branch.topic.name, kind=kind if kind in INTRODUCED else "")

    def nest(self, inner: Fragment, hops: Sequence[Hop], rng: random.Random) -> Fragment:
        """What the hops lead to: phrase within phrase."""
        for hop in hops:
            phrase = self.noun_phrase(hop, inner, rng, vague=self.vague)
            inner = Fragment(inner.within(phrase.text, rng), (*inner.phrases, phrase.text))
        return inner

    def noun_phrase(self, hop: Hop, inner: Fragment, rng: random.Random, vague: float) -> Phrase:
        """A noun phrase of the hop that reads well around `inner`."""
        phrases = self.lexicon.phrases(hop)
        blurred = [phrase for phrase in phrases if phrase.vague]
        chosen = blurred if blurred and rng.random() < vague else []
        chosen = chosen or [phrase for phrase in phrases if not phrase.vague]
        if inner.nested:
            # A noun phrase inside another reads well only at its end.
            chosen = [phrase for phrase in chosen if phrase.text.endswith("{x}")] or chosen
        return rng.choice(chosen)

    def clauses(self, hop: Hop, nested: bool = False) -> list[Phrase]:
        """Exact predicates about what the hop finds; never empty. Those around a phrase (`nested`)
        end on it: not `has the genre of the film that ... as its subject`."""
        clauses = [clause for clause in self.lexicon.clauses(hop) if not clause.vague]
        if nested:
            clauses = [clause for clause in clauses if clause.text.endswith("{x}")]
        return clauses or [
            Phrase(f"is {phrase.text}", clause=True)
            for phrase in self.lexicon.phrases(hop)
            if not phrase.vague
        ]
