"""The quality filter: is every hop worded, does the question mean its walk, does it read well?"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from data_pipeline.wording.constraint_phrases import forms_of
from data_pipeline.wording.questions import mentions
from graphwalker.graphs.base import Entity
from graphwalker.query.draft import Draft, filled
from graphwalker.query.query import Query

KEEP_FROM = 9.0
"""Mean of the three scores from which a question is kept (GraphWalker section 2, phase 2)."""
LONGEST = 70
"""Words; GraphWalker's teacher is asked for brief questions."""
_RELATION_ID = re.compile(r"\b[a-z_]+\.[a-z_]+\.[a-z_]+|\.\.|_|\b[mg]\.[0-9a-z]")
_DOUBLED = re.compile(r"\b(\w+) \1\b", re.IGNORECASE)
_DETERMINERS = re.compile(r"\b(the|a|an) (the|a|an)\b", re.IGNORECASE)
_DANGLING = re.compile(r"\b(that|who|whose|and|the|a|an)\s*(\?|,|$)")
_AN = re.compile(r"\ba [aeio]|\ban [^aeiouh]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Scores from 0 to 10: path completeness, question-path relevance, semantic coherence."""

    scores: tuple[float, float, float]
    reasons: tuple[str, ...] = ()

    @property
    def kept(self) -> bool:
        return sum(self.scores) / 3 >= KEEP_FROM


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
    faults = list(_faults(_masked(text, query, typed), typed))
    scores = (
        max(0.0, 10.0 - 5.0 * len(missing)),
        max(0.0, 10.0 - 5.0 * len(astray)),
        max(0.0, 10.0 - 4.0 * len(faults)),
    )
    return Verdict(scores, (*missing, *astray, *faults))


def surface(
    text: str, query: Query, answers: Sequence[Entity], intermediates: Sequence[Entity]
) -> tuple[str, ...]:
    """What is wrong with a question in anybody's words: a topic that is not named, an answer or an
    entity on the way that is, a relation id, more than one question, bad form."""
    return (
        *_unnamed(text, query),
        *_leaks(text, query, answers, intermediates),
        *_faults(_masked(text, query)),
    )


def _unnamed(text: str, query: Query) -> Iterator[str]:
    for topic in query.topics:
        if not mentions(text, topic.name):
            yield f"topic entity {topic.name!r} is not named"


def _missing(text: str, query: Query, draft: Draft) -> Iterator[str]:
    """Topic entities and hops that the text does not name, and hops that the draft lacks."""
    yield from _unnamed(text, query)
    for phrase in _all_phrases(draft):
        if not _says(text, phrase) and not _says(text, phrase.removeprefix("the ")):
            yield f"not said: {phrase!r}"
    if query.constraint and (
        draft.constraint not in forms_of(query.constraint)
        or filled(draft.constraint, query.constraint) not in text
    ):
        yield f"the constraint is not said: {draft.constraint!r}"
    wanted = [len(branch.hops) for branch in query.branches]
    if wanted != [len(part) for part in draft.phrases] or len(query.tail) != len(
        draft.tail_phrases
    ):
        yield "a hop has no phrase"


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
    masked = _masked(text, query)
    for answer in answers:
        if mentions(text, answer.name):
            yield f"the answer {answer.name!r} is in the question"
    for entity in intermediates:
        if entity.name.casefold() not in topics and mentions(masked, entity.name):
            yield f"the intermediate entity {entity.name!r} is named"


def _is_typed(text: str, draft: Draft) -> bool:
    """Whether the text is a casual question of one hop, whose phrase is all of it."""
    form, *others = _all_phrases(draft) or [""]
    opening = _bare(form.partition("{x}")[0])
    return (
        not others
        and form[:1] in "{abcdefghijklmnopqrstuvwxyz"
        and form[-1:] != "?"
        and (_bare(text).startswith(opening))
    )


def _faults(text: str, typed: bool = False) -> Iterator[str]:
    """What is wrong on the surface of a question whose topic entities are masked. `typed`: as into
    a search box, where neither a capital nor a question mark is missed."""
    words = text.split()
    marks = text.count("?")
    if not (text.endswith("?") and marks == 1) and not (typed and not marks):
        yield "not one question mark at the end"
    if not 3 - typed <= len(words) <= LONGEST:
        yield f"{len(words)} words"
    if not (text[:1].isupper() or typed) or "  " in text or "{" in text:
        yield "untidy"
    if _RELATION_ID.search(text):
        yield "shows an id"
    if _DOUBLED.search(text) or _DETERMINERS.search(text):
        yield "a word is doubled"
    if _AN.search(text):
        yield "wrong form of a or an"
    if _DANGLING.search(text):
        yield "breaks off"
    if len(set(words)) < len(words) / 3:
        yield "repeats itself"


def _masked(text: str, query: Query, typed: bool = False) -> str:
    """The text with the names of its topic entities replaced by one plain word. `typed`: they may
    be in lower case."""
    names = sorted((topic.name for topic in query.topics), key=len, reverse=True)
    for name in names:
        if name.strip():
            text = text.replace(name, "Xyz")
            text = text.replace(name.lower(), "Xyz") if typed else text
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
