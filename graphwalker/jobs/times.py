"""The stages of a run on this machine, one after another, and what they have cost so far."""

import os
import resource
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

from graphwalker.console import console
from graphwalker.files import read_json, write_json

EVERY_S = 5.0
"""How often what a stage costs is written down."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A step of a run, by the name under which its seconds are kept."""

    title: str
    work: Callable[[console.ProgressTick], object]
    own_bar: bool = False
    """Whether the work shows its own progress, as commands and training do."""
    is_done: Callable[[], bool] = bool
    """Whether nothing is left to do. Work that sees that for itself is always run."""
    cost: float = 0.0
    """CPU seconds that it takes, about; only their ratio counts. 0: not known."""
    show: Callable[[], object] = bool
    """What is shown of it when it has ended."""


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

    def run_all(self, stages: Sequence[Stage]) -> None:
        """Run the stages that are not done, in order, and say how long all of them still take."""
        started, done = time.monotonic(), 0.0
        for number, stage in enumerate(stages, 1):
            place = f"stage {number} of {len(stages)}: {stage.title}"
            if stage.is_done():
                console.note(f"{place} is done")
                continue
            rest = sum(one.cost for one in stages[number - 1 :] if not one.is_done())
            left = time_left(rest, done, time.monotonic() - started)
            console.note(f"{place} ...{left and f' ({left})'}")
            self.run(stage)
            done += stage.cost
            stage.show()

    def run(self, stage: Stage) -> None:
        """Run a stage; what it cost counts even where it fails or is killed."""
        with self._counted(stage.title):
            if stage.own_bar:
                stage.work(console.silent)
                return
            with console.progress(stage.title) as tick:
                stage.work(tick)

    @contextmanager
    def _counted(self, title: str) -> Generator[None]:
        """Keep what the block costs, every few seconds: who is killed cannot say it at the end."""
        before = self.seconds.get(title, 0.0), self.cpu_seconds.get(title, 0.0)
        started, ended, alive, done = time.monotonic(), *_cpu_seconds(), Event()

        def keep(cpu_seconds: float) -> None:
            self.seconds[title] = round(before[0] + time.monotonic() - started, 1)
            self.cpu_seconds[title] = round(before[1] + cpu_seconds, 1)
            write_json(self._out / "seconds.json", self.seconds)
            write_json(self._out / "cpu_seconds.json", self.cpu_seconds)

        def keep_on() -> None:
            while not done.wait(EVERY_S):
                keep(sum(_cpu_seconds()) - ended - alive)

        thread = Thread(target=keep_on, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
            keep(_cpu_seconds()[0] - ended)


def time_left(rest: float, done: float, elapsed_s: float) -> str:
    """Return how long the rest takes, by the time that a part took; `""` where nothing is known.

    `rest` and `done` are costs. Before a tenth of all is done, a CPU second counts as a second.

    >>> time_left(300, 300, 900), time_left(600, 10, 100), time_left(0, 0, 9)
    ('about 15 min left in all', 'about 10 min left in all', '')
    """
    if not rest:
        return ""
    seconds = rest * elapsed_s / done if done > (rest + done) / 10 else rest
    return f"about {console.clock(seconds)} left in all"


def _read(path: Path) -> dict[str, float]:
    return read_json(path) if path.is_file() else {}


def _cpu_seconds() -> tuple[float, float]:
    """CPU seconds of this process and of the workers that have ended, and of those that run."""
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in uses), sum(map(_seconds_of, _below("self")))


def _below(process: str) -> Iterator[str]:
    """Yield the numbers of the processes that a process has started, and of theirs."""
    for file in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):  # it has ended meanwhile
            for child in file.read_text().split():
                yield child
                yield from _below(child)


def _seconds_of(process: str) -> float:
    with suppress(OSError, ValueError, IndexError):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0
