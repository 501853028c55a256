"""The stages of a road on this machine, by the config that `jobs submit` takes."""

import signal
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import current_thread, main_thread
from types import FrameType
from typing import Any

from graphwalker.config import parse_config, read_settings
from graphwalker.console.endings import describe_shortage
from graphwalker.errors import GraphWalkerError, IncompleteError, UserError
from graphwalker.files import read_json
from graphwalker.jobs.road import (
    CONFIG,
    PROCESSES,
    JobsConfig,
    seeds_command,
    seeds_settings,
    write_settings,
)
from graphwalker.jobs.sections import (
    OWN,
    ChainSection,
    check_folder,
    check_own_stages,
    read_sections,
)
from graphwalker.jobs.times import Stage, StageTimes
from graphwalker.runs import CARD, one_writer

STOPPING = (signal.SIGTERM, signal.SIGUSR1)
"""Signals upon which training saves a checkpoint and ends."""


def run_chain(path: Path | str, overrides: Sequence[str] = (), trust: Sequence[str] = ()) -> Path:
    """Run every stage of the chain at `path` that is not done yet; return the run's folder.

    Raises `UserError` where the folder was begun with other settings, a server of the chain would
    be a job of its own, or a module that the file names is not trusted, and `GraphWalkerError`
    naming the stage that failed.
    """
    settings = read_settings(path, overrides)
    if not settings.get("run"):
        raise UserError(f"{path}: run is missing; see configs/cluster.yaml")
    sections = read_sections(settings, str(path))
    check_own_stages(sections, path, overrides, trust)
    run = check_folder(settings["run"], f"{path}: run")
    return _run(Path(run), path, overrides, settings, sections)


@one_writer("run")
def _run(
    run: Path,
    path: Path | str,
    overrides: Sequence[str],
    settings: Any,
    sections: Sequence[ChainSection],
) -> Path:
    jobs = parse_config(JobsConfig, settings.get("jobs") or {}, f"{path}#jobs")
    _check_servers(jobs, str(path))
    _keep_settings(run / CONFIG, path, overrides)
    stages, seeds = list[Stage](), seeds_settings(run) if jobs.seeds else ()
    if jobs.seeds:
        words = ("graphwalker", *seeds_command(jobs.seeds, str(settings.get("graph")), run))
        done = (run / "seeds" / "seeds.txt").exists
        stages.append(Stage("seeds", lambda _: run_command("seeds", words), True, done))
    stages += [as_stage(section, run / CONFIG, seeds) for section in sections]
    StageTimes(run).run_all(stages)
    return run


def as_stage(section: ChainSection, config: Path, seeds: Sequence[str] = ()) -> Stage:
    """Return the stage of a section of the file `config`; walks start at `seeds`."""
    work = partial(run_section, section, config, seeds)
    return Stage(section.name, lambda _: work(), True, partial(is_done, section))


def is_done(section: ChainSection) -> bool:
    """Return whether what the stage writes last is there, with as many questions as asked for."""
    file = Path(section.last_file)
    if file.name != CARD or not file.exists():
        return file.exists()
    return not describe_shortage(read_json(file))


def run_section(
    section: ChainSection,
    config: Path,
    seeds: Sequence[str] = (),
    overrides: Sequence[str] = (),
    quiet: bool = False,
) -> None:
    """Run a stage by its section of the file `config`, in a process of its own.

    `quiet`: what it prints of its result is left out, not its progress and its messages.
    """
    for file in section.settings.get("inputs") or () if section.kind == OWN else ():
        if not Path(file).exists():
            raise UserError(
                f"stage {section.name}: its input {file} is not there; mend the setting, or put "
                "the stage that makes it first"
            )
    words = (*section.module.split(), *section.words(config, seeds), *overrides)
    if section.kind in ("sft", "grpo"):
        words += layout_words(config)
    run_command(section.name, words, quiet)


def layout_words(config: Path) -> tuple[str, ...]:
    """Return the words by which training takes `jobs.processes` processes of one thread where there
    is no GPU; with GPUs it takes the layout of the config."""
    import torch

    if torch.cuda.is_available():
        return ()
    jobs: Mapping[str, Any] = read_settings(config).get("jobs") or {}
    processes = str(jobs.get("processes", PROCESSES))
    if processes == "1":
        return ("allow_cpu=true",)
    # "multi_gpu" is torchrun, whose processes talk over gloo where there is no GPU.
    layout = ("--multi_gpu", "--num_processes", processes, "--num_machines", "1")
    arithmetic = ("--mixed_precision", "no", "--dynamo_backend", "no")
    threads = ("--num_cpu_threads_per_process", "1", "--main_process_port", "0")
    return ("allow_cpu=true", "--", *layout, *arithmetic, *threads)


def run_command(stage: str, words: Sequence[str], quiet: bool = False) -> None:
    """Run `python -m WORDS` as the work of a stage. Raises `GraphWalkerError` where it fails."""
    out = subprocess.DEVNULL if quiet else None
    command = [sys.executable, "-m", *words]
    with subprocess.Popen(command, stdout=out) as process, _passing_on(process):
        code = process.wait()
    if code == 3:
        raise IncompleteError(f"stage {stage} is incomplete: its message stands above")
    if code == 2:
        raise UserError(f"stage {stage} was refused: its message stands above")
    if code:
        raise GraphWalkerError(
            f"stage {stage} ended with code {code}: its error stands above; "
            "the same command resumes the chain"
        )


@contextmanager
def _passing_on(process: "subprocess.Popen[bytes]") -> Generator[None]:
    """Pass the signals that stop training to the process of the stage."""

    def forward(number: int, _: FrameType | None) -> None:
        process.send_signal(number)

    if current_thread() is not main_thread():  # elsewhere Python sets no handlers
        yield
        return
    before = {number: signal.signal(number, forward) for number in STOPPING}
    try:
        yield
    finally:
        if process.poll() is None:
            process.terminate()
        for number, handler in before.items():
            signal.signal(number, handler)


def _check_servers(jobs: JobsConfig, source: str) -> None:
    for name, server in jobs.servers():
        if server.serves:
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
