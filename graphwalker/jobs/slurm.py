"""Slurm's commands: submitting a stage, and what the queue says of jobs."""

import os
import subprocess
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from graphwalker.errors import GraphWalkerError, UserError
from graphwalker.jobs.stages import LOGS, JobStage

DEAD_REASON = "DependencyNeverSatisfied"


def queue() -> dict[str, str]:
    """State by job number (`7`, or `7_2` of an array) of this user's jobs that have not ended."""
    listed = _run(["squeue", "--me", "-h", "-r", "-o", "%i %T %r"], {})
    rows = (line.split(None, 2) for line in listed.splitlines())
    return {job: state for job, state, *reason in rows if reason != [DEAD_REASON]}


def submit(
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
    return _run(["sbatch", "--parsable", *options, *stage.command], facts, stage.folder).strip()


def _run(command: Sequence[str], more: Mapping[str, str], folder: str = ".") -> str:
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
