"""The form protocol: a completion is one JSON object whose keys say which action it is.

For agents that ask for one decision at a time (structured outputs): each decision is a form, known
by its keys, and filled in on one line. Names are JSON strings; what could act as a tag or as a
special token of a chat template is written as its JSON escape.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any, cast

from graphwalker.protocols.base import PLACEHOLDER, Action, FinalAnswer, Malformed, repeats_example
from graphwalker.protocols.tags import neutral
from graphwalker.tokens.reasoning import without_reasoning
from graphwalker.tools.base import Call

JsonForm = Mapping[str, Any]
"""A form's keys, each with an example value, which says what kind of value belongs there."""
THOUGHT, ANSWER = "thought", "answer"
ANSWER_FORM = f'{{"{ANSWER}": ["{PLACEHOLDER}"]}}'
"""An answer as hints show it."""
_FENCE = re.compile(r"```[a-z]*\s*(\{.*?\})\s*```", re.DOTALL | re.IGNORECASE)
_JSON = json.JSONDecoder(strict=False)
_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "true or false"),
    (str, "a text"),
    ((int, float), "a number"),
)


class _Unreadable(Exception):
    """A completion that fills in no form; the text says what to write instead."""


class FormProtocol:
    """Reads and writes completions such as

    >>> protocol = FormProtocol({"anchor": {"anchor": "Name"}})
    >>> print(protocol.render("Look around.", Call("anchor", {"anchor": "Oslo"})))
    {"thought": "Look around.", "anchor": "Oslo"}
    >>> protocol.parse('{"answer": ["Oslo", "Bergen"]}')
    ('', FinalAnswer(names=('Oslo', 'Bergen')))
    """

    name: str = "forms"
    stop: tuple[str, ...] = ()

    def __init__(self, forms: Mapping[str, JsonForm]) -> None:
        """`forms`: by the name of the call; a form whose keys hold another's comes before it."""
        self._forms = {name: dict(form) for name, form in forms.items()}

    def parse(self, completion: str) -> tuple[str, Action]:
        """Return the thought and the filled-in form; of several whose keys are there, the first."""
        try:
            fields = _object(completion, self._any())
        except _Unreadable as problem:
            return "", Malformed(str(problem))
        thought = fields.get(THOUGHT)
        try:
            action = self._action(fields)
        except _Unreadable as problem:
            action = Malformed(str(problem))
        return thought.strip() if isinstance(thought, str) else "", action

    def render(self, thought: str, action: Call | FinalAnswer) -> str:
        """Return the completion that `parse` reads back. A thought is stripped at both ends.

        Raises `ValueError` for a call that no form stands for.
        """
        if isinstance(action, FinalAnswer):
            fields: dict[str, Any] = {ANSWER: list(action.names)}
        else:
            form = self._forms.get(action.tool)
            if form is None or set(form) != set(action.arguments):
                raise ValueError(f"{action.tool} cannot be written with {sorted(action.arguments)}")
            fields = {key: action.arguments[key] for key in form}
        opening = {THOUGHT: thought.strip()} if thought.strip() else {}
        return write_form({**opening, **fields})

    def observe(self, text: str, own: bool = False) -> str:
        """Return the observation, what could act as a tag made harmless; not in `own` words."""
        return text if own else neutral(text)

    def force(self) -> str:
        """Asks for the answer, whatever is known."""
        return f"Nothing more can be looked up. Answer now: {ANSWER_FORM}"

    def hint(self, tool: str) -> str:
        """Return the form with example values; `""` for an unknown one."""
        return write_form(self._forms[tool]) if tool in self._forms else ""

    def _any(self) -> str:
        first = next(iter(self._forms), "")
        return self.hint(first) or ANSWER_FORM

    def _action(self, fields: Mapping[str, Any]) -> Call | FinalAnswer:
        for name, form in self._forms.items():
            if form.keys() <= fields.keys():
                return Call(name, {key: _value(key, fields[key], form[key]) for key in form})
        if ANSWER in fields:
            return FinalAnswer(_names(fields[ANSWER]))
        if not self._forms:
            raise _Unreadable(f"write {self._any()}")
        count = {name: len(form.keys() & fields.keys()) for name, form in self._forms.items()}
        nearest = max(count, key=count.__getitem__)
        if not count[nearest]:
            raise _Unreadable(f"none of its keys is asked for: {_advice(self._any())}")
        missing = [key for key in self._forms[nearest] if key not in fields]
        raise _Unreadable(f"no {', '.join(map(repr, missing))} in it: write {self.hint(nearest)}")


def _advice(form: str) -> str:
    """Tell what to write; an agent that asks for another form puts it in the place of this one."""
    return f"write one JSON object, such as {form}"


def write_form(fields: Mapping[str, Any]) -> str:
    """Return a JSON object on one line, without anything that could be taken for a tag."""
    return neutral(json.dumps(fields, ensure_ascii=False))


def _object(completion: str, form: str) -> dict[str, Any]:
    """Return the first JSON object of a completion, fenced or bare."""
    text = completion.strip()
    if not text.startswith("{"):
        text = without_reasoning(text)
        fenced = _FENCE.search(text)
        text = fenced[1] if fenced else text[max(0, text.find("{")) :]
    try:
        value, _ = _JSON.raw_decode(text)
    except (ValueError, RecursionError):
        raise _Unreadable(_advice(form)) from None
    if not isinstance(value, dict):
        raise _Unreadable(_advice(form))
    _check(value)
    return cast("dict[str, Any]", value)


def _check(value: Any) -> None:
    """Half a surrogate pair cannot be written to any file: it is the model's mistake."""
    if any("\ud800" <= letter <= "\udfff" for letter in json.dumps(value, ensure_ascii=False)):
        raise _Unreadable("a \\u escape stands for half a character: copy the name as shown")


def _value(key: str, value: Any, example: Any) -> Any:
    if isinstance(example, list):
        items = cast("list[Any]", value)
        if not isinstance(value, list):
            raise _Unreadable(f'"{key}" must be a list')
        inner = cast("list[Any]", example)[0]
        return [_value(f"{key}[{i}]", item, inner) for i, item in enumerate(items)]
    if isinstance(example, dict):
        if not isinstance(value, dict):
            raise _Unreadable(f'"{key}" must be a JSON object')
        return cast("dict[str, Any]", value)
    if isinstance(example, str) and value is None:
        return ""
    cls, kind = next(row for row in _KINDS if isinstance(example, row[0]))
    if not isinstance(value, cls) or (isinstance(value, bool) and cls is not bool):
        raise _Unreadable(f'"{key}" must be {kind}')
    return value


def _names(value: Any) -> tuple[str, ...]:
    """True, false and null are the names `True`, `False` and `None`, a number (how many there are)
    is its digits; one name may stand alone."""
    listed = cast("list[Any]", value) if isinstance(value, list) else [value]
    names = [_name(item) for item in listed]
    if not all(isinstance(name, str) and name.strip() for name in names):
        raise _Unreadable(f'"answer" must be true, false, null or a list of names: {ANSWER_FORM}')
    if repeats_example(names):
        raise _Unreadable("write the names of answers in place of the example")
    return tuple(dict.fromkeys(cast("list[str]", names)))


def _name(item: Any) -> Any:
    if item is None or isinstance(item, bool):
        return str(item)
    finite = isinstance(item, int) or (isinstance(item, float) and math.isfinite(item))
    return json.dumps(item) if finite else item
