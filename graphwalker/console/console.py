"""What a person sees in the terminal: notes, tables, progress bars, and an agent's turns."""

import logging
import textwrap
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import typer
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from graphwalker.console.program import as_typed
from graphwalker.console.terminal import PrintableConsole, PrintableFormatter, printable
from graphwalker.workers.pool import longest_wait, work_since

if TYPE_CHECKING:
    from graphwalker.console.settings import Setting
    from graphwalker.trajectory import Trajectory, Turn

out = PrintableConsole()
err = PrintableConsole(stderr=True)

ProgressTick = Callable[..., None]
"""`tick(done, total, loss=...)`: how far the work is, and figures of it by name."""
LINE_EVERY_S = 60.0
"""Where nobody watches (a log), progress is one line in so many seconds."""


def note(text: str) -> None:
    """Print a line for the person who watches."""
    err.print(escape(as_typed(text)), highlight=False, soft_wrap=True)


def hint(text: str) -> None:
    """Print a command to type next, on standard output."""
    echo(as_typed(text))


def echo(text: str, *, nl: bool = True, err: bool = False) -> None:
    """Print a line as it is; commands in an error are those of this shell."""
    typer.echo(printable(as_typed(text) if err else text), nl=nl, err=err)


def log_warnings() -> None:
    """Print what is logged as a warning or worse."""
    handler = logging.StreamHandler()
    handler.setFormatter(PrintableFormatter("%(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


def silent(*_: object, **__: object) -> None:
    """Do nothing: the tick of work that shows its own progress."""


class _Figures(ProgressColumn):
    """Rate, and the last figures of the work, such as its loss."""

    def render(self, task: Task) -> Text:
        return Text(_figures(task.finished_speed or task.speed, task.fields["figures"]))


@contextmanager
def progress(label: str, every_s: float = LINE_EVERY_S) -> Generator[ProgressTick]:
    """Show a bar with rate, figures and remaining time; without a terminal, a line a minute.

    Where nothing happens for a minute, a line says what is waited for.
    """
    with _progress(label, every_s) as shown, _watchdog(label, every_s) as alive:

        def tick(*args: Any, **figures: Any) -> None:
            alive()
            shown(*args, **figures)

        yield tick


@contextmanager
def _watchdog(label: str, every_s: float) -> Generator[Callable[[], None]]:
    done, last = threading.Event(), [(time.monotonic(), work_since({}))]

    def alive() -> None:
        last[0] = time.monotonic(), work_since({})

    def watch() -> None:
        while not done.wait(every_s):
            since, before = last[0]
            idle, wait = time.monotonic() - since, longest_wait()
            if idle < every_s:
                continue
            done_since = work_figures(work_since(before), idle)
            found = [f"at work: {done_since}"] if done_since else []
            if wait and wait[1] > idle / 2:
                found.append(f"waiting for {wait[0]} since {clock(wait[1])}")
            what = "; ".join(found) or "at work, no request"
            note(f"{label}: nothing new for {clock(idle)}; {what}")

    threading.Thread(target=watch, daemon=True, name=f"watchdog of {label}").start()
    try:
        yield alive
    finally:
        done.set()


@contextmanager
def _progress(label: str, every_s: float) -> Generator[ProgressTick]:
    if not err.is_terminal:
        yield _lines(label, every_s)
        return
    columns = (
        TextColumn("{task.description:<24}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Figures(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err) as bar:
        task = bar.add_task(escape(label), total=None, figures={})

        def tick(done: int, total: int, *_: object, **figures: float) -> None:
            bar.update(task, completed=done, total=total, figures=figures)

        yield tick


def _lines(label: str, every_s: float) -> ProgressTick:
    first = shown = 0.0
    begun: int | None = None
    start = before = work_since({})

    def tick(done: int, total: int, *_: object, **figures: float) -> None:
        nonlocal begun, first, shown, before
        now = time.monotonic()
        if begun is None:  # a resumed run begins with what is done: the rate is that of the rest
            begun, first, shown = done, now, now
        if now - shown < every_s:
            return
        rate, since_last = (done - begun) / (now - first), now - shown
        # Of many episodes that are played together, the first ones say little of the rest.
        is_known = rate > 0 and done - begun >= (total - begun) / 20
        rest = f"{clock((total - done) / rate)} left" if is_known else ""
        sums = {kind: n for kind, n in work_since(start).items() if kind in ("turns", "cost")}
        shown_elsewhere = {"episodes": 0, **({"trained": 0} if "tokens/s" in figures else {})}
        work = work_figures({**work_since(before), **sums, **shown_elsewhere}, since_last)
        shown, before = now, work_since({})
        shares = [f"{done:,} of {total:,}", _figures(rate, figures), work, rest]
        note(f"{label}: {', '.join(filter(None, shares))}")

    return tick


def _figures(rate: float | None, figures: Mapping[str, float]) -> str:
    """
    >>> _figures(0.25, {"loss": 1.5})
    '15/min, loss 1.5'
    """
    speed = [] if not rate else [f"{rate:,.0f}/s" if rate >= 10 else f"{60 * rate:,.3g}/min"]
    return ", ".join([*speed, *(f"{name} {value:,.4g}" for name, value in figures.items())])


def work_figures(done: Mapping[str, float], seconds: float) -> str:
    """Return what was done in so many seconds, tokens as rates.

    >>> work_figures({"episodes": 2, "turns": 9, "written": 600, "cost": 0.0123}, 60)
    '2 episodes, 9 turns, writes 10 tokens/s, cost 0.0123'
    """
    counts = [(kind, round(done.get(kind, 0))) for kind in ("episodes", "turns")]
    found = [f"{n:,} {kind if n > 1 else kind[:-1]}" for kind, n in counts if n]
    for kind, verb in (("read", "reads"), ("written", "writes"), ("trained", "trains")):
        if done.get(kind):
            found.append(f"{verb} {done[kind] / max(seconds, 1e-9):,.3g} tokens/s")
    return ", ".join([*found, *([f"cost {done['cost']:.3g}"] if done.get("cost") else [])])


def clock(seconds: float) -> str:
    """Return a time that is left.

    >>> clock(59), clock(3700)
    ('59 s', '1 h 2 min')
    """
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def facts(title: str, rows: Mapping[str, Any]) -> None:
    """Print what a stage reports in two columns; nested values have lines of their own."""
    table = Table(title=escape(title), show_header=False)
    for key, value in _flat(rows):
        table.add_row(escape(key), escape(value))
    out.print(table)


def _flat(rows: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in rows.items():
        if isinstance(value, Mapping):
            yield from _flat(cast(Mapping[str, Any], value), f"{prefix}{key}.")
        elif isinstance(value, int) and not isinstance(value, bool):
            yield f"{prefix}{key}", f"{value:,}"
        elif isinstance(value, float):
            yield f"{prefix}{key}", f"{value:,.4g}"
        else:
            yield f"{prefix}{key}", str(value)


def show_turn(number: int, turn: "Turn") -> None:
    """Print a turn: its thought, its action, and what came back."""
    for text, style in turn.lines(number):
        out.print(Text(text, style=style))


def show_answer(trajectory: "Trajectory") -> None:
    """Print the last line of an episode."""
    out.print(Text(trajectory.ending(), style="bold red" if trajectory.answer is None else "bold"))


def settings(rows: "Iterable[Setting]") -> None:
    """Print settings: a line with name, type and default each, its meaning below."""
    width = min(out.width, 100)
    for row in rows:
        about = f"graphwalker config {row.block}" if row.block else f"{row.kind}  {row.default}"
        line = Text(f"{row.key}  {as_typed(about) if row.block else about}")
        line.stylize("bold", 0, len(row.key))
        out.print(line, soft_wrap=True)
        for part in textwrap.wrap(row.meaning, width - 4, break_on_hyphens=False):
            out.print(Text(f"    {part}"), soft_wrap=True)
