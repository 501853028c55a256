"""Scoring a predictions file: every metric of every record, means, intervals."""

import logging
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.run.records import Run
from eval.score.expected import ExpectedQuestions
from eval.score.files import of_trajectory
from eval.score.forms import Hints
from eval.score.metrics import METRICS, PASS, Scores, family_of
from eval.score.predictions import Prediction
from eval.score.tally import Tally, WantedMetrics, scores_of, tallies
from graphwalker.errors import UserError
from graphwalker.files import whole_file
from graphwalker.intervals import INTERVALS, Interval, mean_interval

if TYPE_CHECKING:
    import rich.table

Write = Callable[[Iterable[str]], object]
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ScoreResult:
    """A scored file: how many records, and each metric's mean and interval over those it fits."""

    n: int
    metrics: dict[str, float]
    intervals: dict[str, Interval]
    counts: dict[str, int]
    """Of each metric, how many records it was taken over."""
    hints: Hints = field(default_factory=Hints)
    """What is to be said of records that were read in a guessed form, or nearly have an answer."""
    expected: ExpectedQuestions | None = None
    """Of the questions asked, where they were given: who has no record, or two."""

    @property
    def complaint(self) -> str:
        """Why the scores are not those of all questions asked, `""` where they are."""
        return self.expected.complaint() if self.expected else ""

    def to_json(self) -> dict[str, Any]:
        """`{"n", "metrics": {name: mean}, "intervals": {name: [low, high]}}`, `hints` where there
        are some, and with questions `missing`, `doubled`, `unknown` and `differing`."""
        return {
            "n": self.n,
            "metrics": self.metrics,
            "intervals": {name: list(found) for name, found in self.intervals.items()},
            **({"hints": self.hints.to_json()} if self.hints.counts else {}),
            **(self.expected.to_json() if self.expected else {}),
        }

    @property
    def remarks(self) -> list[str]:
        """What is to be said of the records, a line each."""
        differing = self.expected.remark() if self.expected else ""
        return [*filter(None, [differing]), *self.hints.lines()]


def score_file(
    path: Path,
    metrics: Sequence[str] | None = None,
    *,
    layout: str = "auto",
    questions: Path | None = None,
    per_record: Path | None = None,
    seed: int = 0,
    workers: int | None = None,
) -> ScoreResult:
    """Score a file or a run's folder; `metrics` defaults to all that apply.

    With `questions`, each of them counts once, by its answers: one without a record as 0, and of
    two records the first. `per_record` gets one `{"id", "scores"}` a record. Raises `UserError` for
    an unknown metric, one that fits no record, and for bad records (file, line and field are
    named).
    """
    wanted = WantedMetrics.of(metrics)  # a wrong name is reported before anything is read
    keep = per_record is not None
    expected = ExpectedQuestions(questions) if questions else None
    pieces = tallies(path, wanted, layout, expected, keep=keep, workers=workers)
    if per_record is None:
        return replace(_summary(pieces, wanted, str(path), seed), expected=expected)
    if per_record.resolve() == path.resolve():
        raise UserError(f"{per_record}: is the predictions file; give --per-record another name")
    try:
        with whole_file(per_record) as out:  # it appears when it is whole
            found = _summary(pieces, wanted, str(path), seed, out.writelines)
    except OSError as error:
        raise UserError(f"{per_record}: cannot be written ({error.strerror})") from None
    return replace(found, expected=expected)


def score_record(record: Prediction, metrics: Sequence[str] | None = None) -> Scores:
    """Return every metric that fits the record, or those named."""
    wanted = WantedMetrics.of(metrics)
    return wanted.choose(scores_of(record, wanted.families(), wanted.ks()))


def score_run(run: Run, metrics: Sequence[str], seed: int = 0) -> dict[str, Any]:
    """Return the mean of each named metric over the scored episodes of a run, under its name, with
    its interval; `metrics` lists those that fit."""
    kept = [one for one in run.trajectories if not one.stop.infrastructure_failure]
    scores = [score_record(of_trajectory(one), metrics) for one in kept] if metrics else []
    found: dict[str, Any] = {}
    for name in metrics:
        if values := [one[name] for one in scores if name in one]:
            found[name], found[f"{name}_interval"] = mean_interval(values, seed)
    return {**found, "metrics": [name for name in metrics if name in found]} if found else {}


def _summary(
    pieces: Iterable[Tally], wanted: WantedMetrics, name: str, seed: int, write: Write | None = None
) -> ScoreResult:
    values: dict[str, array[float]] = {}
    n, ids = 0, set[str]()
    tallied: list[Tally] = []
    hints = Hints()
    for piece in pieces:
        for metric, found in piece.values.items():
            values.setdefault(metric, array("d")).extend(found)
        n += len(piece.ids)
        ids.update(piece.ids)
        if write:
            write(piece.lines)
        hints.merge(piece.hints)
        tallied.append(replace(piece, values={}, lines=[]))
    if not n:
        raise UserError(f"{name}: holds no records to score")
    if len(ids) < n:
        _log.warning(
            "%s: %d records repeat an id; every one counts, intervals are over the %d ids",
            name, n - len(ids), len(ids),
        )  # fmt: skip
    means: dict[str, float] = {}
    intervals: dict[str, Interval] = {}
    for metric in _metrics_to_show(values, wanted, n, name):
        clusters = None
        if len(ids) < n:
            clusters = [name for piece in tallied for name in piece.ids_of(metric)]
        means[metric], intervals[metric] = mean_interval(values[metric], seed, clusters=clusters)
    counts = {metric: len(values[metric]) for metric in means}
    return ScoreResult(n, means, intervals, counts, hints)


def _metrics_to_show(
    values: dict[str, "array[float]"], wanted: WantedMetrics, n: int, name: str
) -> list[str]:
    """Return the metrics to show, in the order requested, else in that of all metrics."""
    passes = sorted((each for each in values if PASS.fullmatch(each)), key=lambda k: int(k[5:]))
    shown: list[str] = []
    for each in wanted.names or METRICS:
        found = passes if each == "pass@k" else [each] if each in values else []
        if wanted.names and not found:
            raise UserError(f"{name}: {each} fits no record, it needs {family_of(each).needs}")
        shown += found
    if wanted.names:
        return list(dict.fromkeys(shown))
    return [each for each in shown if not family_of(each).everywhere or _fits_all(each, values, n)]


def _fits_all(metric: str, values: dict[str, "array[float]"], n: int) -> bool:
    return len(values.get(family_of(metric).names[0], ())) == n


def scores_table(scored: ScoreResult, name: str = "") -> "rich.table.Table":
    """Return the scores for a terminal: print it with a rich console."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    caption = f"Intervals, {INTERVALS}. What each metric means: docs/metrics.md"
    if scored.complaint:
        caption = f"INCOMPLETE: {scored.complaint}. {caption}"
    count = f"{scored.n:,} {'questions' if scored.expected else 'records'}"
    title = f"{name}: {count}" if name else count
    table = Table(title=title, caption=Text(caption), box=box.SIMPLE)
    table.add_column("metric", no_wrap=True)
    for column in ("mean", "95 % interval", "records"):
        table.add_column(column, justify="right", no_wrap=True)
    for name, mean in scored.metrics.items():
        low, high = scored.intervals[name]
        table.add_row(name, f"{mean:.4f}", f"{low:.4f} .. {high:.4f}", f"{scored.counts[name]:,}")
    return table
