"""A graph in the hands of a person: its facts, samples, parts, and other libraries' forms."""

import random
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.triples import Direction, Entity, Side, Triple

if TYPE_CHECKING:
    from graphwalker.graphs.base import KnowledgeGraph
    from graphwalker.graphs.memory import MemoryGraph

COLUMNS = ("head", "relation", "tail", "head_name", "tail_name")


def facts(graph: "KnowledgeGraph") -> Iterator[Triple]:
    """Yield every triple once: those of named entities in id order, and behind each entity those of
    the nodes without a name that it meets. Raises `TypeError` for a graph without a list."""
    if not graph.size:
        raise TypeError(f"{type(graph).__name__} lists no entities: ask it for one by name or id")
    met: set[str] = set()
    for index in range(graph.size):
        waiting = [graph.entity_at(index).id]
        while waiting:
            entity_id = waiting.pop()
            out, into = graph.triples_many([Side(entity_id, d) for d in Direction])
            yield from out
            ends = [*(fact.tail for fact in out), *(fact.head for fact in into)]
            nameless = [end.id for end in ends if not end.name and not is_literal(end.id)]
            new = [end for end in dict.fromkeys(nameless) if end not in met]
            met.update(new)
            waiting += new


def count_facts(graph: "KnowledgeGraph") -> int:
    """Return the number of triples."""
    counted = graph.info().get("triples")
    return counted if isinstance(counted, int) else sum(1 for _ in facts(graph))


def find(graph: "KnowledgeGraph", text: str, *, advice: bool = True) -> Entity:
    """Return the entity of that name, else of that id. Raises `KeyError` with names like it."""
    if named := graph.resolve(text):
        return named[0]
    if name := graph.name(text):
        return Entity(text, name)
    if any(graph.relations(text, direction) for direction in Direction):
        return Entity(text)
    near = [one.name for one in search(graph, text, 3)] if advice and graph.size else []
    raise KeyError(f"{text}: no such name or id" + (f"; near: {', '.join(near)}" if near else ""))


def contains(graph: "KnowledgeGraph", item: object) -> bool:
    """Return whether the graph has an entity, by name or id, or a triple of ids."""
    if isinstance(item, Triple):
        item = (item.head.id, item.relation, item.tail.id)
    match item:
        case (str(head), str(relation), str(tail)):
            return any(e.id == tail for e in graph.neighbors(head, relation, Direction.OUT))
        case Entity(id=str(text)) | str(text):
            try:
                return bool(find(graph, text, advice=False))
            except KeyError:
                return False
        case _:
            return False


def facts_of(graph: "KnowledgeGraph", text: str) -> list[Triple]:
    """Return the triples of an entity, by its name or id: outgoing ones, then incoming ones."""
    entity = find(graph, text)
    sides = graph.triples_many([Side(entity.id, direction) for direction in Direction])
    return [fact for side in sides for fact in side]


def search(graph: "KnowledgeGraph", text: str, limit: int = 10) -> list[Entity]:
    """Return the entities whose name or alias looks like a text, best first."""
    from graphwalker.graphs.views.name_index import index_of

    return [found.entity for found in index_of(graph).search(text, limit)]


def sample(graph: "KnowledgeGraph", count: int, seed: int) -> list[Entity]:
    """Return so many named entities, drawn at random."""
    places = random.Random(seed).sample(range(graph.size), min(count, graph.size))
    return [graph.entity_at(place) for place in places]


def subgraph(graph: "KnowledgeGraph", entities: Iterable[str], hops: int) -> "MemoryGraph":
    """Return the triples within so many hops of some entities, given by names or ids."""
    reached = dict.fromkeys(find(graph, text).id for text in entities)
    kept: dict[Triple, None] = {}
    for _ in range(hops):
        found = graph.triples_many([Side(one, d) for one in reached for d in Direction])
        kept.update(dict.fromkeys(fact for side in found for fact in side))
        ends = (end.id for fact in kept for end in (fact.head, fact.tail))
        reached = dict.fromkeys(end for end in ends if not is_literal(end))
    return from_facts(kept)


def from_facts(found: Iterable[Triple]) -> "MemoryGraph":
    """Return the graph of these triples."""
    from graphwalker.graphs.memory import MemoryGraph

    kept = list(found)
    names = {end.id: end.name for fact in kept for end in (fact.head, fact.tail)}
    return MemoryGraph([(f.head.id, f.relation, f.tail.id) for f in kept], names)


def to_pandas(graph: "KnowledgeGraph") -> Any:
    """Return a DataFrame of all triples: ids in `head`, `relation`, `tail`, and two of names."""
    import pandas  # pyright: ignore[reportMissingTypeStubs]

    rows = [(f.head.id, f.relation, f.tail.id, f.head.name, f.tail.name) for f in facts(graph)]
    return pandas.DataFrame(rows, columns=list(COLUMNS))  # pyright: ignore


def to_networkx(graph: "KnowledgeGraph") -> Any:
    """Return a networkx MultiDiGraph: a node is an id with a `name`, an edge's key its relation."""
    from networkx import MultiDiGraph

    made = cast("Any", MultiDiGraph())
    for fact in facts(graph):
        for end in (fact.head, fact.tail):
            made.add_node(end.id, name=end.name)
        made.add_edge(fact.head.id, fact.tail.id, key=fact.relation, relation=fact.relation)
    return made


def describe(graph: "KnowledgeGraph") -> str:
    """Return one line: the class and its counts; an endpoint is not asked for them."""
    info = graph.info() if graph.size else {}
    shown = [f"{key}={info[key]:,}" for key in ("entities", "relations", "triples") if key in info]
    return f"{type(graph).__name__}({', '.join(shown) or graph.checksum})"
