"""The programmatic teacher: a query becomes one question, its intermediate entities masked."""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from data_pipeline.wording.banks.genders import GenderOf, suits
from data_pipeline.wording.banks.roles import TitlesOf, has_roles
from data_pipeline.wording.composition.constraints import word_by_type, word_constrained
from data_pipeline.wording.composition.meeting import Meeting, meeting, question_opening
from data_pipeline.wording.composition.openings import (
    LITERAL,
    in_passing,
    of_a_clause,
    of_a_phrase,
    of_a_question,
    typed_text,
)
from data_pipeline.wording.composition.parts import Fragment, Phraser, shape, smoothest
from data_pipeline.wording.english import UNSPECIFIC, mentions, that_or_who, words_of_kind
from data_pipeline.wording.lexicon import Entry
from data_pipeline.wording.type_nouns import Types, fits, noun_of
from graphwalker.graphs.base import Entity
from graphwalker.query.draft import Draft
from graphwalker.query.query import Hop, Query

MARGIN = 0.5
STRAIN, TRIES = 2.9, 4
"""How badly the phrases of plain ids may read within one another (`Fragment.strain`), and how often
other phrases are tried before a question is given up: its walk says what nobody would ask. Each hop
from the fourth may add 1."""
STIFF = ("the one ", *(f"the {noun} " for noun in UNSPECIFIC))
"""How a noun phrase begins that says no more than `who` or `what`."""

STYLES = {"casual": 6.0, "plain": 3.0, "formal": 1.0}
"""How often a question of one hop is typed as into a search box (`wheres peru located`), is a plain
question (`Where is Peru?`), asks for a noun phrase (`Can you name the location of Peru?`)."""

Parts = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class ProgrammaticTeacher(Phraser):
    """Words questions by nesting hand-written or generated phrases; needs no key and no network."""

    styles: Mapping[str, float] = field(default_factory=STYLES.copy)
    """Weights of the styles, for questions of one hop that the bank words in all of them."""
    informal: float = 0.0
    """Share of questions put as a command, or in passing without a question mark."""
    types: Types | None = None
    """The graph's types of an entity, for the noun of what is asked."""
    gender: GenderOf | None = None
    """The gender of an entity, for words such as `wife`."""
    titles: TitlesOf | None = None
    """The titles of an entity, for words such as `president` and `drummer`."""

    def ask(self, query: Query, answers: Sequence[Entity], rng: random.Random) -> Draft | None:
        """Get one question, or `None` where none can be worded (no phrase, or the answer leaks)."""
        if not query.branches or not all(branch.hops for branch in query.branches):
            return None
        longest = max(len(branch.hops) for branch in query.branches) + len(query.tail)
        for _ in range(TRIES):
            draft, strain = self._ask_once(query, answers, rng)
            if strain <= STRAIN + max(0, longest - 3):
                return draft
        return None

    def _ask_once(
        self, query: Query, answers: Sequence[Entity], rng: random.Random
    ) -> tuple[Draft | None, float]:
        many, form, strain = len(answers) > 1, "", 0.0
        if query.constraint:
            if query.constraint.kind == "type":
                worded = word_by_type(self, query, rng)
            else:
                worded = word_constrained(self, query, many, rng)
            if worded is None:
                return None, strain
            (text, phrases, form), tail = worded, ()
            parts = (phrases,)
        elif len(query.branches) == 1:
            hops = (*query.branches[0].hops, *query.tail)
            inner = self.nest(self.topic(query.branches[0]), hops[:-1], rng)
            start = query.branches[0].topic.id if len(hops) == 1 else ""
            last = self._word_last(inner, hops[-1], answers, rng, start)
            count, strain = len(query.branches[0].hops), last.strain
            text, parts, tail = last.text, (last.phrases[:count],), last.phrases[count:]
        elif query.tail:
            shared, parts = self._shared(query, rng)
            inner = self.nest(shared, query.tail[:-1], rng)
            last = self._word_last(inner, query.tail[-1], answers, rng)
            text, tail = last.text, last.phrases
        else:
            text, parts = self._word_both(query, answers, rng)
            tail = ()
        draft = self._draft(query, text, parts, tail, answers)
        return replace(draft, constraint=form) if draft and form else draft, strain

    def _word_last(
        self,
        inner: Fragment,
        hop: Hop,
        answers: Sequence[Entity],
        rng: random.Random,
        start: str = "",
    ) -> Fragment:
        """Return a question about what the last hop leads to, in the form that reads best. `start`:
        the id of the entity that it starts from, where that is the topic."""
        entry, style = self.lexicon.entry(hop), ""
        if entry.casual and not inner.is_nested:
            style = rng.choices([*self.styles], [*self.styles.values()])[0]
        if style == "casual":
            form = rng.choice(self._fitting(entry, entry.casual, start, answers) or entry.casual)
            return Fragment(typed_text(form, inner.text, rng), (form,))
        clauses = [text for text in entry.clauses if _predicates(text, entry.noun)]
        if inner.is_nested and entry.noun in UNSPECIFIC and entry.question_word != "Who":
            clauses = []  # not `What contains the place where the director of ... died?`
        nouns = list(entry.phrases)
        if clauses and not (inner.is_nested and inner.plain):
            # Not `What is the film starring ...?` but `Which film stars ...?`.
            nouns = [text for text in nouns if not text.startswith(f"the {entry.noun} ")] or nouns
        questions = self._fitting(entry, entry.questions, start, answers)
        if not (inner.is_nested and inner.plain):
            questions = [text for text in questions if not shape(text).initial]
        forms = smoothest((*questions, *clauses, *nouns), inner, MARGIN)
        fluent = [form for form in forms if not form.startswith(STIFF)] or forms
        kinds = [
            [form for form in questions if form in fluent],
            [form for form in clauses if form in fluent],
            [form for form in nouns if form in fluent],
        ]
        weights = [
            0.6 * bool(kinds[0] and style != "formal"),
            # A plain question is one that people would ask: less often of clause or noun phrase.
            (0.08 if style == "plain" else 0.25) * bool(kinds[1]),
            (0.02 if style == "plain" else 0.15) * bool(kinds[2]),
        ]
        (kind,) = rng.choices((0, 1, 2), weights if any(weights) else (1, 0, 0))
        form = rng.choice(kinds[kind])
        filled, phrases = inner.within(form, rng), (*inner.phrases, form)
        strain = inner.strain + (inner.roughness(form) if inner.plain else 0.0)
        if kind == 0:
            filled = filled[0].upper() + filled[1:] if shape(form).initial else filled
            return Fragment(of_a_question(filled, rng, self.informal), phrases, strain=strain)
        word = entry.question_word
        if kind == 1:
            noun = noun_of(entry.noun, answers, self.types)
            text = of_a_clause(filled, noun, word, len(answers) > 1, rng, self.informal)
        else:
            noun = entry.noun if _predicates(form, entry.noun) else ""
            text = of_a_phrase(filled, noun, word, rng, self.informal)
        return Fragment(text, phrases, strain=strain)

    def _fitting(
        self, entry: Entry, forms: Sequence[str], start: str, answers: Sequence[Entity]
    ) -> list[str]:
        """Whole questions whose words fit the answers, as far as the graph knows what they are."""
        types, gender, titles = self.types, self.gender, self.titles
        found = [answer.id for answer in answers]
        return [
            form
            for form in forms
            if (types is None or fits(form, answers, types))
            and (gender is None or suits(form, start, found, gender))
            and (titles is None or has_roles(form, entry.source, entry.noun, start, found, titles))
        ]

    def _word_both(
        self, query: Query, answers: Sequence[Entity], rng: random.Random
    ) -> tuple[str, Parts]:
        found = meeting(self, query, rng)
        if found.phrase:
            text = of_a_phrase(found.phrase, "", found.question_word, rng, self.informal)
        elif found.subject:
            text = f"{question_opening(found, rng)} {found.clause}?"
            if rng.random() < self.informal:
                text = in_passing(text)
        else:
            noun, many = noun_of(found.noun, answers, self.types), len(answers) > 1
            word = found.question_word
            text = of_a_clause(found.clause, noun, word, many, rng, self.informal)
        return text, found.parts

    def _shared(self, query: Query, rng: random.Random) -> tuple[Fragment, Parts]:
        """`the person who directed A and wrote B`, and the phrases of both branches."""
        found: Meeting = meeting(self, query, rng)
        text = found.phrase or f"the {found.noun} {that_or_who(found.noun)} {found.clause}"
        if found.subject:
            text = f"the {found.subject} {that_or_who(found.noun)} {found.clause}"
        return Fragment(text, relatives=1), found.parts

    def _draft(
        self,
        query: Query,
        text: str,
        parts: Parts,
        tail: tuple[str, ...],
        answers: Sequence[Entity],
    ) -> Draft | None:
        if "?" in text[:-1] or any("?" in topic.name for topic in query.topics):
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


@cache
def _of_synonyms() -> re.Pattern[str]:
    return re.compile(rf"((is|was|are) )?the ({'|'.join(sorted(words_of_kind('synonyms')))})\b")


def _predicates(clause: str, noun: str) -> bool:
    """May the clause follow `Which NOUN`? Not `Which genre is the genre of ...`, nor `Which
    profession is the job of ...`."""
    if noun in UNSPECIFIC:
        return True
    if _of_synonyms().match(clause):
        return False
    return noun not in LITERAL and noun not in clause and f" {noun.split()[-1]} " not in clause
