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
"""A phrase that is a whole question, such as `When was {x} born?` or `who wrote {x}`."""

_NUMBERS = {1: "one step", 2: "two steps", 3: "three steps", 4: "four steps", 5: "five steps"}
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
    return _one_stop(
        plain if rng is None else rng.choice(forms if len(forms) > 1 else (plain, *forms))
    )


def _one_stop(text: str) -> str:
    """Write one full stop where a name that ends with one ends a sentence.

    >>> _one_stop("Found Washington, D.C.. It fits people..birth.")
    'Found Washington, D.C. It fits people..birth.'
    """
    return re.sub(r"(?<=\w)\.\.(?=\s|$)", ".", text)


def about(phrase: str, pronoun: str = "it") -> str:
    """Say what a phrase asks for, as the object of a sentence. `pronoun`: where the hop starts.

    >>> about("the director of {x}"), about("directed {x}")
    ('the director of it', 'the one that directed it')
    >>> about("who is {x} married to", "this person"), about("")
    ('the answer to "who is this person married to"', 'what the question asks for')
    >>> about("what is the capital of {x}"), about("the film whose genre is {x}")
    ('the capital of it', 'the film whose genre is this')
    >>> about("What are {x}'s colors?"), about("where's {x}")
    ('the answer to "what are its colors"', 'the answer to "where is it"')
    """
    if not phrase:
        return "what the question asks for"
    owner = "its" if pronoun == "it" else f"{pronoun}'s"
    text = phrase.replace("{x}'s", owner).replace("{x}", pronoun)
    if _ASKING.match(phrase):
        text = text[0].lower() + text[1:].removesuffix("?")
        if plain := re.match(r"(?:what|who|which)(?:'s| is| are| was| were) (?=the )", text):
            return text[plain.end() :]
        text = re.sub(r"^(wh\w+|how)'s ", r"\1 is ", text)
        return f'the answer to "{text}"'
    if text.startswith("is where "):
        return text.removeprefix("is ")
    text = re.sub(r"(?<= is )it$", "this", text)
    return text if text.startswith("the ") else f"the one that {text}"


def _forms(plain: str, *others: str) -> Any:
    """Make the function that words a thought. `{0}` and `{1}` are its arguments; the last one draws
    among the forms. What is looked for is an object of a sentence (`about`)."""
    forms = others if len(others) > 1 else (plain, *others)

    def tell(*given: Any) -> str:
        *values, rng = given
        return _one_stop((plain if rng is None else rng.choice(forms)).format(*values))

    return tell


_Plain = Callable[[Choice], str]
_OfText = Callable[[str, Choice], str]
_OfStep = Callable[[str, str, Choice], str]
next_relations: _OfText = _forms(
    "None of these gives {0}; the next page.", "I read on: no relation here gives {0}."
)
"""No relation of the list fits, and there are more of them."""
next_triples: _Plain = _forms("There are more; the next page.", "The list is longer: I read on.")
"""The list was cut; what follows belongs to the result, too."""
move: _OfStep = _forms("I go on from {0}.", "Next, from {0}: {1}.", "From {0} I go on to find {1}.")
"""A step gave an entity; continue from it with the next phrase."""
move_many: Callable[[int, str, str, Choice], str] = _forms(
    "Of {0}, now {1}.", "One of {0}: I check {1} for {2}."
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
    "Dead end: {0} has no relation for {1}.", "{0} lists nothing for {1}; wrong turn."
)
"""The entity has no relation for the next phrase: the step before it was read wrongly."""
wrong_result: _OfText = _forms(
    "This is not {0}; wrong relation.", "Not {0}. I chose a wrong relation."
)
"""The result is not what the phrase asked for (wrong relation or wrong kind of entity)."""
astray: _Plain = _forms("This does not lead there.", "That is not what the question asks for.")
"""What the last call showed is not on the way to the answer."""
back: _OfStep = _forms(
    "Back to {0}: another relation may give {1}.",
    "I return to {0} and try another relation for {1}.",
)
"""Go back to an earlier entity and read its phrase by another relation."""
choose: _OfStep = _forms("{0} gives {1}.", "I look for {1}: {0} gives that.")
"""A relation list was seen; this relation is taken, and nothing is known of the others."""
guess: _OfStep = _forms("I try {0}.", "Perhaps {0} gives {1}.", "I try {0} to find {1}.")
"""A relation that may be the right one, but is not."""

absent: _OfStep = _forms(
    "No relation of {0} gives {1}.",
    "No relation of {0} gives {1}: the graph does not hold the answer.",
    "I find no relation of {0} for {1}, so this graph has no answer.",
)
"""The relations of an entity were listed, and none gives what the question asks for."""


def start(topic: str, sought: str, rng: Choice, number: int = 0) -> str:
    """First step: look at the topic entity, which is left unnamed where it is `""`."""
    if not topic:
        return _pick(rng, "I start.", f"I look for {sought}.")
    return _pick(
        rng,
        f"I start at {topic}.",
        f"I start at {topic} to find {sought}.",
        f"The question starts at {topic}: I look for {sought}.",
    )


def takes(steps: int) -> str:
    """Say, before the first step, how many a question takes.

    A small model does not read from a question, once something is found, whether that is the
    answer: it stops after any step as often as demonstrations do. What it wrote it can count.
    """
    return f" It takes {_NUMBERS.get(steps, f'{steps} steps')}."


def found_names(names: Sequence[str], rng: Choice, step: str = "") -> str:
    """Return what a step gave, before anything is made of it. `step`: ` (step 1 of 2)`."""
    few = _few(names)
    every = ", ".join(names)
    return _pick(rng, f"Found {every}{step}.", f"This gives {few}{step}.", f"Found {few}{step}.")


def found_by(relation: str, names: Sequence[str], rng: Choice, step: str = "") -> str:
    """Return what a look at everything gave by one relation, which no call has named."""
    few = _few(names)
    return _pick(rng, f"{relation}: {', '.join(names)}{step}.", f"By {relation}: {few}{step}.")


def _few(names: Sequence[str]) -> str:
    """List names, at most `NAMED` of them."""
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")


def branch(topic: str, sought: str, rng: Choice, number: int = 1) -> str:
    """Branches of a conjunction are done; begin the next one at its own topic entity, which is
    left unnamed where it is `""`."""
    part = "Second part" if number == 1 else "Third part"
    if not topic:
        return _pick(rng, f"{part}: {sought}.", f"Now the other condition: {sought}.")
    return _pick(rng, f"{part}, from {topic}.", f"Now the other condition, from {topic}: {sought}.")


def intersect(names: Sequence[str], sought: str, rng: Choice) -> str:
    """Say that both branches are known, and continue from the entities they share."""
    shared = ", ".join(names[:2]) + (" and others" if len(names) > 2 else "")
    return _pick(
        rng,
        f"Both conditions hold for {shared}.",
        f"Both conditions hold for {shared}. Next: {sought}.",
        f"In both: {shared}. From there I look for {sought}.",
    )


def keep(names: Sequence[str], phrase: str, rng: Choice, by_type: bool = False) -> str:
    """Return what a constraint keeps, before the answer: of the type that the question names, or by
    the values, which are known."""
    if len(names) == 1:
        return _pick(
            rng,
            f"{names[0]} {phrase}.",
            f"{'Of these,' if by_type else 'Only'} {names[0]} {phrase}.",
        )
    return _pick(
        rng,
        f"{len(names)} of these fit.",
        f"{'Of these' if by_type else 'By these values'}, {len(names)} fit.",
    )


def answer(names: Sequence[str], rng: Choice) -> str:
    """Say how many answers the last step showed; the answer itself names them.

    A model that counted lists what it counted, and is better for it: demonstrations without
    the counts took SmolLM2 from 0.715 to 0.669 of 130 WebQSP questions, -0.046 [-0.097, -0.016],
    and the demo's tiny model from 0.452 to 0.387 of 305 after stage 1 (seed 0 each).
    """
    if len(names) == 1:
        return _pick(rng, "That is the answer.", "This answers the question.")
    if len(names) == 2:
        return _pick(rng, "These 2 are the answer.", "Both are answers.")
    return _pick(rng, f"These {len(names)} are the answer.", f"All {len(names)} are answers.")


def answer_both(names: Sequence[str], rng: Choice, branches: int = 2) -> str:
    """Return a conjunction's answer: what stands in both results, or in all three."""
    if branches > 2:
        return _pick(rng, f"In all: {', '.join(names)}.", "This meets every condition.")
    if len(names) == 1:
        return _pick(rng, f"In both: {names[0]}.", "One entity meets both conditions.")
    return _pick(rng, f"In both: {', '.join(names)}.", f"{len(names)} meet both conditions.")


def mend(error: str, rng: Choice) -> str:
    """Say what was wrong in a refused call before calling rightly."""
    why = _FAULTS.get(error, error)
    return _pick(
        rng,
        f"The call failed: {error}. I correct it.",
        f"My call was wrong: {why}.",
        f"The call failed, {why}. I correct it.",
    )
