"""The lexicon of one graph: people's own words, hand-written ones, else made from ids, from the
graph's labels of its relations and from the types of its nodes."""

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files

from data_pipeline.wording.lexicon import (
    Entry,
    Lexicon,
    generated,
    parse_table,
    written_for,
)
from data_pipeline.wording.own_phrases import read_phrases
from data_pipeline.wording.phrases import is_plain
from data_pipeline.wording.plain_ids import words_of
from data_pipeline.wording.predicates import Nouns
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
FAMILY = (
    *("father", "mother", "brother", "sister", "son", "daughter", "wife", "husband", "friend"),
    *("father of", "mother of", "brother of", "sister of", "son of", "daughter of", "friend of"),
)
HINTS: dict[Direction, dict[str, str]] = {
    Direction.OUT: {
        **dict.fromkeys(("lives in", "born in", "birth place", "place of birth"), "person"),
        **dict.fromkeys(("spouse", "married to", "alma mater", "educated at"), "person"),
        **dict.fromkeys(("works for", "works at", "died in", "nationality"), "person"),
        **dict.fromkeys(("acted in", "country of citizenship", "occupation"), "person"),
        **dict.fromkeys(("headquartered in", "industry", "board member", "ceo"), "company"),
        **dict.fromkeys(("founded by", "subsidiary", "owns stake in", "acquired"), "company"),
        **dict.fromkeys(("directed by", "director", "starring", "starred actors"), "film"),
        **dict.fromkeys(("cast member", "produced by"), "film"),
        **dict.fromkeys(("diagnosed with", "admitted to", "supervised by", "works in"), "person"),
        **dict.fromkeys(("employed by", "reports to", "graduated from", "studied at"), "person"),
        **dict.fromkeys(("plays for", "wrote", "painted", "composed", "citizen of"), "person"),
        **dict.fromkeys(FAMILY, "person"),
        **{"capital": "country", "published in": "paper", "capital of": "city"},
    },
    Direction.IN: {
        **dict.fromkeys(("works for", "works at", "employer", "ceo of"), "company"),
        **dict.fromkeys(("subsidiary", "owns stake in", "acquired", "board member of"), "company"),
        **dict.fromkeys(("board member", "spouse", "married to", "founded by"), "person"),
        **dict.fromkeys(("directed by", "written by", "starred actors"), "person"),
        **dict.fromkeys(("supervised by", "reports to", "composed by", "painted by"), "person"),
        **dict.fromkeys(("employs", "invented by", "taught by"), "person"),
        **dict.fromkeys(FAMILY, "person"),
        **dict.fromkeys(("acted in", "directed"), "film"),
        **{"capital": "city", "country": "country", "capital of": "country"},
        **{"citizen of": "country"},
    },
}
"""What the words of a relation say of its start (`out`) and of its end, where no type does."""
WIKIDATA = "http://www.wikidata.org/entity/"


def lexicon_of(graph: KnowledgeGraph, phrases_file: str = "") -> Lexicon:
    """How the relations of the graph are worded. Raises `UserError` for a bad phrases file."""
    relations = graph.relation_ids()
    plain = [relation for relation in relations if is_plain(relation)]
    labels = labels_of(graph, plain) if plain else {}
    nouns = nouns_of(graph, labels) if plain else {}
    unknown = Nouns()

    def made(hop: Hop) -> Entry:
        relation = hop.relation
        if (property_ := _wikidata_id(relation)) and relation in labels:
            written = wikidata().get(Hop(property_, hop.direction))
            if written:
                return written
        return generated(hop, nouns.get(relation, unknown), labels.get(relation, ""))

    if not phrases_file:
        return Lexicon.for_graph(relations, {}, made)
    written = written_for(relations)
    own = read_phrases(phrases_file, relations, lambda hop: written.get(hop) or made(hop))
    return Lexicon.for_graph(relations, own, made)


@cache
def wikidata() -> dict[Hop, Entry]:
    """The phrase bank of Wikidata's properties, by their bare ids."""
    path = files("data_pipeline.wording").joinpath("banks", "wikidata.toml")
    return parse_table(tomllib.loads(path.read_text(encoding="utf-8")))


def _wikidata_id(relation: str) -> str:
    """`P31` of the property itself and of its IRIs, `""` of anything else."""
    last = re.split(r"[#/:]", relation)[-1]
    return last if re.fullmatch(r"P\d+", last) else ""


def labels_of(graph: KnowledgeGraph, relations: Sequence[str]) -> dict[str, str]:
    """What the graph calls each relation (`rdfs:label`, Wikidata's label), `""` where it does
    not."""
    spellings: dict[str, list[str]] = {}
    for relation in relations:
        property_ = _wikidata_id(relation)
        more = [WIKIDATA + property_, property_] if property_ else []
        spellings[relation] = list(dict.fromkeys([relation, *more]))
    wanted = [spelling for found in spellings.values() for spelling in found]
    names = dict(zip(wanted, graph.names_many(wanted), strict=True))
    return {
        relation: next(
            (n for n in map(names.__getitem__, found) if _is_label(n) and n not in found), ""
        )
        for relation, found in spellings.items()
    }


def _is_label(name: str) -> bool:
    return bool(name.strip()) and ":" not in name and len(name.split()) <= 8


def nouns_of(graph: KnowledgeGraph, labels: dict[str, str]) -> dict[str, Nouns]:
    """What each relation starts at and leads to, by the types of the nodes at its ends."""
    kinds = [relation for relation, label in labels.items() if says_type(relation, label)]
    ends: dict[tuple[str, Direction], Counter[str]] = defaultdict(Counter)
    typed: Counter[tuple[str, Direction]] = Counter()
    overall: Counter[str] = Counter()
    hinted = {side: noun for r in labels for side, noun in _hints(r, labels[r])}
    for entity in spread(graph, LOOKED_AT):
        sides = [(r, d) for d in Direction for r, _ in graph.relations(entity.id, d) if r in labels]
        found = type_nouns(graph, entity, kinds)
        found = found or {hinted[side] for side in sides if side in hinted}
        overall.update(found)
        for side in sides if found else ():
            ends[side].update(found)
            typed[side] += 1

    def noun(relation: str, direction: Direction) -> str:
        side = relation, direction
        shared = [n for n, k in ends[side].items() if k >= TYPE_SHARE * typed[side]]
        return min(shared, key=lambda n: (overall[n], n), default="")

    return {r: Nouns(noun(r, Direction.OUT), noun(r, Direction.IN)) for r in labels}


def says_type(relation: str, label: str = "") -> bool:
    """Whether a relation says what kind of thing a node is, by its id or by its label.

    >>> says_type("http://www.wikidata.org/prop/direct/P31"), says_type("livesIn")
    (True, False)
    """
    return (label.lower() or " ".join(words_of(relation))) in TYPES


def _hints(relation: str, label: str) -> Iterable[tuple[tuple[str, Direction], str]]:
    words = label.lower() or " ".join(words_of(relation))
    for opening in ("has ", "is "):
        words = words.removeprefix(opening)
    for direction, hints in HINTS.items():
        if words in hints:
            yield (relation, direction), hints[words]


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
