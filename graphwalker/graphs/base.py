"""The knowledge graph as agents see it, and two bases of backends: batched calls, and views."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from graphwalker.graphs import browse, cvt
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.names import names_nothing
from graphwalker.graphs.triples import (
    FLATTENED,
    AtLeast,
    Direction,
    Entity,
    Side,
    Step,
    Triple,
    triple,
)

__all__ = [
    "FLATTENED",
    "AtLeast",
    "Direction",
    "Entity",
    "KnowledgeGraph",
    "Side",
    "Step",
    "Triple",
]


_ABOVE: dict[str, Callable[..., Any]] = {}


def put_above(**functions: Callable[..., Any]) -> None:
    """Set what `search`, `subgraph` and `sparql` of every graph call: functions of modules that
    import this one."""
    _ABOVE.update(functions)


class MemberQuestion(Protocol):
    """A question, as far as it says which graph it is asked of."""

    @property
    def id(self) -> str: ...
    @property
    def facets(self) -> Mapping[str, str]: ...


# Checked at run time by `open_graph`: a factory may give such a graph or a networkx one.
@runtime_checkable
class KnowledgeGraph(Protocol):
    """A read-only graph. Unknown entities and relations give empty results; an outage raises.

    Every list comes in one stable order, the same on every backend:
    relations by relation id, neighbors and triples by entity id (compared as UTF-8 bytes).
    Any call may raise `GraphError` when the backend fails; none returns an empty result instead.

    A backend of one's own inherits from this class and gives four methods: `resolve`, `name`,
    `relations` and `neighbors`. Everything else has a default that it may override: `size`,
    `entity_at` and `relation_ids` to make walks and questions from it, the others for speed.

    A person may give `relations`, `neighbors` and `triples` an `Entity`, or an entity alone: that
    is about all its relations in both directions, and raises `KeyError` for an unknown entity.

    The batched forms (`..._many`) give exactly what the single ones give, one answer for each
    item asked, in the order asked. A class that inherits from this protocol has them for free;
    a backend whose calls are round trips overrides them so that one call is one round trip.
    """

    checksum: str = ""
    """What tells this graph from others in a run's provenance; `""` where nothing does."""
    path: Path | None = None
    """The file that holds it, where it is one."""
    is_remote: bool = False
    """Whether a look-up asks a server, or a recording of one: none is made that is not needed."""
    size: int = 0
    """How many named entities `entity_at` gives; 0 for a graph that cannot list them."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in {"relations", "neighbors", "triples"} & vars(cls).keys():
            setattr(cls, name, browse.look_up(vars(cls)[name]))

    def for_question(self, question: MemberQuestion) -> "KnowledgeGraph":
        """Return the graph that a question is asked of: this one, but where each brings its own
        (`GraphSet`)."""
        return self

    @abstractmethod
    def resolve(self, name: str) -> list[Entity]:
        """Return all entities of that name: exact before case-folded, most types, then id."""
        ...

    @abstractmethod
    def name(self, entity_id: str) -> str:
        """Return the display name, or `""`."""
        ...

    @abstractmethod
    def relations(self, entity_id: str, direction: Direction) -> list[tuple[str, int]]:
        """Distinct relations of the entity in that direction, each with its number of triples."""
        ...

    def count(self, entity_id: str, relation: str, direction: Direction) -> int:
        """Return how many triples the entity has with that relation in that direction."""
        return dict(self.relations(entity_id, direction)).get(relation, 0)

    @abstractmethod
    def neighbors(
        self, entity_id: str, relation: str, direction: Direction, limit: int | None = None
    ) -> list[Entity]:
        """Return the entities on the other end, the first `limit` of them (all when `None`)."""
        ...

    @browse.look_up
    def triples(
        self,
        entity_id: str,
        relations: Sequence[str],
        direction: Direction,
        limit: int | None = None,
    ) -> list[Triple]:
        """Triples around the entity, at most `limit` per relation, in the order of `relations`."""
        here = Entity(entity_id, self.name(entity_id))
        return [
            triple(here, r, other, direction)
            for r in relations
            for other in self.neighbors(entity_id, r, direction, limit)
        ]

    def types(self, entity_id: str) -> list[str]:
        """Type ids such as `people.person`, sorted; empty when the graph has none."""
        return []

    def entity_at(self, index: int) -> Entity:
        """Return the named entity at that place in id order, `0 <= index < size`."""
        raise IndexError(index)

    def relation_ids(self) -> list[str]:
        """Return every relation of the graph, sorted; empty for a graph that cannot list them."""
        return []

    def info(self) -> dict[str, int | str]:
        """Counts and other facts, for people and for provenance."""
        return {"entities": self.size, "checksum": self.checksum}

    def __repr__(self) -> str:
        return browse.describe(self)

    def __bool__(self) -> bool:
        return True  # a graph without triples is one all the same

    def __len__(self) -> int:
        """Return the number of triples. Raises `TypeError` where they cannot be counted."""
        return browse.count_facts(self)

    def __iter__(self) -> Iterator[Triple]:
        return browse.facts(self)

    def __contains__(self, item: object) -> bool:
        """Return whether the graph has an entity, by name or id, or a triple of ids."""
        return browse.contains(self, item)

    def __getitem__(self, name: str | Entity) -> list[Triple]:
        """Get the triples of an entity, by its name or id. Raises `KeyError` with names like it."""
        return browse.facts_of(self, name)

    def sparql(self, query: str, timeout_s: float = 60.0) -> "list[dict[str, Entity]] | bool":
        """Return the solutions of a SELECT, each the entities by variable; whether an ASK holds. A
        graph that lists its entities answers itself (compiled first, where it is not), an endpoint
        (SELECT alone) in its own time. Raises `UserError` for a query that is not understood."""
        return _ABOVE["sparql"](self, query, timeout_s)

    def search(self, text: str, limit: int = 10) -> list[Entity]:
        """Return entities whose name or alias looks like the text, best first."""
        return _ABOVE["search"](self, text, limit)

    def sample(self, count: int, seed: int = 0) -> list[Entity]:
        """So many named entities, drawn at random."""
        return browse.sample(self, count, seed)

    def subgraph(
        self, entities: str | Entity | Iterable[str | Entity], hops: int = 1
    ) -> "KnowledgeGraph":
        """Return the triples within so many hops of the entities, given by names or ids."""
        return _ABOVE["subgraph"](self, entities, hops)

    def to_pandas(self) -> Any:
        """Get a DataFrame of all triples: ids in `head`, `relation`, `tail`, and two of names."""
        return browse.to_pandas(self)

    def to_networkx(self) -> Any:
        """Return a networkx MultiDiGraph: a node is an id with a `name`, edge keys are
        relations."""
        return browse.to_networkx(self)

    def to_pyg(self) -> Any:
        """PyTorch Geometric's `Data`: `edge_index`, `edge_type`, `relations`, and nodes' ids."""
        return browse.to_pyg(self)

    def describe(self) -> Any:
        """Get a DataFrame with a row for each relation: its triples, heads, tails, an example."""
        return browse.count_relations(self)

    def stats(self) -> dict[str, int | str]:
        """Return the counts of `info`."""
        return self.info()

    def names_many(self, entity_ids: Sequence[str]) -> list[str]:
        """`name` of each."""
        return [self.name(entity_id) for entity_id in entity_ids]

    def relations_many(self, sides: Sequence[Side]) -> list[list[tuple[str, int]]]:
        """`relations` of each side."""
        return [self.relations(entity_id, direction) for entity_id, direction in sides]

    def neighbors_many(self, steps: Sequence[Step]) -> list[list[Entity]]:
        """`neighbors` of each step."""
        return [self.neighbors(*step) for step in steps]

    def triples_many(
        self,
        sides: Sequence[Side],
        relations: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[list[Triple]]:
        """`triples` of each side over `relations`; over all that a side has when `None`."""
        found: list[list[Triple]] = []
        for entity_id, direction in sides:
            wanted = relations
            if wanted is None:
                wanted = [relation for relation, _ in self.relations(entity_id, direction)]
            found.append(self.triples(entity_id, wanted, direction, limit))
        return found

    def is_cvt(self, entity: Entity) -> bool:
        """True for a CVT node: by the graph's schema where it has one, else where there is no
        name, or an id in the place of one. A literal is never one."""
        return not is_literal(entity.id) and all(
            map(names_nothing, (entity.name, self.name(entity.id)))
        )

    def is_cvt_end(self, end: Entity, relation: str, direction: Direction) -> bool:
        """True for a CVT node among the `neighbors` over that relation; never asked of literals."""
        return names_nothing(end.name)

    def leads_to_cvts(self, relation: str, direction: Direction) -> bool:
        """False where no triple of that relation has a CVT node on its other end: that spares a
        look at every neighbor."""
        return True

    def inverse_of(self, relation: str) -> str:
        """Return the relation that states the same from the other end, `""` where none is known."""
        return ""

    def flat_relations(self, entity_id: str, direction: Direction) -> list[tuple[str, int]]:
        """Return the relations to list for an entity, by id, each with its number of entities.

        Plain relations that lead to entities or literals, and `r1..r2` for each way through a
        CVT node to another entity: outgoing `entity -r1-> cvt -r2-> x`, incoming `x -r1-> cvt
        -r2-> entity`. Every one of them is accepted by `step`. A count that is an `AtLeast` was not
        finished: an endpoint counts so far at hubs.
        """
        return self.flat_relations_many([Side(entity_id, direction)])[0]

    def flat_relations_many(self, sides: Sequence[Side]) -> list[list[tuple[str, int]]]:
        """`flat_relations` of each side."""
        return cvt.flat_relations_many(self, sides)

    def step(
        self, entity_id: str, relation: str, direction: Direction, limit: int | None = None
    ) -> list[Entity]:
        """Return the entities one hop away over a plain or flattened relation, each once, by id.

        A graph may store `a..b` natively (Freebase slices do): that wins over the way through a
        CVT. CVT nodes are never among the results, nor is the entity itself where the hop is
        flattened.
        """
        return self.step_many([Step(entity_id, relation, direction, limit)])[0]

    def step_many(self, steps: Sequence[Step]) -> list[list[Entity]]:
        """`step` of each."""
        return cvt.step_many(self, steps)


class BatchedGraph(KnowledgeGraph):
    """The other way round than `KnowledgeGraph`, whose batches are made of single calls."""

    def relations(self, entity_id: str, direction: Direction) -> list[tuple[str, int]]:
        return self.relations_many([Side(entity_id, direction)])[0]

    def neighbors(
        self, entity_id: str, relation: str, direction: Direction, limit: int | None = None
    ) -> list[Entity]:
        return self.neighbors_many([Step(entity_id, relation, direction, limit)])[0]

    def triples(
        self,
        entity_id: str,
        relations: Sequence[str],
        direction: Direction,
        limit: int | None = None,
    ) -> list[Triple]:
        return self.triples_many([Side(entity_id, direction)], relations, limit)[0]

    @abstractmethod
    def relations_many(self, sides: Sequence[Side]) -> list[list[tuple[str, int]]]: ...

    @abstractmethod
    def neighbors_many(self, steps: Sequence[Step]) -> list[list[Entity]]: ...

    def triples_many(
        self,
        sides: Sequence[Side],
        relations: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[list[Triple]]:
        over = [relations] * len(sides)
        if relations is None:
            over = [[r for r, _ in found] for found in self.relations_many(sides)]
        heads = map(Entity, [i for i, _ in sides], self.names_many([i for i, _ in sides]))
        steps = [
            [Step(i, r, d, limit) for r in rs or ()] for (i, d), rs in zip(sides, over, strict=True)
        ]
        ends = iter(self.neighbors_many([step for of_side in steps for step in of_side]))
        return [
            [
                triple(head, step.relation, end, step.direction)
                for step in of_side
                for end in next(ends)
            ]
            for head, of_side in zip(heads, steps, strict=True)
        ]


class OverGraph(KnowledgeGraph):
    """A graph that stands over `graph`: what it does not change is that of the graph."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self.graph = graph
        self.checksum, self.size, self.path = graph.checksum, graph.size, graph.path
        self.is_remote = graph.is_remote

    def entity_at(self, index: int) -> Entity:
        return self.graph.entity_at(index)

    def relation_ids(self) -> list[str]:
        return self.graph.relation_ids()

    def resolve(self, name: str) -> list[Entity]:
        return self.graph.resolve(name)

    def name(self, entity_id: str) -> str:
        return self.graph.name(entity_id)

    def types(self, entity_id: str) -> list[str]:
        return self.graph.types(entity_id)

    def count(self, entity_id: str, relation: str, direction: Direction) -> int:
        return self.graph.count(entity_id, relation, direction)

    def names_many(self, entity_ids: Sequence[str]) -> list[str]:
        return self.graph.names_many(entity_ids)

    def relations_many(self, sides: Sequence[Side]) -> list[list[tuple[str, int]]]:
        return self.graph.relations_many(sides)

    def info(self) -> dict[str, int | str]:
        return self.graph.info()
