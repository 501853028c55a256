"""How the stages of a run stand, and the submission of those that are not done."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from graphwalker.errors import UserError
from graphwalker.jobs.stages import (
    LOGS,
    JobStage,
    add_job,
    append_stage,
    is_done,
    last_mark,
    read_queue,
    read_stages,
    submit_parts,
)

RUNNING = ("RUNNING", "COMPLETING", "CONFIGURING")


@dataclass(frozen=True, slots=True)
class PartState:
    """How a part of a stage stands: `done`, `running`, `waiting`, `failed`, `killed`, `missing`."""

    stage: str
    part: int
    state: str
    why: str = ""
    """Of a failed one its exit code, of a killed one (cancelled, node lost) where it ran."""


def states(run: Path, queue: Mapping[str, str] | None = None) -> list[PartState]:
    """Return every part of every stage, as the queue, the products and the marks say."""
    stages = read_stages(run).values()
    alive = read_queue() if queue is None else queue
    return [_state(run, stage, part, alive) for stage in stages for part in stage.numbers()]


def new_stage(run: Path, stage: JobStage) -> str:
    """Submit a stage for the first time; returns the job's number, `""` where it is done already.

    Raises `UserError` for a name that was submitted before, or an unknown one in `after`.
    """
    known = read_stages(run) if (run / "jobs.jsonl").is_file() else {}
    if stage.name in known:
        raise UserError(f"{run}: stage {stage.name} was submitted; graphwalker jobs retry {run}")
    if unknown := [name for name in stage.after if name not in known]:
        raise UserError(f"{stage.name}: no stage {unknown[0]} was submitted before it")
    append_stage(run, stage)
    return _submit(run, {**known, stage.name: stage}, stage.name, read_queue())


def retry(run: Path) -> list[tuple[str, str, list[int]]]:
    """Submit what is neither done nor in the queue, each stage behind those that it rests on.

    Returns (stage, job, parts) of each submission.
    """
    stages, again = read_stages(run), list[tuple[str, str, list[int]]]()
    for name in stages:
        alive = read_queue()
        lacking = _lacking(run, stages, name, alive)
        if lacking:
            job = _submit(run, stages, name, alive)
            stages = read_stages(run)
            again.append((name, job, lacking))
    return again


def serves_nobody(run: Path, name: str) -> bool:
    """Return whether no stage that needs the server `name` runs or waits in the queue."""
    stages, alive = read_stages(run), read_queue()
    users = [stage for stage in stages.values() if name in stage.after]
    waiting = any(_queue_state(one, part, alive) for one in users for part in one.numbers())
    return bool(users) and not waiting


def log_of(run: Path, state: PartState) -> Path | None:
    """Return the newest log of that part."""
    stage = read_stages(run)[state.stage]
    names = f"{stage.name}-*_{state.part}.log" if stage.parts else f"{stage.name}-*.log"
    found = sorted((run / LOGS).glob(names), key=lambda path: path.stat().st_mtime)
    return found[-1] if found else None


def _submit(run: Path, stages: Mapping[str, JobStage], name: str, alive: Mapping[str, str]) -> str:
    stage = stages[name]
    lacking = _lacking(run, stages, name, alive)
    if not lacking:
        return ""
    wait_for = {
        ("after:" if before.server else "afterok:") + job
        for before in (stages[other] for other in stage.after)
        for job in before.jobs
        if any(_is_of(entry, job) for entry in alive)
        if before.server or not all(is_done(run, before, part) for part in before.numbers())
    }
    job = submit_parts(run, stage, lacking, wait_for, max(1, stage.parts))
    still = [old for old in stage.jobs if any(_is_of(entry, old) for entry in alive)]
    append_stage(run, add_job(stage, job, still))
    return job


def _lacking(
    run: Path, stages: Mapping[str, JobStage], name: str, alive: Mapping[str, str]
) -> list[int]:
    """Return the parts of a stage to submit: a server counts while a stage needs it."""
    stage = stages[name]
    if stage.server:
        return (
            [0] if _queue_state(stage, 0, alive) is None and _is_needed(run, stages, name) else []
        )
    return [
        part
        for part in stage.numbers()
        if _queue_state(stage, part, alive) is None and not is_done(run, stage, part)
    ]


def _is_needed(run: Path, stages: Mapping[str, JobStage], name: str) -> bool:
    users = [stage for stage in stages.values() if name in stage.after]
    return not users or not all(is_done(run, one, part) for one in users for part in one.numbers())


def _state(run: Path, stage: JobStage, part: int, alive: Mapping[str, str]) -> PartState:
    queued, mark = _queue_state(stage, part, alive), last_mark(run, stage, part)
    if queued is not None:
        return PartState(stage.name, part, "running" if queued in RUNNING else "waiting")
    if is_done(run, stage, part) or (stage.server and mark == "ended 0"):
        return PartState(stage.name, part, "done")
    if mark.startswith("ended ") and mark != "ended 0":
        return PartState(stage.name, part, "failed", f"exit code {mark.removeprefix('ended ')}")
    if mark.startswith("started "):
        return PartState(stage.name, part, "killed", mark.removeprefix("started "))
    return PartState(stage.name, part, "missing")


def _queue_state(stage: JobStage, part: int, alive: Mapping[str, str]) -> str | None:
    """Return the state of the part's job where it is in the queue."""
    for job in reversed(stage.jobs):
        entry = f"{job}_{part}" if stage.parts else job
        if entry in alive:
            return alive[entry]
    return None


def _is_of(entry: str, job: str) -> bool:
    return entry.partition("_")[0] == job
