"""Constraints in words: forms such as `was released after 1990`, types, and whole questions."""

import random
from collections.abc import Mapping
from functools import cache
from typing import Any

from data_pipeline.wording.composition.openings import typed_text
from data_pipeline.wording.composition.parts import Phraser
from data_pipeline.wording.english import (
    PARTICIPLES,
    article,
    is_participle,
    packaged_table,
    words_of_kind,
)
from data_pipeline.wording.ids import label_of
from data_pipeline.wording.lexicon import Entry
from data_pipeline.wording.type_nouns import asks_by_type, may_be, nouns_of_type
from graphwalker.query.constraint import Constraint, ValueKind
from graphwalker.query.draft import fill_bound
from graphwalker.query.query import Query

Forms = dict[str, tuple[str, ...]]
"""By the comparison (`above`, `later`, `highest`, ...): forms with `{b}` for the bound."""

_OF_A_VERB = {
    **{"above": "{v} after {b}", "below": "{v} before {b}", "in": "{v} in {b}"},
    **{"highest": "{v} last", "lowest": "{v} first"},
    **{"later": "{v} later than {b}", "earlier": "{v} earlier than {b}"},
}
_OF_A_LABEL: dict[ValueKind, dict[str, str]] = {
    "date": {
        **{"above": "has {a} {l} after {b}", "below": "has {a} {l} before {b}"},
        **{"in": "has {a} {l} in {b}", "highest": "has the latest {l}"},
        **{"lowest": "has the earliest {l}", "later": "has a later {l} than {b}"},
        "earlier": "has an earlier {l} than {b}",
    },
    "number": {
        **{"above": "has {a} {l} above {b}", "below": "has {a} {l} below {b}"},
        **{"in": "has {a} {l} of {b}", "highest": "has the highest {l}"},
        **{"lowest": "has the lowest {l}", "later": "has a higher {l} than {b}"},
        "earlier": "has a lower {l} than {b}",
    },
}


def forms_of(constraint: Constraint) -> tuple[str, ...]:
    """Return every wording of the constraint, `{b}` for its bound; never empty."""
    if constraint.kind == "type":
        noun = next(iter(nouns_of_type(constraint.bound)), constraint.bound)
        return (f"is {article(noun)} {noun}",)
    return forms(constraint.relation, constraint.kind)[_case(constraint)]


def plain(constraint: Constraint) -> str:
    """Return the constraint in the plainest words: `came out after 1990`."""
    return fill_bound(forms_of(constraint)[0], constraint)


@cache
def forms(relation: str, kind: ValueKind) -> Forms:
    """Return the table's forms where it has the relation, else some made from its id."""
    return hand_written().get(relation) or _make_forms(relation, kind)


@cache
def hand_written() -> dict[str, Forms]:
    """Return the packaged table `constraints.toml`."""
    return {row["id"]: _row(row) for row in packaged_table("constraints.toml")["relation"]}


def _row(row: Mapping[str, Any]) -> Forms:
    found: Forms = {}
    for case, form in _OF_A_VERB.items():
        own = tuple(row.get(case, ()))
        # "was first published first" would stammer: what is written out stands for it.
        verbs = () if own and "first" in str(row.get("verb", "")) else row.get("verb", ())
        found[case] = (*(form.replace("{v}", verb) for verb in verbs), *own)
    return found


def _make_forms(relation: str, kind: ValueKind) -> Forms:
    label = label_of(relation)
    words = label.removesuffix(" on").removesuffix(" in").split()  # `released`, `played_on`
    if kind == "date" and is_participle(words[-1]):
        did = PARTICIPLES.get(words[-1]) in words_of_kind("intransitive")  # `died`
        verb = " ".join(words if did else ["was", *words])
        return {case: (form.replace("{v}", verb),) for case, form in _OF_A_VERB.items()}
    return {
        case: (form.replace("{a}", article(label)).replace("{l}", label),)
        for case, form in _OF_A_LABEL[kind].items()
    }


def _case(constraint: Constraint) -> str:
    if constraint.than is None:
        return constraint.operator
    return "later" if constraint.operator == "above" else "earlier"


ConstrainedText = tuple[str, tuple[str, ...], str]
"""A question, the phrases of its hops, and the form in which its constraint is worded."""


def word_constrained(
    phraser: Phraser, query: Query, many: bool, rng: random.Random
) -> ConstrainedText:
    """Word a query of one branch: `Which film directed by Anna came out last?`.

    A constraint never stands behind a clause that holds another phrase: it would belong to that.
    """
    assert query.constraint is not None
    (branch,) = query.branches
    hop, entry = branch.hops[-1], phraser.lexicon.entry(branch.hops[-1])
    inner = phraser.nest(phraser.topic(branch), branch.hops[:-1], rng)
    form = rng.choice(forms_of(query.constraint))
    keeps = fill_bound(form, query.constraint)
    person = entry.question_word == "Who"
    who = "who" if person else "that"
    clauses = [c for c in phraser.clauses(hop, inner.is_nested) if entry.noun not in c]
    single = query.constraint.structure == "superlative"
    if clauses and not single and rng.random() < 0.5:
        clause = rng.choice(clauses)
        base = inner.within(clause, rng)
        frames = [f"{'Who' if person else f'Which {entry.noun}'} {keeps} and {base}?"]
        if many:
            frames.append(f"Can you name every {entry.noun} {who} {keeps} and {base}?")
    else:
        clause = phraser.noun_phrase(hop, inner, rng, vague=0.0)
        base = inner.within(clause, rng).removeprefix("the ")
        frames = [f"Which {base} {keeps}?", f"Do you know which {base} {keeps}?"]
        if single:
            frames.append(f"Considering every {base}, which one {keeps}?")
        elif many and not inner.is_nested:
            frames.append(f"Can you name every {base} {who} {keeps}?")
    return rng.choice(frames), (*inner.phrases, clause), form


TYPED = 0.75
"""Share of the questions for a type that are put as people type them, where the bank has such."""


def word_by_type(phraser: Phraser, query: Query, rng: random.Random) -> ConstrainedText | None:
    """`what countries border france`, `Which country borders France?`; `None` where no phrase of
    the last hop takes the noun of the type."""
    assert query.constraint is not None
    (branch,) = query.branches
    kind, hop = query.constraint.bound, branch.hops[-1]
    form, nouns = forms_of(query.constraint)[0], nouns_of_type(kind)
    entry = phraser.lexicon.entry(hop)
    casual = _casual(entry, kind)
    if casual and len(branch.hops) == 1 and rng.random() < TYPED:
        text = rng.choice(casual)
        return typed_text(text, branch.topic.name, rng), (text,), form
    clauses = _clauses(entry, kind, nested=len(branch.hops) > 1)
    if not clauses:
        return None
    inner = phraser.nest(phraser.topic(branch), branch.hops[:-1], rng)
    clause = rng.choice(clauses)
    opening = rng.choice(("Which", "What"))
    text = f"{opening} {nouns[0]} {inner.within(clause, rng)}?"
    return text, (*inner.phrases, clause), form


def takes_type(entry: Entry, kind: str) -> bool:
    """Return whether a hop of this entry has phrases that take the noun of the type.

    >>> takes_type(Entry((), noun="place", casual=("what lakes are in {x}",)), "geography.lake")
    True
    >>> takes_type(Entry((), noun="color", casual=("what colors does {x} wear",)), "film.film")
    False
    """
    return bool(_casual(entry, kind) or _clauses(entry, kind, nested=False))


def _casual(entry: Entry, kind: str) -> list[str]:
    return [text for text in entry.casual if asks_by_type(text, kind)]


def _clauses(entry: Entry, kind: str, nested: bool) -> list[str]:
    """Clauses that may follow `Which NOUN`; those around a phrase end on it."""
    nouns = nouns_of_type(kind)
    if not nouns or not may_be(entry.noun, kind):
        return []
    texts = [text for text in entry.clauses if not any(noun in text for noun in nouns)]
    return [text for text in texts if text.endswith("{x}")] if nested else texts
