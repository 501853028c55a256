"""The programmatic teacher: a query becomes one question, its intermediate entities masked."""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from data_pipeline.wording.banks.typed import typed
from data_pipeline.wording.constraint_questions import word_constrained
from data_pipeline.wording.lexicon import Phrase
from data_pipeline.wording.nesting import Fragment, Phraser
from data_pipeline.wording.phrases import PERSONS
from graphwalker.graphs.base import Entity
from graphwalker.query.draft import Draft
from graphwalker.query.query import Hop, Query

UNSPECIFIC = ("place", "organization", "entity", "thing", "person")
LITERAL = ("date", "year", "number")


STYLES = {"casual": 6.0, "plain": 3.0, "formal": 1.0}
"""How often a question of one hop is typed as into a search box (`wheres peru located`), is a plain
question (`Where is Peru?`), asks for a noun phrase (`Can you name the location of Peru?`)."""


@dataclass(frozen=True, slots=True)
class ProgrammaticTeacher(Phraser):
    """Words questions by nesting hand-written or generated phrases; needs no key and no network."""

    styles: Mapping[str, float] = field(default_factory=STYLES.copy)
    """Weights of the styles, for questions of one hop that the bank words in all of them."""

    def ask(self, query: Query, answers: Sequence[Entity], rng: random.Random) -> Draft | None:
        """One question, or `None` where none can be worded (no phrase, or the answer leaks)."""
        if not query.branches or not all(branch.hops for branch in query.branches):
            return None
        many, form = len(answers) > 1, ""
        if query.constraint:
            worded = word_constrained(self, query, many, rng)
            text, parts, tail, form = worded.text, (worded.phrases,), (), worded.form
        elif len(query.branches) == 1:
            hops = (*query.branches[0].hops, *query.tail)
            inner = self.nest(self.topic(query.branches[0]), hops[:-1], rng)
            worded = self._word_last(inner, hops[-1], many, rng)
            count = len(query.branches[0].hops)
            text, parts, tail = worded.text, (worded.phrases[:count],), worded.phrases[count:]
        elif query.tail:
            shared, parts = self._shared(query, rng)
            inner = self.nest(Fragment(shared), query.tail[:-1], rng)
            worded = self._word_last(inner, query.tail[-1], many, rng)
            text, tail = worded.text, worded.phrases
        else:
            text, parts = self._word_both(query, many, rng)
            tail = ()
        draft = self._draft(query, text, parts, tail, answers)
        return replace(draft, constraint=form) if draft and form else draft

    def _word_last(self, inner: Fragment, hop: Hop, many: bool, rng: random.Random) -> Fragment:
        entry, style = self.lexicon.entry(hop), ""
        if entry.casual and not inner.nested:
            style = rng.choices([*self.styles], [*self.styles.values()])[0]
        if style == "casual":
            form = rng.choice(entry.casual)
            return Fragment(typed(form, inner.text, rng), (form,))
        whole = [form for form in entry.questions if _reads_well(form, inner)]
        if whole and style != "formal" and rng.random() < 0.6:
            form = rng.choice(whole)
            return Fragment(inner.within(form, rng), (*inner.phrases, form))
        clauses = [
            clause.text
            for clause in entry.clauses
            if not clause.vague and _predicates(clause.text, entry.noun)
            if clause.text.endswith("{x}") or not inner.nested
        ]
        if clauses and rng.random() < (0.8 if many else 0.4):
            form = rng.choice(clauses)
            text = _word_clause(inner.within(form, rng), entry.noun, entry.question_word, many, rng)
            return Fragment(text, (*inner.phrases, form))
        form = self.noun_phrase(hop, inner, rng, vague=0.0).text
        noun = entry.noun if _predicates(form, entry.noun) else ""
        text = _word_noun(inner.within(form, rng), noun, entry.question_word, rng)
        return Fragment(text, (*inner.phrases, form))

    def _word_both(
        self, query: Query, many: bool, rng: random.Random
    ) -> tuple[str, tuple[tuple[str, ...], ...]]:
        noun, question_word = self._meeting(query)
        inners = [self.nest(self.topic(b), b.hops[:-1], rng) for b in query.branches]
        ends = self._ends(query, rng)
        plain = all(_predicates(end.text, noun) for end in ends)
        if not plain or (rng.random() < 0.25 and not many):
            ends = [
                self.noun_phrase(b.hops[-1], inner, rng, vague=float(end.vague))
                for b, inner, end in zip(query.branches, inners, ends, strict=True)
            ]
            joined = _listed(_in_order(ends, inners, rng))
            apart = all(_predicates(end.text, noun) for end in ends)
            word = f"Which {noun}" if apart and question_word != "Who" else question_word
            every = "both" if len(ends) == 2 else "all of these:"
            return f"{word} is {every} {joined}?", _parts(inners, ends)
        joined = _listed(_in_order(ends, inners, rng))
        return _word_clause(joined, noun, question_word, many, rng), _parts(inners, ends)

    def _shared(self, query: Query, rng: random.Random) -> tuple[str, tuple[tuple[str, ...], ...]]:
        """`the person who directed A and wrote B`, and the phrases of both branches."""
        noun, _ = self._meeting(query)
        inners = [self.nest(self.topic(b), b.hops[:-1], rng) for b in query.branches]
        ends = self._ends(query, rng)
        joined = _listed(_in_order(ends, inners, rng))
        return f"the {noun} {_relative(noun)} both {joined}", _parts(inners, ends)

    def _ends(self, query: Query, rng: random.Random) -> list[Phrase]:
        """A clause for the last hop of every branch."""
        ends = [
            rng.choice(self.clauses(branch.hops[-1], nested=len(branch.hops) > 1))
            for branch in query.branches
        ]
        chosen = rng.randrange(len(ends))
        blurred = [c for c in self.lexicon.clauses(query.branches[chosen].hops[-1]) if c.vague]
        if blurred and rng.random() < self.vague:
            ends[chosen] = rng.choice(blurred)
        return ends

    def _meeting(self, query: Query) -> tuple[str, str]:
        """Noun and question word for what the branches share: the least general of theirs."""
        entries = [self.lexicon.entry(branch.hops[-1]) for branch in query.branches]
        known = [e for e in entries if e.noun not in UNSPECIFIC[:4]]
        best = (known or entries)[0]
        return best.noun, best.question_word

    def _draft(
        self,
        query: Query,
        text: str,
        parts: tuple[tuple[str, ...], ...],
        tail: tuple[str, ...],
        answers: Sequence[Entity],
    ) -> Draft | None:
        if text.count("?") > 1 or any("?" in topic.name for topic in query.topics):
            return None
        if any(mentions(text, answer.name) for answer in answers):
            return None
        meaning = self.lexicon.readings_of
        readings = tuple(
            tuple(meaning(phrase, hop) for phrase, hop in zip(part, branch.hops, strict=True))
            for part, branch in zip(parts, query.branches, strict=True)
        )
        tail_readings = tuple(meaning(p, h) for p, h in zip(tail, query.tail, strict=True))
        return Draft(text, parts, tail, readings, tail_readings)


def mentions(text: str, name: str) -> bool:
    """Does the name stand in the text as whole words, whatever the case?"""
    if not name.strip():
        return False
    pattern = rf"(?<!\w){re.escape(name.strip().casefold())}(?!\w)"
    return re.search(pattern, text.casefold()) is not None


def _relative(noun: str) -> str:
    return "who" if noun.split()[-1] in PERSONS else "that"


def _parts(inners: Sequence[Fragment], ends: Sequence[Phrase]) -> tuple[tuple[str, ...], ...]:
    return tuple((*inner.phrases, end.text) for inner, end in zip(inners, ends, strict=True))


def _reads_well(form: str, inner: Fragment) -> bool:
    """A form with words after its slot takes only what ends on a name."""
    return form.endswith("{x}?") or (
        len(inner.phrases) <= 1
        and " and " not in inner.text
        and all(phrase.endswith("{x}") for phrase in inner.phrases)
    )


def _predicates(clause: str, noun: str) -> bool:
    """May the clause follow `Which NOUN`? Not `Which genre is the genre of ...`."""
    return noun not in LITERAL and noun not in clause and f" {noun.split()[-1]} " not in clause


def _in_order(ends: Sequence[Phrase], inners: Sequence[Fragment], rng: random.Random) -> list[str]:
    """The ends around their inners, the shortest first, so that `and` joins the right parts."""
    order = sorted(range(len(ends)), key=lambda i: (len(inners[i].phrases), i))
    return [inners[i].within(ends[i].text, rng) for i in order]


def _listed(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def _word_noun(phrase: str, noun: str, question_word: str, rng: random.Random) -> str:
    frames = [
        f"{question_word} is {phrase}?",
        f"Can you name {phrase}?",
        f"Tell me, {question_word.lower()} is {phrase}?",
    ]
    if question_word != "Who" and noun and noun not in UNSPECIFIC:
        frames.append(f"Which {noun} is {phrase}?")
    return rng.choice(frames)


def _word_clause(clause: str, noun: str, question_word: str, many: bool, rng: random.Random) -> str:
    word = "Who" if question_word == "Who" else f"Which {noun}"
    frames = [f"{word} {clause}?", f"Do you know {word.lower()} {clause}?"]
    if many:
        frames.append(f"Can you name every {noun} {_relative(noun)} {clause}?")
    return rng.choice(frames)
