"""Claims: what a walk, a question or a trajectory says of the graph, read from its record."""

from dataclasses import dataclass
from typing import Any

from graphwalker.graphs.base import Entity
from graphwalker.query.query import Query
from graphwalker.question import Question
from graphwalker.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class Claim:
    """What a record says of the graph, whatever kind of record it is."""

    id: str
    query: Query
    answers: tuple[tuple[str, str], ...]
    """Ids (`""` where a record has none) and names."""
    structure: str = ""
    sparql: str = ""
    visited: tuple[tuple[Entity, ...], ...] = ()
    question: Question | None = None
    trajectory: Trajectory | None = None


def claim_of(record: dict[str, Any]) -> Claim | None:
    """What the record says; `None` for one without a query. Raises for a malformed one."""
    if "turns" in record:
        trajectory = Trajectory.from_json(record)
        return _of_question(trajectory.id, trajectory.question, trajectory)
    if "visited" in record:
        return Claim(
            str(record["id"]),
            Query.from_json(record["query"]),
            tuple((a["id"], a["name"]) for a in record["answers"]),
            record["structure"],
            record["query"].get("sparql", ""),
            tuple(tuple(Entity(e["id"], e["name"]) for e in path) for path in record["visited"]),
        )
    question = Question.from_json(record)
    return _of_question(question.id, question, None)


def _of_question(name: str, question: Question, trajectory: Trajectory | None) -> Claim | None:
    if not question.query:
        return None
    return Claim(
        name,
        question.query,
        tuple((answer.id, answer.name) for answer in question.answers),
        question.structure,
        question.annotations.get("sparql", ""),
        question=question,
        trajectory=trajectory,
    )
