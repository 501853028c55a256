"""Counts with their nouns, for sentences that people read."""


def number_of(count: int, noun: str, plural: str = "") -> str:
    """Return a count and its noun, which may be followed by its verb.

    >>> number_of(1, "record"), number_of(2000, "record"), number_of(0, "entity", "entities")
    ('1 record', '2,000 records', '0 entities')
    """
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"
