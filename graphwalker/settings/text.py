"""What the text of a settings file may hold: numbers that are read as they stand there, and
references `${...}` that stay small and show no secret."""

import re
from typing import Any, cast

from graphwalker.errors import UserError

PLACES = (
    "HOME", "PROJECT", "SCRATCH", "SLURM_ARRAY_TASK_ID", "SLURM_JOB_ID", "SLURM_TMPDIR", "TMPDIR",
    "USER", "WORK",
)  # fmt: skip
"""Variables of the environment that a config may read, as `${oc.env:SCRATCH}`: they name folders
and jobs, and hold no secrets."""
_FUNCTION = re.compile(r"\$\{\s*([A-Za-z_][\w.]*)\s*:([^,}]*)")
RESOLVED_LIMIT = 1 << 20
"""Characters; ten values that each name the one before ten times would be 10^10."""
_REFERENCE = re.compile(r"\$\{([^${}:]*)\}")
_NESTED = re.compile(r"\$\{[^{}]*\$\{")
_PER_VALUE = 8
_MISREAD = re.compile(r"[-+]?(0[0-7_]*[0-7]|[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?)")
"""Numbers of YAML 1.1 in base 8 and 60."""


def check_numbers(text: str) -> None:
    """Raise `ValueError` for a number that YAML reads as another one: 010 as 8, 12:30 as 750."""
    import yaml

    waiting: list[Any] = [yaml.compose(text, yaml.SafeLoader)]  # pyright: ignore[reportUnknownMemberType]
    met = set[int]()
    while waiting:
        node = waiting.pop()
        if node is None or id(node) in met:
            continue
        met.add(id(node))
        if node.id == "mapping":
            waiting += [part for pair in node.value for part in pair]
        elif node.id == "sequence":
            waiting += node.value
        elif node.style is None and _MISREAD.fullmatch(node.value):
            raise ValueError(
                f"{node.value}: YAML reads this as {yaml.safe_load(node.value)}; write the number "
                f'without leading zeros or colons, or a text in quotes: "{node.value}"'
            )


def refuse_resolvers(settings: Any) -> None:
    """Raise `UserError` for `${oc.env:NAME}` of anything but a place, and for other functions: a
    config from elsewhere could send a key to an address, and it would stand in the run folder.
    Raises it as well for settings that grow without bound."""
    from omegaconf import OmegaConf

    unresolved = OmegaConf.to_container(settings, resolve=False)
    _refuse_large(unresolved)
    waiting: list[Any] = [unresolved]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += cast(dict[Any, Any], one).values()
        elif isinstance(one, list):
            waiting += cast(list[Any], one)
        elif isinstance(one, str):
            for function, argument in _FUNCTION.findall(one):
                name = argument.strip().strip("'\"")
                if function != "oc.env" or name not in PLACES:
                    raise UserError(
                        f"${{{function}:{argument}}}: not resolved in a config, where it could "
                        f"show a secret; only the places {', '.join(PLACES)} are"
                    )


def _refuse_large(settings: Any) -> None:
    """Raise `UserError` for unresolved settings that grow beyond the limit. A value is measured
    once, however often it is named; OmegaConf would write it out each time."""
    known: dict[tuple[str, ...], int] = {}

    def measure(place: tuple[str, ...], value: Any) -> int:
        if place in known:
            return known[place]
        known[place] = 0  # a value that names itself, which OmegaConf refuses
        size = _PER_VALUE
        if isinstance(value, str):
            named = [_place_named(place, one) for one in _references_in(value)]
            size += len(value) + sum(measure(*_value_at(settings, one)) for one in named)
        for key, part in _parts_of(value).items():
            size += len(key) + measure((*place, key), part)
        known[place] = size
        return size

    size = measure((), settings)
    if size > RESOLVED_LIMIT:
        raise UserError(
            f"${{...}}: settings that name others become {size:,} characters, more than "
            f"{RESOLVED_LIMIT:,}; write them out"
        )


def _value_at(settings: Any, place: tuple[str, ...]) -> tuple[tuple[str, ...], Any]:
    """Return the value at a place, or a text on the way, which may name a section."""
    for depth, key in enumerate(place):
        if isinstance(settings, str):
            return place[:depth], settings
        settings = _parts_of(settings).get(key)
    return place, settings


def _parts_of(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return {str(key): one for key, one in cast(dict[Any, Any], value).items()}
    if isinstance(value, list):
        return {str(number): one for number, one in enumerate(cast(list[Any], value))}
    return {}


def _references_in(text: str) -> list[str]:
    if _NESTED.search(text):
        raise UserError(f"{text[:80]}: ${{...}} inside of ${{...}} is not resolved; write it out")
    return _REFERENCE.findall(text)


def _place_named(place: tuple[str, ...], reference: str) -> tuple[str, ...]:
    """Get the place that a reference names: `${.a}` is beside its own, `${..a}` a level above."""
    name = reference.strip()
    dots = len(name) - len(name.lstrip("."))
    above = place[: max(0, len(place) - dots)] if dots else ()
    return (*above, *filter(None, re.split(r"[.\[\]]", name)))
