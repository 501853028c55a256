"""A big world: a Freebase-shaped graph of any number of triples, drawn by numpy in seconds.

The fictional world of `graph make` tells a story entity by entity, which is slow past a few
million. This one has no story, only the shape that costs depend on: 24 types with 9 relations
each, skewed degrees, CVT nodes with a date, literals, and one hub with a tenth of all edges
(a million at 10 M triples). About one named entity to 8 triples, one CVT node to 16.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

KINDS, RELATIONS_PER_KIND = 24, 9
HUB = "m.00hub"
HUB_RELATION = "people.person.gender"
BLOCK = 200_000
DATE = "http://www.w3.org/2001/XMLSchema#date"
_SYLLABLES = np.array([a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "an", "or")])

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Shape:
    """Counts of entities and edges in a world of a given number of triples."""

    triples: int

    @property
    def entities(self) -> int:
        return max(1000, self.triples // 8)

    @property
    def hub_edges(self) -> int:
        return min(1_000_000, self.triples // 10)

    @property
    def cvts(self) -> int:
        return self.triples // 16

    @property
    def plain(self) -> int:
        """Triples that neither CVT nodes (four each) nor the hub take."""
        return self.triples - self.hub_edges - 4 * self.cvts


def make(triples: int, out: Path, seed: int = 0) -> list[Path]:
    """Write triples.tsv, names.tsv and types.tsv into `out` and return the three paths."""
    out.mkdir(parents=True, exist_ok=True)
    shape, paths = Shape(triples), [out / "triples.tsv", out / "names.tsv", out / "types.tsv"]
    with paths[0].open("w", encoding="utf-8") as file:
        for name, count in (("hub", shape.hub_edges), ("cvts", shape.cvts), ("plain", shape.plain)):
            for start in range(0, count, BLOCK):
                rng = np.random.default_rng([seed, len(name), start])
                columns = _BLOCKS[name](shape, rng, start, min(count, start + BLOCK))
                rows = zip(*columns, strict=True)
                file.write("".join([f"{h}\t{r}\t{t}\n" for h, r, t in rows]))
    _write_names(paths[1], shape, seed)
    _write_types(paths[2], shape)
    return paths


def entity(number: int) -> str:
    """Return the id of a named entity."""
    return f"m.0{number:07x}"


def relation(kind: int, index: int) -> str:
    """Return the id of a relation of a kind of entity."""
    return f"domain_{kind % 8}.kind_{kind:02d}.relation_number_{index}"


def _hub(shape: Shape, rng: np.random.Generator, start: int, end: int) -> list[list[str]]:
    heads = np.arange(start, end) % shape.entities
    return [[entity(h) for h in heads.tolist()], [HUB_RELATION] * len(heads), [HUB] * len(heads)]


def _plain(shape: Shape, rng: np.random.Generator, start: int, end: int) -> list[list[str]]:
    heads, tails = _draw_skewed(rng, shape, end - start), _draw_skewed(rng, shape, end - start)
    index = (rng.random(len(heads)) ** 2 * RELATIONS_PER_KIND).astype(np.int64)
    kinds = heads % KINDS
    names = [relation(k, i) for k, i in zip(kinds.tolist(), index.tolist(), strict=True)]
    literal = (index == 0).tolist()
    values = rng.integers(0, max(1, shape.triples // 20), len(heads)).tolist()
    ends = [
        f'"{value}"' if is_literal else entity(tail)
        for is_literal, value, tail in zip(literal, values, tails.tolist(), strict=True)
    ]
    return [[entity(h) for h in heads.tolist()], names, ends]


def _cvts(shape: Shape, rng: np.random.Generator, start: int, end: int) -> list[list[str]]:
    count = end - start
    nodes = [f"m.1{number:07x}" for number in range(start, end)]
    near, far, role = (
        [entity(n) for n in _draw_skewed(rng, shape, count).tolist()] for _ in range(3)
    )
    dates = [
        f'"{1900 + n % 120}-{n % 12 + 1:02d}-{n % 28 + 1:02d}"^^<{DATE}>'
        for n in rng.integers(0, 40_000, count).tolist()
    ]
    kind = rng.integers(0, KINDS, count).tolist()
    names = [f"domain_{k % 8}.kind_{k:02d}.statements" for k in kind]
    about = [[f"statement.kind_{k % 6}.{what}" for k in kind] for what in ("of", "role", "from")]
    return [near + nodes * 3, names + about[0] + about[1] + about[2], nodes + far + role + dates]


_BLOCKS = {"hub": _hub, "plain": _plain, "cvts": _cvts}


def _draw_skewed(rng: np.random.Generator, shape: Shape, count: int) -> Array:
    """Draw entities with a skew: the first thousandth gets a tenth of the draws."""
    return (rng.random(count) ** 3 * shape.entities).astype(np.int64) * 7919 % shape.entities


def _write_names(path: Path, shape: Shape, seed: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(f"{HUB}\tHub\n")
        for start in range(0, shape.entities, BLOCK):
            count = min(shape.entities - start, BLOCK)
            rng = np.random.default_rng([seed, 99, start])
            parts = [_SYLLABLES[rng.integers(0, len(_SYLLABLES), count)].tolist() for _ in range(6)]
            rows = enumerate(zip(*parts, strict=True), start=start)
            file.write(
                "".join(
                    f"{entity(n)}\t{(a + b + c).title()} {(d + e + f).title()}\n"
                    for n, (a, b, c, d, e, f) in rows
                )
            )


def _write_types(path: Path, shape: Shape) -> None:
    with path.open("w", encoding="utf-8") as file:
        for start in range(0, shape.entities, BLOCK):
            numbers = range(start, min(shape.entities, start + BLOCK))
            file.write(
                "".join(f"{entity(n)}\tdomain_{n % 8}.kind_{n % KINDS:02d}\n" for n in numbers)
            )
