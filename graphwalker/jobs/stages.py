"""The stages of a chain of Slurm jobs: what each makes, after which others, how it stands."""

import os
import subprocess
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from graphwalker.errors import GraphWalkerError, UserError
from graphwalker.files import dumps, read_jsonl

FILE = "jobs.jsonl"
MARKS = "stages"
"""Folder of the marks that jobs leave: `STAGE.PART`, lines `started ...` and `ended CODE`."""
LOGS = "logs"


@dataclass(frozen=True, slots=True)
class JobStage:
    """One stage: a job, or an array of `parts` jobs (0: no array)."""

    name: str
    command: tuple[str, ...]
    """What follows `sbatch`: options, the script, its arguments."""
    makes: str
    """The file or folder that is there when it is done; `{part}` stands for the part's number."""
    after: tuple[str, ...] = ()
    parts: int = 0
    folder: str = "."
    """Where it is submitted from."""
    jobs: tuple[str, ...] = ()
    """Its job numbers, the last one that of the last submission."""
    server: bool = False
    """Whether it serves others while they run: it is never done, and ends when none needs it."""

    def numbers(self) -> range:
        return range(max(1, self.parts))

    def product(self, part: int) -> Path:
        return Path(self.folder) / self.makes.replace("{part}", str(part))

    def mark(self, run: Path, part: int) -> Path:
        return run / MARKS / f"{self.name}.{part}"


def read_stages(run: Path) -> dict[str, JobStage]:
    """Return a run's stages in the order of their first submission, as submitted last."""
    path = run / FILE
    if not path.is_file():
        raise UserError(f"{run}: no jobs were submitted here; graphwalker jobs submit CONFIG")
    return {stage.name: stage for stage in map(_parse, read_jsonl(path))}


def append_stage(run: Path, stage: JobStage) -> None:
    run.mkdir(parents=True, exist_ok=True)
    with (run / FILE).open("a", encoding="utf-8") as lines:
        lines.write(dumps(asdict(stage)) + "\n")


def add_job(stage: JobStage, job: str, alive: Sequence[str]) -> JobStage:
    """Return the stage after another submission; of its earlier jobs those in the queue."""
    return replace(stage, jobs=(*alive, job))


def last_mark(run: Path, stage: JobStage, part: int) -> str:
    """Return the last line of the part's mark, `""` where it never started."""
    path = stage.mark(run, part)
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return lines[-1] if lines else ""


def is_done(run: Path, stage: JobStage, part: int) -> bool:
    """Return whether its product is there, and its last job did not end badly."""
    mark = last_mark(run, stage, part)
    failed = mark.startswith("ended") and mark != "ended 0"
    return stage.product(part).exists() and not failed


def check_ready(run: Path, name: str, wait_s: float = 1800.0) -> None:
    """Raise `UserError` naming what is missing of the stages that stage `name` rests on.

    Servers have started, but may need minutes until they answer: their address files are waited
    for, `wait_s` seconds at most.
    """
    stages = read_stages(run)
    if name not in stages:
        raise UserError(f"{run}: no stage {name} here; known: {', '.join(stages)}")
    for before in stages[name].after:
        stage = stages[before]
        if stage.server:
            _wait_for(stage, name, run, wait_s)
            continue
        lacking = [part for part in stage.numbers() if not is_done(run, stage, part)]
        if lacking:
            numbers = ",".join(map(str, lacking))
            what = f"parts {numbers} of {stage.parts} are" if stage.parts else "it is"
            raise UserError(
                f"{name} does not start: stage {before} is incomplete, {what} not done "
                f"({stage.product(lacking[0])}); graphwalker jobs retry {run}"
            )


def _wait_for(stage: JobStage, name: str, run: Path, wait_s: float) -> None:
    until, address = time.monotonic() + wait_s, stage.product(0)
    while not address.exists():
        if time.monotonic() > until:
            raise UserError(
                f"{name} does not start: the server {stage.name} wrote no {address} in "
                f"{wait_s:.0f} s; see its log in {run / LOGS}"
            )
        time.sleep(min(2.0, wait_s))


def _parse(record: Mapping[str, Any]) -> JobStage:
    try:
        lists = {key: tuple(record[key]) for key in ("command", "after", "jobs")}
        values: dict[str, Any] = {**record, **lists}
        return JobStage(**values)
    except (KeyError, TypeError) as error:
        raise UserError(f"{FILE}: a line that is no stage ({error})") from None


DEAD_REASON = "DependencyNeverSatisfied"


def read_queue() -> dict[str, str]:
    """State by job number (`7`, or `7_2` of an array) of this user's jobs that have not ended."""
    listed = _run_slurm(["squeue", "--me", "-h", "-r", "-o", "%i %T %r"], {})
    rows = (line.split(None, 2) for line in listed.splitlines())
    return {job: state for job, state, *reason in rows if reason != [DEAD_REASON]}


def submit_parts(
    run: Path, stage: JobStage, parts: Sequence[int], wait_for: Collection[str], shards: int
) -> str:
    """Submit the parts of a stage; return the job's number.

    `wait_for` holds dependencies: `afterok:JOB` for one that must end well first, `after:JOB` for a
    server that must have started.
    """
    run = run.resolve()
    (run / LOGS).mkdir(parents=True, exist_ok=True)
    place = f"{run / LOGS / stage.name}-" + ("%A_%a.log" if stage.parts else "%j.log")
    options = [f"--job-name={stage.name}", f"--output={place}", "--kill-on-invalid-dep=yes"]
    if stage.parts:
        options.append(f"--array={','.join(map(str, parts))}")
    if wait_for:
        options.append(f"--dependency={','.join(sorted(wait_for))}")
    facts = {"GRAPHWALKER_RUN": str(run), "GRAPHWALKER_STAGE": stage.name, "SHARDS": str(shards)}
    # Defaults of the script come last: what a stage was given wins over ours, ours over the script.
    return _run_slurm(
        ["sbatch", "--parsable", *options, *stage.command], facts, stage.folder
    ).strip()


def _run_slurm(command: Sequence[str], more: Mapping[str, str], folder: str = ".") -> str:
    try:
        done = subprocess.run(
            command, env=os.environ | more, cwd=folder, capture_output=True, text=True
        )
    except FileNotFoundError:
        raise UserError(
            f"{command[0]} is not here: this command needs a login node of Slurm"
        ) from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise GraphWalkerError(f"{command[0]}: {lines[-1]}")
    return done.stdout
