"""The name book of an episode: which shown name stands for which entity."""

import difflib
import json
from collections.abc import Iterable, Sequence
from functools import lru_cache

from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.names import fold
from graphwalker.question import Question
from graphwalker.tools.base import (
    Abilities,
    Call,
    ErrorKind,
    Listed,
    Observation,
    ToolBox,
    abilities_of,
    mistake,
)

_SPECIAL = frozenset('[]",\\<')
_NEAR_AMONG = 500


@lru_cache(1 << 15)
def quote(name: str) -> str:
    """Return the name as an observation writes it: in JSON quotes only where needed.

    >>> quote("Jane Doe"), quote("Washington, D.C.")
    ('Jane Doe', '"Washington, D.C."')
    """
    bare = name and name.isprintable() and name == name.strip() and _SPECIAL.isdisjoint(name)
    return name if bare else json.dumps(name, ensure_ascii=False)


def one_of(texts: Iterable[str]) -> str:
    """Return what an error offers for copying.

    >>> one_of(["a"]), one_of(["a", "b"])
    ('a', 'one of a, b')
    """
    offered = list(texts)
    return ("one of " if len(offered) > 1 else "") + ", ".join(offered)


class NameBook:
    """Shown names and ids, one to one (values of equal text, such as two dates, share a name).

    >>> from graphwalker.graphs.memory import MemoryGraph
    >>> book = NameBook(MemoryGraph([], {"m.1": "Springfield", "m.2": "Springfield"}))
    >>> book.show(Entity("m.2", "Springfield")), book.show(Entity("m.1", "Springfield"))
    ('Springfield', 'Springfield (m.1)')
    >>> book.find("springfield")
    Entity(id='m.2', name='Springfield')
    """

    def __init__(self, graph: KnowledgeGraph, longest: int = 0) -> None:
        """Show a name of more than `longest` characters cut, with its length; 0: no limit."""
        self._graph = graph
        self._longest = longest
        self._names: dict[str, str] = {}
        self._ids: dict[str, str] = {}
        self._folded: dict[str, set[str]] = {}
        self._spelled_out: set[str] = set()
        self._namesakes: dict[str, list[Entity]] = {}

    def label(self, entity: Entity) -> str:
        """Return the name under which the entity is, or would be, shown."""
        known = self._names.get(entity.id)
        if known is not None:
            return known
        name = entity.name or entity.id
        if 0 < self._longest < len(name):
            name = f"{name[: self._longest]}... ({len(name):,} characters)"
        value = is_literal(entity.id)
        suffix = "value" if value else entity.id
        while name in self._ids and not (value and is_literal(self._ids[name])):
            name = f"{name} ({suffix})"
        return name

    def show(self, entity: Entity) -> str:
        """Enter the entity as shown; returns its shown name, the same one for the whole episode."""
        name = self._names.get(entity.id)
        if name is None:
            name = self.label(entity)
            self._names[entity.id] = name
            self._ids.setdefault(name, entity.id)
            self._folded.setdefault(fold(name), set()).add(name)
            if name.endswith((entity.id, f"({entity.id})")):
                self._spelled_out.add(entity.id)
        return name

    def show_entity(self, entity: Entity) -> Entity:
        """Enter the entity as shown; returns it under its shown name."""
        return Entity(entity.id, self.show(entity))

    def find(self, name: str) -> Entity | None:
        """Return the entity meant by a name: as shown, else as shown up to case, else as the graph
        knows it (and then entered here). A bare id counts only where this episode has shown it."""
        shown = self._shown_name(name)
        if shown is not None:
            return Entity(self._ids[shown], shown)
        if name in self._spelled_out:
            return Entity(name, self._names[name])
        candidates = self._graph.resolve(name)
        if not candidates:
            return None
        chosen = Entity(candidates[0].id, self.show(candidates[0]))
        self._namesakes[chosen.id] = candidates[1:]
        return chosen

    def take_namesakes(self, entity_id: str) -> list[Entity]:
        """Return the others among which the entity was chosen when it was first found by its name;
        once taken they count as named."""
        return self._namesakes.pop(entity_id, [])

    def names(self) -> list[str]:
        """Return the names shown, in order."""
        return list(self._ids)

    def entity_id(self, name: str) -> str:
        """Return the id behind a shown name, or `""`; the graph is not asked."""
        shown = self._shown_name(name)
        return self._ids[shown] if shown is not None else ""

    def near(self, name: str, count: int = 3) -> list[str]:
        """Shown names that look like this one, the nearest first."""
        known: Iterable[str] = list(self._ids)[-_NEAR_AMONG:]
        folded = {fold(shown): shown for shown in known}
        found = difflib.get_close_matches(fold(name[:200]), folded, n=count, cutoff=0.6)
        return [folded[key] for key in found]

    def _shown_name(self, name: str) -> str | None:
        if name in self._ids:
            return name
        same = self._folded.get(fold(name), ())
        return next(iter(same)) if len(same) == 1 else None


def topics_shown(tools: ToolBox) -> str:
    """Return the topic entities as a prompt shows them: their names, or as the tools call them."""
    own = abilities_of(tools).topic_text
    return own() if own else ", ".join(map(quote, tools.topic_names()))


class NamedTopics:
    """What tool boxes share that show entities by name: an episode's name book, in which the topic
    entities stand first, and the look-ups of the call at hand."""

    def __init__(self, graph: KnowledgeGraph, question: Question, longest: int = 0) -> None:
        """Show a name of more than `longest` characters cut; 0: no limit."""
        self._graph = graph
        self._question = question
        self._book = NameBook(graph, longest)
        self._topics = tuple(
            self._book.show(topic) if topic.id else topic.name for topic in question.topic_entities
        )
        self._graph_calls: int = 0

    def entity_id(self, name: str) -> str:
        return self._book.entity_id(name)

    def topic_names(self) -> tuple[str, ...]:
        return self._topics

    @property
    def abilities(self) -> Abilities:
        return Abilities(entities=self)

    def find_entity(self, text: str) -> Entity | Observation:
        self._graph_calls = 0
        return self._find(text) or self._unknown_entity(text)

    def show_entity(self, entity: Entity) -> tuple[Entity, str]:
        shown = self._book.show_entity(entity)
        return shown, quote(shown.name)

    def shown_names(self) -> Sequence[str]:
        return self._book.names()

    def call(self, call: Call) -> Observation:
        """Nothing: an agent that asks for decisions runs them by methods of its tools' own."""
        return Observation("")

    def signatures(self) -> str:
        return ""

    def _find(self, name: str) -> Entity | None:
        """Return the entity of that name; one that was not shown yet takes a look-up."""
        self._graph_calls += not self._book.entity_id(name)
        return self._book.find(name) if name else None

    def _unknown_entity(self, name: str) -> Observation:
        near = self._book.near(name) or list(self._topics[:3])
        copy = f"; copy {one_of(map(quote, near))}" if near else ""
        return self._error(ErrorKind.UNKNOWN_ENTITY, f"no entity {quote(name[:200])}{copy}")

    def _error(self, kind: ErrorKind, text: str, listed: tuple[Listed, ...] = ()) -> Observation:
        return mistake(kind, text, self._graph_calls, listed)
