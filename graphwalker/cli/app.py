"""The `graphwalker` command: every verb, in the order in which a newcomer meets them."""

import errno
import os
import sys
import threading
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from graphwalker import __version__
from graphwalker.cli import config
from graphwalker.cli.data import data, dataset, ranker, verify
from graphwalker.cli.graphs import graph, virtuoso
from graphwalker.cli.runs import (
    agents,
    compare,
    doctor,
    doors,
    jobs,
    models,
    reproduce,
    results,
    train,
)
from graphwalker.console import console
from graphwalker.errors import GraphWalkerError, IncompleteError, UserError, install_extra

INTERRUPTED = 130
"""Exit code after Ctrl-C."""
MAKING_NOTHING = frozenset({"ask", "serve", "mcp"})
"""Commands (`graph serve` and `env serve` among them) of which nothing is there to resume."""
NOT_OURS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EFBIG)
"""What a file system refuses: a full disk or quota, a read-only place, another's folder."""


class Interrupted(GraphWalkerError):
    """Ctrl-C, under a name that typer does not take for its own."""


class Commands(TyperGroup):
    """Every verb, those that start everything first."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted from None

    def list_commands(self, ctx: Any) -> list[str]:
        first = ("demo", "graph", "virtuoso")
        return [*first, *(name for name in super().list_commands(ctx) if name not in first)]


app = typer.Typer(
    cls=Commands,
    help=(
        "Train and evaluate agents that answer questions by walking a knowledge graph.\n\n"
        "Start with `graphwalker demo`: the whole pipeline on an embedded graph, on a laptop. "
        "Every command that makes files resumes where it was stopped: type it again."
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)

PANELS = (
    ("Data", data.app),
    ("Checks of data", verify.app),
    ("Training", train.app),
    ("Agents at work", agents.app),
    ("Results", results.app),
    ("Results", compare.app),
    ("Agents at work", reproduce.app),
    ("Agents at work", doors.app),
    ("Before a run", doctor.app),
    ("Settings", config.app),
)
for panel, part in PANELS:
    for command in part.registered_commands:
        command.rich_help_panel = "Start here" if command.name == "demo" else panel
    app.registered_commands += part.registered_commands
app.add_typer(graph.app, name="graph", rich_help_panel="Graphs")
app.add_typer(virtuoso.app, name="virtuoso", rich_help_panel="Graphs")
app.add_typer(dataset.app, name="dataset", rich_help_panel="Checks of data")
app.add_typer(ranker.app, name="ranker", rich_help_panel="Data")
app.add_typer(models.app, name="model", rich_help_panel="Agents at work")
app.add_typer(doors.environments, name="env", rich_help_panel="Agents at work")
app.add_typer(jobs.app, name="jobs", rich_help_panel="Before a run")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"graphwalker {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_version, help="Print the version.")
    ] = False,
) -> None:
    """Options of the command itself."""


def run(command: Callable[[], Any]) -> int:
    """Exit codes: 0 done, 1 the program or a service failed, 2 bad input, 3 done with something
    missing, 130 interrupted."""
    try:
        command()
    except UserError as error:
        console.echo(f"error: {error}", err=True)
        return 2
    except IncompleteError as error:
        console.echo(f"incomplete: {error}", err=True)
        return 3
    except (Interrupted, KeyboardInterrupt):
        makes_nothing = not MAKING_NOTHING.isdisjoint(sys.argv[1:3])
        resumes = "" if makes_nothing else ": the same command resumes it"
        typer.echo(f"interrupted{resumes}", err=True)
        return INTERRUPTED
    except GraphWalkerError as error:
        console.echo(f"error: {error}", err=True)
        return 1
    except ModuleNotFoundError as error:
        if (line := _missing_extra(error)) is None:
            raise
        typer.echo(line, err=True)
        return 2
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        console.echo(f"error: {error.filename}: {error.strerror}; give another path", err=True)
        return 2
    except OSError as error:
        if error.errno not in NOT_OURS:
            raise
        place = error.filename or "the disk"
        console.echo(
            f"error: {place}: {error.strerror}; mend it, then the same command resumes", err=True
        )
        return 1
    return 0


def _missing_extra(error: ModuleNotFoundError) -> str | None:
    """Return the command that installs what is missing, `None` where no extra brings it."""
    from graphwalker.doctor.software import extra_of

    module = (error.name or "").partition(".")[0]
    extra = extra_of(module)
    if extra is None:
        return None
    return f"error: {module} is not installed: {install_extra(extra)}"


def main() -> None:
    """Run the console script."""
    console.log_warnings()
    if not sys.stderr.isatty():  # transformers' bars of loaded weights fill a log
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    code = run(app)
    if code == INTERRUPTED and any(not thread.daemon for thread in threading.enumerate()[1:]):
        # A second interrupt: threads that wait for a server would hold the process up.
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    main()
