"""The job scripts of Slurm and the layouts of processes, as a folder of the user's own has them."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from graphwalker.errors import UserError

FOLDERS = ("slurm", "configs/accelerate")
_PACKAGE = Path(__file__).parents[1]


def write_scripts(out: Path) -> Iterator[Path]:
    """Copy what is not there yet; yields each file that was written. `slurm/site.sh` is the user's
    to change, so nothing is ever replaced."""
    for folder in FOLDERS:
        packed = _PACKAGE / folder  # of a wheel; a checkout has them beside the package
        source = packed if packed.is_dir() else _PACKAGE.parent / folder
        for file in sorted(source.iterdir()):
            place = out / folder / file.name
            if file.is_file() and not place.exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, place)
                yield place


def check_scripts() -> None:
    """Raise `UserError` where jobs would find no scripts."""
    if not Path(FOLDERS[0]).is_dir():
        raise UserError(
            "slurm/: no job scripts in this folder; `graphwalker jobs scripts` writes them"
        )
