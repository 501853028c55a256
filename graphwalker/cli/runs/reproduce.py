"""`graphwalker reproduce`: a paper's own run, from its data to its table, by one command."""

import shlex
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from graphwalker.cli.shared import JsonFlag
from graphwalker.console import console
from graphwalker.errors import UserError

app = typer.Typer()


@app.command()
def reproduce(
    name: Annotated[
        str, Argument(help="A paper's table or figure; without a name, list all.")
    ] = "",
    overrides: Annotated[
        list[str] | None, Argument(metavar="A.B=C", help="Settings; they win over the file.")
    ] = None,
    check: Annotated[
        bool, Option(help="Show what is missing and what it costs; start nothing.")
    ] = False,
    toy: Annotated[bool, Option(help="A small world and a tiny model: minutes.")] = False,
    slurm: Annotated[bool, Option(help="Submit the stages to Slurm.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Run a paper's chain: data, training, evaluation, and its printed table beside ours.

    The same command resumes the chain. Exit code of --check: 1 if something is missing.

    Example: graphwalker reproduce graphwalker-table2 --toy

    Example: graphwalker reproduce graphwalker-table2 --check graph=http://127.0.0.1:8890/sparql
    """
    from graphwalker.config import read_settings
    from graphwalker.demo.check import check_sections
    from graphwalker.demo.toy import make_toy, toy_overrides
    from graphwalker.jobs.local import run_chain
    from graphwalker.jobs.road import submit_road

    if not name:
        _list()
        return
    path = _find(name)
    given = [*(toy_overrides(path) if toy else ()), *(overrides or ())]
    settings = read_settings(path, given)
    if check:
        _check(settings, str(path), as_json)
        return
    check_sections(settings, str(path))
    if toy:
        make_toy(settings)
    if slurm:
        for stage, job in submit_road(path, given):
            console.note(f"{stage}: job {job}" if job else f"{stage}: done already")
        console.note(f"next: graphwalker jobs status {shlex.quote(str(settings['run']))}")
        return
    run_chain(path, given)
    page = Path(settings["report"]["output_dir"]) / "report.html"
    console.out.print(f"Report: {page.resolve()}", soft_wrap=True)


def _check(settings: dict[str, object], source: str, as_json: bool) -> None:
    from graphwalker.cli.runs.doctor import show_findings
    from graphwalker.demo.check import check_chain

    findings = list(check_chain(settings, source))
    show_findings(findings, as_json)
    lacking = sum(one.verdict == "wrong" for one in findings)
    if lacking:
        console.note(f"missing: {lacking}; nothing was started")
        raise typer.Exit(1)


def _folder() -> Path:
    from graphwalker.config import config_file

    return config_file("configs/paper/graphwalker-table2.yaml", tell=False).parent


def _find(name: str) -> Path:
    """Return the config of a table. Raises `UserError` listing the known ones."""
    known = sorted(path.stem for path in _folder().glob("*.yaml"))
    if name not in known:
        raise UserError(f"{name!r} is none of the papers' runs; known: {', '.join(known)}")
    return Path("configs/paper") / f"{name}.yaml"


def _list() -> None:
    for path in sorted(_folder().glob("*.yaml")):
        first = path.read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
        console.echo(f"{path.stem:24} {first}")
