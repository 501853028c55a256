"""What a person sees in the terminal: notes, tables, progress bars, and an agent's turns."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from rich.console import Console
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

from graphwalker.trajectory import Trajectory, Turn

out = Console()
err = Console(stderr=True)

Tick = Callable[..., None]
"""`tick(done, total)`; what follows is ignored."""


def note(text: str) -> None:
    """A line for the person who watches."""
    err.print(escape(text), highlight=False)


def silent(*_: object) -> None:
    """A tick for work that shows its own progress."""


class _Rate(ProgressColumn):
    """Records per second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "")


@contextmanager
def progress(label: str) -> Generator[Tick]:
    """A bar with rate and remaining time on a terminal; a line every 15 seconds elsewhere."""
    if not err.is_terminal:
        yield _lines(label)
        return
    columns = (
        TextColumn("{task.description:<24}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err) as bar:
        task = bar.add_task(escape(label), total=None)

        def tick(done: int, total: int, *_: object) -> None:
            bar.update(task, completed=done, total=total)

        yield tick


def _lines(label: str) -> Tick:
    started = said = time.monotonic()
    first: list[int] = []

    def tick(done: int, total: int, *_: object) -> None:
        nonlocal said
        first.append(done) if not first else None
        now = time.monotonic()
        if now - said < 15:
            return
        said = now
        rate = (done - first[0]) / (now - started)
        left = f", {(total - done) / rate:,.0f} s left" if rate else ""
        note(f"{label}: {done:,} of {total:,} ({rate:,.0f}/s{left})")

    return tick


def facts(title: str, rows: Mapping[str, Any]) -> None:
    """A two-column table of whatever a stage reports; nested values on lines of their own."""
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


def show_turn(number: int, turn: Turn) -> None:
    """A turn: its thought, its action, and what came back."""
    out.print(f"[bold]Turn {number}[/bold]")
    if turn.thought:
        out.print(Text(f"  thinks    {turn.thought}", style="italic"))
    out.print(Text(f"  does      {_action(turn)}", style="cyan"))
    if turn.observation:
        out.print(Text(f"  observes  {turn.observation}", style="red" if turn.error else ""))


def _action(turn: Turn) -> str:
    action = turn.action
    if "answer" in action:
        return "answers " + ", ".join(action["answer"])
    if "malformed" in action:
        return f"writes no valid action: {turn.completion[:200]!r}"
    arguments = ", ".join(str(value) for value in action.get("arguments", {}).values())
    return f"{action.get('tool', '?')}({arguments})"


def show_answer(trajectory: Trajectory) -> None:
    """The last line of an episode."""
    if trajectory.answer is None:
        out.print(Text(f"No answer ({trajectory.stop.value}).", style="bold red"))
        return
    names = zip(trajectory.answer, trajectory.answer_ids, strict=False)
    shown = ", ".join(f"{name} ({id_})" if id_ else f"{name} (never seen)" for name, id_ in names)
    out.print(Text(f"Answer: {shown or 'nothing'}", style="bold"))


def settings_table(title: str, rows: Iterable[tuple[str, str, str, str]]) -> None:
    """Settings as `graphwalker.config.describe` yields them."""
    table = Table(title=escape(title))
    for column in ("setting", "type", "default", "meaning"):
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(escape(cell) for cell in row))
    out.print(table)
