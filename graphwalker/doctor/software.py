"""Software: Python, and the packages of each extra against the versions that we support."""

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from importlib import metadata

from packaging.requirements import InvalidRequirement, Requirement

from graphwalker import __version__
from graphwalker.doctor.diagnosis import Diagnosis, note, ok, wrong
from graphwalker.errors import DISTRIBUTION, install_extra

FOR_DEVELOPERS = ("dev", "docs")


def extras() -> tuple[str, ...]:
    """Return the extras that a user may install, in the order of the alphabet."""
    try:
        named = metadata.metadata(DISTRIBUTION).get_all("Provides-Extra") or []
    except metadata.PackageNotFoundError:
        return ()
    return tuple(sorted(set(map(str, named)) - set(FOR_DEVELOPERS)))


def requirements(distribution: str) -> Mapping[str, list[Requirement]]:
    """Return what a distribution asks for, by our extras; under `""` what it always asks for."""
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
    """Return the extra that brings a module, by the name under which it is imported."""
    name = module.partition(".")[0].lower().replace("_", "-")
    for extra, wanted in requirements(DISTRIBUTION).items():
        if extra and any(one.name.lower().replace("_", "-") == name for one in wanted):
            return extra
    return None


Versions = Callable[[str], str]
"""The installed version of a distribution, `""` where there is none."""


def installed_version(name: str) -> str:
    """Return the version of a distribution, `""` where it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def look_at_software(
    needed: Collection[str], versions: Versions = installed_version
) -> Iterator[Diagnosis]:
    """Check each extra: installed or not, and within the ranges; `needed` ones must be there."""
    yield ok("GraphWalker", f"{__version__}, Python {sys.version.split()[0]}")
    ours = requirements(DISTRIBUTION)
    for extra in extras():
        yield _extra(extra, ours.get(extra, ()), extra in needed, versions)
    yield from _pins_of_vllm(versions)


def _extra(
    extra: str, wanted: Sequence[Requirement], needed: bool, versions: Versions
) -> Diagnosis:
    found = {one.name: versions(one.name) for one in wanted}
    missing = [name for name, version in found.items() if not version]
    install = install_extra(extra)
    outside = [
        f"{one.name} {found[one.name]} (supported: {one.specifier})"
        for one in wanted
        if found[one.name] and not one.specifier.contains(found[one.name], prereleases=True)
    ]
    there = ", ".join(f"{name} {version}" for name, version in found.items() if version)
    what = f"extra {extra}"
    if missing and needed:
        return wrong(what, f"not installed: {', '.join(missing)}", install)
    if outside:
        return wrong(what, ", ".join(outside), install)
    if missing:
        return note(what, f"{there or 'not installed'}" + (", not all" if there else ""), install)
    return ok(what, there)


def vllm_faults(versions: Versions = installed_version) -> list[Diagnosis]:
    """Return what is wrong with the vLLM that is installed, beside the other packages; none where
    it is not there."""
    version = versions("vllm")
    if not version:
        return []
    faults = list(_pins_of_vllm(versions))
    if fault := unsupported_reason("vllm", version):
        faults.insert(0, wrong("vLLM", fault, "make setup CLUSTER=1"))
    return faults


def unsupported_reason(name: str, version: str) -> str:
    """Return why a version of a package that an extra brings is not supported, `""` where it is."""
    for wanted in requirements(DISTRIBUTION).values():
        for one in wanted:
            if one.name == name and not one.specifier.contains(version, prereleases=True):
                return f"{name} {version} is not supported ({one.specifier})"
    return ""


def _pins_of_vllm(versions: Versions) -> Iterator[Diagnosis]:
    """vLLM is built against one torch: another one fails when it is first used."""
    if not versions("vllm"):
        return
    pinned = ("torch", "transformers", "numpy")
    for pin in requirements("vllm").get("", ()):
        have = versions(pin.name) if pin.name in pinned else ""
        if have and not pin.specifier.contains(have, prereleases=True):
            advice = f"make setup CLUSTER=1, or pip install '{pin.name}{pin.specifier}'"
            yield wrong(f"vLLM's {pin.name}", f"vllm {versions('vllm')} needs {pin.name}"
                        f"{pin.specifier}, {have} is installed", advice)  # fmt: skip
