"""Random property graphs whose names mean nothing (GraphWalk, section 4.5 and Appendix B)."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from graphwalker.errors import UserError
from graphwalker.graphs.property.memory import Edge, MemoryPropertyGraph, Node

_VOWELS = "aeiou"
_CONSONANTS = "bdfgklmnprstvz"
PAIRS = (
    *("bx", "dx", "fj", "fv", "fz", "gx", "jb", "jf", "jg", "jv", "jz", "kx"),
    *("kz", "mx", "px", "tx", "vb", "vf", "vj", "vm", "vx", "zx"),
)
"""Pairs of consonants that stand between two vowels in none of the 348,000 words of Debian's
`american-english-huge`: a string that holds one is none of them."""
_SHAPES = ("v2v", "v2vc", "cv2v", "cv2vc", "v2vcv", "cv2vcv", "cv2vcvc", "cvcv2vc")


def nonword(rng: random.Random) -> str:
    """Return one of about ten million.

    >>> nonword(random.Random(3))
    'rufzir'
    """
    return "".join(_letters(kind, rng) for kind in rng.choice(_SHAPES))


def distinct_nonwords(rng: random.Random) -> Callable[[], str]:
    """Return a source of non-words that never gives one twice."""
    given = set[str]()

    def fresh() -> str:
        while (word := nonword(rng)) in given:
            pass
        given.add(word)
        return word

    return fresh


def words_of_a_pool(size: int, rng: random.Random) -> tuple[Callable[[], str], Callable[[], str]]:
    """Two sources that give no word twice: of the first twentieth of a pool of so many non-words,
    and of the others. The pool is always the same. They raise `UserError` where it is used up."""
    draw = distinct_nonwords(random.Random(f"pool/{size}"))
    pool = [draw() for _ in range(size)]
    return _shuffle(pool[: size // 20], size, rng), _shuffle(pool[size // 20 :], size, rng)


def _shuffle(words: list[str], size: int, rng: random.Random) -> Callable[[], str]:
    left = rng.sample(words, len(words))

    def fresh() -> str:
        if not left:
            raise UserError(f"a pool of {size} non-words is too small for such a graph: give more")
        return left.pop()

    return fresh


def _letters(kind: str, rng: random.Random) -> str:
    return rng.choice({"v": _VOWELS, "c": _CONSONANTS, "2": PAIRS}[kind])


Word = str | float


@dataclass(frozen=True, slots=True)
class GraphSize:
    """How large a graph is; the numbers of classes, of properties and of values a property."""

    nodes: int
    classes: int
    relationships: int
    properties: int
    """Mean number of a class's properties, those of nodes without their `key`."""
    pool: int
    """Values that a property can have."""
    density: float = 1.5
    """Relationships for each node, of all types together."""
    words: int = 0
    """Names and values are drawn from so many non-words, the same for all graphs; a twentieth of
    them are those of classes, types and properties. 0: from some ten million."""

    def __post_init__(self) -> None:
        smallest = (self.nodes, self.classes, self.relationships, self.properties, self.pool)
        if min(smallest) < 1 or self.density <= 0:
            raise UserError("a synthetic graph has at least one of everything, and a density")
        if self.classes > self.nodes:
            raise UserError(f"{self.classes} classes for {self.nodes} nodes: give fewer classes")


SMALL = GraphSize(nodes=100, classes=4, relationships=2, properties=3, pool=5)
"""GraphWalk's Table 2."""
LARGE = GraphSize(nodes=150, classes=8, relationships=4, properties=6, pool=10)
"""The smallest of GraphWalk's Table 4; the others have 200 and 500 nodes."""


def size_of(nodes: int, **others: Any) -> GraphSize:
    """Return a size of that many nodes; `others` default to Table 2 up to 100, else Table 4."""
    base = SMALL if nodes <= SMALL.nodes else LARGE
    return replace(base, nodes=nodes, **others)


@dataclass(frozen=True, slots=True)
class _Class:
    """A label or a type of relationship, and the values that each of its properties can have."""

    name: str
    pools: dict[str, tuple[Word, ...]]

    def draw(self, rng: random.Random) -> dict[str, Word]:
        return {key: rng.choice(pool) for key, pool in self.pools.items()}


def random_graph(size: GraphSize, rng: random.Random) -> MemoryPropertyGraph:
    """Return a graph of that size. Every node has a unique `key`, every node and relationship a
    value of each property of its class. No two relationships of a type join the same nodes the same
    way, and none joins a node with itself."""
    name, fresh = _sources(size, rng)
    classes = [
        _make_class(name().capitalize(), size, name, fresh, rng) for _ in range(size.classes)
    ]
    types = [_make_class(name().upper(), size, name, fresh, rng) for _ in range(size.relationships)]
    members: dict[str, list[str]] = {one.name: [] for one in classes}
    nodes: list[Node] = []
    for _ in range(size.nodes):
        one, key = rng.choice(classes), fresh()
        members[one.name].append(key)
        nodes.append(Node(key, (one.name,), {"key": key, **one.draw(rng)}))
    edges = _edges(size, types, members, rng)
    return MemoryPropertyGraph(nodes, edges)


def _sources(size: GraphSize, rng: random.Random) -> tuple[Callable[[], str], Callable[[], str]]:
    """Return what gives names of the schema, and what gives keys and values, none of them twice."""
    if not size.words:
        fresh = distinct_nonwords(rng)
        return fresh, fresh
    return words_of_a_pool(size.words, rng)


def _make_class(
    name: str,
    size: GraphSize,
    property_name: Callable[[], str],
    fresh: Callable[[], str],
    rng: random.Random,
) -> _Class:
    pools: dict[str, tuple[Word, ...]] = {}
    for _ in range(max(1, rng.randint(size.properties - 1, size.properties + 1))):
        floats = rng.random() < 0.5
        values: dict[Word, None] = {}
        while len(values) < size.pool:
            values[round(rng.uniform(0, 1000), 2) if floats else fresh()] = None
        pools[property_name()] = tuple(values)
    return _Class(name, pools)


def _edges(
    size: GraphSize, types: list[_Class], members: dict[str, list[str]], rng: random.Random
) -> list[Edge]:
    """Relationships in equal parts of each type, between classes that the type joins."""
    pairs = [pair for pair in product(members, repeat=2) if members[pair[0]] and members[pair[1]]]
    found: dict[tuple[str, str, str], Edge] = {}
    for place, kind in enumerate(types):
        joined = rng.sample(pairs, min(size.classes, len(pairs)))
        wanted = round(size.density * size.nodes * (place + 1) / len(types))
        # A graph of few nodes may have no room for so many: it then has fewer.
        for _ in range(50 * size.nodes):
            if len(found) >= wanted:
                break
            start, end = (rng.choice(members[name]) for name in rng.choice(joined))
            if start != end and (start, kind.name, end) not in found:
                edge = Edge(start, kind.name, end, kind.draw(rng))
                found[start, kind.name, end] = edge
    return list(found.values())
