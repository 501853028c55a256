"""Nouns of types: what a type of things is called, and what kinds of things a relation joins, by
the types of nodes, by what relations call them, by what values look like."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from data_pipeline.wording.english import (
    PERSONS,
    TRUTH,
    UNSPECIFIC,
    english,
    packaged_table,
    plural,
    singular,
    words_of,
    words_of_kind,
)
from data_pipeline.wording.ids import Nouns, generated_entry
from graphwalker.datasets.answers import yes_no
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph

Types = Callable[[str], Sequence[str]]
"""The types of an entity, by its id."""
LOOKED_AT = 1000
"""Entities whose types are looked at, evenly spread: a relation's kinds show in few."""
TYPE_SHARE = 0.8
"""Share of a relation's typed ends that must be of a type that it is worded with."""
TYPES = ("type", "instance of", "is a", "isa", "p31")
"""Relations that lead to a node's type, by their words."""
CALLED = {"human": "person", "organisation": "organization", "personne": "person"}
RelationEnd = tuple[str, Direction]
_VALUES = (
    ("date", re.compile(r"\d{4}-\d\d?-\d\d?(T.*)?|\d\d?[./]\d\d?[./]\d{4}")),
    ("year", re.compile(r"1[0-9]\d\d|20\d\d")),
    ("number", re.compile(r"[+-]?\d[\d.,]*")),
    (TRUTH, re.compile("true|false|yes|no", re.IGNORECASE)),
)
_OPENING = r"^(?:in |on |at |to )?(?:what|which)(?: (?:other|famous|big|major|main|us|rock|boy))* "
_NAMING = r"^name an? (?:famous )?"
_LISTING = r"^(?:what are|name)(?: (?:all|some|the|other|famous|big|biggest|largest|major|main))+ "


@dataclass(frozen=True, slots=True)
class _NounDemand:
    """What a noun asks for."""

    one_of: frozenset[str] | None
    none_of: frozenset[str]
    named: tuple[str, ...]

    def is_met(self, answer: Entity, kinds: Sequence[str]) -> bool:
        if self.named:
            return any(part in answer.name.lower() for part in self.named)
        if not kinds:
            return True
        fit = self.one_of is None or not self.one_of.isdisjoint(kinds)
        return fit and self.none_of.isdisjoint(kinds)


@cache
def nouns_by_type() -> dict[str, tuple[str, ...]]:
    """Return the nouns of the types of Freebase that questions are made for (`types.toml`)."""
    rows = packaged_table("banks", "types.toml")["type"]
    return {kind: tuple(row["nouns"]) for row in rows for kind in row["ids"]}


def _table() -> dict[str, Any]:
    return packaged_table("banks", "nouns.toml")


@cache
def _nouns() -> tuple[re.Pattern[str], dict[str, _NounDemand]]:
    """Return what finds the noun of a question, and what every noun asks for."""
    known: dict[str, _NounDemand] = {}
    for row in _table()["noun"]:
        fit = frozenset(row["one_of"]) if "one_of" in row else None
        wanted = _NounDemand(fit, frozenset(row.get("none_of", ())), tuple(row.get("named", ())))
        known.update(dict.fromkeys(row["words"], wanted))
    words = "|".join(sorted(map(re.escape, known), key=len, reverse=True))
    several = "|".join(word for word in known if word.endswith("s"))
    opening = rf"(?:{_OPENING}|{_NAMING}|{_LISTING}(?=(?:{several})\b))"
    return re.compile(rf"{opening}({words})\b(?! of\b)", re.IGNORECASE), known


def fits(form: str, answers: Iterable[Entity], types: Types) -> bool:
    """Return whether all answers whose types are known are what the question's noun says.

    >>> fits("what rivers are in {x}", [Entity("m", "Nile")], lambda _: ["geography.river"])
    True
    >>> fits("what are the rivers in {x}", [Entity("m", "Cairo")], lambda _: ["location.citytown"])
    False
    """
    wanted = _demand_of(form)
    return not wanted or all(wanted.is_met(answer, types(answer.id)) for answer in answers)


@lru_cache(1 << 12)
def nouns_of_type(kind: str) -> tuple[str, ...]:
    """Return the nouns that ask for things of a type, singular and plural first; none for a type by
    which nobody asks. Types of Freebase are in the table; elsewhere a type's own name is its noun.

    >>> nouns_of_type("location.us_county"), nouns_of_type("http://x.org/ns#RailwayStation")
    (('county', 'counties'), ('railway station', 'railway stations'))
    >>> nouns_of_type("common.topic")
    ()
    """
    if kind in nouns_by_type():
        return nouns_by_type()[kind]
    if "." in kind and not {"/", ":"} & set(kind):  # another type of Freebase
        return ()
    noun = type_noun(re.split(r"[/#:]", kind)[-1])
    return (
        () if noun in words_of_kind("says_nothing") or not noun.isascii() else (noun, plural(noun))
    )


def tells_apart(kind: str, candidates: Sequence[Entity], types: Types) -> bool:
    """Return whether some of the candidates, not all, are of the type, and nobody would call the
    others by its nouns: none has such a noun in its name, or types that the nouns fit, too.

    >>> kinds = {"Spain": ["location.country"], "Biscay": ["location.location"]}
    >>> tells_apart("location.country", [Entity(i, i) for i in kinds], kinds.__getitem__)
    True
    """
    nouns = nouns_of_type(kind)
    if not nouns:
        return False
    found = {candidate: types(candidate.id) for candidate in candidates}
    left = {candidate: kinds for candidate, kinds in found.items() if kind not in kinds}
    if len(left) in (0, len(found)) or not all(found.values()):
        return False
    names = (f" {candidate.name.casefold()} " for candidate in left)
    if any(f" {noun} " in name for name in names for noun in nouns):
        return False
    if kind not in nouns_by_type():
        return True
    others = set(_table()["others"].get(kind, ()))
    if others and any(others.isdisjoint(kinds) for kinds in left.values()):
        return False
    wanted = _nouns()[1][nouns[0]]
    return all(wanted.is_met(c, kinds) != (c in left) for c, kinds in found.items())


def asks_by_type(form: str, kind: str) -> str:
    """Return the noun of a type that a whole question asks by, `""` where it asks by none.

    >>> asks_by_type("what countries border {x}", "location.country")
    'countries'
    """
    found = _nouns()[0].match(form)
    noun = found[1].lower() if found else ""
    return noun if noun in nouns_of_type(kind) else ""


@lru_cache(1 << 14)
def _demand_of(form: str) -> _NounDemand | None:
    """Return what the noun of a question asks for, where it has a known one."""
    pattern, known = _nouns()
    found = pattern.match(form)
    return known[found[1].lower()] if found else None


@cache
def _better() -> dict[str, list[list[str]]]:
    """Return what types make of nouns that say little, such as `place`."""
    return {word: row["types"] for row in _table()["better"] for word in row["words"]}


def may_be(noun: str, kind: str) -> bool:
    """Return whether what a hop calls by this noun may be asked for by a type: a place by
    `country`, not a color by `movie`, though one film is called Red.

    >>> may_be("place", "location.country"), may_be("color", "film.film")
    (True, False)
    """
    freebase = "." in kind and not {"/", ":"} & set(kind)
    return kind in dict(_better().get(noun, ())) if freebase else noun in UNSPECIFIC


def noun_of(noun: str, answers: Sequence[Entity], types: Types | None) -> str:
    """Return a better noun for the answers, where there is one.

    >>> noun_of("place", [Entity("m.1", "Rome")], lambda _: ["location.citytown"])
    'city'
    """
    if types is None or noun not in _better() or not answers:
        return noun
    known = set(types(answers[0].id)).intersection(*(types(a.id) for a in answers[1:]))
    return next((better for kind, better in _better()[noun] if kind in known), noun)


def nouns_of(
    graph: KnowledgeGraph, labels: Mapping[str, str], sample: Sequence[Entity] = ()
) -> dict[str, Nouns]:
    """Return what each relation starts at and leads to: the types of the nodes at its ends, and
    where nodes have none, what most of its ends are called by relations: `city` of `home_city`.
    `sample`: entities to look at, for a graph that cannot list its own."""
    kinds = [relation for relation, label in labels.items() if says_type(relation, label)]
    hinted = {side: noun for r in labels for side, noun in _hints(r, labels[r])}
    called = {side: noun for r in labels for side, noun in _role_nouns(r, labels[r])}
    by_type, by_role = _Counts(), _Counts()
    for entity in sample or (*spread(graph, LOOKED_AT), *_truths(graph)):
        sides = _sides(graph, entity, labels)
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


def _truths(graph: KnowledgeGraph) -> Iterable[Entity]:
    """Yield the graph's truth values, however few: whole relations lead to these alone."""
    for answer in map(yes_no, (True, False)):
        yield from (*graph.resolve(answer.name), Entity(answer.id, answer.name))


def _sides(graph: KnowledgeGraph, entity: Entity, labels: Mapping[str, str]) -> list[RelationEnd]:
    return [(r, d) for d in Direction for r, _ in graph.relations(entity.id, d) if r in labels]


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
        """Return the kind that most of these ends are of, the one that says most."""
        least = TYPE_SHARE * self._looked_at[side]
        most = [noun for noun, count in self._ends[side].items() if count >= least]
        return min(most, key=lambda noun: (self._overall[noun], noun), default="")


def _role_nouns(relation: str, label: str) -> Iterable[tuple[RelationEnd, str]]:
    """Yield by which noun a relation calls its ends: `manufacturer`, `hasAuthor`."""
    no_kinds = words_of_kind("no_kinds") | words_of_kind("both_ways")
    for direction in Direction:
        noun = generated_entry(relation, direction, Nouns(), label).noun.split()[-1]
        if noun in PERSONS and noun in no_kinds and noun not in _COMPANIES_TOO:
            noun = "person"
        if noun not in no_kinds and not value_noun(noun):
            yield (relation, direction.reverse), noun


_COMPANIES_TOO = ("member", "partner", "owner", "parent", "child")


def value_noun(name: str) -> str:
    """Return what kind of value a name is, `""` of a name that is none.

    >>> [value_noun(name) for name in ("1961-08-04", "1987", "12.5", "B 52", "Ana")]
    ['date', 'year', 'number', '', '']
    """
    return next((noun for noun, looks in _VALUES if looks.fullmatch(name)), "")


def says_type(relation: str, label: str = "") -> bool:
    """Return whether a relation says what kind of thing a node is, by its id or by its label.

    >>> says_type("http://www.wikidata.org/prop/direct/P31"), says_type("livesIn")
    (True, False)
    """
    return (label.lower() or " ".join(words_of(relation))) in TYPES


def _hints(relation: str, label: str) -> Iterable[tuple[tuple[str, Direction], str]]:
    words = label.lower() or " ".join(words_of(relation))
    for opening in ("has ", "is "):
        words = words.removeprefix(opening)
    for direction in Direction:
        for noun, phrases in english()["hints"][direction].items():
            if words.replace(" ", "_") in phrases.split():
                yield (relation, direction), noun


def spread(graph: KnowledgeGraph, most: int) -> Iterable[Entity]:
    """Named entities from the whole of the graph, at most so many."""
    step = max(1, -(-graph.size // most))
    return (graph.entity_at(index) for index in range(0, graph.size, step))


def type_nouns(graph: KnowledgeGraph, entity: Entity, kinds: Iterable[str]) -> set[str]:
    """Return the types of a node as nouns: `person` of `people.person`, of `foaf:Person`."""
    found = {type_noun(kind.rpartition(".")[2]) for kind in graph.types(entity.id)}
    for relation in kinds:
        for end in graph.neighbors(entity.id, relation, Direction.OUT, 5):
            found.add(type_noun(end.name if end.name and ":" not in end.name else end.id))
    return {n for n in found if n not in words_of_kind("says_nothing") and re.fullmatch(_NOUN, n)}


_NOUN = r"[^\W\d_]+( [^\W\d_]+){0,2}"


def type_noun(kind: str) -> str:
    """`patient` of `Patients` and of a table's `patient_id`, `organization` of `Org`."""
    short = english()["short"]
    *first, last = [short.get(word, word) for word in words_of(kind)]
    if first and last in ("id", "name", "key"):
        *first, last = first
    last = last if last.endswith("ics") else singular(last)
    noun = " ".join([*first, last])
    return CALLED.get(noun, noun)
