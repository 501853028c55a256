"""What kinds of things a graph's relations join: by the types of nodes, by what relations call
them, by what values look like."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from data_pipeline.wording.english import PERSONS, english, singular
from data_pipeline.wording.phrases import generated_entry
from data_pipeline.wording.relation_words import Nouns, words_of
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph

LOOKED_AT = 1000
"""Entities whose types are looked at, evenly spread: a relation's kinds show in few."""
TYPE_SHARE = 0.8
"""Share of a relation's typed ends that must be of a type that it is worded with."""
ONE_KIND = 0.1
"""Share of a relation's ends that are both of its ends, from which both are of one kind."""
TYPES = ("type", "instance of", "is a", "isa", "p31")
"""Relations that lead to a node's type, by their words."""
SAYS_NOTHING = (
    *("thing", "agent", "entity", "resource", "node", "object", "topic", "concept", "class"),
    *("id", "name", "title", "label", "row", "record", "item", "uri", "value", "key", "code"),
    *("named individual", "individual", "subject", "element", "instance"),
)
CALLED = {"human": "person", "organisation": "organization", "personne": "person"}
NO_KINDS = frozenset(english()["kinds"]["no_kinds"].split())
"""Nouns of what one thing is to another, by which nobody calls it alone: `part`, `neighbor`."""
RelationEnd = tuple[str, Direction]
_VALUES = (
    ("date", re.compile(r"\d{4}-\d\d?-\d\d?(T.*)?|\d\d?[./]\d\d?[./]\d{4}")),
    ("year", re.compile(r"1[0-9]\d\d|20\d\d")),
    ("number", re.compile(r"[+-]?\d[\d.,]*")),
)
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


def nouns_of(graph: KnowledgeGraph, labels: Mapping[str, str]) -> dict[str, Nouns]:
    """What each relation starts at and leads to: the types of the nodes at its ends, and where
    nodes have none, what most of its ends are called by relations: `city` of `home_city`."""
    kinds = [relation for relation, label in labels.items() if says_type(relation, label)]
    hinted = {side: noun for r in labels for side, noun in _hints(r, labels[r])}
    called = {side: noun for r in labels for side, noun in _called(r, labels[r])}
    by_type, by_role = _Counts(), _Counts()
    looked_at = [(entity, _sides(graph, entity, labels)) for entity in spread(graph, LOOKED_AT)]
    for relation in _of_one_kind(sides for _, sides in looked_at):
        for direction in Direction:
            if called.get((relation, direction), "person") != "person":
                del called[relation, direction]
    for entity, sides in looked_at:
        found = type_nouns(graph, entity, kinds)
        found = found or {hinted[side] for side in sides if side in hinted}
        if found:
            by_type.count(sides, found)
        value = "" if found else value_noun(entity.name)
        roles = {called[side] for side in sides if side in called}
        roles |= {"person"} if roles & set(PERSONS) else set()
        by_role.count(sides, found or ({value} if value else roles))

    def noun(relation: str, direction: Direction) -> str:
        side = relation, direction
        return by_type.shared(side) or by_role.shared(side)

    return {r: Nouns(noun(r, Direction.OUT), noun(r, Direction.IN)) for r in labels}


def _sides(graph: KnowledgeGraph, entity: Entity, labels: Mapping[str, str]) -> list[RelationEnd]:
    return [(r, d) for d in Direction for r, _ in graph.relations(entity.id, d) if r in labels]


def _of_one_kind(entities: Iterable[Sequence[RelationEnd]]) -> set[str]:
    """Relations between things of one kind, such as `bannermanOf` between houses: what they call
    one end is no kind of its own."""
    ends: dict[str, Counter[int]] = defaultdict(Counter)
    for sides in entities:
        for relation, count in Counter(relation for relation, _ in sides).items():
            ends[relation][count] += 1
    return {r for r, counts in ends.items() if counts[2] >= ONE_KIND * counts.total()}


class _Counts:
    """How often the ends of relations are of which kind."""

    def __init__(self) -> None:
        self._ends: dict[RelationEnd, Counter[str]] = defaultdict(Counter)
        self._looked_at: Counter[RelationEnd] = Counter()
        self._overall: Counter[str] = Counter()

    def count(self, sides: Iterable[RelationEnd], found: Iterable[str]) -> None:
        self._overall.update(found)
        for side in sides:
            self._ends[side].update(found)
            self._looked_at[side] += 1

    def shared(self, side: RelationEnd) -> str:
        """The kind that most of these ends are of, the one that says most."""
        least = TYPE_SHARE * self._looked_at[side]
        most = [noun for noun, count in self._ends[side].items() if count >= least]
        return min(most, key=lambda noun: (self._overall[noun], noun), default="")


def _called(relation: str, label: str) -> Iterable[tuple[RelationEnd, str]]:
    """By which noun a relation calls what is at its ends: `manufacturer`, `hasAuthor`."""
    for direction in Direction:
        noun = generated_entry(relation, direction, Nouns(), label).noun.split()[-1]
        if noun in PERSONS and noun in NO_KINDS and noun not in _COMPANIES_TOO:
            noun = "person"
        if noun not in NO_KINDS and not value_noun(noun):
            yield (relation, direction.reverse), noun


_COMPANIES_TOO = ("member", "partner", "owner", "parent", "child")


def value_noun(name: str) -> str:
    """What kind of value a name is, `""` of a name that is none.

    >>> [value_noun(name) for name in ("1961-08-04", "1987", "12.5", "B 52", "Ana")]
    ['date', 'year', 'number', '', '']
    """
    return next((noun for noun, looks in _VALUES if looks.fullmatch(name)), "")


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
    found = {type_noun(kind.rpartition(".")[2]) for kind in graph.types(entity.id)}
    for relation in kinds:
        for end in graph.neighbors(entity.id, relation, Direction.OUT, 5):
            found.add(type_noun(end.name if end.name and ":" not in end.name else end.id))
    return {n for n in found if n not in SAYS_NOTHING and re.fullmatch(_NOUN, n)}


_NOUN = r"[^\W\d_]+( [^\W\d_]+){0,2}"


def type_noun(kind: str) -> str:
    """`patient` of `Patients` and of a table's `patient_id`, `organization` of `Org`."""
    SHORT = english()["short"]
    *first, last = [SHORT.get(word, word) for word in words_of(kind)]
    if first and last in ("id", "name", "key"):
        *first, last = first
    last = last if last.endswith("ics") else singular(last)
    noun = " ".join([*first, last])
    return CALLED.get(noun, noun)
