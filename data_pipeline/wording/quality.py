"""The quality filter: is every hop worded, does the question mean its walk, does it read well?"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from data_pipeline.wording.composition.constraints import forms_of
from data_pipeline.wording.english import mentions
from data_pipeline.wording.type_nouns import nouns_of_type
from graphwalker.graphs.base import Entity
from graphwalker.query.constraint import Constraint
from graphwalker.query.draft import Draft, fill_bound
from graphwalker.query.query import Query

KEEP_FROM = 9.0
"""Mean of the three scores from which a question is kept (GraphWalker section 2, phase 2)."""
MASK = "Xyz"
"""What stands for the name of a topic entity, which may be anything."""
LONGEST = 70
"""Words; GraphWalker's teacher is asked for brief questions."""
_RELATION_ID = re.compile(r"\b[a-z_]+\.[a-z_]+\.[a-z_]+|\.\.|_|\b[mg]\.[0-9a-z]")
_DOUBLED = re.compile(r"\b(\w+) (\1)\b", re.IGNORECASE)
_DETERMINERS = re.compile(r"\b(?:[Tt]he|[Aa]n?) (?:the|an?)\b")
_DANGLING = re.compile(r"(?<!by )(?<!to )(?<!of )\b(that|who|whose|and|the|a|an)\s*(\?|,|$)")
_ARTICLE = re.compile(r"(?:^|(?<= ))([Aa]n?) [\"'(\u201c\u2018]*(\w[\w.&-]*)")
_COMMAND = re.compile(r"(Name|Find|Give me|Tell me) .*[^?]$")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Scores from 0 to 10: path completeness, question-path relevance, semantic coherence."""

    scores: tuple[float, float, float]
    reasons: tuple[str, ...] = ()
    keep_from: float = KEEP_FROM

    @property
    def kept(self) -> bool:
        return sum(self.scores) / 3 >= self.keep_from


def judge(
    text: str,
    query: Query,
    draft: Draft,
    answers: Sequence[Entity] = (),
    intermediates: Sequence[Entity] = (),
) -> Verdict:
    """Score a question against its query. Each fault costs enough to be seen in the mean."""
    missing = list(_missing(text, query, draft))
    astray = [*_astray(query, draft), *_leaks(text, query, answers, intermediates)]
    typed = _is_typed(text, draft)
    faults = list(_faults(_mask(text, query, typed), typed))
    scores = (
        max(0.0, 10.0 - 5.0 * len(missing)),
        max(0.0, 10.0 - 5.0 * len(astray)),
        max(0.0, 10.0 - 4.0 * len(faults)),
    )
    return Verdict(scores, (*missing, *astray, *faults))


def surface(
    text: str, query: Query, answers: Sequence[Entity], intermediates: Sequence[Entity]
) -> tuple[str, ...]:
    """Return what is wrong with a question in anybody's words: a topic that is not named, an answer
    or an entity on the way that is, a relation id, more than one question, bad form."""
    return (
        *_unnamed_topics(text, query),
        *_leaks(text, query, answers, intermediates),
        *_faults(_mask(text, query)),
    )


def _unnamed_topics(text: str, query: Query) -> Iterator[str]:
    for topic in query.topics:
        if not mentions(text, topic.name):
            yield f"topic entity {topic.name!r} is not named"


def _missing(text: str, query: Query, draft: Draft) -> Iterator[str]:
    """Topic entities and hops that the text does not name, and hops that the draft lacks."""
    yield from _unnamed_topics(text, query)
    for phrase in _all_phrases(draft):
        if not _says(text, phrase) and not _says(text, phrase.removeprefix("the ")):
            yield f"not said: {phrase!r}"
    if query.constraint and (
        draft.constraint not in forms_of(query.constraint)
        or not _keeps(text, query.constraint, draft)
    ):
        yield f"the constraint is not said: {draft.constraint!r}"
    wanted = [len(branch.hops) for branch in query.branches]
    if wanted != [len(part) for part in draft.phrases] or len(query.tail) != len(
        draft.tail_phrases
    ):
        yield "a hop has no phrase"


def _keeps(text: str, constraint: Constraint, draft: Draft) -> bool:
    """Return whether a text says what its constraint keeps: a type by any of its nouns."""
    if constraint.kind != "type":
        return fill_bound(draft.constraint, constraint) in text
    words = f" {text.casefold()} "
    return any(f" {noun} " in words for noun in nouns_of_type(constraint.bound))


def _astray(query: Query, draft: Draft) -> Iterator[str]:
    """Hops that their phrase cannot mean."""
    worded = [
        *(
            zip(b.hops, r, strict=False)
            for b, r in zip(query.branches, draft.readings, strict=False)
        ),
        zip(query.tail, draft.tail_readings, strict=False),
    ]
    for pairs in worded:
        for hop, readings in pairs:
            if hop not in readings:
                yield f"the phrase for {hop} does not mean it"


def _leaks(
    text: str, query: Query, answers: Sequence[Entity], intermediates: Sequence[Entity]
) -> Iterator[str]:
    topics = {topic.name.casefold() for topic in query.topics}
    masked = _mask(text, query)
    for answer in answers:
        if mentions(text, answer.name):
            yield f"the answer {answer.name!r} is in the question"
    for entity in intermediates:
        if entity.name.casefold() not in topics and mentions(masked, entity.name):
            yield f"the intermediate entity {entity.name!r} is named"


def _is_typed(text: str, draft: Draft) -> bool:
    """Return whether the text is a casual question of one hop, whose phrase is all of it."""
    form, *others = _all_phrases(draft) or [""]
    opening = _bare(form.partition("{x}")[0])
    return (
        not others
        and form[:1] in "{abcdefghijklmnopqrstuvwxyz"
        and form[-1:] != "?"
        and (_bare(text).startswith(opening))
    )


def _faults(text: str, typed: bool = False) -> Iterator[str]:
    """Yield what is wrong on the surface of a question whose topic entities are masked. `typed`: as
    into a search box, where neither a capital nor a question mark is missed."""
    words = text.split()
    in_passing = text[:1].islower() and not text.endswith("?")
    if "?" in text[:-1] or not (text.endswith("?") or typed or in_passing or _COMMAND.match(text)):
        yield "not one question mark at the end"
    if not 3 - typed <= len(words) <= LONGEST:
        yield f"{len(words)} words"
    if not (text[:1].isupper() or typed or in_passing) or "  " in text or "{" in text:
        yield "untidy"
    if _RELATION_ID.search(text):
        yield "shows an id"
    if any(map(_is_fault, _DOUBLED.finditer(text))) or _DETERMINERS.search(text):
        yield "a word is doubled"
    if any(wrong_article(found[1], found[2]) for found in _ARTICLE.finditer(text)):
        yield "wrong form of a or an"
    if _DANGLING.search(text):
        yield "breaks off"
    if len(set(words)) < len(words) / 3:
        yield "repeats itself"


def _is_fault(doubled: re.Match[str]) -> bool:
    """Not of `who had had`, `that that`, nor of names: `Duran Duran`."""
    both = (doubled[1], doubled[2])
    return doubled[1].lower() not in ("had", "that") and not all(w[0].isupper() for w in both)


def wrong_article(article: str, word: str) -> bool:
    """Return whether `a` or `an` cannot stand before the word, by how it sounds.

    >>> [word for word in ("European", "one-day", "actor", "film", "unit") if
    ...  wrong_article("a", word)]
    ['actor']
    >>> [word for word in ("NBA", "MTV", "hour", "8-bit", "X-ray", "film", "BBC") if
    ...  wrong_article("an", word)]
    ['film', 'BBC']
    """
    letters = re.split(r"[-.]", word)[0]
    spelled = letters.isupper() and word[0] in "FLMNRSX"  # an NBA team, a NASA mission
    if word.startswith(MASK) or word[0] in "hHuU" or spelled:  # an hour, a house; a unit, an uncle
        return False
    if word[0].isdigit():
        vowel = letters.startswith(("8", "11", "18"))
    elif letters.isupper():
        vowel = word[0] in "AEIO"
    else:
        vowel = word[0].lower() in "aeio" and not re.match(r"(?i)eu|ewe|one\b|once|ouija", word)
    return vowel is (article.lower() == "a")


def _mask(text: str, query: Query, typed: bool = False) -> str:
    """Return the text with the names of its topic entities replaced by one plain word. `typed`:
    they may be in lower case."""
    names = sorted((topic.name for topic in query.topics), key=len, reverse=True)
    for name in names:
        if name.strip():
            text = text.replace(name, MASK)
            text = text.replace(name.lower(), MASK) if typed else text
    return text


def _all_phrases(draft: Draft) -> list[str]:
    return [*(phrase for part in draft.phrases for phrase in part), *draft.tail_phrases]


def _bare(text: str) -> str:
    return text.lower().replace("'", "")


def _says(text: str, phrase: str) -> bool:
    """Do the words around the phrase's slot stand in the text, in their order?"""
    text, phrase = _bare(text), _bare(phrase)
    position = 0
    for piece in phrase.split("{x}"):
        found = text.find(piece.strip(" ?"), position)
        if found < 0:
            return False
        position = found + len(piece.strip(" ?"))
    return True
