"""The goal of a job: how many records of each structure are wanted; and the loop that fills it."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, takewhile
from typing import Any

from data_pipeline.jobs.ledger import JobProgress, Ledger, Unit, unit_of
from graphwalker.workers.pool import Pool


@dataclass(frozen=True, slots=True)
class Attempts:
    """Attempts by structure and number, from 0 on."""

    job: Callable[[str, int], Any]
    """What a worker is given; `None` where there is no such attempt."""
    unit: Callable[[str, int], str]
    """How the attempt is called in records."""
    structure_of: Callable[[Mapping[str, Any]], str]
    """The structure that the attempt behind a record was of."""


def draws(
    ruled_out: Callable[[Any], str] | None = None,
    avoided: Callable[[str], frozenset[str]] = lambda _: frozenset(),
) -> Attempts:
    """Attempts without end, each a walk drawn from its structure and its number.

    `ruled_out`: what a job is told of its walk before more is made of it; `avoided`: the relations
    that walks of a stream keep off.
    """
    return Attempts(
        lambda stream, number: (stream, number, ruled_out, avoided(stream)),
        lambda stream, number: f"{stream}/{number}",
        lambda record: unit_of(record).rpartition("/")[0],
    )


def one_of_each(
    items: Mapping[str, Sequence[Any]],
    unit: Callable[[Any], str],
    structure_of: Callable[[Mapping[str, Any]], str],
) -> Attempts:
    """Return one attempt for each item of some lists, by structure, in their order."""

    def job(structure: str, number: int) -> Any:
        listed = items.get(structure, ())
        return listed[number] if number < len(listed) else None

    return Attempts(job, lambda structure, number: unit(items[structure][number]), structure_of)


class Goal:
    """Which structure comes next, from what was tried and kept so far."""

    def __init__(self, quota: Mapping[str, int], source: Attempts, ledger: Ledger) -> None:
        self.quota, self.source, self.files = quota, source, ledger.files
        self.total = sum(quota.values())
        self.kept: Counter[str] = Counter()
        self.tried: Counter[str] = Counter()
        for record, kept in ledger.endings():
            stream = source.structure_of(record)
            self.tried[stream] += 1
            self.kept[self.quota_of(stream)] += kept

    @property
    def streams(self) -> list[str]:
        """The streams that the next attempts are of, one for each structure."""
        return list(self.quota)

    def quota_of(self, stream: str) -> str:
        """Return the structure that a stream's attempts are of."""
        return stream

    def next_structure(self) -> str | None:
        """Return the stream of the structure that is furthest behind its quota; `None` when all are
        full."""
        open_ones = [name for name in self.quota if self.kept[name] < self.quota[name]]
        return min(open_ones, key=lambda n: self.kept[n] / self.quota[n]) if open_ones else None

    def numbers(self, structure: str) -> Iterator[int]:
        """Return the attempts to come."""
        return count(self.tried[structure])

    def count_wanted(self, structure: str) -> Callable[[], int]:
        """Return how many more records of it are wanted, whenever it is called."""
        name = self.quota_of(structure)
        return lambda: self.quota[name] - self.kept[name] if self.is_open(structure) else 0

    def is_open(self, stream: str) -> bool:
        """Return whether the next attempts of its structure are this stream's."""
        return True

    def judge(self, structure: str, unit: Unit) -> Unit:
        """Return the attempt, dropped where earlier ones rule it out."""
        return unit

    def count(self, structure: str, kept: bool) -> None:
        self.tried[structure] += 1
        self.kept[self.quota_of(structure)] += kept

    def exhaust(self, structure: str) -> None:
        """There are no more attempts of a structure that is not full."""
        raise AssertionError(f"no more attempts of {structure}")

    @property
    def progress(self) -> int:
        """Of `total`, for the progress bar."""
        return self.kept.total()

    @property
    def card(self) -> dict[str, Any]:
        """What the data card holds of it."""
        return {}


def too_few(requested: Mapping[str, int], kept: Mapping[str, int]) -> dict[str, Any]:
    """Return what the data card holds of structures with fewer records than were asked for."""
    short = {
        name or "(none)": {"asked": wanted, "made": kept.get(name, 0)}
        for name, wanted in requested.items()
        if kept.get(name, 0) < wanted
    }
    return {"too_few": short} if short else {}


class AllItems(Goal):
    """An attempt at every item of a list, whatever comes of it."""

    def __init__(self, items: Sequence[Any], ledger: Ledger) -> None:
        source = one_of_each({"": items}, lambda item: str(item.id), lambda _: "")
        super().__init__({"": len(items)}, source, ledger)

    def next_structure(self) -> str | None:
        return "" if self.tried[""] < self.total else None

    @property
    def progress(self) -> int:
        return self.tried.total()


class Streams(dict[str, Iterator[Unit]]):
    """The attempts to come of each stream."""

    def __init__(self, goal: Goal, begin: Callable[[str], Iterator[Unit]]) -> None:
        """Streams of now begin at once: they wait for a server side by side."""
        super().__init__({name: begin(name) for name in goal.streams})
        self._begin = begin

    def __missing__(self, name: str) -> Iterator[Unit]:
        self[name] = begun = self._begin(name)
        return begun


def streams(goal: Goal, pool: Pool[Any, Unit]) -> Streams:
    """Return the attempts to come of each stream, made ahead by the pool."""
    return Streams(goal, lambda name: make_units(goal, pool, name, goal.numbers(name)))


def make_units(
    goal: Goal, pool: Pool[Any, Unit], structure: str, numbers: Iterator[int]
) -> Iterator[Unit]:
    """Return the attempts of these numbers, in order, as far as there are any."""
    jobs = (goal.source.job(structure, number) for number in numbers)
    there = takewhile(lambda job: job is not None, jobs)
    return pool.results(there, goal.count_wanted(structure))


def fill(
    goal: Goal,
    pool: Pool[Any, Unit],
    ledger: Ledger,
    progress: JobProgress | None = None,
    source: Callable[[Goal, Pool[Any, Unit]], Streams] = streams,
) -> None:
    """Run attempts until every structure's quota is met.

    Attempts are made ahead by workers, but judged and written here, in order: the files are the
    same for any number of workers. `source` gives the attempts: the pool, or shards to be merged.
    """
    attempts = source(goal, pool)
    while (structure := goal.next_structure()) is not None:
        unit = next(attempts[structure], None)
        if unit is None:
            goal.exhaust(structure)
            continue
        unit = goal.judge(structure, unit)
        ledger.write(unit)
        goal.count(structure, unit[-1][0] == ledger.product)
        if progress:
            progress(goal.progress, goal.total, ledger.stage)
    ledger.publish()
