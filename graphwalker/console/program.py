"""The program as a person calls it from where they stand: commands in messages run as printed."""

import os
import re
import shlex
import shutil
import sys
from functools import cache
from pathlib import Path

VERBS = (
    "agents", "analyse", "ask", "bench", "ceiling", "compare", "config", "contamination", "dataset",
    "demo", "doctor", "env", "eval", "experts", "export", "filter", "graph", "grpo", "jobs",
    "judge", "mcp", "merge", "model", "phrases", "publish", "questions", "ranker", "report",
    "reproduce", "score", "seeds", "serve", "sft", "stats", "synth", "tiny", "train", "verify",
    "virtuoso", "walk",
)  # fmt: skip
"""The commands: behind another word `graphwalker` is the preset, or the package."""
_COMMAND = re.compile(
    rf"(?<![\w./-])(graphwalker(?= (?:{'|'.join(VERBS)})\b)|accelerate(?= launch\b))"
)


def as_typed(text: str) -> str:
    """Return the text with `graphwalker` and `accelerate`, where one of their commands follows, as
    this shell finds them.

    Without `.venv/bin` on the PATH, `graphwalker ask` becomes `.venv/bin/graphwalker ask`.
    """
    return _COMMAND.sub(lambda found: program(found[1]), text)


@cache
def program(name: str) -> str:
    """Return what to type for a program of this installation: its name where the PATH leads to it,
    else its path, else the module by this interpreter."""
    own = Path(sys.executable).with_name(name)
    if not own.is_file():
        return name if shutil.which(name) else shlex.join([_short(sys.executable), "-m", name])
    found = shutil.which(name)
    return name if found and Path(found).samefile(own) else shlex.quote(_short(own))


def _short(path: Path | str) -> str:
    """Return a path below the working directory as it is seen from there."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith(os.pardir) else relative
