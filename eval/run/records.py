"""What an evaluation run leaves on disk: trajectories, sampled records, failures, and costs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from graphwalker.errors import UserError
from graphwalker.files import read_json, read_jsonl, read_records
from graphwalker.trajectory import StopReason, Trajectory

T = TypeVar("T")

PREDICTIONS = "predictions.jsonl"
SAMPLES = "samples.jsonl"
FAILURES = "failures.jsonl"
CONFIG = "config.json"
JUDGED = "judged.jsonl"
"""What a judge says of the predictions, beside them."""


@dataclass(frozen=True, slots=True)
class SampledEpisode:
    """A sampled episode kept small: its scores, answer and end, without its turns."""

    question_id: str
    sample: int
    answer: tuple[str, ...] | None
    stop: StopReason
    scores: Mapping[str, float]

    @classmethod
    def of(cls, trajectory: Trajectory) -> "SampledEpisode":
        return cls(
            trajectory.question.id,
            trajectory.sample,
            trajectory.answer,
            trajectory.stop,
            trajectory.scores,
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "id": f"{self.question_id}#{self.sample}",
            "question_id": self.question_id,
            "sample": self.sample,
            "answer": None if self.answer is None else list(self.answer),
            "stop": self.stop.value,
            "scores": dict(self.scores),
        }

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> "SampledEpisode":
        """Read the small form, or a whole trajectory (both may stand in a samples file)."""
        if "turns" in record:
            return cls.of(Trajectory.from_json(record))
        try:
            return cls(
                str(record["question_id"]),
                int(record["sample"]),
                None if record["answer"] is None else tuple(record["answer"]),
                StopReason(record["stop"]),
                dict(record["scores"]),
            )
        except KeyError as error:
            raise UserError(f"sampled record has no field {error.args[0]!r}") from None
        except (TypeError, ValueError, OverflowError) as error:
            raise UserError(f"sampled record {record.get('id', '?')!r}: {error}") from None


@dataclass(frozen=True, slots=True)
class Run:
    """A finished (or stopped) evaluation run, read back."""

    folder: Path
    trajectories: list[Trajectory]
    samples: list[SampledEpisode]
    failures: list[Trajectory]
    config: dict[str, Any] = field(default_factory=dict)

    def missing(self) -> dict[str, Any]:
        """Return the run's `questions_total`, and what has no score yet: `missing` questions and
        `missing_samples`. Where no settings say (a lone file), failures are what is missing.
        `missing_ids` are of the questions that failed, those that were never asked not among them.
        """
        scored = sum(not t.stop.infrastructure_failure for t in self.trajectories)
        drawn = sum(not s.stop.infrastructure_failure for s in self.samples)
        failed = [t for t in (*self.trajectories, *self.failures) if t.stop.infrastructure_failure]
        lost = sum(t.sample == 0 for t in failed)
        total = int(self.config.get("questions", scored + lost))
        sampled = min(int(self.config.get("sampled_questions", 0)) or total, total)
        wanted = int(self.config.get("samples", 0)) * sampled
        return {
            "questions_total": total,
            "missing": max(0, total - scored),
            "missing_samples": max(0, wanted - drawn) if wanted else len(failed) - lost,
            "missing_ids": sorted({t.question.id for t in failed if t.sample == 0}),
        }


def read_run(
    folder: Path | str,
    keep: Callable[[Trajectory], Trajectory] = lambda trajectory: trajectory,
    keep_sample: Callable[[SampledEpisode], SampledEpisode] = lambda sample: sample,
) -> Run:
    """Read a run's folder, or a lone predictions file. `UserError` names what is missing.

    `keep` is given each trajectory (failures included) as it is read, and returns what stays in
    memory: whoever needs a run's figures only hands back a leaner one. `keep_sample` likewise.
    """
    folder = Path(folder)

    def walk(record: dict[str, Any]) -> Trajectory:
        return keep(Trajectory.from_json(record))

    def read_sampled(record: dict[str, Any]) -> SampledEpisode:
        return keep_sample(SampledEpisode.from_json(record))

    if folder.is_file():
        return Run(folder, list(read_records(folder, walk)), [], [])
    if not (folder / PREDICTIONS).is_file():
        raise UserError(
            f"{folder}: not an evaluation run (no {PREDICTIONS}); make one with: graphwalker eval"
        )
    return Run(
        folder,
        list(read_records(folder / PREDICTIONS, once(walk))),
        _optional(folder / SAMPLES, once(read_sampled)),
        _optional(folder / FAILURES, walk),
        read_config(folder),
    )


def once(parse: Callable[[dict[str, Any]], T]) -> Callable[[dict[str, Any]], T]:
    """Make `parse` refuse a record whose id one before had: that would count twice."""
    seen: set[str] = set()

    def parse_once(record: dict[str, Any]) -> T:
        name = str(record.get("id"))
        if name in seen:
            raise UserError(f"{name} stands twice: two runs at once wrote here; evaluate anew")
        seen.add(name)
        return parse(record)

    return parse_once


def path_ends(folders: Sequence[Path]) -> list[str]:
    """Return as much of each path's end as tells it from the others.

    >>> path_ends([Path("a/eval"), Path("b/eval"), Path("c")])
    ['a/eval', 'b/eval', 'c']
    """
    paths = [folder.resolve().parts[1:] for folder in folders]
    names: list[str] = []
    for parts in paths:
        same = [p for p in paths if p[-1:] == parts[-1:]]
        size = 1
        while size < len(parts) and sum(p[-size:] == parts[-size:] for p in same) > 1:
            size += 1
        names.append("/".join(parts[-size:]))
    return names


def has_predictions(folder: Path) -> bool:
    """Return whether any greedy episode of a run was scored."""
    return next(iter(read_jsonl(folder / PREDICTIONS)), None) is not None


def failure_reason(folder: Path) -> str:
    """Return why the first failed episode failed, `""` where none did."""
    path = folder / FAILURES
    first = next(iter(read_jsonl(path)), None) if path.is_file() else None
    return "" if first is None else str(first.get("provenance", {}).get("error", ""))


def read_config(folder: Path) -> dict[str, Any]:
    """Return the run's settings, `{}` where it has none."""
    path = folder / CONFIG
    return read_json(path, "delete the folder or choose another") if path.is_file() else {}


def _optional(path: Path, parse: Any) -> list[Any]:
    return list(read_records(path, parse)) if path.is_file() else []


USAGE = "usage.jsonl"
COSTS = ("turns", "graph_calls", "prompt_tokens", "completion_tokens", "reasoning_tokens",
         "seconds", "graph_seconds")  # fmt: skip


def tool_calls(trajectory: Trajectory) -> int:
    """Count an episode's calls of tools, those of one message one by one."""
    called = [turn.action for turn in trajectory.turns if "tool" in turn.action]
    return sum(1 + len(action.get("further", ())) for action in called)


def read_verdicts(folder: Path) -> dict[str, bool | None]:
    """Return what a judge said of each question of the run, where one was asked."""
    path = folder / JUDGED
    return {str(r["id"]): r.get("judge") for r in read_jsonl(path)} if path.is_file() else {}


def usage_record(trajectory: Trajectory) -> dict[str, Any]:
    """Return one line of usage.jsonl. `seconds` runs from the question to the end of the episode,
    waiting for others in the same batch included; `graph_seconds` is the part spent in tools."""
    graph_seconds = sum(turn.milliseconds for turn in trajectory.turns) / 1000
    return {
        "id": trajectory.id,
        "stop": trajectory.stop.value,
        **trajectory.usage,
        "graph_seconds": round(graph_seconds, 4),
    }


def read_usage(folder: Path) -> list[dict[str, Any]]:
    """Return one record per episode of a run, the last where a killed run wrote it twice."""
    path = folder / USAGE
    records = read_jsonl(path) if path.is_file() else ()
    return list({str(record.get("id")): record for record in records}.values())


def usage_figures(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Mean, median and 95th percentile per episode, and what all of it cost. `{}` without records.

    >>> usage_figures([{"id": "a", "turns": 2}, {"id": "b", "turns": 4}])["turns"]
    {'mean': 3.0, 'median': 3.0, 'p95': 3.9, 'total': 6.0}
    """
    if not records:
        return {}
    figures: dict[str, Any] = {"episodes": len(records)}
    for name in (*COSTS, "cost"):
        # An episode without reasoning says nothing of it.
        values = [float(record.get(name, 0)) for record in records]
        if any(name in record for record in records):
            figures[name] = _mean_and_quantiles(values)
    return figures


def _mean_and_quantiles(values: Iterable[float]) -> dict[str, float]:
    import numpy as np

    data = np.asarray(list(values))
    median, p95 = np.percentile(data, [50, 95])
    return {
        "mean": round(float(data.mean()), 6),
        "median": round(float(median), 6),
        "p95": round(float(p95), 6),
        "total": round(float(data.sum()), 6),
    }
