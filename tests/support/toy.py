"""The toy graph of all tests: people, films, places; one CVT, one hub, one ambiguous name."""

from graphwalker.graphs.memory import MemoryGraph

XSD = "http://www.w3.org/2001/XMLSchema#"
BIRTH_DATE = f'"1961-08-04"^^<{XSD}date>'
WEDDING_DATE = f'"1992-10-03"^^<{XSD}date>'
POPULATION = f'"2700000"^^<{XSD}integer>'

MARRIAGE = "m.0cvt1"
"""The only CVT node: Ada Mbeki and Tom Lindqvist, married 1992-10-03 in Springfield (Verria)."""
HUB = "m.0land"
"""Verria, a country with 24 people and 3 places: the hub."""

TOY_NAMES: dict[str, str] = {
    "m.0ada": "Ada Mbeki",
    "m.0tom": "Tom Lindqvist",
    "m.0eve": "Eve Mbeki-Lindqvist",
    "m.0zoe": "Zoë O'Hara",
    "m.0bob": 'Bob "Bee", Jr.',
    "m.0film1": "The Glass Harbor",
    "m.0film2": "Night, Again",
    "m.0film3": "Springfield",
    "m.0city1": "Springfield",
    "m.0city2": "Port Sable",
    "m.0city3": "springfield",
    "m.0land": "Verria",
    "m.0genre1": "Drama",
    "m.0genre2": "Science Fiction",
    "m.0lang": "Verrian",
    **{f"m.0p{i:02d}": f"Citizen {i:02d}" for i in range(20)},
}

TOY_TYPES: dict[str, list[str]] = {
    **{p: ["people.person"] for p in ("m.0tom", "m.0eve", "m.0bob")},
    "m.0ada": ["film.director", "people.person"],
    "m.0zoe": ["film.director", "people.person"],
    **{f: ["film.film"] for f in ("m.0film1", "m.0film2", "m.0film3")},
    "m.0city1": ["location.citytown", "location.location"],
    "m.0city2": ["location.citytown", "location.location"],
    "m.0city3": ["location.location"],
    "m.0land": ["location.country", "location.location"],
    "m.0cvt1": ["people.marriage"],
}

TOY_TRIPLES: list[tuple[str, str, str]] = [
    # One marriage through a CVT node, both ways around, with a date literal.
    ("m.0ada", "people.person.spouse_s", MARRIAGE),
    ("m.0tom", "people.person.spouse_s", MARRIAGE),
    (MARRIAGE, "people.marriage.spouse", "m.0ada"),
    (MARRIAGE, "people.marriage.spouse", "m.0tom"),
    (MARRIAGE, "people.marriage.from", WEDDING_DATE),
    (MARRIAGE, "people.marriage.location_of_ceremony", "m.0city1"),
    # Inverse relations.
    ("m.0ada", "people.person.children", "m.0eve"),
    ("m.0tom", "people.person.children", "m.0eve"),
    ("m.0eve", "people.person.parents", "m.0ada"),
    ("m.0eve", "people.person.parents", "m.0tom"),
    ("m.0film1", "film.film.directed_by", "m.0ada"),
    ("m.0film2", "film.film.directed_by", "m.0ada"),
    ("m.0film3", "film.film.directed_by", "m.0zoe"),
    ("m.0ada", "film.director.film", "m.0film1"),
    ("m.0ada", "film.director.film", "m.0film2"),
    ("m.0zoe", "film.director.film", "m.0film3"),
    # Films.
    ("m.0film1", "film.film.genre", "m.0genre1"),
    ("m.0film2", "film.film.genre", "m.0genre1"),
    ("m.0film2", "film.film.genre", "m.0genre2"),
    ("m.0film3", "film.film.genre", "m.0genre2"),
    ("m.0film1", "film.film.language", "m.0lang"),
    ("m.0film2", "film.film.language", "m.0lang"),
    ("m.0film1", "film.film.country", HUB),
    ("m.0film1", "film.film.written_by", "m.0bob"),
    # People and places.
    ("m.0ada", "people.person.date_of_birth", BIRTH_DATE),
    ("m.0ada", "people.person.place_of_birth", "m.0city1"),
    ("m.0tom", "people.person.place_of_birth", "m.0city2"),
    ("m.0eve", "people.person.place_of_birth", "m.0city1"),
    ("m.0zoe", "people.person.place_of_birth", "m.0city3"),
    ("m.0bob", "people.person.place_of_birth", "m.0city2"),
    ("m.0city1", "location.location.containedby", HUB),
    ("m.0city2", "location.location.containedby", HUB),
    ("m.0city3", "location.location.containedby", HUB),
    (HUB, "location.country.capital", "m.0city2"),
    (HUB, "location.country.official_language", "m.0lang"),
    (HUB, "location.statistical_region.population", POPULATION),
    # The hub: 24 nationals.
    *((p, "people.person.nationality", HUB) for p in ("m.0ada", "m.0tom", "m.0eve", "m.0bob")),
    *((f"m.0p{i:02d}", "people.person.nationality", HUB) for i in range(20)),
]


def toy_graph() -> MemoryGraph:
    """About 60 triples; "Springfield" is a city, a film and (in lower case) another city."""
    return MemoryGraph(TOY_TRIPLES, TOY_NAMES, TOY_TYPES)
