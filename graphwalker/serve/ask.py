"""One question, asked of an agent, its walk shown while it happens."""

import re
from collections.abc import Callable, Sequence
from threading import Lock

from graphwalker.agents.environment import Environment
from graphwalker.agents.rollout import Task, rollout
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.graphs.views.freebase import machine_id
from graphwalker.graphs.views.name_index import (
    NameIndex,
    index_of,
)
from graphwalker.oracle.baselines import FirstRelation
from graphwalker.policies.base import Policy, Sampling
from graphwalker.question import Question
from graphwalker.ranking.load import RANKERS
from graphwalker.trajectory import Trajectory, Turn

NO_TOPIC = "no entity of the graph is named in the question: give topic entities"
Show = Callable[[int, Turn], None]
"""Called with (turn number from 1, turn) as soon as a turn is over."""


def ask(
    text: str,
    topics: Sequence[str],
    environment: Environment,
    policy: Policy,
    *,
    max_tokens: int = 512,
    show: Show | None = None,
    note: Callable[[str], None] | None = None,
    index: NameIndex | None = None,
) -> Trajectory:
    """Ask `text` about the entities named `topics`, without any about those that it names. `note`
    is called with a name of `topics` that several entities bear; `index` finds what to suggest for
    a name that none does.

    Raises `UserError` for an unknown name, and for a text that names no entity or several of one
    name.
    """
    graph = environment.graph
    entities = tuple(find_topic(graph, name, note, index) for name in topics)
    entities = entities or one_of_each_name(graph, text, index)
    question = Question("ask", text, entities, dataset="ask")
    sampling = Sampling(max_tokens=max_tokens)

    def on_turn(task: Task, number: int, turn: Turn) -> None:
        if show is not None:
            show(number, turn)

    # Somebody waits for it: what went wrong is said at once, and asking again is one key away.
    policy = outspoken(policy, environment)
    return next(rollout([question], environment, policy, sampling, retries=0, on_turn=on_turn))


def outspoken(policy: Policy, environment: Environment) -> Policy:
    """Return the policy as people meet it: `first-relation` says where no relation has a word of
    the question. Where something learned ranks the relations, the first needs none."""
    if type(policy) is FirstRelation and environment.ranker in RANKERS.values():
        return policy.for_people()
    return policy


def find_topic(
    graph: KnowledgeGraph,
    name: str,
    note: Callable[[str], None] | None = None,
    index: NameIndex | None = None,
) -> Entity:
    """The best entity of that name, or the one of that id.

    Raises `UserError`, with the names that look like it, where there is none.
    """
    found = graph.resolve(name)
    if found:
        if note and len(found) > 1:
            note(f"{name!r} names {len(found)} entities: {_describe(graph, found)}; took the first")
        return found[0]
    entity_id = machine_id(name)
    if graph.name(entity_id):
        return Entity(entity_id, graph.name(entity_id))
    near = [hit.entity.name for hit in index_of(graph, index).search(name, 3)]
    advice = f"did you mean {', '.join(near)}?" if near else "copy a name exactly, or give its id"
    raise UserError(f"no entity is named {name!r} in this graph: {advice}")


def _describe(graph: KnowledgeGraph, found: Sequence[Entity]) -> str:
    kinds = ((entity, graph.types(entity.id)[:1]) for entity in found[:5])
    shown = [f"{e.name} ({', '.join([e.id, *kind])})" for e, kind in kinds]
    return ", ".join(shown) + (", ..." if len(found) > 5 else "")


def one_of_each_name(
    graph: KnowledgeGraph, text: str, index: NameIndex | None = None
) -> tuple[Entity, ...]:
    """Return the entities that the text names. Raises `UserError`, with the candidates, where it
    names none or where several bear the same name."""
    entities = find_topics(graph, text)
    for entity in entities:
        if len(found := graph.resolve(entity.name)) > 1:
            shown = _describe(graph, found)
            raise UserError(
                f"{entity.name!r} names {len(found)} entities: {shown}; choose with --topic ID"
            )
    if not entities:
        near = similar_names(text, index_of(graph, index))
        advice = f"did you mean {', '.join(near)}? " if near else ""
        raise UserError(f"the question names no entity of the graph: {advice}give --topic NAME")
    return entities


LEAST_LIKENESS = 0.85
"""Of a name that is suggested for a few words of a question."""


def similar_names(text: str, index: NameIndex, most: int = 3) -> list[str]:
    """Return the names that look most like some words of the text, the best and longest first."""
    words = [word for match in _WORD.finditer(text) if (word := match[0].strip(_EDGES))]
    spans = [
        " ".join(words[start : start + size])
        for size in range(4, 0, -1)
        for start in range(len(words) - size + 1)
    ]
    hits = [hit for span in spans if len(span) > 3 for hit in index.search(span, 2)]
    near = sorted((hit for hit in hits if hit.score >= LEAST_LIKENESS), key=lambda hit: -hit.score)
    return list(dict.fromkeys(hit.entity.name for hit in near))[:most]


LONGEST = 8
"""Words of the longest name that is looked for."""
_QUOTED = re.compile(r"[\"“«]([^\"”»]+)[\"”»]")
_WORD = re.compile(r"\S+")
_EDGES = "\"'“”«»‘’.,;:!?()[]"


def find_topics(graph: KnowledgeGraph, text: str, most: int = 3) -> tuple[Entity, ...]:
    """Entities whose names stand in the text, in its order: quoted names first, then the longest
    runs of words that are a name and hold a capital or a digit. Raises `GraphError`.
    """
    found: dict[str, Entity] = {}
    for quoted in _QUOTED.finditer(text):
        _add(graph, quoted[1].strip(), found)
    words = [match[0] for match in _WORD.finditer(_QUOTED.sub(" ", text))]
    start = 0
    while start < len(words) and len(found) < most:
        start += _longest(graph, words[start : start + LONGEST], found)
    return tuple(found.values())[:most]


def _longest(graph: KnowledgeGraph, words: list[str], found: dict[str, Entity]) -> int:
    """How many words to step over: those of the longest name that begins here, else one."""
    for size in range(len(words), 0, -1):
        for name in _forms(" ".join(words[:size])):
            if name != name.lower() or any(map(str.isdigit, name)):
                before = len(found)
                if _add(graph, name, found) or len(found) > before:
                    return size
    return 1


def _forms(span: str) -> tuple[str, ...]:
    """The span as it stands, and without punctuation and possessive."""
    bare = span.strip(_EDGES)
    return tuple(dict.fromkeys((span, bare, re.sub(r"['’]s?$", "", bare))))


def _add(graph: KnowledgeGraph, name: str, found: dict[str, Entity]) -> bool:
    candidates = graph.resolve(name) if name else []
    if candidates:
        found.setdefault(candidates[0].id, candidates[0])
    return bool(candidates)


MOST_NAMES = 8
LONGEST_NAME = 100
"""Characters of a name that are looked up."""


def topic_candidates(graph: KnowledgeGraph, text: str) -> list[dict[str, object]]:
    """The entities that a question names, each with all those of its name. Raises `GraphError`."""
    found = find_topics(graph, text)
    return [
        {
            **describe(graph, entity),
            "candidates": [describe(graph, e) for e in graph.resolve(entity.name)[:MOST_NAMES]],
        }
        for entity in found
    ]


def describe(graph: KnowledgeGraph, entity: Entity) -> dict[str, str]:
    """An entity as a list shows it: its id, name and first type."""
    return {"id": entity.id, "name": entity.name, "kind": next(iter(graph.types(entity.id)), "")}


class NameCompletion:
    """The names of a graph, searched as they are typed. The index is made with the first search;
    a large graph needs one beside it (`graphwalker graph index`), else names are found whole."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self._graph = graph
        self._index: NameIndex | None = None
        self._lock = Lock()

    def complete(self, typed: str) -> list[dict[str, str]]:
        """The entities whose names look most like what was typed. Raises `GraphError`."""
        typed = typed.strip()[:LONGEST_NAME]
        if not typed:
            return []
        with self._lock:
            self._index = self._index or index_of(self._graph)
        near = [hit.entity for hit in self._index.search(typed, MOST_NAMES)]
        exact = self._graph.resolve(typed)[:MOST_NAMES]
        return [describe(self._graph, e) for e in list(dict.fromkeys([*exact, *near]))[:MOST_NAMES]]
