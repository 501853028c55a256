"""The extras of the installed project, and what each brings: read from its metadata."""

from collections.abc import Mapping
from importlib import metadata

from packaging.requirements import InvalidRequirement, Requirement

DISTRIBUTION = "graphwalker-kgqa"
FOR_DEVELOPERS = ("dev", "docs")


def extras() -> tuple[str, ...]:
    """The extras that a user may install, in the order of the alphabet."""
    try:
        named = metadata.metadata(DISTRIBUTION).get_all("Provides-Extra") or []
    except metadata.PackageNotFoundError:
        return ()
    return tuple(sorted(set(map(str, named)) - set(FOR_DEVELOPERS)))


def requirements(distribution: str) -> Mapping[str, list[Requirement]]:
    """What a distribution asks for, by our extras; under `""` what it always asks for."""
    found: dict[str, list[Requirement]] = {}
    try:
        lines = metadata.requires(distribution) or []
    except metadata.PackageNotFoundError:
        return found
    known = extras()
    for line in lines:
        try:
            one = Requirement(line)
        except InvalidRequirement:
            continue
        if one.marker is None or one.marker.evaluate({"extra": ""}):
            found.setdefault("", []).append(one)
            continue
        for extra in known:
            if one.marker.evaluate({"extra": extra}):
                found.setdefault(extra, []).append(one)
    return found


def extra_of(module: str) -> str | None:
    """The extra that brings a module, by the name under which it is imported."""
    name = module.partition(".")[0].lower().replace("_", "-")
    for extra, wanted in requirements(DISTRIBUTION).items():
        if extra and any(one.name.lower().replace("_", "-") == name for one in wanted):
            return extra
    return None
