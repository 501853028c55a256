"""ToG's beam: paths, what may lengthen them, and which of them are kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphwalker.agents.published.pathwise.tools import listed_hop, shown_triple, triple_text
from graphwalker.graphs.base import Entity
from graphwalker.query.query import Hop


@dataclass(frozen=True, slots=True)
class BeamPath:
    """A path of the beam: its topic, its steps, and the product of its scores."""

    topic: Entity
    steps: tuple[tuple[Hop, Entity], ...] = ()
    score: float = 1.0

    @property
    def tail(self) -> Entity:
        return self.steps[-1][1] if self.steps else self.topic

    def text(self) -> str:
        here, parts = self.topic, list[str]()
        for hop, end in self.steps:
            parts.append(triple_text(shown_triple(here, hop, end)))
            here = end
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Branching:
    """A hop that was chosen at the end of a path, its score, and where it leads."""

    path: BeamPath
    hop: Hop
    score: float
    ends: tuple[Entity, ...]


def chosen_hops(
    arguments: Mapping[str, Any], listed: Sequence[Hop], width: int
) -> list[tuple[Hop, float]]:
    """The listed hops that were chosen, best first; others are passed over."""
    found: dict[Hop, float] = {}
    for row in arguments["relations"]:
        hop = listed_hop(str(row.get("relation") or ""), listed)
        if hop is not None:
            found.setdefault(hop, _score(row))
    return sorted(found.items(), key=lambda item: -item[1])[:width]


def scores_of(arguments: Mapping[str, Any]) -> dict[str, float]:
    """The scores of entities by name."""
    return {str(row.get("entity") or ""): _score(row) for row in arguments["entities"]}


def best_branchings(branchings: Sequence[Branching], width: int) -> list[Branching]:
    """The `width` best over all paths of the beam; equal ones in order."""
    return sorted(branchings, key=lambda one: -one.path.score * one.score)[:width]


def extended(one: Branching, scores: Mapping[str, float]) -> list[BeamPath]:
    """The path with each end that has a score above 0."""
    return [
        BeamPath(
            one.path.topic,
            (*one.path.steps, (one.hop, end)),
            one.path.score * one.score * scores[end.name],
        )
        for end in one.ends
        if scores.get(end.name, 0.0) > 0
    ]


def best_paths(paths: Sequence[BeamPath], width: int) -> list[BeamPath]:
    """The `width` best paths; equal ones in order."""
    return sorted(paths, key=lambda path: -path.score)[:width]


def path_lines(paths: Sequence[BeamPath]) -> str:
    """The paths, one a line; those without a step say nothing."""
    return "\n".join(path.text() for path in paths if path.steps)


def _score(row: Mapping[str, Any]) -> float:
    value = row.get("score")
    known = isinstance(value, int | float) and not isinstance(value, bool) and value == value
    return min(1.0, max(0.0, float(value))) if known else 0.0  # pyright: ignore[reportArgumentType]
