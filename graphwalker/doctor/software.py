"""Software: Python, and the packages of each extra against the versions that we support."""

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from importlib import metadata

from packaging.requirements import Requirement

from graphwalker import __version__
from graphwalker.doctor.diagnosis import Diagnosis, note, ok, wrong
from graphwalker.doctor.extras import DISTRIBUTION, extras, requirements

Versions = Callable[[str], str]
"""The installed version of a distribution, `""` where there is none."""


def installed(name: str) -> str:
    """The version of a distribution, `""` where it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def look_at_software(
    needed: Collection[str], versions: Versions = installed
) -> Iterator[Diagnosis]:
    """Each extra: installed or not, and within the ranges; `needed` ones must be there."""
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
    install = f"pip install '{DISTRIBUTION}[{extra}]'"
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


def _pins_of_vllm(versions: Versions) -> Iterator[Diagnosis]:
    """vLLM is built against one torch: another one fails when it is first used."""
    if not versions("vllm") or not versions("torch"):
        return
    pins = [one for one in requirements("vllm").get("", ()) if one.name == "torch"]
    have = versions("torch")
    for pin in pins:
        if not pin.specifier.contains(have, prereleases=True):
            advice = f"pip install 'torch{pin.specifier}', or another vllm"
            yield wrong("vLLM's torch", f"vllm {versions('vllm')} needs torch{pin.specifier}, "
                        f"{have} is installed", advice)  # fmt: skip
