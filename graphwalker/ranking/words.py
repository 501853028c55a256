"""Words as rankers, wordings and readings compare them: stems and n-grams."""

import re
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+(?:'s)?")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ENDINGS = ("ing", "ed", "er", "or", "ion")
_UNMASKED = frozenset(("the", "of", "a", "an", "in", "and", "to", "for"))
TOPIC = "@"
"""Stands where the question names the entity."""


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return the word without its usual English ending; a form of it that need not be a word.

    >>> [stem(word) for word in ("countries", "directed", "director", "wife's", "class")]
    ['country', 'direct', 'direct', 'wif', 'class']
    """
    word = word.removesuffix("'s")
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    for ending in _ENDINGS:
        if len(word) > len(ending) + 3 and word.endswith(ending):
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def stems(text: str) -> list[str]:
    """Return the stems of a text's words, case folded; `_`, `.` and camelCase separate words, too.

    >>> stems("film.director/bornIn")
    ['film', 'direct', 'born', 'in']
    """
    spaced = _HUMP.sub(" ", text).replace("_", " ").casefold()
    return [stem(word) for word in _WORD.findall(spaced)]


def mask_entity(question: str, entity: str) -> tuple[list[str], bool]:
    """Return the question's stems with `@` for the words of the entity's name, and whether any
    stood there: what is learned holds for every entity.

    >>> mask_entity("who is the wife of Ken Barlow?", "Ken Barlow")
    (['who', 'is', 'the', 'wif', 'of', '@'], True)
    """
    name = set(stems(entity)) - _UNMASKED
    found: list[str] = []
    for word in stems(question):
        if word not in name:
            found.append(word)
        elif not found or found[-1] != TOPIC:
            found.append(TOPIC)
    return found, TOPIC in found


@lru_cache(maxsize=65_536)
def grams(word: str, size: int = 4) -> frozenset[str]:
    """Return the letter n-grams of a word with its ends marked.

    >>> sorted(grams("born"))
    ['<bor', 'born', 'orn>']
    """
    marked = f"<{word}>"
    return frozenset(marked[i : i + size] for i in range(max(1, len(marked) - size + 1)))


def last_part(relation: str) -> str:
    """Return what a relation says by itself: the last part of its id.

    >>> last_part("people.person.spouse_s..people.marriage.spouse"), last_part("http://x.org/bornIn")
    ('spouse', 'bornIn')
    """
    return re.split(r"[./:#]", relation.rstrip("./:#"))[-1]
