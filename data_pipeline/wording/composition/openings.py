"""Openings: how a question begins, as a question, a request, a command, or in passing."""

import random
import re

from data_pipeline.wording.english import PERSONS, UNSPECIFIC, that_or_who

LITERAL = ("date", "year", "number")
COMMANDS = ("Name", "Find", "Give me", "Tell me", "I want to know", "I'm looking for")
"""How a text without a question mark may begin."""


def lower_first(text: str) -> str:
    """Return its first word in small letters, as inside of a sentence."""
    return text[0].lower() + text[1:]


def in_passing(text: str) -> str:
    """Write a question as people type into a search box: `who directed Jaws`."""
    return lower_first(text.rstrip("?"))


def _end_with_stop(text: str) -> str:
    """Add a full stop, which `Boreal, Inc.` has already."""
    return text.removesuffix(".") + "."


def wh(noun: str, question_word: str, rng: random.Random) -> str:
    """Return what a clause stands behind: `Who`, `What`, `Which film`, `What film`."""
    if question_word == "Who":
        return "Who"
    if noun in UNSPECIFIC or noun in LITERAL or not noun:
        return "What"
    return f"{rng.choice(('Which', 'What'))} {noun}"


def of_a_clause(
    clause: str, noun: str, question_word: str, many: bool, rng: random.Random, informal: float
) -> str:
    """Ask `Which film stars Anna?` of `stars Anna`."""
    plain = f"{wh(noun, question_word, rng)} {clause}?"
    named = "person" if question_word == "Who" and noun not in PERSONS else noun
    who = that_or_who(named)
    if rng.random() < informal:
        if rng.random() < 0.5:
            return in_passing(plain)
        amount = "every" if many else "the"
        return _end_with_stop(f"{rng.choice(COMMANDS[:3])} {amount} {named} {who} {clause}")
    draw = rng.random()
    if draw < 0.04 and many:
        return f"Can you name every {named} {who} {clause}?"
    # Not `Do you know what is the hometown of Ann?`.
    if draw < 0.08 and not re.match("(What|Who) (is|was|are|were) the ", plain):
        return f"Do you know {lower_first(plain)}"
    return plain


def of_a_phrase(
    phrase: str, noun: str, question_word: str, rng: random.Random, informal: float
) -> str:
    """Ask `What is the capital of France?` of `the capital of France`."""
    plain = f"{question_word} is {phrase}?"
    if rng.random() < informal:
        if rng.random() < 0.5:
            return in_passing(plain)
        return _end_with_stop(f"{rng.choice(COMMANDS[:4])} {phrase}")
    draw = rng.random()
    if draw < 0.08:
        return f"Can you name {phrase}?"
    if draw < 0.14 and question_word != "Who" and noun and noun not in UNSPECIFIC:
        return f"Which {noun} is {phrase}?"
    return plain


def of_a_question(text: str, rng: random.Random, informal: float) -> str:
    """Return a whole question, now and then in passing."""
    return in_passing(text) if rng.random() < informal else text


NAME_LOWERED = 0.75
"""Share of typed questions whose topic is in lower case, too."""
MARKED = 0.5
"""Share of typed questions that end with a question mark."""
APOSTROPHE_LEFT_OUT = 0.5
"""Share of `what's`, `who's` and `where's` that are typed `whats`."""
_SHORT = re.compile(r"\b(what|who|where|when|how)'s\b")


def _without_last_word(form: str, name: str) -> str:
    last = re.escape(name.rpartition(" ")[2].lower())
    return re.sub(rf"\{{x\}} {last}\b", "{x}", form)


def typed_text(form: str, name: str, rng: random.Random) -> str:
    """Return a casual question about a topic, typed carelessly.

    >>> typed_text("what's the capital of {x}", "Peru", random.Random(3))
    'whats the capital of peru?'

    A word behind the name that the name ends on is not typed twice.

    >>> typed_text("what {x} people are there", "Irish people", random.Random(1))
    'what Irish people are there'
    """
    form = _without_last_word(form, name)
    if rng.random() < APOSTROPHE_LEFT_OUT:
        form = _SHORT.sub(r"\1s", form)
    if name.lower().startswith("the "):
        form = form.replace("the {x}", "{x}")
    if name[:1].lower() in tuple("aeio"):
        form = re.sub(r"\ba \{x\}", "an {x}", form)
    if rng.random() < NAME_LOWERED:
        name = name.lower()
    return form.replace("{x}", name) + ("?" if rng.random() < MARKED else "")
