"""`graphwalker sft`, `grpo` and `train`: training, by `accelerate launch` where it takes several
processes."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Context, Option
from typer.core import TyperCommand

from graphwalker.errors import UserError

app = typer.Typer()
AFTER = "graphwalker.after"
"""Where the words behind `--` are kept."""


class LaunchingCommand(TyperCommand):
    """A command whose words behind `--` are those of `accelerate launch`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        own = args[: args.index("--")] if "--" in args else args
        ctx.meta[AFTER] = args[len(own) + 1 :]
        return super().parse_args(ctx, own)


ConfigFile = Annotated[str, Option("--config", help="FILE or FILE#SECTION, such as a chain's.")]
TypedSettings = Annotated[
    list[str] | None, Argument(metavar="A.B=C", help="Settings; they win over the file.")
]
Trust = Annotated[list[str] | None, Option(help="A folder whose files may name code and paths.")]


@app.command(cls=LaunchingCommand)
def sft(
    ctx: Context, overrides: TypedSettings = None, config: ConfigFile = "", trust: Trust = None
) -> None:
    """Train a model on trajectories; a stopped run resumes.

    Processes and their layout are those of the section `machine` in the config's file; what stands
    behind -- goes to `accelerate launch`. One process runs in this one.

    Example: graphwalker sft --config configs/sft.yaml output_dir=runs/sft

    Example: graphwalker sft --config configs/sft.yaml -- --num_processes 2
    """
    _train("sft", ctx.meta[AFTER], config, overrides, trust)


@app.command(cls=LaunchingCommand)
def grpo(
    ctx: Context, overrides: TypedSettings = None, config: ConfigFile = "", trust: Trust = None
) -> None:
    """Train a model by rewards on questions that it plays; a stopped run resumes.

    Processes and their layout are those of the section `machine` in the config's file; what stands
    behind -- goes to `accelerate launch`. One process runs in this one.

    Example: graphwalker grpo --config configs/cluster.yaml#grpo
    """
    _train("grpo", ctx.meta[AFTER], config, overrides, trust)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def train() -> None:
    """Say which of `graphwalker sft` and `graphwalker grpo` is meant.

    Example: graphwalker sft --config configs/sft.yaml
    """
    raise UserError(
        "train: `graphwalker sft` trains on trajectories, `graphwalker grpo` by rewards on "
        "questions; each takes --config FILE and A.B=C"
    )


def _train(
    stage: str,
    words: Sequence[str],
    config: str,
    overrides: Sequence[str] | None,
    trust: Sequence[str] | None,
) -> None:
    """Become the process that trains, or that launches those which do: exit codes, signals and
    resuming are theirs."""
    settings = [*(["--config", config] if config else []), *(overrides or ())]
    settings += [word for folder in trust or () for word in ("--trust", folder)]
    layout, module = [*_layout(config), *words], f"training.{stage}"
    start = ["-m", "training.launch", *layout, "--module", module] if layout else ["-m", module]
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *start, *settings])


def _layout(config: str) -> list[str]:
    """Return the layout and the GPUs that the section `machine` of the whole file asks for; nothing
    for one process, and where there is no GPU."""
    from graphwalker.config import config_file, parse_config, read_settings
    from graphwalker.demo.check import Machine
    from training.runs.command import sees_gpus

    file = config.partition("#")[0]
    settings: dict[str, Any] = read_settings(file) if file else {}
    machine = parse_config(Machine, settings.get("machine") or {}, f"{file}#machine")
    if machine.gpus < 2 or not sees_gpus():
        return []
    layout = config_file(Path("configs/accelerate") / f"{machine.layout}.yaml")
    return ["--config_file", str(layout), "--num_processes", str(machine.gpus)]
