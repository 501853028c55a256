"""A question over a knowledge graph, its topic entities and its gold answers."""

from dataclasses import dataclass, field
from typing import Any

from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity


@dataclass(frozen=True, slots=True)
class Answer:
    """One gold answer. `id` is `""` where a benchmark has names only; aliases count as the name."""

    name: str
    id: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """What an agent is asked. `query` is the executable form, where known (see certificates)."""

    id: str
    text: str
    topic_entities: tuple[Entity, ...]
    answers: tuple[Answer, ...] = ()
    dataset: str = ""
    structure: str = ""
    """Reasoning structure: `2-hop` .. `5-hop`, `2I`, `IP`, `PI`, or the benchmark's own word."""
    hops: int = 0
    """Longest number of hops from a topic entity to the answers; 0 when unknown."""
    split: str = ""
    query: dict[str, Any] = field(default_factory=dict[str, Any])
    facets: dict[str, str] = field(default_factory=dict[str, str])
    """What else a benchmark groups its questions by: `level`, `function`, `domain`."""

    def to_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {
            "id": self.id,
            "question": self.text,
            "topic_entities": [{"id": e.id, "name": e.name} for e in self.topic_entities],
            "answers": [
                {"id": a.id, "name": a.name, "aliases": list(a.aliases)} for a in self.answers
            ],
            "dataset": self.dataset,
            "structure": self.structure,
            "hops": self.hops,
            "split": self.split,
            "query": self.query,
        }
        return {**record, "facets": self.facets} if self.facets else record

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> "Question":
        """Read our own JSON form. Raises `UserError` naming the field that is missing or odd."""
        try:
            return cls(
                id=str(record["id"]),
                text=str(record["question"]),
                topic_entities=tuple(
                    Entity(str(e["id"]), str(e["name"])) for e in record["topic_entities"]
                ),
                answers=tuple(
                    Answer(str(a["name"]), str(a.get("id", "")), tuple(a.get("aliases", ())))
                    for a in record.get("answers", ())
                ),
                dataset=str(record.get("dataset", "")),
                structure=str(record.get("structure", "")),
                hops=int(record.get("hops", 0)),
                split=str(record.get("split", "")),
                query=dict(record.get("query") or {}),
                facets=dict(record.get("facets") or {}),
            )
        except KeyError as error:
            raise UserError(f"question record has no field {error.args[0]!r}") from None
        except (TypeError, AttributeError, ValueError) as error:
            raise UserError(
                f"question record {record.get('id', '?')!r} is malformed: {error}"
            ) from None
