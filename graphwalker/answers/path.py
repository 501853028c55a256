"""A path: an answer whose order counts, and which several answers may satisfy."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from graphwalker.answers.measures import measures, nothing


@dataclass(frozen=True, slots=True)
class PathAnswer:
    """A path from its first node to its last one. Without `edges` only this one is right; with
    them every path whose steps all follow an edge, in either direction.

    >>> gold = PathAnswer(("a", "b"), (("a", "b"), ("a", "c"), ("c", "b")))
    >>> gold.compare(["a", "c", "b"])["em"], gold.compare(["a", "c", "b"])["path_ratio"]
    (1.0, 2.0)
    >>> gold.compare(["b", "a"])["em"]
    0.0
    """

    kind: ClassVar[str] = "path"
    nodes: tuple[str, ...]
    """A shortest one, where several are right."""
    edges: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not self.nodes:
            raise ValueError("a path has at least one node")

    def texts(self) -> tuple[str, ...]:
        return self.nodes

    def compare(self, given: Sequence[str] | None) -> dict[str, float]:
        """`em` says whether it is right, the other measures the same. `path_ratio`, of a right one
        only: its steps to those of the shortest."""
        if given is None or self.fault(given):
            return nothing()
        steps, shortest = len(given) - 1, len(self.nodes) - 1
        ratio = steps / shortest if shortest else 1.0
        return {**measures(1, 1, 1, True), "path_ratio": ratio}

    def fault(self, given: Sequence[str]) -> str:
        """Why this is no right path, or `""`."""
        nodes = [node.strip() for node in given]
        if not self.edges:
            return "" if tuple(nodes) == self.nodes else "another path"
        if not nodes or nodes[0] != self.nodes[0]:
            return "does not begin at the start"
        if nodes[-1] != self.nodes[-1]:
            return "does not end at the goal"
        known = {*self.edges, *((b, a) for a, b in self.edges)}
        jump = next((step for step in pairwise(nodes) if step not in known), None)
        return "" if jump is None else f"there is no step from {jump[0]} to {jump[1]}"

    def shown(self, observations: Sequence[str]) -> tuple[bool, bool]:
        words = _words(observations)
        found = [node in words for node in self.nodes]
        return any(found), all(found)

    def grounded(self, given: Sequence[str] | None, observations: Sequence[str]) -> bool:
        words = _words(observations) | {self.nodes[0]}
        return bool(given) and all(node.strip() in words for node in given)

    def to_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {"kind": self.kind, "nodes": list(self.nodes)}
        return {**record, "edges": [list(edge) for edge in self.edges]} if self.edges else record

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> "PathAnswer":
        edges = tuple((str(a), str(b)) for a, b in record.get("edges", ()))
        return cls(tuple(map(str, record["nodes"])), edges)


def _words(observations: Sequence[str]) -> set[str]:
    """What stands between signs and spaces."""
    text = "\n".join(observations)
    return set("".join(c if c.isalnum() or c in "_-" else " " for c in text).split())
