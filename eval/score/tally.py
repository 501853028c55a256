"""A tally of scores: every metric of every record in order, by one process or by several."""

import gc
import json
import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from eval.score.expected import ExpectedQuestions
from eval.score.files import parser_of, read_predictions
from eval.score.forms import Hints
from eval.score.metrics import FAMILIES, PASS, Family, Scores, family_of, pass_scores
from eval.score.predictions import Prediction, holds_lines, read_lines
from graphwalker.files import open_text
from graphwalker.scoring import near_miss
from graphwalker.workers.pool import Pool, Processes

CHUNK = 2_000
"""Lines that a process scores at a time."""
WORTH = 4_000_000
"""Bytes of a file from which several processes are worth their start."""


@dataclass(frozen=True)
class WantedMetrics:
    """The metrics to compute: those named, in that order, or all. `UserError` for a wrong one."""

    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, names: Iterable[str] | None) -> "WantedMetrics":
        wanted = cls(tuple(dict.fromkeys(names or ())))
        wanted.families()
        return wanted

    def families(self) -> list[Family]:
        if not self.names:
            return list(FAMILIES)
        return list({id(family): family for family in map(family_of, self.names)}.values())

    def ks(self) -> list[int]:
        """Return the k of every Pass@k that is named by its number."""
        return [int(found[1]) for name in self.names if (found := PASS.fullmatch(name))]

    def choose(self, scores: Scores) -> Scores:
        """Return the wanted ones: a family computes more than one name."""
        if not self.names:
            return scores
        every_pass = "pass@k" in self.names
        return {
            name: value
            for name, value in scores.items()
            if name in self.names or (every_pass and PASS.fullmatch(name))
        }


@dataclass
class Tally:
    """Scores of records so far: `values` holds each metric's, over the records that it fits."""

    wanted: WantedMetrics
    keep: bool = False
    """Keep each record's scores in `lines`, as JSON."""
    values: dict[str, "array[float]"] = field(default_factory=dict[str, "array[float]"])
    ids: list[str] = field(default_factory=list[str])
    kinds: dict[tuple[str, ...], int] = field(default_factory=dict[tuple[str, ...], int])
    """Every set of metrics that some record has, numbered."""
    kind: "array[int]" = field(default_factory=lambda: array("I"))
    """Of each record, which of `kinds`."""
    lines: list[str] = field(default_factory=list[str])
    hints: Hints = field(default_factory=Hints)

    def add_all(self, records: Iterable[Prediction], blank: bool = False) -> "Tally":
        """Count the records; `blank` ones as 0, though some published metrics reward silence."""
        families, ks = self.wanted.families(), self.wanted.ks()
        for record in records:
            scores = scores_of(record, families, ks)
            if blank:
                scores = dict.fromkeys(scores, 0.0)
            for name, value in scores.items():
                self.values.setdefault(name, array("d")).append(value)
            if not blank:
                note_hints(self.hints, record)
            self.ids.append(record.id)
            self.kind.append(self.kinds.setdefault(tuple(scores), len(self.kinds)))
            if self.keep:
                chosen = {"id": record.id, "scores": self.wanted.choose(scores)}
                self.lines.append(json.dumps(chosen) + "\n")
        return self

    def ids_of(self, metric: str) -> list[str]:
        """Return the ids of the records that `values[metric]` is of."""
        having = {number for names, number in self.kinds.items() if metric in names}
        return [name for name, kind in zip(self.ids, self.kind, strict=True) if kind in having]


def note_hints(hints: Hints, record: Prediction) -> None:
    """Note how the record's text was read, and whether it nearly has an answer."""
    if record.hint:
        hints.add(*record.hint)
    if typed := near_miss(record.predictions, record.answers):
        hints.add("typing", typed)


def scores_of(record: Prediction, families: Sequence[Family], ks: Sequence[int]) -> Scores:
    """Return every score that the families give a record, and Pass@k for `ks`."""
    scores: Scores = {}
    for family in families:
        if family.applies(record):
            scores.update(family.score(record))
    if ks:
        scores.update(pass_scores(record, ks))
    return scores


def tallies(
    path: Path,
    wanted: WantedMetrics,
    layout: str = "auto",
    expected: ExpectedQuestions | None = None,
    *,
    keep: bool = False,
    workers: int | None = None,
) -> Iterator[Tally]:
    """Tallies of a file or folder, a piece at a time, in order, the same for any `workers`; those
    of the questions of `expected` without a record come last.

    `None` takes the processor cores at hand (four at most) for a long JSONL file.
    """
    several = workers or min(4, os.cpu_count() or 1)
    long = path.is_file() and path.stat().st_size >= WORTH
    if several == 1 or expected or not (long or workers) or not holds_lines(path):
        records = read_predictions(path, layout, expected)
        while piece := list(islice(records, CHUNK)):
            yield Tally(wanted, keep).add_all(piece)
        if expected:
            expected.refuse_strangers(path)
        if expected and expected.missing and not expected.drop:
            yield Tally(wanted, keep).add_all(expected.blanks(), blank=True)
        return
    # Python's own way to start processes: forked ones need no `__main__` guard in a user's script.
    processes = Processes(_scorer, (path, layout, wanted, keep), several, start=None)
    with Pool[_Chunk, Tally](processes, ahead=2 * several) as pool:
        yield from pool.results(_chunks(path))


_Chunk = tuple[int, list[str]]
"""Lines, and the number of the first."""


def _chunks(path: Path) -> Iterator[_Chunk]:
    with open_text(path) as file:
        first = 1
        while lines := list(islice(file, CHUNK)):
            yield first, lines
            first += len(lines)


def _scorer(
    path: Path, layout: str, wanted: WantedMetrics, keep: bool
) -> Callable[[_Chunk], Tally]:
    gc.disable()  # records make no reference cycles; looking for some is a seventh of the time
    parse = parser_of(layout, {})

    def tally(chunk: _Chunk) -> Tally:
        first, lines = chunk
        records = read_lines(path, lines, parse, first)
        return Tally(wanted, keep).add_all(record for record in records if not record.failed)

    return tally
