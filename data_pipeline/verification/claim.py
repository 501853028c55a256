"""The claim of a record about the graph, whatever kind of record it is."""

from dataclasses import dataclass
from typing import Any

from graphwalker.datasets.queries import EQUAL, EXECUTED
from graphwalker.graphs.base import Entity
from graphwalker.query.query import Query
from graphwalker.question import Question
from graphwalker.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class Claim:
    """A record's query, answers and episode, as far as it has them."""

    id: str
    query: Query | None
    answers: tuple[tuple[str, str], ...]
    """Ids (`""` where a record has none) and names."""
    structure: str = ""
    sparql: str = ""
    visited: tuple[tuple[Entity, ...], ...] = ()
    question: Question | None = None
    trajectory: Trajectory | None = None

    @property
    def is_published(self) -> bool:
        """Whether somebody else wrote the question: its names, its form and its answers are facts
        of a benchmark, and no certificate of ours."""
        return self.question is not None and self.question.wording is None

    @property
    def is_executable(self) -> bool:
        """Whether its query is to find exactly its answers."""
        fit = self.question.annotations.get(EXECUTED, EQUAL) if self.question else EQUAL
        return self.query is not None and (fit == EQUAL or not self.is_published)


def claim_of(record: dict[str, Any]) -> Claim:
    """Return what the record claims. Raises for a malformed one."""
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


def _of_question(name: str, question: Question, trajectory: Trajectory | None) -> Claim:
    return Claim(
        name,
        question.query,
        tuple((answer.id, answer.name) for answer in question.answers),
        question.structure,
        question.annotations.get("sparql", ""),
        question=question,
        trajectory=trajectory,
    )
