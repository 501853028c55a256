"""The kind of thing that answers are, by their types: `city` where a phrase only says `place`."""

from collections.abc import Callable, Sequence

from data_pipeline.wording.composition.openings import UNSPECIFIC
from graphwalker.graphs.base import Entity

Types = Callable[[str], Sequence[str]]
"""The types of an entity, by its id."""

_PLACES = (
    ("location.country", "country"),
    ("location.us_state", "state"),
    ("location.us_county", "county"),
    ("location.citytown", "city"),
    ("geography.island", "island"),
    ("geography.river", "river"),
    ("education.university", "university"),
    ("education.educational_institution", "school"),
    ("location.administrative_division", "region"),
)
_WORKS = (("film.film", "film"), ("tv.tv_program", "TV show"), ("book.book", "book"))
_GROUPS = (
    ("education.university", "university"),
    ("education.educational_institution", "school"),
    ("sports.sports_team", "team"),
    ("music.musical_group", "band"),
    ("government.political_party", "party"),
    ("business.business_operation", "company"),
)
_EVENTS = (
    ("military.military_conflict", "war"),
    ("film.film_festival_event", "film festival"),
    ("award.award_ceremony", "awards ceremony"),
)
KINDS: dict[str, tuple[tuple[str, str], ...]] = {
    **dict.fromkeys(("place", "location", "region", "area", "district"), _PLACES),
    **dict.fromkeys(("title", "work", "film or show"), _WORKS),
    **dict.fromkeys(("organization", "group", "school or company"), _GROUPS),
    "event": _EVENTS,
}
"""Nouns that say little, and what types make of them, the first that all answers have."""


def may_be(noun: str, kind: str) -> bool:
    """Whether what a hop calls by this noun may be asked for by a type: a place by `country`, not a
    color by `movie`, though one film is called Red.

    >>> may_be("place", "location.country"), may_be("color", "film.film")
    (True, False)
    """
    freebase = "." in kind and not {"/", ":"} & set(kind)
    return kind in dict(KINDS.get(noun, ())) if freebase else noun in UNSPECIFIC


def noun_of(noun: str, answers: Sequence[Entity], types: Types | None) -> str:
    """A better noun for the answers, where there is one.

    >>> noun_of("place", [Entity("m.1", "Rome")], lambda _: ["location.citytown"])
    'city'
    """
    if types is None or noun not in KINDS or not answers:
        return noun
    known = set(types(answers[0].id)).intersection(*(types(a.id) for a in answers[1:]))
    return next((better for kind, better in KINDS[noun] if kind in known), noun)
