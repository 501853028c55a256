"""GraphWalker's two tools: `get_relations` and `get_triples`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from graphwalker.graphs.base import AtLeast, Direction, Entity, KnowledgeGraph, Step
from graphwalker.graphs.literals import is_literal
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker, bm25, rank_relations, words
from graphwalker.tools.base import Call, ErrorKind, Listed, Observation, ShownTriple
from graphwalker.tools.listing import Lister, Listing, lister
from graphwalker.tools.namebook import NameBook, NamedTopics, one_of, quote
from graphwalker.tools.settings import WalkerSettings

_THOUSAND = 1000
LONGEST_ESCAPE, PUNCTUATION = len("\\u0000"), 20
"""Characters that JSON writes for one, and those of a triple besides its names; at most."""


class Page:
    """Triples written out until the observation is full; what is hidden is counted."""

    def __init__(self, book: NameBook, budget: int) -> None:
        self.shown: dict[str, Entity] = {}
        self.triples: list[ShownTriple] = []
        self.hidden = 0
        self.counts: list[int] = []
        """How many triples of each `add` are shown."""
        self.text = ""
        self._book = book
        self._budget = budget
        self._most = 0
        """The text and the triples at hand have no more characters, however they are written."""
        self._written: set[tuple[str, str, str]] = set()
        self.is_full = False

    def add(
        self,
        entity: Entity,
        relation: str,
        direction: Direction,
        ends: Sequence[Entity],
        total: int,
    ) -> None:
        """Write the triples of one relation and direction, as far as they fit; count the rest."""
        names: list[str] = []
        self._most, left = len(self.text), total
        for end in ends:
            if not self._take(entity, relation, direction, end, names):
                break
            left -= 1
        if names:
            self.text = self._joined(entity, relation, direction, names)
        self.counts.append(total - left)
        self.hidden += left
        self.text += more(left) if self.text else ""

    def _take(
        self, entity: Entity, relation: str, direction: Direction, end: Entity, names: list[str]
    ) -> bool:
        label = self._book.label(end)
        shown = end if label == end.name else Entity(end.id, label)
        head, tail = (shown, entity) if direction is Direction.IN else (entity, shown)
        written = (head.name, relation, tail.name)
        if written in self._written:  # a relation from an entity to itself, seen from both ends
            return True
        self._most += LONGEST_ESCAPE * (len(entity.name) + len(label)) + len(relation) + PUNCTUATION
        # The text is written out only where it may be too long: for each triple that is slow.
        over = 0 < self._budget < self._most and self._budget < len(
            self._joined(entity, relation, direction, [*names, label])
        )
        if self.is_full or ((self.text or names) and over):
            self.is_full = True
            return False
        names.append(label)
        self._written.add(written)
        self._book.show(end)
        self.shown.setdefault(entity.id, entity)
        self.shown.setdefault(end.id, shown)
        self.triples.append(ShownTriple(head, relation, tail))
        return True

    def _joined(
        self, entity: Entity, relation: str, direction: Direction, names: Sequence[str]
    ) -> str:
        found = self.write(quote(entity.name), relation, direction, names)
        return f"{self.text}, {found}" if self.text else found

    def write(self, here: str, relation: str, direction: Direction, names: Sequence[str]) -> str:
        """Return the text of triples, one in brackets for each name."""
        if direction is Direction.IN:
            return ", ".join([f"[{quote(name)}, {relation}, {here}]" for name in names])
        return ", ".join([f"[{here}, {relation}, {quote(name)}]" for name in names])


def more(count: int) -> str:
    """Return the mark of entries that are not shown. A count that was not finished is said as such,
    past a thousand in thousands.

    >>> more(7), more(AtLeast(1496)), more(0)
    (' (+7 more)', ' (+1,000 or more)', '')
    """
    if isinstance(count, AtLeast):
        known = int(count) if count < _THOUSAND else count // _THOUSAND * _THOUSAND
        return f" (+{known:,} or more)" if known > 0 else " (there may be more)"
    return f" (+{count} more)" if count > 0 else ""


def fitting(entries: Sequence[str], budget: int) -> tuple[str, ...]:
    """Return the first entries, as many as so many characters hold (0: all), at least one where
    there is one. Whole entries only: half of a relation id would be copied, and refused.

    >>> fitting(["born_in", "died_in", "spouse"], 20)
    ('born_in', 'died_in')
    """
    count, length = 0, 0
    for entry in entries:
        length += len(entry) + 2
        if count and length > budget > 0:
            break
        count += 1
    return tuple(entries[:count])


EXAMPLES: Mapping[str, Mapping[str, str | Sequence[str]]] = {
    "get_relations": {"entity": "Name"},
    "get_triples": {"entity": "Name", "relations": ["a.b.c"]},
}
"""Example arguments of each tool, in the order in which a call writes them (for protocols)."""
DESCRIPTIONS = {
    "get_relations": "The relations of an entity, the most relevant ones first.",
    "get_triples": "The triples of an entity with some of the relations that were listed for it.",
}
"""What each tool does, for chat clients."""
NAMESAKES_NAMED = 3
"""Namesakes that an observation names when a name meant several entities."""


class WalkerTools(NamedTopics):
    """The toolbox of one episode: its name book and the relations that it has shown so far."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        question: Question,
        settings: WalkerSettings | None = None,
        list_relations: Lister | None = None,
        rank: Ranker = bm25,
    ) -> None:
        self._settings = settings or WalkerSettings()
        super().__init__(graph, question, self._settings.longest_name)
        self._list = list_relations or lister(graph, self._settings)
        self._rank = rank
        # Relations seen in any list may be followed from every entity: an agent that crosses a
        # frontier of twenty need not list each one. `_listed` are the entities that were listed.
        self._seen: set[str] = set()
        self._listed: set[str] = set()
        self._found: Entity | None = None

    def call(self, call: Call) -> Observation:
        self._graph_calls = 0
        self._found = None
        return self._name_namesakes(self._run(call))

    def _run(self, call: Call) -> Observation:
        arguments = call.arguments
        if call.tool not in FORMS:
            return self._error(ErrorKind.UNKNOWN_TOOL, f"there is no {call.tool}; use {_ALL_FORMS}")
        entity, relations = arguments.get("entity"), arguments.get("relations")
        wanted = {"entity"} if call.tool == "get_relations" else {"entity", "relations"}
        if set(arguments) != wanted or not isinstance(entity, str):
            return self._error(ErrorKind.BAD_ARGUMENTS, f"write {FORMS[call.tool]}")
        if call.tool == "get_relations":
            return self._get_relations(entity)
        if not isinstance(relations, list | tuple) or not relations:
            return self._error(ErrorKind.BAD_ARGUMENTS, f"write {FORMS[call.tool]}")
        return self._get_triples(entity, [str(relation) for relation in relations])  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]

    def signatures(self) -> str:
        settings = self._settings
        return (
            'get_relations("entity"): the relations of an entity, outgoing and incoming, the '
            f"{settings.top_relations} most relevant ones.\n"
            'get_triples("entity", ["relation", ...]): the triples of an entity with up to '
            f"{settings.relations_per_call} relations, up to {settings.triples_per_relation} "
            "for each relation and direction."
        )

    def _get_relations(self, name: str) -> Observation:
        entity = self._find(name)
        if entity is None:
            return self._unknown_entity(name)
        listing = self._list_relations(entity)
        relations = listing.relations
        if not relations:
            return self._no_relations(entity)
        self._listed.add(entity.id)
        ranked = self._rank(self._question.text, entity.name, relations)
        return self._show_relations(entity, listing, ranked)

    def _show_relations(
        self, entity: Entity, listing: Listing, ranked: Sequence[str]
    ) -> Observation:
        shown = self._fitting(ranked)
        self._seen.update(shown)
        hidden = len(listing.out.keys() | listing.into.keys()) - len(shown)
        return Observation(
            ", ".join(shown) + more(hidden),
            listed=(Listed(entity.id, listing.hops(shown)),),
            hidden=hidden,
            graph_calls=self._graph_calls,
        )

    def _fitting(self, ranked: Sequence[str]) -> tuple[str, ...]:
        """Return the first relations that are listed: as many as the observation may hold."""
        return fitting(ranked[: self._settings.top_relations], self._settings.entry_chars)

    def _get_triples(self, name: str, requested: Sequence[str]) -> Observation:
        entity = self._find(name)
        if entity is None:
            return self._unknown_entity(name)
        listing = self._list_relations(entity)
        if not (listing.out or listing.into):
            return self._no_relations(entity)
        named, most = list(dict.fromkeys(requested)), self._settings.relations_per_call
        wanted, unread = named[:most], len(named) > most
        usable = [r for r in wanted if r in self._seen and any(listing.sides(r))]
        unusable = [r for r in wanted if r not in usable]
        if not usable:
            return self._refuse(entity, listing, unusable)
        observation = self._show_triples(entity, listing, usable)
        if unread:
            text = f"{observation.text}\nOnly the first {most} relations were read"
            observation = replace(observation, text=text)
        if not unusable:
            return observation
        refusal = self._refuse(entity, listing, unusable)
        return replace(
            observation,
            text=f"{observation.text}\n{refusal.text}",
            error=refusal.error,
            listed=refusal.listed,
            graph_calls=self._graph_calls,
        )

    def _show_triples(
        self, entity: Entity, listing: Listing, relations: Sequence[str]
    ) -> Observation:
        page = Page(self._book, self._settings.entry_chars)
        hops = [(r, direction, total) for r in relations for direction, total in listing.sides(r)]
        limit = self._settings.triples_per_relation
        self._graph_calls += len(hops)
        found = self._graph.step_many([Step(entity.id, r, d, limit) for r, d, _ in hops])
        for (relation, direction, total), ends in zip(hops, found, strict=True):
            # Beyond CVTS_PER_RELATION `total` is a lower bound, so more ends may come than were
            # counted.
            page.add(entity, relation, direction, ends, type(total)(max(total, len(ends))))
        return self._observe_page(page, entity)

    def _observe_page(self, page: Page, entity: Entity) -> Observation:
        """Return the page as an observation of the entity's triples."""
        if not page.shown:
            return self._no_named(entity)
        return Observation(
            page.text,
            shown=tuple(page.shown.values()),
            triples=tuple(page.triples),
            hidden=page.hidden,
            graph_calls=self._graph_calls,
        )

    def _no_named(self, entity: Entity) -> Observation:
        text = f"{quote(entity.name)} has no named entity there; try other relations"
        return self._error(ErrorKind.NO_TRIPLES, text)

    def _refuse(self, entity: Entity, listing: Listing, relations: Sequence[str]) -> Observation:
        """Tell why none of these relations can be followed from here, and what to write instead."""
        here = quote(entity.name)
        # A completion can hold an id of any length; the observation does not repeat it whole.
        what = ", ".join(quote(relation[:200]) for relation in relations)
        unknown = [relation for relation in relations if not any(listing.sides(relation))]
        # Before the entity was listed no near relations are named: that would be its list without
        # the call.
        if entity.id not in self._listed and not all(r in self._seen for r in relations):
            return self._error(
                ErrorKind.NOT_LISTED_YET,
                f"{what} not listed yet; first get_relations({json_name(entity.name)}), "
                "then copy from its list",
            )
        if not unknown:
            return self._error(
                ErrorKind.NOT_LISTED_YET,
                f"{what} not in any list shown; copy a relation from a list",
            )
        near = self._near_relations(listing, unknown)
        # The error shows them, so the next call may use them.
        self._seen.update(near)
        return self._error(
            ErrorKind.UNKNOWN_RELATION,
            f"{here} has no {what}; copy {one_of(near)}",
            (Listed(entity.id, listing.hops(near)),),
        )

    def _near_relations(self, listing: Listing, unknown: Sequence[str]) -> tuple[str, ...]:
        """Existing relations that share most words with the wrong ones, then by relevance."""
        wanted = {word for relation in unknown for word in words(relation[:200])}
        ranked = rank_relations(self._question.text, listing.relations)
        return tuple(sorted(ranked, key=lambda r: -len(wanted.intersection(words(r))))[:5])

    def _find(self, name: str) -> Entity | None:
        self._found = super()._find(name)
        return self._found

    def _name_namesakes(self, seen: Observation) -> Observation:
        """Says so where a name means several entities, and how the others are called here."""
        others = self._book.take_namesakes(self._found.id) if self._found else []
        if self._found is None or not others:
            return seen
        named = [Entity(other.id, self._book.show(other)) for other in others[:NAMESAKES_NAMED]]
        names = ", ".join(quote(entity.name) for entity in named)
        text = (
            f"{seen.text}\nNote: {len(others) + 1} entities match that name; "
            f"this is {quote(self._found.name)}, others are {names}{more(len(others) - len(named))}"
        )
        shown = tuple(dict.fromkeys((*seen.shown, *named)))
        return replace(seen, text=text, shown=shown, hidden=seen.hidden + len(others) - len(named))

    def _list_relations(self, entity: Entity) -> Listing:
        # One look-up for each direction.
        self._graph_calls += 2
        return self._list(entity.id)

    def _no_relations(self, entity: Entity) -> Observation:
        what = "is a value" if is_literal(entity.id) else "has no relations"
        return self._error(
            ErrorKind.NO_RELATIONS, f"{quote(entity.name)} {what}; go on from another entity"
        )


FORMS: Mapping[str, str] = {
    "get_relations": 'get_relations("entity")',
    "get_triples": 'get_triples("entity", ["relation", ...])',
}
"""How each tool is called."""
_ALL_FORMS = " or ".join(FORMS.values())


def json_name(name: str) -> str:
    """Return the name as an argument of a call."""
    quoted = quote(name)
    return quoted if quoted.startswith('"') else f'"{quoted}"'
