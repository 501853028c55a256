"""Questions as people type them into a search box: lower case, few marks."""

import random
import re

NAME_LOWERED = 0.75
"""Share of typed questions whose topic is in lower case, too."""
MARKED = 0.5
"""Share of typed questions that end with a question mark."""
APOSTROPHE_LEFT_OUT = 0.5
"""Share of `what's`, `who's` and `where's` that are typed `whats`."""
_SHORT = re.compile(r"\b(what|who|where|when|how)'s\b")


def typed(form: str, name: str, rng: random.Random) -> str:
    """A casual question about a topic, typed carelessly.

    >>> typed("what's the capital of {x}", "Peru", random.Random(3))
    'whats the capital of peru?'
    """
    if rng.random() < APOSTROPHE_LEFT_OUT:
        form = _SHORT.sub(r"\1s", form)
    if name.lower().startswith("the "):
        form = form.replace("the {x}", "{x}")
    if name[:1].lower() in tuple("aeio"):
        form = re.sub(r"\ba \{x\}", "an {x}", form)
    if rng.random() < NAME_LOWERED:
        name = name.lower()
    return form.replace("{x}", name) + ("?" if rng.random() < MARKED else "")
