"""The rule for settings in files: names that run, read or send count only from the user's hand.

A record, a model folder or a run folder may come from anybody. Of the settings in it only numbers,
switches, choices and plain texts are taken. The name of a module, a path, an address or an
environment variable is refused, unless the user gives that setting or trusts the folder.
"""

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, cast, get_args, get_origin

from pydantic import BeforeValidator

from graphwalker.config import Config, nested_model
from graphwalker.errors import UserError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ByHand:
    """Marks a setting that a file may not choose."""

    does: str
    """What its value does, after "would" or "will"."""
    is_safe: Callable[[Any], bool] = lambda value: False
    """Whether a value is one that any file may name, such as one of our rankers."""


PLAIN = "plain text"
"""Marks a text that is only shown or compared. A text without a mark is refused as well."""
RUNS, READS, RECEIVES, KEY = "run code", "open a file", "receive data", "choose a secret to send"
UNMARKED = "be taken unchecked"

Text = Annotated[str, PLAIN]
OptionalText = Annotated[str | None, PLAIN]
PlainTexts = Annotated[tuple[str, ...], PLAIN]
PlainWeights = Annotated[dict[str, float], PLAIN]
FilePath = Annotated[str, ByHand(READS)]
FilePaths = Annotated[tuple[str, ...], ByHand(READS)]
Address = Annotated[str, ByHand(RECEIVES)]
Addresses = Annotated[tuple[str, ...], ByHand(RECEIVES)]
KeyVariable = Annotated[str, ByHand(KEY)]


def _as_tuple(texts: Any) -> Any:
    return (texts,) if isinstance(texts, str) else texts


OneOrSeveral = BeforeValidator(_as_tuple)
"""A config field of several texts may be given one alone."""


OwnCode = Annotated[tuple[str, ...], OneOrSeveral, ByHand(RUNS)]
"""A config field: code of the user's own, each `module:NAME`."""
TrustedFolders = Annotated[tuple[str, ...], OneOrSeveral, ByHand(RUNS)]
"""A config field: folders whose files may name code, paths, addresses and environment variables."""


@dataclass(frozen=True, slots=True)
class FoundName:
    """A setting of a file that only the user may choose."""

    path: tuple[str, ...]
    value: Any
    does: str

    def as_typed(self, prefix: str) -> str:
        """Return the setting as a person types it."""
        value = self.value if isinstance(self.value, str) else json.dumps(self.value, default=str)
        return f"{prefix}{'.'.join(self.path)}={value}"


def names_in(
    model: type[Config], values: Mapping[str, Any], above: tuple[str, ...] = ()
) -> Iterator[FoundName]:
    """Yield the settings among `values` that a file may not choose."""
    for key, value in values.items():
        path, field = (*above, str(key)), model.model_fields.get(key)
        if field is None:
            continue  # `parse_config` refuses it
        section = section_of(model, key, values)
        if section and isinstance(value, Mapping):
            yield from names_in(section, cast("Mapping[str, Any]", value), path)
            continue
        mark = next((m for m in field.metadata if isinstance(m, ByHand)), None)
        default = None if field.is_required() else field.get_default(call_default_factory=True)
        if not value or value == default or PLAIN in field.metadata:
            continue
        if mark is None and not section and (_is_choice(field.annotation) or is_number(value)):
            continue
        if mark is None or not mark.is_safe(value):
            yield FoundName(path, value, mark.does if mark else UNMARKED)


def section_of(model: type[Config], key: str, values: Mapping[str, Any]) -> type[Config] | None:
    """Return the model of a setting that is a section; `values` are the settings beside it."""
    found = nested_model(model.model_fields[key].annotation)
    chosen = getattr(model, "open_section", None)
    return chosen(key, values) if chosen and not found else found


def check_trust(
    model: type[Config],
    values: Mapping[str, Any],
    source: Path | str,
    *,
    given: Mapping[str, Any] | None = None,
    trust: Sequence[str] = (),
    prefix: str = "",
) -> dict[str, Any]:
    """Return the settings of the file `source`, with names as the user gave them in `given`.

    A file below a folder of `trust` keeps its names, and they are told. Raises `UserError` that
    says what to type; settings stand there behind `prefix`, as in `environment.`.
    """
    found, chosen = list(names_in(model, values)), dict(values)
    refused: list[FoundName] = []
    for name in found:
        try:
            chosen = _replace(chosen, name.path, _look(given or {}, name.path))
        except KeyError:
            refused.append(name)
    if not refused:
        return chosen
    if is_trusted(source, trust):
        _tell(f"{source} is trusted: {_sentence(refused, prefix, 'will')}")
        return chosen
    typed = " ".join(name.as_typed(prefix) for name in refused)
    raise UserError(
        f"{source}: {_sentence(refused, prefix, 'would')}, which no file may choose: "
        f"type {typed} yourself, or --trust {Path(source).parent}"
    )


def runs_more(model: type[Config], values: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Return whether the settings of a file name code that the settings `now` do not."""
    for name in names_in(model, values):
        try:
            same = _look(now, name.path) == name.value
        except KeyError:
            same = False
        if name.does == RUNS and not same:
            return True
    return False


def is_trusted(file: Path | str, folders: Sequence[str]) -> bool:
    """Return whether the file lies in one of the folders."""
    place = Path(file).resolve()
    return any(folder and place.is_relative_to(Path(folder).resolve()) for folder in folders)


def _sentence(names: Sequence[FoundName], prefix: str, verb: str) -> str:
    return ", ".join(f"{name.as_typed(prefix)} {verb} {name.does}" for name in names)


@cache
def _tell(text: str) -> None:
    """Say it once."""
    log.warning(text)


def _look(given: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """Return the user's value. Raises `KeyError` where there is none."""
    found: Any = given
    for key in path:
        if not isinstance(found, Mapping):
            raise KeyError(key)
        found = cast("Mapping[str, Any]", found)[key]
    return found


def _replace(values: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    key, *rest = path
    return {**values, key: _replace(values[key], tuple(rest), value) if rest else value}


def _is_choice(annotation: Any) -> bool:
    """Return whether values of the type are numbers, switches or one of a few words."""
    if get_origin(annotation) is Literal:
        return True
    parts = [part for part in get_args(annotation) if part is not ...]
    if not parts:
        return annotation in (bool, int, float, NoneType)
    return all(map(_is_choice, parts))


def is_number(value: Any) -> bool:
    """Return whether the value holds numbers and switches alone, under names that no module has."""
    if isinstance(value, Mapping):
        rows = cast("Mapping[Any, Any]", value).items()
        return all(str(key).isidentifier() and is_number(one) for key, one in rows)
    if isinstance(value, list | tuple):
        return all(map(is_number, cast("Sequence[Any]", value)))
    return isinstance(value, bool | int | float | NoneType)
