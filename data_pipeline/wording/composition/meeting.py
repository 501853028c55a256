"""Branches that meet in one thing: `Who directed A and wrote B?`, `Which film stars both?`."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from data_pipeline.wording.composition.openings import wh
from data_pipeline.wording.composition.parts import Fragment, Phraser, shape
from data_pipeline.wording.english import UNSPECIFIC, plural_verb, words_of_kind
from data_pipeline.wording.lexicon import Entry
from graphwalker.query.query import Query

_ONE = re.compile(r"\{x\}('s| as an? | (?!as\b|this\b)\w+s\b)")
"""A form whose slot takes one thing only: `the school {x} attends`, `has {x} as a member`."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """Both branches in one clause, and the phrases of each."""

    clause: str
    """What stands behind `who` or `which film`; `""` where `phrase` says it all."""
    phrase: str
    subject: str
    """What the clause stands behind where it is not the noun: `film starring Anna`."""
    noun: str
    question_word: str
    parts: tuple[tuple[str, ...], ...]


def meeting(phraser: Phraser, query: Query, rng: random.Random) -> Meeting:
    """Return how the branches of a query are put together."""
    entry = least_general([phraser.lexicon.entry(b.hops[-1]) for b in query.branches])
    inners = [phraser.nest(phraser.topic(b), b.hops[:-1], rng) for b in query.branches]
    alike = len({branch.hops for branch in query.branches}) == 1
    if alike and not any(inner.is_nested for inner in inners):
        return _all_alike(phraser, query, inners, entry, rng)
    ends = _ends(phraser, query, entry.noun, rng)
    order = sorted(range(len(ends)), key=lambda i: (len(inners[i].phrases), i))
    parts = tuple((*inner.phrases, end) for inner, end in zip(inners, ends, strict=True))
    texts = [inners[i].within(ends[i], rng) for i in order]
    subject = ""
    if (bare := _alone_a_noun(phraser, query, inners, ends, entry.noun)) is not None:
        form = ends[bare].removeprefix("is ")
        subject = inners[bare].within(form, rng).removeprefix("the ")
        texts = [inners[1 - bare].within(ends[1 - bare], rng)]
        return Meeting(
            texts[0], "", subject, entry.noun, entry.question_word, _with(parts, bare, form)
        )
    if len(ends) == 2 and rng.random() < 0.4 and not ends[order[1]].startswith("is the "):
        branch = query.branches[order[0]]
        nouns = [
            text
            for text in phraser.lexicon.entry(branch.hops[-1]).phrases
            if _modifies(text, entry) and not inners[order[0]].is_nested
        ]
        if nouns and ends[order[0]] not in phraser.lexicon.entry(branch.hops[-1]).vague_clauses:
            form = rng.choice(nouns)
            subject = inners[order[0]].within(form, rng).removeprefix("the ")
            parts = _with(parts, order[0], form)
            texts = texts[1:]
    return Meeting(_join(texts), "", subject, entry.noun, entry.question_word, parts)


def _alone_a_noun(
    phraser: Phraser, query: Query, inners: Sequence[Fragment], ends: Sequence[str], noun: str
) -> int | None:
    """Return the one branch of two that has no clause but `is the course that Ana takes`: the
    question asks which of those does what the other says."""
    beginnings = (f"is the {noun} that {{x}} ", f"is the {noun} ")
    entries = [phraser.lexicon.entry(branch.hops[-1]) for branch in query.branches]
    found = [
        k
        for k, (entry, end) in enumerate(zip(entries, ends, strict=True))
        if end.startswith(beginnings[entry.plain])
        and not (entry.clauses or entry.vague_clauses)
        and not inners[k].is_nested
    ]
    return found[0] if len(found) == 1 and len(ends) == 2 else None


def least_general(entries: Sequence[Entry]) -> Entry:
    """Return the entry whose noun says most of what the branches share: a person is no event, and
    an award winner that was bought is a company."""
    bodies = [entry for entry in entries if entry.noun in words_of_kind("bodies")]
    known = [entry for entry in entries if entry.noun not in UNSPECIFIC]
    people = [entry for entry in entries if entry.question_word == "Who"]
    return (bodies or known or people or entries)[0]


def _all_alike(
    phraser: Phraser, query: Query, inners: Sequence[Fragment], entry: Entry, rng: random.Random
) -> Meeting:
    """Branches over the same hop: `Which film stars both A and B?`."""
    hop = query.branches[0].hops[-1]
    names = [inner.text for inner in inners]
    both = f"both {names[0]} and {names[1]}" if len(names) == 2 else _join(names)
    named = entry.noun.split()[-1]
    own = phraser.lexicon.entry(hop)
    fit = [c for c in own.clauses if not _ONE.search(c) and named not in c.split()]
    if fit:
        form = rng.choice(fit)
        clause, phrase = form.replace("{x}", both), ""
    else:
        nouns = list(own.phrases)
        plural = [n for n in nouns if not _ONE.search(n)]
        form = rng.choice([n for n in plural if shape(n).final] or plural or nouns)
        many = _done_by_many(form)
        clause, phrase = "", many.replace("{x}", both)
        form = many if entry.plain else form  # the words as they stand in the question
    parts = ((form,),) * len(inners)
    return Meeting(clause, phrase, "", entry.noun, entry.question_word, parts)


def _done_by_many(form: str) -> str:
    """`the course that {x} are enrolled in` of `... {x} is ...`."""
    return re.sub(r"(?<=that \{x\} )\w+", lambda verb: plural_verb(verb[0]), form)


def _ends(phraser: Phraser, query: Query, noun: str, rng: random.Random) -> list[str]:
    """Return a clause for the last hop of every branch, without a word that the others have."""
    options = [
        phraser.clauses(branch.hops[-1], nested=len(branch.hops) > 1) for branch in query.branches
    ]
    named = noun.split()[-1]
    options = [[c for c in found if named not in c.split()] or found for found in options]
    ways = [list(way) for way in product(*(rng.sample(o, min(3, len(o))) for o in options))]
    repeated = [_count_repeats(way) for way in ways]
    ends = rng.choice([w for w, n in zip(ways, repeated, strict=True) if n == min(repeated)])
    chosen = rng.randrange(len(ends))
    blurred = phraser.lexicon.entry(query.branches[chosen].hops[-1]).vague_clauses
    if blurred and rng.random() < phraser.vague:
        ends[chosen] = rng.choice(blurred)
    return ends


def _count_repeats(ends: Sequence[str]) -> int:
    """Words that come again, and clauses that are no more than `is the ...`."""
    words = [shape(end).words for end in ends]
    again = sum(len(one & two) for k, one in enumerate(words) for two in words[:k])
    return again + sum(end.startswith("is the ") for end in ends)


def _modifies(phrase: str, entry: Entry) -> bool:
    """Return whether the phrase may stand for the noun: `film starring {x}` behind `which`."""
    seen = shape(phrase)
    head = f"the {entry.noun} "
    return phrase.startswith(head) and seen.final and not (seen.relatives or seen.of)


def _with(parts: tuple[tuple[str, ...], ...], place: int, form: str) -> tuple[tuple[str, ...], ...]:
    changed = (*parts[place][:-1], form)
    return (*parts[:place], changed, *parts[place + 1 :])


def _join(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def question_opening(found: Meeting, rng: random.Random) -> str:
    """Return what the clause of a meeting stands behind in a question."""
    if found.subject:
        return f"{rng.choice(('Which', 'What'))} {found.subject}"
    return wh(found.noun, found.question_word, rng)
