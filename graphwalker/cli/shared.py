"""What every command shares: options, and settings read by the name of their config."""

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

GraphOption = Annotated[
    str,
    typer.Option(
        "--graph",
        help="A graph: folder, endpoint (http://...), recording, or MODULE:FACTORY.",
    ),
]
OutOption = Annotated[Path, typer.Option("--out", help="Where the result goes.")]
SeedOption = Annotated[int, typer.Option("--seed", help="Same seed, same records.")]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", min=1, help="Processes; any number makes the same files.")
]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", help="YAML settings; `graphwalker config` lists them.")
]
Overrides = Annotated[
    list[str] | None, typer.Argument(help="Settings as a.b=c; they win over the config file.")
]

CONFIGS = {
    "environment": "graphwalker.agents.environment:EnvironmentConfig",
    "synth": "data_pipeline.config:SynthConfig",
    "experts": "data_pipeline.config:ExpertConfig",
    "bench": "data_pipeline.config:BenchConfig",
    "model": "training.config:TinyModelConfig",
    "sft": "training.config:SftConfig",
    "grpo": "training.grpo_config:GrpoConfig",
    "eval": "eval.run.config:EvalConfig",
    "demo": "graphwalker.pipeline:DemoConfig",
}


def load(name: str) -> Any:
    """`package.module:attribute`, imported now and not before."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


def settings(name: str, config: Path | None, overrides: list[str] | None, **options: Any) -> Any:
    """A config of `CONFIGS`; options given on the command line (not `None`) win over all."""
    given = [f"{key}={value}" for key, value in options.items() if value is not None]
    read = load("graphwalker.config:load_config")
    return read(load(CONFIGS[name]), config, [*(overrides or []), *given])
