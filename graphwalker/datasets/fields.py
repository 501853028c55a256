"""A field of a JSON record, read strictly: whatever is wrong is said with the field's path."""

import re
from dataclasses import dataclass
from typing import cast

from graphwalker.errors import UserError

_BROKEN = re.compile(r"[\ud800-\udfff]")
_WORDS = ((bool, "true or false"), (str, "a text"), (list, "a list"), (dict, "an object"))


def kind(value: object) -> str:
    """What a JSON value is, in words."""
    if value is None:
        return "null"
    return next((word for cls, word in _WORDS if isinstance(value, cls)), "a number")


def as_object(value: object) -> dict[str, object] | None:
    """The JSON object, `None` for any other value."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


@dataclass(frozen=True, slots=True)
class Field:
    """A JSON value and the path that leads to it: `Parses[0].Answers[2].EntityName`.

    Every method raises `UserError` naming the path when the value is not what was asked for.
    """

    value: object
    path: str = ""

    def wrong(self, expected: str) -> UserError:
        """The error that says what the field should have been."""
        place = f"field {self.path!r}" if self.path else "the record"
        return UserError(f"{place} must be {expected}, not {kind(self.value)}")

    def has(self, key: str) -> bool:
        """True when the object has that key and it is not null."""
        return self._object().get(key) is not None

    def get(self, *keys: str) -> "Field":
        """The first of these keys that is there and not null."""
        for key in keys:
            if self.has(key):
                return self._at(key)
        named = " or ".join(repr(self._join(key)) for key in keys)
        null = any(key in self._object() for key in keys)
        raise UserError(f"field {named} is null" if null else f"has no field {named}")

    def nullable(self, key: str) -> "Field | None":
        """A field that must be there; `None` when it is null."""
        if key not in self._object():
            raise UserError(f"has no field {self._join(key)!r}")
        return self.find(key)

    def find(self, key: str) -> "Field | None":
        """The field, or `None` when it is absent or null."""
        return self._at(key) if self.has(key) else None

    def text(self) -> str:
        """A text that says something, without white space around it."""
        found = self.string().strip()
        if not found:
            raise UserError(f"field {self.path!r} is empty")
        return found

    def string(self) -> str:
        """A text, which may be empty."""
        if not isinstance(self.value, str):
            raise self.wrong("a text")
        if _BROKEN.search(self.value):
            raise UserError(f"field {self.path!r} is not UTF-8 text")
        return self.value

    def key(self) -> str:
        """An id: a text that says something, or a whole number."""
        if isinstance(self.value, int) and not isinstance(self.value, bool):
            return str(self.value)
        if not isinstance(self.value, str):
            raise self.wrong("a text or a whole number")
        return self.text()

    def flag(self) -> bool:
        if not isinstance(self.value, bool):
            raise self.wrong("true or false")
        return self.value

    def whole(self) -> int:
        """A whole number, 0 or more."""
        if not isinstance(self.value, int) or isinstance(self.value, bool) or self.value < 0:
            raise self.wrong("a whole number, 0 or more")
        return self.value

    def items(self) -> "list[Field]":
        """The items of a list."""
        value = self.value
        if not isinstance(value, list):
            raise self.wrong("a list")
        items = cast("list[object]", value)
        return [Field(item, f"{self.path}[{i}]") for i, item in enumerate(items)]

    def texts(self) -> list[str]:
        """A list of texts that all say something."""
        return [item.text() for item in self.items()]

    def entries(self) -> "dict[str, Field]":
        """An object as key -> field."""
        return {key: self._at(key) for key in self._object()}

    def _at(self, key: str) -> "Field":
        return Field(self._object()[key], self._join(key))

    def _join(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def _object(self) -> dict[str, object]:
        found = as_object(self.value)
        if found is None:
            raise self.wrong("an object")
        return found


def nullable_text(record: Field, key: str) -> str:
    """A text field that must be there, but may be null or empty."""
    found = record.nullable(key)
    return found.string().strip() if found else ""


def optional_text(record: Field, key: str) -> str:
    """A text field that may be absent, null or empty."""
    found = record.find(key)
    return found.string().strip() if found else ""
