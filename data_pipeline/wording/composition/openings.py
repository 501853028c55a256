"""Openings: how a question begins, as a question, a request, a command, or in passing."""

import random

from data_pipeline.wording.english import PERSONS

UNSPECIFIC = (
    *("place", "organization", "entity", "thing", "person", "title", "work", "film or show"),
    *("event", "group", "location", "party or candidate", "organization or politician"),
)
"""Nouns that say less than `what` or `who` alone."""
LITERAL = ("date", "year", "number")
COMMANDS = ("Name", "Find", "Give me", "Tell me", "I want to know", "I'm looking for")
"""How a text without a question mark may begin."""


def relative(noun: str) -> str:
    return "who" if noun.split()[-1] in PERSONS else "that"


def lowered(text: str) -> str:
    """Its first word in small letters, as inside of a sentence."""
    return text[0].lower() + text[1:]


def in_passing(text: str) -> str:
    """As people type into a search box: `who directed Jaws`."""
    return lowered(text.rstrip("?"))


def _stopped(text: str) -> str:
    """With a full stop, which `Boreal, Inc.` has already."""
    return text.removesuffix(".") + "."


def wh(noun: str, question_word: str, rng: random.Random) -> str:
    """What a clause stands behind: `Who`, `What`, `Which film`, `What film`."""
    if question_word == "Who":
        return "Who"
    if noun in UNSPECIFIC or noun in LITERAL or not noun:
        return "What"
    return f"{rng.choice(('Which', 'What'))} {noun}"


def article(noun: str) -> str:
    return "an" if noun[0].lower() in "aeiou" and not noun.startswith(("uni", "eu")) else "a"


def of_a_clause(
    clause: str, noun: str, question_word: str, many: bool, rng: random.Random, informal: float
) -> str:
    """`Which film stars Anna?` of `stars Anna`."""
    plain = f"{wh(noun, question_word, rng)} {clause}?"
    named = "person" if question_word == "Who" and noun not in PERSONS else noun
    who = relative(named)
    if rng.random() < informal:
        if rng.random() < 0.5:
            return in_passing(plain)
        amount = "every" if many else "the"
        return _stopped(f"{rng.choice(COMMANDS[:3])} {amount} {named} {who} {clause}")
    draw = rng.random()
    if draw < 0.04 and many:
        return f"Can you name every {named} {who} {clause}?"
    if draw < 0.08:
        return f"Do you know {lowered(plain)}"
    return plain


def of_a_phrase(
    phrase: str, noun: str, question_word: str, rng: random.Random, informal: float
) -> str:
    """`What is the capital of France?` of `the capital of France`."""
    plain = f"{question_word} is {phrase}?"
    if rng.random() < informal:
        if rng.random() < 0.5:
            return in_passing(plain)
        return _stopped(f"{rng.choice(COMMANDS[:4])} {phrase}")
    draw = rng.random()
    if draw < 0.08:
        return f"Can you name {phrase}?"
    if draw < 0.14 and question_word != "Who" and noun and noun not in UNSPECIFIC:
        return f"Which {noun} is {phrase}?"
    return plain


def of_a_question(text: str, rng: random.Random, informal: float) -> str:
    """A whole question, now and then in passing."""
    return in_passing(text) if rng.random() < informal else text
