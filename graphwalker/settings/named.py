"""What a user names in a setting: one of ours, `module:NAME` of their own, or data on the Hub."""

import importlib
import os
import re
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphwalker.errors import UserError, nearest

_HUB_NAME = re.compile(r"([A-Za-z0-9][\w.-]*/[\w.-]+?)(?:@([\w.-]+))?(?:/([\w./-]+))?")
QUESTION_FILES = ("questions.jsonl",)
DEMONSTRATION_FILES = ("graphsynth.jsonl", "graphroll.jsonl")
"""What a data set on the Hub is read by, where its name stands alone: the first that it has."""


def is_own(text: str) -> bool:
    """Return whether the text is of the form `module:NAME` (an address such as `http://x` is not).

    >>> is_own("mygraph:make"), is_own("bm25"), is_own("http://host/sparql")
    (True, False, False)
    """
    module, colon, name = text.partition(":")
    return bool(colon) and name.isidentifier() and all(p.isidentifier() for p in module.split("."))


def own(text: str, what: str) -> Any:
    """Return the object that `module:NAME` names; the module may lie in the working directory.

    The module's code runs: it is the user's own, named by the user. Raises `UserError` where the
    module cannot be imported or does not hold the name; `what` says what was looked for.
    """
    module, _, name = text.partition(":")
    if module.endswith(".py"):
        raise UserError(f"{what} {text}: write it as {module.removesuffix('.py')}:{name}")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        loaded = importlib.import_module(module)
    except ImportError as error:
        raise UserError(
            f"{what} {text}: the module {module} cannot be imported ({error}); it must lie in the "
            "working directory or be installed"
        ) from None
    except Exception as error:
        raise UserError(f"{what} {text}: {failure(error)}") from error
    if not hasattr(loaded, name):
        raise UserError(f"{what} {text}: {module} has no {name}{_nearest(name, vars(loaded))}")
    return getattr(loaded, name)


def failure(error: Exception) -> str:
    """Return an error of the user's own code in one line, with its file and line."""
    text = f"{type(error).__name__}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, SyntaxError) or not frames:
        return text  # Python's own text has the place
    return f"{text} ({frames[-1].filename}, line {frames[-1].lineno})"


def find(known: Mapping[str, Any], text: str, what: str) -> Any:
    """Return one of `known` by its name, or the user's own by `module:NAME`.

    Raises `UserError` that lists what is known.

    >>> find({"bm25": 1}, "bm25", "ranker")
    1
    """
    if text in known:
        return known[text]
    if is_own(text):
        return own(text, what)
    names = ", ".join(sorted(known))
    raise UserError(
        f"{what} {text!r} is unknown{_nearest(text, known)}; known: {names}, or module:NAME for "
        "your own"
    )


def _nearest(name: str, known: Mapping[str, Any]) -> str:
    close = nearest(name, known)
    return f" (did you mean {close}?)" if close else ""


def local_path(text: Path | str, files: Sequence[str] = (), what: str = "no such file") -> Path:
    """Return the path that the text names, or the place on this machine of a data set on the Hub:
    `owner/name`, `owner/name@revision`, `owner/name/file`. `files` are looked for where no file is
    named; without them a data set is its folder.

    Nothing is downloaded. Raises `UserError` for a name that is not here, with the command that
    fetches it; any other path that is not there is returned as it is.
    """
    path, named = Path(text), _HUB_NAME.fullmatch(str(text))
    if path.exists() or named is None or (path.suffix and str(text).count("/") == 1):
        return path
    name, revision, file = named.groups()
    try:
        import huggingface_hub

        library: Any = huggingface_hub  # typed in part
        options = {"repo_type": "dataset", "revision": revision, "local_files_only": True}
        folder = Path(library.snapshot_download(name, **options))
    except (ImportError, OSError, ValueError):
        if file:  # far more often a path of this machine that is mistyped
            return path
        raise UserError(
            f"{text}: {what}, and no data set of that name from the Hub on this machine "
            f"(with a network: hf download --repo-type dataset {name})"
        ) from None
    wanted = [file] if file else list(files)
    found = [folder / one for one in wanted if (folder / one).exists()]
    if wanted and not found:
        raise UserError(f"{text}: the data set of the Hub has no {' or '.join(wanted)}")
    return found[0] if found else folder
