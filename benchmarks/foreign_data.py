"""Graphs as other people have them, some hundred entities each: DBpedia, Wikidata, a company's CSV,
papers, a property graph.

All names are made up. What each function writes is what `graphwalker graph build` is given.
"""

import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

Fact = tuple[str, str, str]

FIRST = ("Ana", "Ben", "Cleo", "Dario", "Edda", "Finn", "Gala", "Hugo")
FIRST += ("Iris", "Jonas", "Kira", "Leo", "Mona", "Nils", "Olga", "Pavel")
LAST = ("Albers", "Brandt", "Costa", "Dahl", "Ekman", "Farkas", "Gruber", "Holm")
LAST += ("Ivers", "Jansen", "Kovar", "Lindqvist", "Moreau", "Novak", "Okafor", "Petri")
PLACES = ("Varn", "Elise", "Old", "Lira", "Kester", "Lom", "Brenn", "Sund", "Tall", "Mire")
ENDS = ("holm", "port", "bruck", "field", "by", "nica", "haven")
COUNTRIES = ["Nordavia", "Estrella", "Tauland", "Mersia", "Volgany", "Lusara"]
MOODS = ("Silent", "Glass", "Nine", "Copper", "Last", "Winter", "Paper", "Salt", "Blue", "Echo")
THINGS = ("Harbor", "Orchard", "Lanterns", "Rain", "Ferry", "Atlas", "Wolves", "Road", "Valley")
GENRES = ["drama", "comedy", "thriller", "documentary", "western", "musical"]
FIELDS = ["shipping", "banking", "food", "software", "mining", "textiles", "energy"]
TOPICS = ("Graphs", "Walks", "Agents", "Parsing", "Ranking", "Memory", "Planning", "Search")


def people(count: int, rng: random.Random) -> list[str]:
    return rng.sample([f"{first} {last}" for first in FIRST for last in LAST], count)


def cities(count: int, rng: random.Random) -> list[str]:
    return rng.sample([place + end for place in PLACES for end in ENDS], count)


def titles(count: int, rng: random.Random) -> list[str]:
    return rng.sample([f"{mood} {thing}" for mood in MOODS for thing in THINGS], count)


def dbpedia(folder: Path, size: int = 160) -> list[str]:
    """N-Triples of DBpedia's kind: IRIs, camelCase, `rdf:type`, labels; about `size` people."""
    rng = random.Random(1)
    persons, towns = people(size, rng), cities(max(6, size // 4), rng)
    films, schools = titles(max(10, size // 2), rng), [f"University of {t}" for t in towns[::2]]
    facts = [(town, "country", rng.choice(COUNTRIES)) for town in towns]
    facts += [(country, "capital", towns[k]) for k, country in enumerate(COUNTRIES[: len(towns)])]
    facts += [(town, "twinTown", rng.choice(towns)) for town in towns[::3]]
    facts += [(school, "city", school.removeprefix("University of ")) for school in schools]
    for k, person in enumerate(persons):
        facts += [(person, "birthPlace", rng.choice(towns))]
        facts += [(person, "spouse", persons[k ^ 1])] if k % 4 < 2 and k ^ 1 < size else []
        facts += [(person, "almaMater", rng.choice(schools))] if k % 3 else []
        facts += [(person, "deathPlace", rng.choice(towns))] if k % 5 == 0 else []
        facts += [(person, "influencedBy", rng.choice(persons[:k]))] if k % 4 == 3 else []
    for film in films:
        facts += [(film, "director", rng.choice(persons)), (film, "country", rng.choice(COUNTRIES))]
        facts += [(film, "starring", actor) for actor in rng.sample(persons, 3)]
        facts += [(film, "musicComposer", rng.choice(persons)), (film, "genre", rng.choice(GENRES))]
    types = dict.fromkeys(persons, "Person") | dict.fromkeys(towns, "City")
    types |= dict.fromkeys(COUNTRIES, "Country") | dict.fromkeys(films, "Film")
    types |= dict.fromkeys(schools, "University") | dict.fromkeys(GENRES, "Genre")
    node = "http://dbpedia.org/resource/"
    lines = as_n_triples(
        facts, lambda n: node + n.replace(" ", "_"), "http://dbpedia.org/ontology/"
    )
    kind = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    for name, type_ in types.items():
        iri = node + name.replace(" ", "_")
        lines.append(f"<{iri}> <{kind}> <http://dbpedia.org/ontology/{type_}> .")
        lines.append(f"<{iri}> <{kind}> <http://www.w3.org/2002/07/owl#Thing> .")
    return ["--triples", as_file(folder / "dbpedia.nt", lines)]


PROPERTIES = {
    **{"P19": "place of birth", "P26": "spouse", "P57": "director", "P161": "cast member"},
    **{"P136": "genre", "P31": "instance of", "P17": "country", "P36": "capital"},
    **{"P69": "educated at", "P131": "located in the administrative territorial entity"},
    **{"P108": "employer", "P27": "country of citizenship", "P50": "author", "P9001": "foundry"},
}
"""The labels that the graph has for its properties; the last one is nobody's but its own."""


def wikidata(folder: Path, size: int = 160) -> list[str]:
    """N-Triples of Wikidata's kind: Q-ids and P-ids, with labels for both."""
    rng = random.Random(2)
    persons, towns = people(size, rng), cities(max(6, size // 4), rng)
    films, colleges = titles(max(10, size // 2), rng), [f"{town} College" for town in towns[::2]]
    bells = [f"{town} Bell" for town in towns[::4]]
    facts = [(town, "P131", rng.choice(COUNTRIES)) for town in towns]
    facts += [(town, "P31", "city") for town in towns]
    facts += [(country, "P36", towns[k]) for k, country in enumerate(COUNTRIES[: len(towns)])]
    facts += [(country, "P31", "country") for country in COUNTRIES]
    for k, person in enumerate(persons):
        facts += [(person, "P19", rng.choice(towns)), (person, "P31", "human")]
        facts += [(person, "P26", persons[k ^ 1])] if k % 4 < 2 and k ^ 1 < size else []
        facts += [(person, "P27", rng.choice(COUNTRIES))] if k % 3 else []
        facts += [(person, "P69", rng.choice(colleges))] if k % 2 else []
        facts += [(person, "P108", rng.choice(colleges))] if k % 5 == 0 else []
    for college in colleges:
        facts += [(college, "P31", "college"), (college, "P131", college.removesuffix(" College"))]
    for film in films:
        facts += [(film, "P57", rng.choice(persons)), (film, "P136", rng.choice(GENRES))]
        facts += [(film, "P161", actor) for actor in rng.sample(persons, 3)]
        facts.append((film, "P31", "film"))
    for bell in bells:
        facts += [(bell, "P9001", rng.choice(towns)), (bell, "P31", "church bell")]
    names = sorted({end for head, _, tail in facts for end in (head, tail)})
    ids = {name: f"http://www.wikidata.org/entity/Q{k + 100}" for k, name in enumerate(names)}
    lines = as_n_triples(facts, ids.__getitem__, "http://www.wikidata.org/prop/direct/")
    lines += [
        f'<http://www.wikidata.org/entity/{p}> <{LABEL}> "{label}"@en .'
        for p, label in PROPERTIES.items()
    ]
    return ["--triples", as_file(folder / "wikidata.nt", lines)]


def company(folder: Path, size: int = 160) -> list[str]:
    """Two CSV tables of companies and their people: a row an entity, ids of every style."""
    rng = random.Random(3)
    persons, towns = people(size, rng), cities(max(6, size // 6), rng)
    firms = [f"{one} {how}" for one in MOODS for how in ("Foods", "Bank", "Works", "Lines")]
    firms = rng.sample(firms, min(len(firms), max(8, size // 4)))
    staff = [("person", "works_for", "livesIn", "is_ceo_of")]
    staff += [
        (person, rng.choice(firms), rng.choice(towns), firms[k] if k < len(firms) else "")
        for k, person in enumerate(persons)
    ]
    columns = ("headquarteredIn", "has_industry", "founded_by", "boardMember", "owns_stake_in")
    table = [("company", *columns)]
    for k, firm in enumerate(firms):
        owned = rng.sample(firms[:k] + firms[k + 1 :], 2)
        row = (firm, rng.choice(towns), rng.choice(FIELDS), rng.choice(persons))
        table.append((*row, ";".join(rng.sample(persons, 3)), ";".join(owned)))
    return [
        *("--triples", as_file(folder / "people.csv", map(",".join, staff))),
        *("--triples", as_file(folder / "companies.csv", map(",".join, table))),
    ]


def citations(folder: Path, size: int = 160) -> list[str]:
    """Papers that cite one another, with a file of types."""
    rng = random.Random(4)
    persons, towns = people(size, rng), cities(max(6, size // 8), rng)
    hows = ("Learning", "Faster", "Deep", "Sparse", "Robust", "Better", "On", "Rethinking")
    hows += ("Scaling", "Causal", "Online", "Neural", "Joint", "Lazy", "Exact")
    papers = [f"{how} {what}" for how in hows for what in TOPICS]
    papers = rng.sample(papers, min(len(papers), max(16, size * 3 // 4)))
    venues = ["Journal of Lakes", "Proceedings of Rivers", "Annals of Mills", "Harbor Letters"]
    labs = [f"{town} Institute" for town in towns]
    facts: list[Fact] = []
    for k, paper in enumerate(papers):
        facts += [(paper, "hasAuthor", one) for one in rng.sample(persons, rng.choice((1, 2, 3)))]
        facts.append((paper, "publishedIn", rng.choice(venues)))
        facts += [(paper, "cites", one) for one in rng.sample(papers[:k], min(k, 2))]
    facts += [(person, "affiliated_with", rng.choice(labs)) for person in persons]
    facts += [(f"{town} Institute", "located_in", town) for town in towns]
    if size > 32:  # without them a small graph has no walk of five hops, as tests want it
        led = [person for k, person in enumerate(persons) if k % 3 == 2]
        facts += [(p, "advisor", rng.choice(persons[: persons.index(p)])) for p in led]
    types = dict.fromkeys(papers, "paper") | dict.fromkeys(persons, "researcher")
    types |= dict.fromkeys(venues, "journal") | dict.fromkeys(towns, "city")
    types |= dict.fromkeys(labs, "institute")
    triples = as_file(folder / "papers.tsv", ["\t".join(fact) for fact in once(facts)])
    table = as_file(folder / "types.tsv", map("\t".join, types.items()))
    return ["--triples", triples, "--types", table]


def neo4j(folder: Path, size: int = 160) -> list[str]:
    """A property graph as Neo4j's `apoc.export.json` writes it: labels, keys, verbs in capitals."""
    rng = random.Random(5)
    persons, towns = people(size, rng), cities(max(6, size // 8), rng)
    films = titles(max(10, size // 2), rng)
    facts: list[Fact] = []
    for film in films:
        facts.append((rng.choice(persons), "DIRECTED", film))
        facts += [(person, "ACTED_IN", film) for person in rng.sample(persons, 4)]
        facts += [(film, "HAS_GENRE", rng.choice(GENRES)), (rng.choice(persons), "PRODUCED", film)]
        facts += [(person, "REVIEWED", film) for person in rng.sample(persons, 1)]
    facts += [(p, "FOLLOWS", rng.choice(persons[:k])) for k, p in enumerate(persons) if k]
    facts += [(person, "LIVES_IN", rng.choice(towns)) for person in persons]
    labels = dict.fromkeys(persons, "Person") | dict.fromkeys(films, "Movie")
    labels |= dict.fromkeys(GENRES, "Genre") | dict.fromkeys(towns, "City")
    return ["--property", as_json_lines(folder / "movies.jsonl", facts, labels, {"Movie": "title"})]


FOREIGN: dict[str, Callable[..., list[str]]] = {
    **{"dbpedia": dbpedia, "wikidata": wikidata, "company": company},
    **{"citations": citations, "neo4j": neo4j},
}

LABEL = "http://www.w3.org/2000/01/rdf-schema#label"


def as_n_triples(facts: Sequence[Fact], iri: Callable[[str], str], prefix: str) -> list[str]:
    names = sorted({end for head, _, tail in facts for end in (head, tail)})
    lines = [f'<{iri(name)}> <{LABEL}> "{name}"@en .' for name in names]
    return lines + [f"<{iri(h)}> <{prefix}{r}> <{iri(t)}> ." for h, r, t in once(facts)]


def as_json_lines(
    path: Path, facts: Iterable[Fact], labels: Mapping[str, str], key: Mapping[str, str]
) -> str:
    """A property graph as Neo4j exports it; `key` is the property that names a node of a label,
    `name` unless told."""
    ids = {name: f"n{k}" for k, name in enumerate(labels)}
    rows = [
        {"type": "node", "id": ids[n], "labels": [lab], "properties": {key.get(lab, "name"): n}}
        for n, lab in labels.items()
    ]
    for k, (head, relation, tail) in enumerate(once(facts)):
        ends = {"start": {"id": ids[head]}, "end": {"id": ids[tail]}}
        rows.append({"type": "relationship", "id": f"r{k}", "label": relation, **ends})
    return as_file(path, map(json.dumps, rows))


def once(facts: Iterable[Fact]) -> list[Fact]:
    return sorted({fact for fact in facts if fact[0] != fact[2]})


def as_file(path: Path, lines: Iterable[str]) -> str:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)
