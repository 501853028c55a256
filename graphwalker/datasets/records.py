"""A published record as a pydantic model: its fields, and the question that it makes."""

import re
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, cast

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from graphwalker.datasets.files import Contents, Record, as_object, kind
from graphwalker.errors import UserError
from graphwalker.question import Question


@dataclass(frozen=True, slots=True)
class DatasetFile:
    """What is known of a file besides its records."""

    path: Path
    dataset: str = ""
    """`""` where the records say it themselves."""
    split: str = ""
    """`train`, `dev`, `test`, or `""` when nothing says it."""
    language: str = "en"
    hops: int = 0
    types: tuple[str, ...] = ()
    """MetaQA's question types, one a record, from the file beside."""
    answers_elsewhere: bool = False
    """Another file holds the answers: a record may lack them."""

    def question_id(self, number: int, part: str = "") -> str:
        """Return an id for a record that has none: its place in the file, from 0."""
        parts = (self.dataset, part, self.split, str(number - 1))
        return "-".join(part for part in parts if part)


class Nested(BaseModel):
    """An object inside a record. Types are strict; fields that are not declared do not matter."""

    model_config = ConfigDict(strict=True, frozen=True)


class Published(Nested):
    """A record in one published form.

    The form is known by its required fields: some record among a file's first ones has each.
    """

    form: ClassVar[str]
    """What people call it: `CWQ with topic entities`."""
    datasets: ClassVar[tuple[str, ...]]
    """The datasets that are published so."""
    lacks: ClassVar[frozenset[str]] = frozenset()
    """Fields of other forms."""
    wrappers: ClassVar[tuple[str, ...]] = ("",)
    """Keys that may hold the list of records, `""` for none."""
    sets_aside: ClassVar[bool] = False
    """Whether the published files are known to hold faulty records: those are set aside and named,
    where of other forms the first one ends the reading."""
    answers_by_query: ClassVar[bool] = False
    """Whether records state a query and no answers, which the graph then gives."""
    line: ClassVar[re.Pattern[str] | None] = None
    """What a line of text looks like, its columns being the fields; `None` for JSON."""

    @abstractmethod
    def to_question(self, number: int, file: DatasetFile) -> Question:
        """Return the question of record `number` (from 1). Where it leaves id, dataset or split
        empty, the file says them. Raises `UserError` naming the field at fault."""

    @classmethod
    def dataset_of(cls, head: Sequence[Record]) -> str:
        """Return which of several datasets a file's first records are from; `""` for unknown
        ones."""
        return ""

    @classmethod
    def read(cls, value: object) -> "Published":
        """Return the record of a JSON value or line. Raises `UserError` naming the field."""
        return cls.validate_record(value)

    @classmethod
    def validate_record(cls, value: object) -> Self:
        """Return the record in exactly this form."""
        if cls.line is not None:
            value = cls._columns(str(value))
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            noun = "column" if cls.line else "field"
            raise UserError(_explain(error.errors()[0], noun)) from None

    @classmethod
    def misses(cls, contents: Contents) -> list[str] | None:
        """Fields that should be there and are not; `None` for another kind of file."""
        if cls.line is not None and contents.json:
            return None
        if cls.line is not None:
            fits = [cls.line.match(str(record.value)) is not None for record in contents.head]
            return [] if any(fits) and 2 * sum(fits) >= len(fits) else ["lines of this form"]
        found = keys(contents.head)
        if not contents.json or contents.wrapper not in cls.wrappers or cls.lacks & found:
            return None
        return [names[0] for names in cls.needs() if found.isdisjoint(names)]

    @classmethod
    def needs(cls) -> list[list[str]]:
        """Return the names of each required field."""
        return [_names(*item) for item in cls.model_fields.items() if item[1].is_required()]

    @classmethod
    def _columns(cls, line: str) -> dict[str, str]:
        cells, names = line.split("\t"), [_names(*item)[0] for item in cls.model_fields.items()]
        if len(cells) != len(names):
            raise UserError(f"has {len(cells)} columns, not {len(names)}: {', '.join(names)}")
        return dict(zip(names, cells, strict=True))


def keys(records: Sequence[Record]) -> frozenset[str]:
    """Return every field that one of these records has."""
    return frozenset(key for record in records for key in as_object(record.value) or ())


def published_as(*names: str, default: object = ...) -> Any:
    """Return a field by its published names: two publications may name it differently."""
    return Field(default, validation_alias=AliasChoices(*names))


def null_is(empty: Callable[[], object]) -> BeforeValidator:
    """Read null as an empty value."""
    return BeforeValidator(lambda value: empty() if value is None else value)


def _utf8(text: str) -> str:
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ValueError("is not UTF-8 text")
    return text


def _not_empty(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    return text.strip()


def number_as_text(value: object) -> object:
    """Return a number as its text; whatever else it is stays as it is."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def rows_of_columns(value: object) -> object:
    """Return a list of objects where the value is one object of equally long lists, as Hugging
    Face's `datasets` keeps such a list.

    >>> rows_of_columns({"name": ["Oslo", "Rome"], "id": ["m.1", "m.2"]})
    [{'name': 'Oslo', 'id': 'm.1'}, {'name': 'Rome', 'id': 'm.2'}]
    """
    columns = cast("dict[str, list[Any]]", value) if isinstance(value, dict) else {}
    lists = list(columns.values())
    if not lists or not all(isinstance(column, list) for column in lists):  # pyright: ignore
        return cast("object", value)
    if len(set(map(len, lists))) > 1:
        return cast("object", value)
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


ByColumn = BeforeValidator(rows_of_columns)
AnyText = Annotated[str, AfterValidator(_utf8)]
Text = Annotated[AnyText, AfterValidator(_not_empty)]
"""A text that says something, without white space around it."""
MaybeText = Annotated[AnyText, null_is(str), AfterValidator(str.strip)]
"""A text that may be null or empty."""
MaybeTexts = Annotated[list[Text], null_is(list)]
Key = Annotated[Text, BeforeValidator(lambda value: str(value) if type(value) is int else value)]
"""An id: a text, or a whole number."""
Whole = Annotated[int, Field(ge=0)]
# pydantic puts the tag of a union's member into the path of an error; `_explain` takes it out.
AsText, AsList, AsObject = Tag("as text"), Tag("as list"), Tag("as object")
_TAGS = {str: AsText.tag, list: AsList.tag, dict: AsObject.tag}


def by_shape(expected: str) -> Discriminator:
    """Tells the members of a union, each tagged with its shape, by the shape of the value."""
    return Discriminator(lambda value: _TAGS.get(type(value)), "shape", expected)  # pyright: ignore


_EXPECTED = {
    **{"string_type": "a text", "list_type": "a list", "bool_type": "true or false"},
    **dict.fromkeys(("dict_type", "model_type"), "an object"),
    **dict.fromkeys(("int_type", "greater_than_equal"), "a whole number, 0 or more"),
}


def _explain(error: ErrorDetails, noun: str) -> str:
    """Return what is wrong, with the path of the field: `Parses[0].Answers[2].EntityName`."""
    steps = [step for step in error["loc"] if step not in _TAGS.values()]
    path = "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in steps).removeprefix(".")
    field, what, value = f"{noun} {path!r}" if path else "the record", error["type"], error["input"]
    if what == "missing":
        return f"has no {field}"
    if value is None:
        return f"{field} is null"
    context = error.get("ctx", {})
    if what == "value_error":
        return f"{field} {context['error']}"
    if what == "literal_error":
        return f"{field} must be {context['expected'].replace(chr(39), '')}, not {value!r}"
    return f"{field} must be {_EXPECTED.get(what, error['msg'])}, not {kind(value)}"


def _names(name: str, field: FieldInfo) -> list[str]:
    alias = field.validation_alias
    choices = alias.choices if isinstance(alias, AliasChoices) else [alias or name]
    return cast("list[str]", choices)
