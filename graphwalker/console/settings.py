"""The settings of a config, as they are listed: name, type, default, meaning."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from graphwalker.config import Config, nested_model


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a config, or a block of settings that has a name of its own."""

    key: str
    """Dotted name."""
    kind: str
    default: str
    """As Python writes it; `(required)` where there is none, of an optional section only where
    something of it is set."""
    meaning: str
    block: str = ""
    """Of a block: the NAME of `graphwalker config NAME`, which lists its settings."""


REQUIRED = "(required)"


def describe(
    model: type[Config], prefix: str = "", *, whole: bool = True, required: str = REQUIRED
) -> Iterator[Setting]:
    """Yield every setting, nested ones with dotted keys.

    With `whole=False` a block that several stages share is one entry. `required` stands where a
    setting has no default.
    """
    for name, field in model.model_fields.items():
        nested = nested_model(field.annotation)
        meaning = " ".join((field.description or "").split())
        if nested is not None and nested.block and not whole:
            yield Setting(f"{prefix}{name}", "block", "", meaning, nested.block)
            continue
        if nested is not None:
            where = f"(required where {prefix}{name} is set)" if field.default is None else required
            yield from describe(nested, f"{prefix}{name}.", whole=whole, required=where)
            continue
        default = (
            required if field.is_required() else repr(field.get_default(call_default_factory=True))
        )
        yield Setting(f"{prefix}{name}", _kind(field.annotation), default, meaning)


def describe_basic(model: type[Config]) -> list[Setting]:
    """Return the settings that people change: those of `basic`, of required ones all."""
    rows = {row.key: row for row in describe(model)}
    required = [key for key, row in rows.items() if row.default == REQUIRED and "." not in key]
    return [rows[key] for key in dict.fromkeys((*required, *model.basic))]


def _kind(annotation: Any) -> str:
    """Return a type as a person reads it: without modules, a choice by its values."""
    if get_origin(annotation) is Literal:
        return " | ".join(map(str, get_args(annotation)))
    if not get_args(annotation):
        return getattr(annotation, "__name__", str(annotation))
    text = re.sub(r"(?<!['\w])(?:[a-z_]+\.)+(?=[A-Z])", "", str(annotation))
    return re.sub(r"Annotated\[(\w+), [^\]]*\]", r"\1", text)  # its validators have addresses
