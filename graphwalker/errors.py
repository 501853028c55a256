"""What can go wrong, by whose fault it is: the user's, the graph's, or the policy's."""

import difflib
import json
from collections.abc import Iterable
from pathlib import Path

DISTRIBUTION = "graphwalker-kgqa"


class GraphWalkerError(Exception):
    """Base of every error raised on purpose; its text is one line for a person."""


class UserError(GraphWalkerError, ValueError):
    """Bad input: a path, a config key, a file format. Commands print it and exit with code 2."""


class GraphError(GraphWalkerError, RuntimeError):
    """The graph failed (down, damaged, timed out). Never shown to a model, never scored."""


class PolicyError(GraphWalkerError, RuntimeError):
    """The policy failed (API down, engine crashed). Never scored, never trained on."""


class HopelessError(PolicyError):
    """A failure that every further request would meet: a wrong key, no money, a cap."""


class FilteredError(PolicyError):
    """A content filter kept an answer back: a fault of this one prompt, which no retry mends."""


class IncompleteError(GraphWalkerError, RuntimeError):
    """Some of the work is missing; what was done stands, and the same command resumes it. Commands
    exit with code 3."""


class QueryLimitError(GraphError):
    """A query took longer, or held more rows, than it may."""


def first_line(error: BaseException) -> str:
    """Return what an exception says, in one line; its kind where it says nothing."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def install_extra(extras: str) -> str:
    """Return the command that adds extras to this package as it was installed: from a checkout, or
    from a wheel. No index has it."""
    from importlib import metadata
    from urllib.parse import unquote, urlsplit

    try:
        text = metadata.distribution(DISTRIBUTION).read_text("direct_url.json") or "{}"
    except metadata.PackageNotFoundError:  # a checkout that is only on the path
        return f"pip install -e '{Path(__file__).parents[1]}[{extras}]'"
    source = json.loads(text)
    place = Path(unquote(urlsplit(str(source.get("url", ""))).path))
    editable = "-e " if source.get("dir_info", {}).get("editable") else ""
    is_there = place.is_absolute() and place.exists()
    return f"pip install {editable}'{place if is_there else DISTRIBUTION}[{extras}]'"


def lacks_extra(what: str, extras: str, more: str = "") -> UserError:
    """Return the error that says what needs extras of this package, and how they are added."""
    return UserError(f"{what}: {install_extra(extras)}{more}")


def nearest(name: str, known: Iterable[str], least: float = 0.72) -> str:
    """Return the known name that was probably meant, `""` where none looks like it: `lr` is not
    `lora`, nor `grpo` `graph`."""
    return next(iter(difflib.get_close_matches(name, list(known), n=1, cutoff=least)), "")
