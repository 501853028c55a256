"""The archive of a report: a row for every question, and every walk, packed small for the page."""

import base64
import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eval.analysis.error_kinds import KINDS, error_kind
from graphwalker.question import Question
from graphwalker.trajectory import Trajectory
from graphwalker.viewer.record import clean, messages_record, outcome, result, walk_record

CHUNK = 256 * 1024
"""Bytes of JSON that are compressed together: what the page unpacks to open one walk."""
MESSAGES = 8 * 2**20
"""Bytes of raw messages, packed, that a page holds; walks that come later have none there."""


@dataclass(slots=True)
class RunPages:
    """The walks of one run: finished chunks, the one that fills, and a row's facts by place."""

    name: str
    chunks: list[str] = field(default_factory=list)
    rows: dict[int, list[Any]] = field(default_factory=dict)
    """Row -> [outcome, em, f1, turns, answers, stop, kind of error, tokens, chunk, place in it]."""
    samples: dict[int, list[int]] = field(default_factory=dict)
    """Row -> [right, sampled]."""
    usage: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Costs of an episode by its id, where its record does not hold them."""
    messages: list[str] = field(default_factory=list)
    """The raw messages of each chunk's walks, `""` from where they would be too many."""
    room: int = MESSAGES
    _records: list[str] = field(default_factory=list)
    _raw: list[str] = field(default_factory=list)
    _size: int = 0

    def add(self, row: int, trajectory: Trajectory) -> None:
        record = walk_record(trajectory, self.usage.get(trajectory.id))
        text, scores = _dumps(record), trajectory.scores
        judged = trajectory.turns and not trajectory.stop.infrastructure_failure
        self.rows[row] = [
            result(trajectory),
            scores.get("em"),
            scores.get("f1"),
            len(trajectory.turns),
            [clean(name) for name in trajectory.answer or ()],
            trajectory.stop.value,
            error_kind(trajectory) if judged else "",
            record["usage"].get("completion_tokens", 0),
            len(self.chunks),
            len(self._records),
        ]
        self._records.append(text)
        self._raw.append(_dumps(messages_record(trajectory)))
        self._size += len(text)
        if self._size >= CHUNK:
            self.close()

    @property
    def error_kinds(self) -> dict[str, int]:
        """How many walks went wrong in each way."""
        return dict(Counter(kind for *_, kind, _, _, _ in self.rows.values() if kind))

    def close(self) -> None:
        """Pack what is left."""
        if self._records:
            self.chunks.append(pack(f"[{','.join(self._records)}]"))
            raw = pack(f"[{','.join(self._raw)}]") if self.room > 0 else ""
            self.room -= len(raw)
            self.messages.append(raw if self.room > 0 else "")
            self._records, self._raw, self._size = [], [], 0


class WalkArchive:
    """Every question of the report's runs, by row, in the order in which they were first seen."""

    def __init__(self) -> None:
        self.runs: list[RunPages] = []
        self._rows: dict[str, int] = {}
        self._facts: list[list[Any]] = []

    def open_run(
        self, name: str, usage: Mapping[str, Mapping[str, float]] | None = None
    ) -> RunPages:
        """Count the walks added from now on to this run."""
        for run in self.runs[-1:]:
            run.close()
        room = self.runs[-1].room if self.runs else MESSAGES
        self.runs.append(RunPages(clean(name), usage=usage or {}, room=room))
        return self.runs[-1]

    def add(self, trajectory: Trajectory) -> None:
        """Add a walk of the newest run, unless it has one of the same question and sample."""
        row = self._row(trajectory)
        if row not in self.runs[-1].rows:
            self.runs[-1].add(row, trajectory)

    def add_sample(self, question_id: str, right: bool) -> None:
        """Add a sampled episode of the newest run, of a question that it has a walk of."""
        row = self._rows.get(f"{question_id}#0")
        if row is not None:
            counts = self.runs[-1].samples.setdefault(row, [0, 0])
            counts[0] += right
            counts[1] += 1

    def parts(self) -> Iterator[tuple[str, str]]:
        """(element id, base64 text) of every data block of the page, the table's own first."""
        for run in self.runs:
            run.close()
        yield "rows", pack(_dumps(self._table()))
        for place, run in enumerate(self.runs):
            for number, (chunk, raw) in enumerate(zip(run.chunks, run.messages, strict=True)):
                yield f"walks-{place}-{number}", chunk
                if raw:
                    yield f"messages-{place}-{number}", raw

    def name_of(self, trajectory: Trajectory) -> str:
        """Return the id of the row that holds the trajectory."""
        return str(self._facts[self._rows[trajectory.id]][0])

    def _row(self, trajectory: Trajectory) -> int:
        row = self._rows.setdefault(trajectory.id, len(self._facts))
        if row == len(self._facts):
            self._facts.append(_facts(trajectory.question, trajectory.sample))
        return row

    def _table(self) -> dict[str, Any]:
        everyone = range(len(self._facts))
        return {
            "kinds": KINDS,
            "questions": self._facts,
            "runs": [
                {
                    "name": run.name,
                    "rows": [run.rows.get(row) for row in everyone],
                    "samples": [run.samples.get(row) for row in everyone] if run.samples else [],
                }
                for run in self.runs
            ],
        }


def pack(text: str) -> str:
    """Text as gzip in base64: characters that can end no element, the same for the same text."""
    data = gzip.compress(text.encode("utf-8", "replace"), compresslevel=9, mtime=0)
    return base64.b64encode(data).decode("ascii")


def unpack(packed: str) -> Any:
    """Return the JSON value that was packed."""
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def _facts(question: Question, sample: int) -> list[Any]:
    """[id, question, structure, split, hops, topic entities, gold answers]."""
    name = f"{question.id}#{sample}" if sample else question.id
    return [
        clean(name),
        clean(question.text),
        clean(question.structure),
        clean(question.split),
        question.hops,
        [clean(e.name or e.id) for e in question.topic_entities],
        [clean(a.name or a.id) for a in question.answers],
    ]


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def choose(trajectories: Sequence[Trajectory], count: int = 10) -> list[Trajectory]:
    """Choose a varied few: recovered, wrong and right in turn, each time the rarest structure.

    The choice depends on ids and scores alone, never on luck or file order.
    """
    pool = [t for t in trajectories if not t.stop.infrastructure_failure]
    chosen: list[Trajectory] = []
    outcomes: Counter[str] = Counter()
    structures: Counter[str] = Counter()

    def rank(t: Trajectory) -> tuple[int, int, str]:
        shuffled = hashlib.sha256(t.id.encode("utf-8", "surrogatepass")).hexdigest()
        return outcomes[outcome(t)], structures[t.question.structure], shuffled

    while pool and len(chosen) < count:
        best = min(pool, key=rank)
        pool.remove(best)
        chosen.append(best)
        outcomes[outcome(best)] += 1
        structures[best.question.structure] += 1
    return chosen
