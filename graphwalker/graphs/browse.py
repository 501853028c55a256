"""A graph in the hands of a person: its facts, samples, parts, and other libraries' forms."""

import functools
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from graphwalker.errors import UserError
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.triples import Direction, Entity, Side, Triple

if TYPE_CHECKING:
    from graphwalker.graphs.base import KnowledgeGraph

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


def find(graph: "KnowledgeGraph", text: str | Entity, *, advice: bool = True) -> Entity:
    """Return the entity of that name, else of that id. Raises `KeyError` with names like it."""
    if isinstance(text, Entity):
        return text
    if not isinstance(cast("Any", text), str):
        raise TypeError(f"give an entity, or its name or id; got {text!r}")
    if named := graph.resolve(text):
        return named[0]
    if name := graph.name(text):
        return Entity(text, name)
    if any(graph.relations(text, direction) for direction in Direction):
        return Entity(text)
    near = [one.name for one in graph.search(text, 3)] if advice and graph.size else []
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


def facts_of(graph: "KnowledgeGraph", text: str | Entity) -> list[Triple]:
    """Return the triples of an entity, by its name or id: outgoing ones, then incoming ones."""
    return _triples(graph, text)


def look_up(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `relations`, `neighbors` or `triples` of a graph for people: it takes an `Entity` for
    its id, and without relation or direction it is about all of them, of an entity that exists."""
    by_hand, *needed = _BY_HAND[method.__name__]

    @functools.wraps(method)
    def look(graph: "KnowledgeGraph", entity_id: Any, *args: Any, **kwargs: Any) -> Any:
        entity_id = entity_id.id if type(entity_id) is Entity else entity_id
        if len(args) >= len(needed) or kwargs.keys() >= {*needed[len(args) :]}:
            return method(graph, entity_id, *args, **kwargs)
        return by_hand(graph, entity_id, *args, **kwargs)

    return look


def _relations(graph: "KnowledgeGraph", text: str | Entity) -> list[tuple[str, int]]:
    sides = graph.relations_many([Side(find(graph, text).id, d) for d in Direction])
    total = Counter[str]()
    for relation, count in (one for side in sides for one in side):
        total[relation] += count
    return sorted(total.items())


def _triples(
    graph: "KnowledgeGraph",
    text: str | Entity,
    relations: Sequence[str] | None = None,
    direction: Direction | None = None,
    limit: int | None = None,
) -> list[Triple]:
    here = find(graph, text).id
    chosen = list(Direction) if direction is None else [direction]
    sides = graph.triples_many([Side(here, d) for d in chosen], relations, limit)
    return [fact for side in sides for fact in side]


def _neighbors(
    graph: "KnowledgeGraph",
    text: str | Entity,
    relation: str | None = None,
    direction: Direction | None = None,
    limit: int | None = None,
) -> list[Entity]:
    here = find(graph, text)
    found = _triples(graph, here.id, None if relation is None else [relation], direction)
    ends = (fact.tail if fact.head.id == here.id else fact.head for fact in found)
    return list(dict.fromkeys(ends))[:limit]


_BY_HAND: dict[str, tuple[Any, ...]] = {
    "relations": (_relations, "direction"),
    "neighbors": (_neighbors, "relation", "direction"),
    "triples": (_triples, "relations", "direction"),
}
"""What a look-up is without all its arguments, and those that a graph's own one needs."""


def sample(graph: "KnowledgeGraph", count: int, seed: int) -> list[Entity]:
    """Return so many named entities, drawn at random."""
    places = random.Random(seed).sample(range(graph.size), min(count, graph.size))
    return [graph.entity_at(place) for place in places]


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


def to_pyg(graph: "KnowledgeGraph") -> Any:
    """Return a PyTorch Geometric `Data`: `edge_index`, `edge_type` (a place among `relations`), and
    the ids and names of the nodes. Raises `UserError` without PyTorch Geometric."""
    try:
        from torch_geometric.data import Data  # pyright: ignore
    except ImportError as error:
        raise UserError("to_pyg needs PyTorch Geometric: pip install torch_geometric") from error
    import torch

    found = list(facts(graph))
    nodes = sorted({end for fact in found for end in (fact.head, fact.tail)})
    relations = sorted({fact.relation for fact in found})
    at = {end: place for place, end in enumerate(nodes)}
    number = {relation: place for place, relation in enumerate(relations)}
    ends = [[at[fact.head], at[fact.tail]] for fact in found]
    return cast("Any", Data)(
        edge_index=torch.tensor(ends, dtype=torch.long).reshape(-1, 2).T.contiguous(),
        edge_type=torch.tensor([number[fact.relation] for fact in found]),
        num_nodes=len(nodes),
        node_id=[end.id for end in nodes],
        node_name=[end.name for end in nodes],
        relations=relations,
    )


def count_relations(graph: "KnowledgeGraph") -> Any:
    """Return a DataFrame with a row for each relation: its triples, heads, tails, an example."""
    frame = to_pandas(graph)
    grouped = frame.groupby("relation")
    return grouped.agg(
        triples=("head", "size"),
        heads=("head", "nunique"),
        tails=("tail", "nunique"),
        head=("head_name", "first"),
        tail=("tail_name", "first"),
    ).sort_values("triples", ascending=False)


def shown_relations(graph: "KnowledgeGraph", entities: int = 20_000) -> list[str]:
    """Sorted ids as the environment lists them, found around `entities` evenly spread ones."""
    stride = max(1, graph.size // entities)
    found: set[str] = set()
    for index in range(0, graph.size, stride):
        entity = graph.entity_at(index)
        for listed in graph.flat_relations_many([Side(entity.id, d) for d in Direction]):
            found.update(relation for relation, _ in listed)
    return sorted(found)
