"""A stage of the road, and what the stages of a run have cost so far."""

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from graphwalker.cli import console
from graphwalker.files import read_json, write_json


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

    @property
    def elapsed_s(self) -> float:
        """Seconds that the run took."""
        return sum(self.seconds.values())

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
            self._count(stage.title, *clock.read())

    def _count(self, title: str, seconds: float, cpu_seconds: float) -> None:
        _add(self.seconds, title, seconds)
        _add(self.cpu_seconds, title, cpu_seconds)
        write_json(self._out / "seconds.json", self.seconds)
        write_json(self._out / "cpu_seconds.json", self.cpu_seconds)


class _Clock:
    """Seconds, and CPU seconds of all cores, since it was made."""

    def __init__(self) -> None:
        self._started, self._cpu = time.monotonic(), _cpu_seconds()

    def read(self) -> tuple[float, float]:
        return time.monotonic() - self._started, _cpu_seconds() - self._cpu


def _read(path: Path) -> dict[str, float]:
    return read_json(path) if path.is_file() else {}


def _add(costs: dict[str, float], title: str, spent: float) -> None:
    costs[title] = round(costs.get(title, 0.0) + spent, 1)


def _cpu_seconds() -> float:
    """Of this process and of the workers that have ended."""
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in uses)
