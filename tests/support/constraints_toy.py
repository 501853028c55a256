"""A toy graph for constraints: films of a director with dates, cities of a region with people."""

from graphwalker.graphs.base import Direction, Entity
from graphwalker.query.constraint import Constraint
from graphwalker.query.query import Branch, Hop, Query
from support.toy import XSD

RELEASED = "film.film.initial_release_date"
PEOPLE = "location.statistical_region.population..measurement_unit.dated_integer.number"
DIRECTED = "film.film.directed_by"
LIES_IN = "location.location.containedby"
DATES = {"m.f1": "1985-05-01", "m.f2": "1990-05-01", "m.f3": "1996-02-10", "m.g": "1991-07-07"}
COUNTS = {"m.c1": "900", "m.c2": "25000", "m.c3": "1.2E6"}


def _literal(text: str, kind: str) -> str:
    return f'"{text}"^^<{XSD}{kind}>'


NAMES = {
    **{"m.d": "Ann Dee", "m.e": "Bo Eff", "m.r": "Westvale Shire"},
    **{"m.f1": "Iron Bell", "m.f2": "Pale Rose", "m.f3": "Wild Tide", "m.g": "Glass Oath"},
    **{"m.c1": "Aldton", "m.c2": "Brigport", "m.c3": "Cormere"},
}
FACTS = [
    *((film, DIRECTED, "m.d") for film in ("m.f1", "m.f2", "m.f3")),
    ("m.g", DIRECTED, "m.e"),
    *((film, RELEASED, _literal(day, "date")) for film, day in DATES.items()),
    *((city, LIES_IN, "m.r") for city in COUNTS),
    *((city, PEOPLE.split("..")[0], f"m.cvt{city[2:]}") for city in COUNTS),
    *(
        (f"m.cvt{city[2:]}", PEOPLE.split("..")[1], _literal(count, "double"))
        for city, count in COUNTS.items()
    ),
]


def films(constraint: Constraint | None) -> Query:
    """The films of Ann Dee, constrained."""
    return _query("m.d", DIRECTED, constraint)


def cities(constraint: Constraint | None) -> Query:
    """The cities of Westvale Shire, constrained."""
    return _query("m.r", LIES_IN, constraint)


def _query(topic: str, relation: str, constraint: Constraint | None) -> Query:
    branch = Branch(Entity(topic, NAMES[topic]), (Hop(relation, Direction.IN),))
    return Query((branch,), constraint=constraint)
