"""The lexicon of one graph: people's own words, hand-written ones, else made from ids, from the
graph's labels of its relations and from the types of its nodes."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

from data_pipeline.wording.lexicon import Entry, Lexicon, generated
from data_pipeline.wording.own_phrases import read_phrases
from data_pipeline.wording.phrases import is_plain
from data_pipeline.wording.plain_ids import Nouns, words_of
from graphwalker.graphs.base import FLATTENED, Direction, Entity, KnowledgeGraph
from graphwalker.query.query import Hop

LOOKED_AT = 1000
"""Entities whose types are looked at, evenly spread: a relation's kinds show in few."""
COUNTED = 20_000
"""Entities whose relations are counted."""
TYPE_SHARE = 0.8
"""Share of a relation's typed ends that must be of a type that it is worded with."""
TYPES = ("type", "instance of", "is a", "isa", "p31")
"""Relations that lead to a node's type, by their words."""
SAYS_NOTHING = ("thing", "agent", "entity", "resource", "node", "object", "topic", "concept")
CALLED = {"human": "person", "organisation": "organization", "personne": "person"}
WIKIDATA = "http://www.wikidata.org/entity/"


def lexicon_of(graph: KnowledgeGraph, phrases_file: str = "") -> Lexicon:
    """How the relations of the graph are worded. Raises `UserError` for a bad phrases file."""
    relations = graph.relation_ids()
    plain = [relation for relation in relations if is_plain(relation)]
    labels = {relation: label_of(graph, relation) for relation in plain}
    nouns = nouns_of(graph, labels) if plain else {}
    unknown = Nouns()

    def made(hop: Hop) -> Entry:
        relation = hop.relation
        return generated(hop, nouns.get(relation, unknown), labels.get(relation, ""))

    own = read_phrases(phrases_file, relations, made) if phrases_file else {}
    return Lexicon.for_graph(relations, own, made)


def label_of(graph: KnowledgeGraph, relation: str) -> str:
    """What the graph calls a relation (`rdfs:label`, Wikidata's label), `""` where it does not."""
    last = re.split(r"[#/:]", relation)[-1]
    spellings = [relation]
    if re.fullmatch(r"P\d+", last):
        spellings += [WIKIDATA + last, last]
    for spelling in dict.fromkeys(spellings):
        name = graph.name(spelling).strip()
        if name and name not in (relation, last) and len(name.split()) <= 8:
            return name
    return ""


def nouns_of(graph: KnowledgeGraph, labels: dict[str, str]) -> dict[str, Nouns]:
    """What each relation starts at and leads to, by the types of the nodes at its ends."""
    kinds = [r for r, label in labels.items() if (label.lower() or " ".join(words_of(r))) in TYPES]
    ends: dict[tuple[str, Direction], Counter[str]] = defaultdict(Counter)
    typed: Counter[tuple[str, Direction]] = Counter()
    overall: Counter[str] = Counter()
    for entity in spread(graph, LOOKED_AT):
        found = sorted(type_nouns(graph, entity, kinds))
        overall.update(found)
        for direction in Direction if found else ():
            for relation, _ in graph.relations(entity.id, direction):
                if relation in labels:
                    ends[relation, direction].update(found)
                    typed[relation, direction] += 1

    def noun(relation: str, direction: Direction) -> str:
        side = relation, direction
        shared = [n for n, k in ends[side].items() if k >= TYPE_SHARE * typed[side]]
        return min(shared, key=lambda n: (overall[n], n), default="")

    return {r: Nouns(noun(r, Direction.OUT), noun(r, Direction.IN)) for r in labels}


def spread(graph: KnowledgeGraph, most: int) -> Iterable[Entity]:
    """Named entities from the whole of the graph, at most so many."""
    step = max(1, -(-graph.size // most))
    return (graph.entity_at(index) for index in range(0, graph.size, step))


def type_nouns(graph: KnowledgeGraph, entity: Entity, kinds: Iterable[str]) -> set[str]:
    """The types of a node as nouns: `person` of `people.person`, of `foaf:Person`, of `Person`."""
    found = {" ".join(words_of(kind.rpartition(".")[2])) for kind in graph.types(entity.id)}
    for relation in kinds:
        for end in graph.neighbors(entity.id, relation, Direction.OUT, 5):
            named = end.name if end.name and ":" not in end.name else end.id
            found.add(" ".join(words_of(named)))
    nouns = {CALLED.get(noun, noun) for noun in found}
    return {
        n for n in nouns if n not in SAYS_NOTHING and re.fullmatch(r"[^\W\d_]+( [^\W\d_]+)?", n)
    }


def most_used(graph: KnowledgeGraph) -> list[str]:
    """The relations of the graph, ways through CVT nodes among them, most used first; counted
    around the entities that are looked at."""
    counts: Counter[str] = Counter()
    for entity in spread(graph, COUNTED):
        counts.update(dict(graph.flat_relations(entity.id, Direction.OUT)))
    through = {half for r in counts if FLATTENED in r for half in r.split(FLATTENED)}
    counts.update(dict.fromkeys(set(graph.relation_ids()) - through, 0))
    return sorted(counts, key=lambda relation: (-counts[relation], relation))
