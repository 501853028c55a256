"""The paged tools with numbered results: an answer may say `#2` for what one call showed, `#1 & #2`
for what two showed both, and, where `options.types` is on, `#1 countries` for those of a type."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from graphwalker.config import Config
from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.query.type_nouns import has_noun, is_called, nouns_of, wanted_noun
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker, bm25
from graphwalker.tools.base import ErrorKind, Observation, ShownTriple
from graphwalker.tools.listing import Lister, Listing
from graphwalker.tools.settings import WalkerSettings
from graphwalker.tools.walker import FORMS
from graphwalker.tools.wide.paged import PagedTools

REFERENCE = re.compile(r"#([0-9]{1,6})(?:\.([0-9]{1,6}))?")
"""`#2`, or `#2.3`: the number of a result, and of an entity in it."""
_SHARED = re.compile(r"#[0-9]{1,6}(?:\s*&\s*#[0-9]{1,6})+")
_TYPED = re.compile(r"#([0-9]{1,6})\s+([^\s#&][^#&]*)")
_LATEST = 8
"""Results of which constrained decoding is offered what they share, and their types."""
_NUMBER = re.compile(r"#([0-9]{1,6}): ")


def reference(number: int) -> str:
    """How an answer points at the result of that number."""
    return f"#{number}"


def member_reference(number: int, place: int) -> str:
    """How an answer points at one entity of a result, places counted from 1."""
    return f"#{number}.{place}"


def shared_reference(numbers: Iterable[int]) -> str:
    """How an answer points at what those results share.

    >>> shared_reference([1, 2])
    '#1 & #2'
    """
    return " & ".join(map(reference, numbers))


def typed_reference(number: int, noun: str) -> str:
    """How an answer points at what is of a type in a result.

    >>> typed_reference(1, "countries")
    '#1 countries'
    """
    return f"{reference(number)} {noun}"


def result_number(observation: str) -> int:
    """The number that an observation of triples begins with; 0 where it has none.

    >>> result_number("#2: [Oslo, country, Norway]"), result_number("Error no_triples: ...")
    (2, 0)
    """
    found = _NUMBER.match(observation)
    return int(found[1]) if found else 0


def ends(
    triples: Iterable[ShownTriple], entity_id: str, topics: frozenset[str]
) -> dict[str, Entity]:
    """Where an entity's triples lead, in the order shown, by id; not to the topic entities: a
    question hardly ever asks for those that it names."""
    both = (end for triple in triples for end in (triple.head, triple.tail))
    return {end.id: end for end in both if end.id != entity_id and end.id not in topics}


class WideOptions(Config):
    """What only tools with numbered results have."""

    types: bool = False
    """Whether an answer may say `#1 countries` for the entities of result 1 that are of a type, by
    a noun of it, as the graph has types: what tools do not show, a tiny model need not know."""
    show_types: bool = False
    """Whether a result of triples begins with how much of it is of the type that the question asks
    for, by the question's own noun: `#1: (countries: 2 of 8) [...]`, `(countries: all)`,
    `(countries: none)`. Of a question that asks for no type nothing is said."""


@dataclass(frozen=True, slots=True)
class _Result:
    """What one query led to, on all of its pages that were shown."""

    entity_id: str
    relations: frozenset[str]
    ends: dict[str, Entity] = field(default_factory=dict[str, Entity])


class ReferenceTools(PagedTools):
    """As `PagedTools`; an observation of triples begins with a number, and an answer may hold `#2`
    for all entities that it led to, `#2.3` for the third of them, `#1 & #2` for those in both, and
    with `WideOptions.types` `#2 rivers` for those of a type.

    A query keeps its number: when it is made again, and on its further pages, whose entities join
    those of the pages before.
    """

    def __init__(
        self,
        graph: KnowledgeGraph,
        question: Question,
        settings: WalkerSettings | None = None,
        list_relations: Lister | None = None,
        rank: Ranker = bm25,
        wide: WideOptions | None = None,
    ) -> None:
        super().__init__(graph, question, settings, list_relations, rank)
        self._by_type = wide is not None and wide.types
        self._show_types = wide is not None and wide.show_types
        self._results: list[_Result] = []
        self._kinds: dict[str, Sequence[str]] = {}

    def signatures(self) -> str:
        typed = ', "#1 countries" for those of them that are countries' if self._by_type else ""
        counted = ", and with how many of them are of the type that the question asks for"
        kinds = counted if self._show_types else ""
        return (
            f"{super().signatures()}\n"
            f"Triples are shown with a number, such as #2{kinds}: in an answer, "
            '"#2" stands for all entities that they lead to, "#2.3" for the third of them, '
            f'"#1 & #2" for those that both lead to{typed}.'
        )

    def resolve(self, names: Sequence[str]) -> tuple[str, ...] | Observation:
        """The names that an answer means, references replaced. One to what was not shown is the
        model's mistake. A shown name that reads like a reference is that name."""
        self._graph_calls = 0
        meant: list[str] = []
        for name in names:
            found = self._referred(name)
            if isinstance(found, str):
                return self._error(ErrorKind.UNKNOWN_REFERENCE, found)
            meant += [name] if found is None else [end.name for end in found]
        if names and not meant:
            text = f"{names[0].strip()} leads to entities of the question alone; copy names"
            return self._error(ErrorKind.UNKNOWN_REFERENCE, text)
        return tuple(dict.fromkeys(meant))

    def shared(self) -> list[str]:
        """References to what two or three of the latest results share, where they share any."""
        latest = range(max(1, len(self._results) - _LATEST + 1), len(self._results) + 1)
        sets = {number: set(self._results[number - 1].ends) for number in latest}
        groups = (group for size in (2, 3) for group in combinations(latest, size))
        return [
            shared_reference(group)
            for group in groups
            if set[str].intersection(*(sets[number] for number in group))
        ]

    def typed(self) -> list[str]:
        """References to what is of a type in the latest results, where that is a part of one."""
        if not self._by_type:
            return []
        latest = range(max(1, len(self._results) - _LATEST + 1), len(self._results) + 1)
        kinds = {
            number: [set(self._types(end)) for end in self._results[number - 1].ends]
            for number in latest
        }
        wanted = self._wanted_noun()
        found: list[str] = []
        for number, of_ends in kinds.items():
            shared = set[str].intersection(*of_ends) if of_ends else set[str]()
            for kind in sorted(set[str]().union(*of_ends) - shared):
                # Of the many types that no question is made for the one alone that this one wants.
                nouns = [one for one in nouns_of(kind) if has_noun(kind) or one == wanted]
                found += [typed_reference(number, noun) for noun in nouns]
        return list(dict.fromkeys(found))

    def _types(self, entity_id: str) -> Sequence[str]:
        if entity_id not in self._kinds:
            self._kinds[entity_id] = self._graph.types(entity_id)
        return self._kinds[entity_id]

    def _of_type(self, number: int, noun: str) -> list[Entity] | str:
        """The entities of a result that the noun calls, or what is wrong with the reference."""
        found = self._pointed_at(number, None)
        if isinstance(found, str):
            return found
        kept = [end for end in found if is_called(noun, self._types(end.id))]
        none = f"nothing that #{number} leads to has the type {noun!r}"
        return kept or f"{none}; point at #{number}, or copy names"

    def _referred(self, name: str) -> list[Entity] | str | None:
        """What a reference points at, or what is wrong with it; None for a name."""
        written = name.strip()
        if self.entity_id(name):
            return None
        if one := REFERENCE.fullmatch(written):
            return self._pointed_at(int(one[1]), one[2])
        if self._by_type and (one := _TYPED.fullmatch(written)):
            return self._of_type(int(one[1]), " ".join(one[2].lower().split()))
        if not _SHARED.fullmatch(written):
            return None
        parts: list[list[Entity]] = []
        for number in re.findall(r"[0-9]+", written):
            found = self._pointed_at(int(number), None)
            if isinstance(found, str):
                return found
            parts.append(found)
        kept = set[str].intersection(*({end.id for end in part} for part in parts))
        if not kept:
            return f"{written} share no entity; point at one of them, or copy names"
        return [end for end in parts[0] if end.id in kept]

    def _pointed_at(self, number: int, place: str | None) -> list[Entity] | str:
        """Entities, or what is wrong with the reference and what to write instead."""
        count = len(self._results)
        if not count:
            return f"no triples were shown yet; first call {FORMS['get_triples']}"
        if not 0 < number <= count:
            known = "#1 is the only one" if count == 1 else f"#1 to #{count} are there"
            return f"there is no #{number}; {known}, or copy names"
        found = list(self._results[number - 1].ends.values())
        if place is None:
            return found
        if not 0 < int(place) <= len(found):
            known = f"#{number} leads to {len(found)}"
            return f"there is no #{number}.{int(place)}; {known}: write one of them, or copy names"
        return [found[int(place) - 1]]

    def _show_triples(
        self, entity: Entity, listing: Listing, relations: Sequence[str]
    ) -> Observation:
        seen = super()._show_triples(entity, listing, relations)
        if seen.error:
            return seen
        number = self._number(entity, frozenset(relations))
        topics = frozenset(topic.id for topic in self._question.topic_entities)
        self._results[number - 1].ends.update(self._led_to(seen, entity, topics))
        kinds = self._shown_types(number) if self._show_types else ""
        text = f"{reference(number)}: {kinds}{seen.text}"
        return replace(seen, text=text, graph_calls=self._graph_calls)

    def _shown_types(self, number: int) -> str:
        """How much of a result is of the type asked for; nothing where there is no such type, or
        the graph knows no type of what is there."""
        ends = self._results[number - 1].ends
        self._graph_calls += len(ends.keys() - self._kinds.keys())
        kinds = [self._types(end) for end in ends]
        noun = self._wanted_noun()
        if not noun or not any(kinds):
            return ""
        count = sum(is_called(noun, of_one) for of_one in kinds)
        share = f"{count} of {len(kinds)}" if count < len(kinds) else "all"
        return f"({noun}: {share if count else 'none'}) "

    def _wanted_noun(self) -> str:
        """The noun of the type that the question asks for. One that no type of this episode has may
        call nothing in this graph."""
        met = {kind for of_one in self._kinds.values() for kind in of_one}
        return wanted_noun(self._question.text, met)

    def _led_to(
        self, seen: Observation, entity: Entity, topics: frozenset[str]
    ) -> dict[str, Entity]:
        """What a result that was shown stands for."""
        return ends(seen.triples, entity.id, topics)

    def _number(self, entity: Entity, relations: frozenset[str]) -> int:
        """The number of this query, a new one where it was not made before. A further page may name
        but the relations of its query that are cut."""
        of_entity = [n for n, r in enumerate(self._results, 1) if r.entity_id == entity.id]
        same = [n for n in of_entity if self._results[n - 1].relations == relations]
        wider = [n for n in of_entity if self._results[n - 1].relations > relations]
        if same or (wider and self._page > 1):
            return (same or wider)[-1]
        self._results.append(_Result(entity.id, relations))
        return len(self._results)
