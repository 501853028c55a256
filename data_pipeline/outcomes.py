"""What comes of an attempt: a walk, its question, its trajectory, or why there is none."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from data_pipeline.walks.sampler import Walk
from graphwalker.graphs.base import Entity
from graphwalker.query.query import Execution
from graphwalker.question import Question
from graphwalker.trajectory import Trajectory

RuledOut = Callable[["SampledWalk"], str]
"""Why nothing will be made of a walk, whatever its question is; `""` where something may be."""


@dataclass(frozen=True, slots=True)
class Drop:
    """Why an attempt was given up, and at which stage."""

    stage: str
    reason: str
    detail: str = ""

    def to_json(self, attempt_id: str) -> dict[str, Any]:
        record = {"id": attempt_id, "stage": self.stage, "reason": self.reason}
        return {**record, "detail": self.detail} if self.detail else record


@dataclass(frozen=True, slots=True)
class SampledWalk:
    """A walk for a question, with its executed answers."""

    id: str
    walk: Walk
    answers: tuple[Entity, ...]
    split: str
    path: tuple[str, ...]
    """Its relation path, in the one spelling that splits go by."""
    sparql: str = ""
    """Its query in SPARQL, where the config sets `sparql`."""
    run: Execution | None = field(default=None, repr=False, compare=False)
    """Its execution, where this process did it."""

    def with_id(self, attempt_id: str) -> "SampledWalk":
        """Return the same walk, of another attempt. By place: `replace` looks every field up."""
        return SampledWalk(
            attempt_id, self.walk, self.answers, self.split, self.path, self.sparql, self.run
        )

    def query_json(self) -> dict[str, Any]:
        """Return the query as records hold it."""
        record = {**self.walk.query.to_json(), "path": list(self.path)}
        return {**record, "sparql": self.sparql} if self.sparql else record

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            **self.walk.to_json(),
            "query": self.query_json(),
            "hops": self.walk.query.hops,
            "split": self.split,
            "answers": [{"id": e.id, "name": e.name} for e in self.answers],
        }

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> "SampledWalk":
        answers = tuple(Entity(e["id"], e["name"]) for e in record["answers"])
        path = tuple(record["query"]["path"])
        sparql = record["query"].get("sparql", "")
        return cls(record["id"], Walk.from_json(record), answers, record["split"], path, sparql)


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of one attempt: a drop, or a question (with its trajectory where it was solved)."""

    id: str
    sampled: SampledWalk | None = None
    question: Question | None = None
    trajectory: Trajectory | None = None
    drop: Drop | None = None
    waiting: Question | None = None
    """The question of a drop for want of a judge's score: `filter` asks for it again."""
