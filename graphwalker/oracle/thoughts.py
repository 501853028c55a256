"""Thoughts: one short line of why, for every kind of step that an oracle or an expert takes."""

import random
import re
from collections.abc import Callable, Sequence
from typing import Any

Choice = random.Random | None
"""Draws among the forms of a thought; with `None` it is the plain one, which is the shortest."""

NAMED = 3
"""Entities that a thought names of a longer list."""
_ASKING = re.compile(
    r"(?:who|what|which|whose|where|when|how|name|list)\b|\{x\}|.*\?$", re.IGNORECASE
)

_FAULTS = {
    "unknown_entity": "no entity has that name",
    "unknown_relation": "the entity has no such relation",
    "not_listed_yet": "that relation was not listed yet",
    "no_relations": "the entity has no relations",
    "no_triples": "nothing named is there",
    "no_such_page": "there is no such page",
}
"""Errors of the tools in words (`ErrorKind`)."""


def _pick(rng: Choice, plain: str, *forms: str) -> str:
    return plain if rng is None else rng.choice(forms if len(forms) > 1 else (plain, *forms))


def is_question(phrase: str) -> bool:
    """Whether a phrase is a whole question, such as `When was {x} born?` or `who wrote {x}`."""
    return _ASKING.match(phrase) is not None


def about(phrase: str, clause: str = "the one that") -> str:
    """Say what a phrase asks for, as the object of a sentence. `clause` opens a relative clause.

    >>> about("the director of {x}"), about("directed {x}")
    ('the director of it', 'the one that directed it')
    >>> about("who is {x} married to"), about("")
    ('the answer to "who is it married to"', 'what the question asks for')
    >>> about("what is the capital of {x}")
    'the capital of it'
    """
    if not phrase:
        return "what the question asks for"
    text = phrase.replace("{x}", "it")
    if is_question(phrase):
        text = text[0].lower() + text[1:].removesuffix("?")
        if plain := re.match(r"(?:what|who|which)(?:'s| is| are| was| were) (?=the )", text):
            return text[plain.end() :]
        return f'the answer to "{text}"'
    if text.startswith("is where "):
        return text.removeprefix("is ")
    return text if text.startswith("the ") else f"{clause} {text}"


def _brief(phrase: str) -> str:
    """The same in the words of plain thoughts."""
    if phrase.endswith("?"):
        return phrase[0].lower() + phrase[1:-1].replace("{x}", "it")
    return about(phrase, "what")


def _forms(plain: str, *others: str) -> Any:
    """Make the function that words a thought. `{0}` and `{1}` are its arguments; the last one draws
    among the forms. `{about}` and `{brief}` say what the phrase before that one asks for."""
    forms = others if len(others) > 1 else (plain, *others)

    def tell(*given: Any) -> str:
        *values, rng = given
        text = plain if rng is None else rng.choice(forms)
        words = {"about": about, "brief": _brief}
        named = {name: say(values[-1]) for name, say in words.items() if f"{{{name}}}" in text}
        return text.format(*values, **named)

    return tell


_Plain = Callable[[Choice], str]
_OfText = Callable[[str, Choice], str]
_OfStep = Callable[[str, str, Choice], str]
next_relations: _Plain = _forms(
    "None of these fits; the next page.", "It is not listed yet: I read on."
)
"""No relation of the list fits, and there are more of them."""
next_triples: _Plain = _forms("There are more; the next page.", "The list is longer: I read on.")
"""The list was cut; what follows belongs to the result, too."""
move: _OfStep = _forms(
    "Go on from it.", "Next, from {0}: {about}.", "From {0} I go on to find {about}."
)
"""A step gave an entity; continue from it with the next phrase."""
move_many: Callable[[int, str, str, Choice], str] = _forms(
    "Of {0}, now {1}.", "One of {0}: I check {1} for {about}."
)
"""A step gave several entities; take them one by one, this one now."""
weigh: Callable[[int, str, Choice], str] = _forms(
    "Which of {0} {1}?", "{0} candidates; I check which one {1}."
)
"""The candidates are known; their values decide which of them the question means."""
weigh_than: _OfText = _forms("First, {0}.", "I need the value of {0} to compare with.")
"""The value of the entity that the candidates are compared with."""
weigh_next: _OfText = _forms("Now {0}.", "Next I look up the value of {0}.")
"""The value of a candidate."""
dead_end: _OfStep = _forms(
    "Dead end: {0} has no relation for {brief}.", "{0} lists nothing for {about}; wrong turn."
)
"""The entity has no relation for the next phrase: the step before it was read wrongly."""
wrong_result: _OfText = _forms(
    "This is not {brief}; wrong relation.", "Not {about}. I chose a wrong relation."
)
"""The result is not what the phrase asked for (wrong relation or wrong kind of entity)."""
astray: _Plain = _forms("This does not lead there.", "That is not what the question asks for.")
"""What the last call showed is not on the way to the answer."""
back: _OfStep = _forms(
    "Back to {0}: another relation may give {brief}.",
    "I return to {0} and try another relation for {about}.",
)
"""Go back to an earlier entity and read its phrase by another relation."""


def start(topic: str, phrase: str, rng: Choice) -> str:
    """First step: look at the topic entity, which is left unnamed where it is `""`."""
    if not topic:
        return _pick(rng, "Start.", f"I look for {about(phrase)}.")
    return _pick(
        rng,
        f"Start at {topic}.",
        f"I start at {topic} to find {about(phrase)}.",
        f"The question starts at {topic}: I look for {about(phrase)}.",
    )


def choose(phrase: str, relations: Sequence[str], rng: Choice) -> str:
    """A relation list was seen; these relations fit the phrase."""
    fits = "these fit" if len(relations) > 1 else "this fits"
    return _pick(rng, f"For {_brief(phrase)}, {fits}.", f"I look for {about(phrase)}; {fits}.")


def found_names(names: Sequence[str], rng: Choice) -> str:
    """What a step gave, before anything is made of it."""
    few = _few(names)
    return _pick(rng, f"Found {', '.join(names)}.", f"This gives {few}.", f"Found {few}.")


def found_by(relation: str, names: Sequence[str], rng: Choice) -> str:
    """What a look at everything gave by one relation, which no call has named."""
    few = _few(names)
    return _pick(rng, f"{relation}: {', '.join(names)}.", f"By {relation}: {few}.")


def _few(names: Sequence[str]) -> str:
    """List names, at most `NAMED` of them."""
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")


def branch(topic: str, phrase: str, rng: Choice, number: int = 2) -> str:
    """Branches of a conjunction are done; begin the next one at its own topic entity, which is
    left unnamed where it is `""`."""
    part = "Second part" if number == 2 else "Third part"
    if not topic:
        return _pick(
            rng, f"{part}: {_brief(phrase)}.", f"Now the other condition: {about(phrase)}."
        )
    return _pick(
        rng,
        f"{part}, from {topic}: {_brief(phrase)}.",
        f"Now the other condition, from {topic}: {about(phrase)}.",
    )


def intersect(names: Sequence[str], phrase: str, rng: Choice) -> str:
    """Both branches are known; continue from the entities they share."""
    shared = ", ".join(names[:2]) + (" and others" if len(names) > 2 else "")
    return _pick(
        rng,
        f"Both conditions hold for {shared}. Next: {_brief(phrase)}.",
        f"Both conditions hold for {shared}. Next: {about(phrase)}.",
        f"In both: {shared}. From there I look for {about(phrase)}.",
    )


def keep_of_type(names: Sequence[str], phrase: str, rng: Choice) -> str:
    """What is of the type that the question names, before the answer."""
    if len(names) == 1:
        return _pick(rng, f"{names[0]} {phrase}.", f"Of these, {names[0]} {phrase}.")
    return _pick(rng, f"{len(names)} of these fit.", f"Of these, {len(names)} fit.")


def keep_by_value(names: Sequence[str], phrase: str, rng: Choice) -> str:
    """Every value is known: what the constraint keeps, before the answer."""
    if len(names) == 1:
        return _pick(rng, f"{names[0]} {phrase}.", f"Only {names[0]} {phrase}.")
    return _pick(rng, f"{len(names)} of these fit.", f"By these values, {len(names)} fit.")


def answer(names: Sequence[str], rng: Choice) -> str:
    """The last step showed the answers. Says how many, the answer itself names them."""
    if len(names) == 1:
        return _pick(rng, "That is the answer.", "This answers the question.")
    if len(names) == 2:
        return _pick(rng, "These 2 are the answer.", "Both are answers.")
    return _pick(rng, f"These {len(names)} are the answer.", f"All {len(names)} are answers.")


def answer_both(names: Sequence[str], rng: Choice, branches: int = 2) -> str:
    """A conjunction's answer: what stands in both results, or in all three."""
    if branches > 2:
        return _pick(rng, f"In all: {', '.join(names)}.", "This meets every condition.")
    if len(names) == 1:
        return _pick(rng, f"In both: {names[0]}.", "One entity meets both conditions.")
    return _pick(rng, f"In both: {', '.join(names)}.", f"{len(names)} meet both conditions.")


def mend(error: str, rng: Choice) -> str:
    """The tool refused the call; say what was wrong before calling it rightly."""
    why = _FAULTS.get(error, error)
    return _pick(
        rng,
        f"The call failed: {error}. I correct it.",
        f"My call was wrong: {why}.",
        f"The call failed, {why}. I correct it.",
    )


def fault(error: str, rng: Choice) -> str:
    """The tool refused the call, and no other call of that kind would do."""
    why = _FAULTS.get(error, error)
    return _pick(rng, f"The call failed: {error}.", f"The call failed: {why}.", f"Refused: {why}.")
