"""Scoring a predictions file: every metric of every record, means, intervals."""

import json
import logging
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.intervals import INTERVALS, Interval, mean_interval
from eval.prediction_files import read_predictions
from eval.predictions import Record
from eval.score_metrics import FAMILIES, PASS, Family, Scores, family_of, pass_scores
from eval.score_names import METRICS
from graphwalker.errors import UserError

if TYPE_CHECKING:
    import rich.table

Write = Callable[[dict[str, Any]], object]
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Scored:
    """A scored file: how many records, and each metric's mean and interval over those it fits."""

    n: int
    metrics: dict[str, float]
    intervals: dict[str, Interval]
    counts: dict[str, int]
    """Of each metric, how many records it was taken over."""

    def to_json(self) -> dict[str, Any]:
        """`{"n", "metrics": {name: mean}, "intervals": {name: [low, high]}}`."""
        return {
            "n": self.n,
            "metrics": self.metrics,
            "intervals": {name: list(found) for name, found in self.intervals.items()},
        }


def score_file(
    path: Path,
    metrics: Sequence[str] | None = None,
    *,
    layout: str = "ours",
    questions: Path | None = None,
    per_record: Path | None = None,
    seed: int = 0,
) -> Scored:
    """Score a file or a run's folder; `metrics` defaults to all that apply.

    `per_record` gets one `{"id", "scores"}` a record. Raises `UserError` for an unknown metric, one
    that fits no record, and for bad records (file, line and field are named).
    """
    _families(metrics or ())  # a wrong name is told before anything is read
    records = read_predictions(path, layout, questions)
    if per_record is None:
        return score_records(records, metrics, seed=seed, name=str(path))
    if per_record.resolve() == path.resolve():
        raise UserError(f"{per_record}: is the predictions file; give --per-record another name")
    with _lines_to(per_record) as write:
        return score_records(records, metrics, write, seed=seed, name=str(path))


def score_records(
    records: Iterable[Record],
    metrics: Sequence[str] | None = None,
    write: Write | None = None,
    *,
    seed: int = 0,
    name: str = "predictions",
) -> Scored:
    """Score records one by one; memory grows by a number a metric and record, no more."""
    wanted = list(dict.fromkeys(metrics or ()))
    families = _families(wanted)
    ks = [int(found[1]) for each in wanted if (found := PASS.fullmatch(each))]
    values: dict[str, array[float]] = {}
    n, seen, repeated = 0, set[str](), 0
    for record in records:
        scores = _scores(record, families, ks)
        for metric, value in scores.items():
            values.setdefault(metric, array("d")).append(value)
        n += 1
        repeated += record.id in seen
        seen.add(record.id)
        if write:
            write({"id": record.id, "scores": _chosen(scores, wanted)})
    if not n:
        raise UserError(f"{name}: holds no records to score")
    if repeated:
        _log.warning("%s: %d records repeat an id; every one of them counts", name, repeated)
    return _summarise(values, _shown(values, wanted, families, n, name), n, seed)


def score_record(record: Record, metrics: Sequence[str] | None = None) -> Scores:
    """Every metric that fits the record, or those named."""
    wanted = list(metrics or ())
    ks = [int(found[1]) for each in wanted if (found := PASS.fullmatch(each))]
    return _chosen(_scores(record, _families(wanted), ks), wanted)


def _families(wanted: Sequence[str]) -> list[Family]:
    asked = {id(family_of(name)) for name in wanted}
    return [family for family in FAMILIES if not wanted or id(family) in asked]


def _scores(record: Record, families: Sequence[Family], ks: Sequence[int]) -> Scores:
    scores: Scores = {}
    for family in families:
        if family.applies(record):
            scores.update(family.score(record))
    if ks:
        scores.update(pass_scores(record, ks))
    return scores


def _chosen(scores: Scores, wanted: Sequence[str]) -> Scores:
    if not wanted:
        return scores
    return {name: value for name, value in scores.items() if _asked(name, wanted)}


def _asked(name: str, wanted: Sequence[str]) -> bool:
    return name in wanted or ("pass@k" in wanted and PASS.fullmatch(name) is not None)


def _shown(
    values: dict[str, "array[float]"],
    wanted: Sequence[str],
    families: Sequence[Family],
    n: int,
    name: str,
) -> list[str]:
    """The metrics to show, in the order asked for, else in that of all metrics."""
    passes = sorted((each for each in values if PASS.fullmatch(each)), key=lambda k: int(k[5:]))
    shown: list[str] = []
    for each in wanted or METRICS:
        found = passes if each == "pass@k" else [each] if each in values else []
        if wanted and not found:
            raise UserError(f"{name}: {each} fits no record, it needs {family_of(each).needs}")
        shown += found
    partial = {
        each
        for family in families
        if family.everywhere and not wanted
        for each in family.names
        if len(values.get(family.names[0], ())) < n
    }
    return [each for each in dict.fromkeys(shown) if each not in partial]


def _summarise(
    values: dict[str, "array[float]"], shown: Sequence[str], n: int, seed: int
) -> Scored:
    means: dict[str, float] = {}
    intervals: dict[str, Interval] = {}
    for name in shown:
        means[name], intervals[name] = mean_interval(values[name], seed)
    return Scored(n, means, intervals, {name: len(values[name]) for name in shown})


@contextmanager
def _lines_to(path: Path) -> Iterator[Write]:
    """A JSONL file that appears when it is whole."""
    partial = path.with_name(path.name + ".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("w", encoding="utf-8") as out:
            yield lambda record: out.write(json.dumps(record) + "\n")
        partial.replace(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror})") from None
    finally:
        partial.unlink(missing_ok=True)


def scores_table(scored: Scored) -> "rich.table.Table":
    """The scores for a terminal: print it with a rich console."""
    from rich import box
    from rich.table import Table

    caption = f"Intervals, {INTERVALS}. What each metric means: docs/metrics.md"
    table = Table(title=f"{scored.n:,} records", caption=caption, box=box.SIMPLE)
    table.add_column("metric", no_wrap=True)
    for column in ("mean", "95 % interval", "records"):
        table.add_column(column, justify="right", no_wrap=True)
    for name, mean in scored.metrics.items():
        low, high = scored.intervals[name]
        table.add_row(name, f"{mean:.4f}", f"{low:.4f} .. {high:.4f}", f"{scored.counts[name]:,}")
    return table
