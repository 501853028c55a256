"""A chain of stages on this machine, one after another, by the config that `jobs submit` takes."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphwalker.config import parse_config, read_settings
from graphwalker.console import console
from graphwalker.console.endings import describe_shortage
from graphwalker.demo.launch import launch
from graphwalker.errors import GraphWalkerError, IncompleteError, UserError
from graphwalker.files import read_json
from graphwalker.jobs.road import CONFIG, JobsConfig, write_settings
from graphwalker.jobs.sections import ChainSection, check_folder, command_of, read_sections
from graphwalker.runs import one_writer

CARD = "datacard.json"
LAST_FILE = {
    "synth": CARD,
    "questions": CARD,
    "experts": CARD,
    "bench": "GWBench.json",
    "sft": "final",
    "grpo": "final",
    "eval": "report.html",
    "report": "report.html",
}
"""What a stage of each kind writes last; a section `make-...` says it itself."""
WALKS = "synth", "questions", "bench"


def run_chain(path: Path | str, overrides: Sequence[str] = ()) -> Path:
    """Run every stage of the chain at `path` that is not done yet; return the run's folder.

    Raises `UserError` where the folder was begun with other settings, or a server of the chain
    would be a job of its own, and `GraphWalkerError` naming the stage that failed.
    """
    settings = read_settings(path, overrides)
    if not settings.get("run"):
        raise UserError(f"{path}: run is missing; see configs/cluster.yaml")
    run = check_folder(settings["run"], f"{path}: run")
    return _run(Path(run), path, overrides, settings)


@one_writer("run")
def _run(run: Path, path: Path | str, overrides: Sequence[str], settings: Any) -> Path:
    sections = read_sections(settings, str(path))
    jobs = parse_config(JobsConfig, settings.get("jobs") or {}, f"{path}#jobs")
    _check_servers(jobs, str(path))
    _keep_settings(run / CONFIG, path, overrides)
    seeds = _read_seeds(run, str(settings.get("graph")), jobs.seeds)
    for number, section in enumerate(sections, 1):
        title = f"{number} of {len(sections)}: {section.name}"
        if is_done(section):
            console.note(f"{title} is done: {section.out}")
            continue
        console.note(f"{title} ...")
        _run_stage(run / CONFIG, section, seeds if section.kind in WALKS else ())
    return run


def is_done(section: ChainSection) -> bool:
    """Whether what the stage writes last is there, with as many questions as were asked for."""
    last = section.text("makes") if section.kind == "make" else LAST_FILE[section.kind]
    file = Path(section.out) / last
    if file.name != CARD or not file.exists():
        return file.exists()
    return not describe_shortage(read_json(file))


def _run_stage(config: Path, section: ChainSection, seeds: Sequence[str]) -> None:
    if section.kind in ("sft", "grpo"):
        launch(section.kind, config, section.name, ())
    elif section.kind in ("make", "report"):
        _run_command(section.name, command_of(section))
    else:
        _run_command(section.name, (section.kind, "--config", f"{config}#{section.name}", *seeds))


def _run_command(stage: str, words: Sequence[str]) -> None:
    code = subprocess.run([sys.executable, "-m", "graphwalker", *words], env=os.environ).returncode
    if code == 3:
        raise IncompleteError(f"stage {stage} is incomplete: its message stands above")
    if code == 2:
        raise UserError(f"stage {stage} was refused: its message stands above")
    if code:
        raise GraphWalkerError(
            f"stage {stage} ended with code {code}: its error stands above; "
            "the same command resumes the chain"
        )


def _check_servers(jobs: JobsConfig, source: str) -> None:
    for name in ("virtuoso", "teacher", "expert"):
        if getattr(jobs, name).serves:
            raise UserError(
                f"{source}: jobs.{name} is a server that runs as a job of its own: add --slurm, or "
                f"start it here, give its address where the config names ${{run}}/{name}.address, "
                f"and set jobs.{name}.serves=''"
            )


def _keep_settings(file: Path, path: Path | str, overrides: Sequence[str]) -> None:
    """Write the settings of the run. Raises `UserError` where it was begun with others."""
    new = file.with_name(f"{file.name}.new")
    write_settings(path, overrides, new)
    if file.exists() and read_settings(file) != read_settings(new):
        new.unlink()
        raise UserError(f"{file}: the run was begun with other settings; give run=ANOTHER_FOLDER")
    new.replace(file)


def _read_seeds(run: Path, graph: str, files: Sequence[str]) -> tuple[str, ...]:
    """Where walks may start, read from the training questions that `jobs.seeds` names."""
    if not files:
        return ()
    out = run / "seeds"
    if not (out / "seeds.txt").exists():
        console.note("seeds ...")
        _run_command("seeds", ("seeds", *files, "--graph", graph, "--out", str(out)))
    return f"seeds_file={out}/seeds.txt", f"predicates_file={out}/predicates.txt"
