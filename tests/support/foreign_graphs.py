"""Small graphs as other people have them: DBpedia, Wikidata, a company, papers, a property graph.

All names are made up. What each folder holds is what `graphwalker graph build` is given.
"""

import json
import random
from collections.abc import Callable, Iterable
from pathlib import Path

Fact = tuple[str, str, str]

FIRST = ("Ana", "Ben", "Cleo", "Dario", "Edda", "Finn", "Gala", "Hugo")
FIRST += ("Iris", "Jonas", "Kira", "Leo", "Mona", "Nils", "Olga", "Pavel")
LAST = ("Albers", "Brandt", "Costa", "Dahl", "Ekman", "Farkas", "Gruber", "Holm")
PEOPLE = [f"{first} {LAST[k % 8]}" for k, first in enumerate(FIRST)]
CITIES = ["Varnholm", "Port Elise", "Oldbruck", "Santa Lira", "Kesterby", "Lomnica"]
COUNTRIES = ["Nordavia", "Estrella", "Tauland"]
FILMS = ["Silent Harbor", "The Glass Orchard", "Nine Lanterns", "Copper Rain", "Last Ferry"]
FILMS += ["Winter Atlas", "Paper Wolves", "The Salt Road", "Blue Meridian", "Echo Valley"]
GENRES = ["drama", "comedy", "thriller", "documentary"]


def dbpedia(folder: Path) -> list[str]:
    """N-Triples of DBpedia's kind: IRIs, camelCase, `rdf:type`, labels."""
    rng = random.Random(1)
    facts = [(city, "country", rng.choice(COUNTRIES)) for city in CITIES]
    facts += [(country, "capital", CITIES[k]) for k, country in enumerate(COUNTRIES)]
    for k, person in enumerate(PEOPLE):
        facts += [(person, "birthPlace", rng.choice(CITIES)), (person, "spouse", PEOPLE[k ^ 1])]
        facts.append((person, "almaMater", f"University of {rng.choice(CITIES)}"))
    for film in FILMS:
        facts += [(film, "director", rng.choice(PEOPLE)), (film, "country", rng.choice(COUNTRIES))]
        facts += [(film, "starring", actor) for actor in rng.sample(PEOPLE, 3)]
        facts.append((film, "musicComposer", rng.choice(PEOPLE)))
    facts += [(f"University of {city}", "city", city) for city in CITIES]
    types = {**dict.fromkeys(PEOPLE, "Person"), **dict.fromkeys(CITIES, "City")}
    types |= {**dict.fromkeys(COUNTRIES, "Country"), **dict.fromkeys(FILMS, "Film")}
    types |= {f"University of {city}": "University" for city in CITIES}
    node = "http://dbpedia.org/resource/"
    lines = _n_triples(facts, lambda n: node + n.replace(" ", "_"), "http://dbpedia.org/ontology/")
    kind = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    for name, type_ in types.items():
        iri = node + name.replace(" ", "_")
        lines.append(f"<{iri}> <{kind}> <http://dbpedia.org/ontology/{type_}> .")
    return ["--triples", _file(folder / "dbpedia.nt", lines)]


WIKIDATA = {
    **{"P19": "place of birth", "P26": "spouse", "P57": "director", "P161": "cast member"},
    **{"P136": "genre", "P31": "instance of", "P17": "country", "P36": "capital"},
    **{"P69": "educated at", "P131": "located in the administrative territorial entity"},
    **{"P108": "employer", "P27": "country of citizenship"},
}


def wikidata(folder: Path) -> list[str]:
    """N-Triples of Wikidata's kind: Q-ids and P-ids, with labels for both."""
    rng = random.Random(2)
    facts = [(city, "P131", rng.choice(COUNTRIES)) for city in CITIES]
    facts += [(country, "P36", CITIES[k]) for k, country in enumerate(COUNTRIES)]
    for k, person in enumerate(PEOPLE):
        facts += [(person, "P19", rng.choice(CITIES)), (person, "P26", PEOPLE[k ^ 1])]
        facts += [(person, "P27", rng.choice(COUNTRIES)), (person, "P31", "human")]
        facts.append((person, "P69", f"{rng.choice(CITIES)} College"))
    for film in FILMS:
        facts += [(film, "P57", rng.choice(PEOPLE)), (film, "P136", rng.choice(GENRES))]
        facts += [(film, "P161", actor) for actor in rng.sample(PEOPLE, 3)]
        facts.append((film, "P31", "film"))
    names = sorted({end for head, _, tail in facts for end in (head, tail)})
    ids = {name: f"http://www.wikidata.org/entity/Q{k + 100}" for k, name in enumerate(names)}
    lines = _n_triples(facts, ids.__getitem__, "http://www.wikidata.org/prop/direct/")
    lines += [
        f'<http://www.wikidata.org/entity/{p}> <{LABEL}> "{label}"@en .'
        for p, label in WIKIDATA.items()
    ]
    return ["--triples", _file(folder / "wikidata.nt", lines)]


def company(folder: Path) -> list[str]:
    """A company's table: ids of every style, no types."""
    rng = random.Random(3)
    firms = ["Almera", "Boreal Foods", "Corvia", "Dunmark", "Elling Bank", "Fjordline"]
    firms += ["Gantry Works", "Halcyon"]
    facts: list[Fact] = []
    for person in PEOPLE:
        facts.append((person, "works_for", rng.choice(firms)))
        facts.append((person, "livesIn", rng.choice(CITIES)))
    for k, firm in enumerate(firms):
        facts.append((firm, "headquarteredIn", rng.choice(CITIES)))
        facts.append((firm, "has_industry", rng.choice(["shipping", "banking", "food"])))
        facts.append((firm, "founded_by", rng.choice(PEOPLE)))
        facts += [(firm, "boardMember", one) for one in rng.sample(PEOPLE, 3)]
        facts += [(firm, "owns_stake_in", o) for o in rng.sample(firms[:k] + firms[k + 1 :], 2)]
        facts.append((rng.choice(PEOPLE), "is_ceo_of", firm))
    return ["--triples", _file(folder / "company.tsv", ["\t".join(f) for f in _once(facts)])]


def citations(folder: Path) -> list[str]:
    """Papers that cite one another, with a file of types."""
    rng = random.Random(4)
    topics = ["Graphs", "Walks", "Agents", "Parsing", "Ranking", "Memory", "Planning", "Search"]
    papers = [f"{how} {what}" for how in ("Learning", "Faster") for what in topics]
    venues = ["Journal of Lakes", "Proceedings of Rivers", "Annals of Mills"]
    facts: list[Fact] = []
    for k, paper in enumerate(papers):
        facts += [(paper, "hasAuthor", one) for one in rng.sample(PEOPLE, 2)]
        facts.append((paper, "publishedIn", rng.choice(venues)))
        facts += [(paper, "cites", one) for one in rng.sample(papers[:k], min(k, 2))]
    facts += [(p, "affiliated_with", f"{rng.choice(CITIES)} Institute") for p in PEOPLE]
    facts += [(f"{city} Institute", "located_in", city) for city in CITIES]
    types = {**dict.fromkeys(papers, "paper"), **dict.fromkeys(PEOPLE, "researcher")}
    types |= {**dict.fromkeys(venues, "journal"), **dict.fromkeys(CITIES, "city")}
    types |= {f"{city} Institute": "institute" for city in CITIES}
    triples = _file(folder / "papers.tsv", ["\t".join(fact) for fact in _once(facts)])
    return [
        "--triples",
        triples,
        "--types",
        _file(folder / "types.tsv", map("\t".join, types.items())),
    ]


def neo4j(folder: Path) -> list[str]:
    """A property graph as Neo4j's `apoc.export.json` writes it: labels, keys, verbs in capitals."""
    rng = random.Random(5)
    facts: list[Fact] = []
    for film in FILMS:
        facts.append((rng.choice(PEOPLE), "DIRECTED", film))
        facts += [(person, "ACTED_IN", film) for person in rng.sample(PEOPLE, 4)]
        facts += [(film, "HAS_GENRE", rng.choice(GENRES)), (rng.choice(PEOPLE), "PRODUCED", film)]
    facts += [(person, "FOLLOWS", rng.choice(PEOPLE[:k])) for k, person in enumerate(PEOPLE) if k]
    facts += [(person, "LIVES_IN", rng.choice(CITIES)) for person in PEOPLE]
    labels = {**dict.fromkeys(PEOPLE, "Person"), **dict.fromkeys(FILMS, "Movie")}
    labels |= {**dict.fromkeys(GENRES, "Genre"), **dict.fromkeys(CITIES, "City")}
    ids = {name: f"n{k}" for k, name in enumerate(labels)}
    key = {"Movie": "title"}
    rows = [
        {"type": "node", "id": ids[n], "labels": [lab], "properties": {key.get(lab, "name"): n}}
        for n, lab in labels.items()
    ]
    for k, (head, relation, tail) in enumerate(_once(facts)):
        ends = {"start": {"id": ids[head]}, "end": {"id": ids[tail]}}
        rows.append({"type": "relationship", "id": f"r{k}", "label": relation, **ends})
    return ["--property", _file(folder / "movies.jsonl", map(json.dumps, rows))]


FOREIGN = {
    **{"dbpedia": dbpedia, "wikidata": wikidata, "company": company},
    **{"citations": citations, "neo4j": neo4j},
}

LABEL = "http://www.w3.org/2000/01/rdf-schema#label"


def _n_triples(facts: list[Fact], iri: Callable[[str], str], prefix: str) -> list[str]:
    names = sorted({end for head, _, tail in facts for end in (head, tail)})
    lines = [f'<{iri(name)}> <{LABEL}> "{name}"@en .' for name in names]
    return lines + [f"<{iri(h)}> <{prefix}{r}> <{iri(t)}> ." for h, r, t in _once(facts)]


def _once(facts: list[Fact]) -> list[Fact]:
    return sorted({fact for fact in facts if fact[0] != fact[2]})


def _file(path: Path, lines: Iterable[str]) -> str:
    path.write_text("\n".join(lines) + "\n")
    return str(path)
