"""A stage of the pipeline, what the stages of a run have cost so far, and stages that a second
process works on."""

import resource
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from graphwalker.cli import console
from graphwalker.files import read_json, write_json
from graphwalker.pipeline.processes import SideProcess

ELAPSED = "seconds"


@dataclass(frozen=True, slots=True)
class Stage:
    """A step of the pipeline, by the name under which its seconds are kept."""

    title: str
    work: Callable[[console.ProgressTick], object]
    own_bar: bool = False
    """Whether the work shows its own progress, as training does."""


class StageTimes:
    """Seconds and CPU seconds of each stage by its title, resumed parts included, kept in the run's
    folder. CPU seconds are those of all cores, worker processes included."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self.seconds = _read(out / "seconds.json")
        self.cpu_seconds = _read(out / "cpu_seconds.json")
        self._elapsed = _read(out / "elapsed.json") or {ELAPSED: sum(self.seconds.values())}

    @property
    def elapsed(self) -> float:
        """Seconds that the run took: those of stages beside others count only where they were
        waited for."""
        return self._elapsed[ELAPSED]

    def run(self, stage: Stage) -> None:
        """Run a stage; what it cost counts even where it fails."""
        console.note(f"{stage.title} ...")
        clock = _Clock()
        try:
            if stage.own_bar:
                stage.work(console.silent)
                return
            with console.progress(stage.title) as tick:
                stage.work(tick)
        finally:
            cost = clock.read()
            self._count({stage.title: cost}, cost[0])

    @contextmanager
    def beside(self, stages: list[Stage]) -> Generator[None]:
        """A process of its own runs the stages, one after the other, while the block runs; leaving
        the block waits for it. Their work is what `pickle` takes, and their results are files.

        Raises what the first of them that failed raised. Where the block raises, the process is
        ended: a stage resumes. Its stages' seconds are those that it took beside the block.
        """
        titles = ", ".join(stage.title for stage in stages)
        console.note(f"beside: {titles} ...")
        process = SideProcess(partial(_run_all, stages), titles)
        try:
            yield
            clock = _Clock()
            with console.progress(titles):
                costs = process.result()
            self._count(costs, clock.read()[0])
        finally:
            process.kill()

    def _count(self, costs: dict[str, tuple[float, float]], waited: float) -> None:
        _add(self._elapsed, ELAPSED, waited)
        for title, (seconds, cpu_seconds) in costs.items():
            _add(self.seconds, title, seconds)
            _add(self.cpu_seconds, title, cpu_seconds)
        write_json(self._out / "seconds.json", self.seconds)
        write_json(self._out / "cpu_seconds.json", self.cpu_seconds)
        write_json(self._out / "elapsed.json", self._elapsed)


class _Clock:
    """Seconds, and CPU seconds of all cores, since it was made."""

    def __init__(self) -> None:
        self._started, self._cpu = time.monotonic(), _cpu_seconds()

    def read(self) -> tuple[float, float]:
        return time.monotonic() - self._started, _cpu_seconds() - self._cpu


def _run_all(stages: list[Stage]) -> dict[str, tuple[float, float]]:
    costs: dict[str, tuple[float, float]] = {}
    for stage in stages:
        clock = _Clock()
        stage.work(console.silent)
        costs[stage.title] = clock.read()
    return costs


def _read(path: Path) -> dict[str, float]:
    return read_json(path) if path.is_file() else {}


def _add(costs: dict[str, float], title: str, spent: float) -> None:
    costs[title] = round(costs.get(title, 0.0) + spent, 1)


def _cpu_seconds() -> float:
    """Of this process and of the workers that have ended."""
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in uses)
