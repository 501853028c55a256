"""The programmatic teacher: a query becomes one question, its intermediate entities masked."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from data_pipeline.lexicon import Lexicon
from data_pipeline.query import Hop, Query, parse_hop
from graphwalker.graphs.base import Entity


@dataclass(frozen=True, slots=True)
class Draft:
    """A question text and how it was said: `phrases[b][k]` is the phrase of hop k of branch b,
    `readings[b][k]` the hops that this phrase may mean, the true one first."""

    text: str
    phrases: tuple[tuple[str, ...], ...]
    tail_phrases: tuple[str, ...]
    readings: tuple[tuple[tuple[Hop, ...], ...], ...]
    tail_readings: tuple[tuple[Hop, ...], ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "phrases": [list(branch) for branch in self.phrases],
            "tail_phrases": list(self.tail_phrases),
            "readings": [[list(map(str, r)) for r in branch] for branch in self.readings],
            "tail_readings": [list(map(str, r)) for r in self.tail_readings],
        }

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> "Draft":
        return cls(
            text=record["text"],
            phrases=tuple(map(tuple, record["phrases"])),
            tail_phrases=tuple(record["tail_phrases"]),
            readings=tuple(
                tuple(tuple(map(parse_hop, r)) for r in branch) for branch in record["readings"]
            ),
            tail_readings=tuple(tuple(map(parse_hop, r)) for r in record["tail_readings"]),
        )


@dataclass(frozen=True, slots=True)
class ProgrammaticTeacher:
    """Asks by nesting hand-written or generated phrases; needs no key and no network."""

    lexicon: Lexicon
    vague: float = 0.5
    """Probability of a vague phrase for a hop that has one and is not the last (0 to 1)."""

    def ask(self, query: Query, answers: Sequence[Entity], rng: random.Random) -> Draft | None:
        """One question, or `None` when it cannot be said well (no phrase, or the answer leaks)."""
        raise NotImplementedError
