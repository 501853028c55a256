"""What was counted a moment ago: a relation with ends that comes back without any is a fault."""

import threading
from collections.abc import Mapping, Sequence

from graphwalker.errors import GraphError
from graphwalker.graphs.base import Entity, Side, Step

REMEMBERED = 4096


class CountedRelations:
    """The relations that the last listings showed, by side; safe among threads."""

    def __init__(self) -> None:
        self._listed: dict[Side, frozenset[str]] = {}
        self._lock = threading.Lock()

    def add(self, listed: Mapping[Side, Sequence[tuple[str, int]]]) -> None:
        with self._lock:
            if len(self._listed) + len(listed) > REMEMBERED:
                self._listed.clear()
            for side, relations in listed.items():
                self._listed[side] = frozenset(relation for relation, _ in relations)

    def contradicted(self, steps: Sequence[Step], found: Sequence[list[Entity]]) -> list[Step]:
        """The steps that led nowhere though their relation was counted there."""
        return [
            step
            for step, ends in zip(steps, found, strict=True)
            if not ends and step.limit != 0 and step.relation in self._of(step)
        ]

    def refuse(self, found: Mapping[Step, list[Entity]]) -> None:
        """Raises `GraphError` where a second look found nothing either."""
        for step, ends in found.items():
            if not ends:
                raise GraphError(
                    f"{step.relation} of {step.entity_id} was counted and has no end now: the "
                    "endpoint loses answers, or its graph was changed"
                )

    def _of(self, step: Step) -> frozenset[str]:
        return self._listed.get(Side(step.entity_id, step.direction), frozenset())
