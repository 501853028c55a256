"""Rollouts one step ahead: the next batch is drawn while the update of this one runs.

The weights that draw it are those before the update, so a batch is at most one step old. Nothing
is drawn while processes talk, the model is saved or evaluated: the step's end waits for the batch.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread
from typing import Any

from transformers import TrainerCallback

from graphwalker.files import read_jsonl, write_jsonl
from graphwalker.trajectory import Trajectory
from training.reinforce.batch import Groups
from training.reinforce.groups import chunks
from training.reinforce.pool import Visit
from training.runs.distributed import processes, rank


@dataclass(frozen=True, slots=True)
class StepQuestions:
    """What this process draws in a step. To make one is a collective, to draw it is none."""

    step: int
    """Optimizer steps done when it is trained on."""
    wanted: Sequence[str]
    """Questions of this process."""
    everyone: Sequence[str] = ()
    """Questions of all processes, where groups may be drawn again."""
    exchanged: int = 0
    """Places of the whole step in which an open question stands for a solved one."""


@dataclass(frozen=True, slots=True)
class StepEpisodes:
    """The scored episodes of a plan."""

    plan: StepQuestions
    drawn_by: int
    """Optimizer steps that the weights had behind them which drew it."""
    groups: Groups
    visits: Sequence[Visit]
    resampled: int


class Ahead:
    """The batch that comes next: in the making, or made and waiting. `order` holds the questions of
    the whole run, `per_step` of them a step."""

    def __init__(self, order: Sequence[str], per_step: int, steps: int) -> None:
        self._order, self._per_step, self._steps = order, per_step, steps
        self._thread: Thread | None = None
        self._open = ExitStack()
        self._drawn: StepEpisodes | None = None
        self._error: Exception | None = None

    def wanted(self, step: int) -> list[str]:
        """Questions of this process in that step; none after the last one."""
        if step >= self._steps:
            return []
        whole = self._order[step * self._per_step : (step + 1) * self._per_step]
        mine = len(whole) // processes()
        return list(whole[rank() * mine : (rank() + 1) * mine])

    def start(self, opened: ExitStack, draw: Callable[[], StepEpisodes]) -> None:
        """Draw in a thread of its own; `opened` is closed once that is done."""
        import torch

        threads = torch.get_num_threads()

        def run() -> None:
            torch.set_num_threads(threads)  # a thread has its own count, and sums follow it
            try:
                self._drawn = draw()
            except Exception as error:
                self._error = error

        self._open = opened
        # A daemon: Ctrl-C does not wait for episodes that nobody will train on.
        self._thread = Thread(target=run, name="rollouts", daemon=True)
        self._thread.start()

    def settle(self) -> None:
        """Wait until the batch is made. Raises what its making raised."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
            self._open.close()
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def take(self, step: int) -> StepEpisodes | None:
        """The batch for that step, once; `None` where it has not been drawn."""
        self.settle()
        drawn, self._drawn = self._drawn, None
        return drawn if drawn is not None and drawn.plan.step == step else None

    # --- in a checkpoint

    def save(self, checkpoint: Path) -> None:
        """Write what waits, so that a resumed run trains on the very same episodes."""
        self.settle()
        if (drawn := self._drawn) is None:
            return
        checkpoint.mkdir(parents=True, exist_ok=True)
        facts = {
            "step": drawn.plan.step, "drawn_by": drawn.drawn_by, "resampled": drawn.resampled,
            "exchanged": drawn.plan.exchanged, "visits": [list(visit) for visit in drawn.visits],
            "samples": len(drawn.groups[0]),
        }  # fmt: skip
        episodes = [t.to_json() for group in drawn.groups for t in group]
        write_jsonl(checkpoint / f"ahead-{rank():05d}.jsonl", [facts, *episodes])

    def load(self, checkpoint: Path) -> None:
        """Read what `save` wrote, by however many processes."""
        files = sorted(checkpoint.glob("ahead-*.jsonl"))
        if not files:
            return
        parts = [_read(file) for file in files]
        groups = [group for part in parts for group in part.groups]
        mine = len(groups) // processes()
        first = rank() == 0  # what is counted over all processes is counted once
        self._drawn = replace(
            parts[0],
            groups=groups[rank() * mine : (rank() + 1) * mine],
            visits=[visit for part in parts for visit in part.visits] if first else [],
            resampled=sum(part.resampled for part in parts) if first else 0,
        )


class Settle(TrainerCallback):
    """At the end of a step, before anything else happens there: the next batch is made."""

    def __init__(self, ahead: Ahead | None) -> None:
        self._ahead = ahead

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._ahead is not None:
            self._ahead.settle()


def _read(file: Path) -> StepEpisodes:
    facts: dict[str, Any]
    facts, *records = list(read_jsonl(file))
    episodes = [Trajectory.from_json(record) for record in records]
    groups = list(chunks(episodes, facts["samples"]))
    return StepEpisodes(
        StepQuestions(
            facts["step"], [group[0].question.id for group in groups], (), facts["exchanged"]
        ),
        facts["drawn_by"],
        groups,
        [(question, right, of) for question, right, of in facts["visits"]],
        facts["resampled"],
    )
