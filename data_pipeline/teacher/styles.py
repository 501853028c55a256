"""How a question is to sound: register, length and opening, drawn for each question by its seed."""

import random

REGISTERS = (
    "casual, as somebody types it into a search box",
    "casual, as said to a friend",
    "plain, as in a quiz among friends",
    "plain, as asked of a librarian",
    "neutral, as in a newspaper's quiz",
    "formal, as in an examination",
)
LENGTHS = ("as short as it can be", "short", "of ordinary length", "a full, flowing sentence")
OPENINGS = (
    "open with the question word (who, what, which, where, when)",
    "open with the question word (who, what, which, where, when)",
    "open with `Which` and the kind of thing that is asked for",
    "open with the starting entity or with its condition, and ask at the end",
    "open with a preposition (`In which`, `By whom`, `From what`) where one fits, else freely",
    "open with a request in the form of a question (`Can you name`, `Do you know`)",
    "open as you like, but not with `What is the`",
)


def style(rng: random.Random) -> str:
    """One style as the prompt says it; the same for the same draws.

    >>> style(random.Random(0))
    'plain, as asked of a librarian; a full, flowing sentence; open with the question word \
(who, what, which, where, when)'
    """
    return "; ".join((rng.choice(REGISTERS), rng.choice(LENGTHS), rng.choice(OPENINGS)))
