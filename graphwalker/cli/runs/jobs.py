"""`graphwalker jobs`: the stages of a config, run here or as Slurm jobs, watched and retried."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from graphwalker.cli.shared import JsonFlag
from graphwalker.console import console
from graphwalker.errors import IncompleteError

app = typer.Typer(
    help="Run the stages of a config here; submit, watch and retry them as Slurm jobs.",
    no_args_is_help=True,
)

JobsFolder = Annotated[Path, Argument(help="The run's folder.")]
Name = Annotated[str, Argument(help="The stage's name.")]
RoadConfig = Annotated[str, Argument(help="A config of the whole road.")]
StageSettings = Annotated[list[str] | None, Argument(help="Settings, such as sft1.lr=2e-5.")]
TrustedModules = Annotated[
    list[str] | None, Option(help="A folder whose configs may name modules to run.")
]


@app.command()
def status(run: JobsFolder, as_json: JsonFlag = False) -> None:
    """Show which stages and shards are done, running, waiting, failed, killed or missing.

    Exit code: 0 when all are done, 3 when some are not.

    Example: graphwalker jobs status runs/qwen
    """
    import json

    from graphwalker.jobs.chain import states

    found = states(run)
    if as_json:
        keys = ("stage", "part", "state", "why")
        console.echo(json.dumps([{key: getattr(one, key) for key in keys} for one in found]))
    else:
        _show(run)
    left = sum(one.state != "done" for one in found)
    if left:
        raise IncompleteError(f"{left} of {len(found)} parts are not done")


@app.command()
def retry(run: JobsFolder, trust: TrustedModules = None) -> None:
    """Submit again what failed, was killed or is missing; leave what is done or queued.

    Example: graphwalker jobs retry runs/qwen
    """
    from graphwalker.jobs.road import retry_road

    done = retry_road(run, trust or [])
    for name, job, parts in done:
        console.note(
            f"{name}: job {job}" + (f", parts {_numbers(parts)}" if len(parts) > 1 else "")
        )
    if not done:
        console.note("nothing to submit: every part is done or in the queue")


@app.command()
def scripts() -> None:
    """Write the job scripts (`slurm/`) and `configs/accelerate/` into this folder.

    A checkout has them. A file that is there is left: `slurm/site.sh` holds the names of a cluster.

    Example: graphwalker jobs scripts
    """
    from graphwalker.jobs.road import write_scripts

    for file in write_scripts(Path()):
        console.echo(str(file))


@app.command()
def submit(
    config: RoadConfig,
    overrides: StageSettings = None,
    trust: TrustedModules = None,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Print the jobs and submit nothing; needs no Slurm.")
    ] = False,
) -> None:
    """Submit the road as a chain of jobs: data, SFT, SFT, GRPO, evaluation, report.

    Each stage starts when those before it have ended well. Servers that the config names start
    first, and end when no stage needs them.

    Example: graphwalker jobs submit configs/cluster.yaml 'jobs.train=[--partition=a100]'
    """
    from graphwalker.config import read_settings
    from graphwalker.demo.check import check_sections
    from graphwalker.jobs.road import check_scripts, road_stages, submit_road

    check_sections(read_settings(config, overrides or []), config)
    if dry_run:
        for stage in road_stages(config, overrides or [], trust or []):
            parts = f" x {stage.parts}" if stage.parts else ""
            after = f" after {', '.join(stage.after)}" if stage.after else ""
            console.echo(f"{stage.name}{parts}{after}: {' '.join(stage.command)}")
        return
    check_scripts()
    for stage, job in submit_road(config, overrides or [], trust or []):
        console.note(f"{stage}: job {job}" if job else f"{stage}: done already")


@app.command()
def run(config: RoadConfig, overrides: StageSettings = None, trust: TrustedModules = None) -> None:
    """Run the stages of a config on this machine, one after another.

    The same command resumes them.

    Example: graphwalker jobs run my-road.yaml --trust .
    """
    from graphwalker.config import read_settings
    from graphwalker.demo.check import check_sections
    from graphwalker.jobs.local import run_chain

    check_sections(read_settings(config, overrides or []), config)
    console.note(f"done: {run_chain(config, overrides or [], trust or [])}")


@app.command()
def ready(run: JobsFolder, stage: Name) -> None:
    """Check that the stages before this one are whole; job scripts do so before they start.

    Example: graphwalker jobs ready runs/qwen grpo
    """
    from graphwalker.jobs.stages import check_ready

    check_ready(run, stage)


@app.command(hidden=True)
def idle(run: JobsFolder, stage: Name) -> None:
    """End well when no stage that needs this server runs or waits; a server's job asks."""
    from graphwalker.jobs.chain import serves_nobody

    if not serves_nobody(run, stage):
        raise typer.Exit(1)


def _show(run: Path) -> None:
    from rich.markup import escape
    from rich.table import Column, Table

    from graphwalker.jobs.chain import log_of, states

    names = ("stage", "state", "parts", "why", "log")
    table = Table(*(Column(name, overflow="fold") for name in names), highlight=False)
    groups: dict[tuple[str, str, str], list[int]] = {}
    logs: dict[tuple[str, str, str], str] = {}
    for one in states(run):
        key = (one.stage, one.state, one.why)
        groups.setdefault(key, []).append(one.part)
        if one.state in ("failed", "killed") and (log := log_of(run, one)):
            logs[key] = str(log)
    for (stage, state, why), parts in groups.items():
        shown = _numbers(parts) if parts != [0] else ""
        table.add_row(stage, state, shown, escape(why), escape(logs.get((stage, state, why), "")))
    console.out.print(table)


def _numbers(parts: list[int]) -> str:
    return ",".join(map(str, parts))
