"""What a call or an answer may name: what the episode has shown, and not what was shown whole.

A grammar for constrained decoding. The thought and the choice of the action stay free. The action
has the form that its protocol writes, and a name or a relation inside it is one that stands in the
conversation, so none is misspelled or made up, no list repeats itself, and a call whose whole
result was shown is not made again: one that was cut is made again for its next page, and no other.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from graphwalker.graphs.literals import is_literal
from graphwalker.tools.base import Choices
from graphwalker.trajectory import Turn

ENTITY, RELATIONS = "entity", ("relation", "relations")
"""Arguments of calls that hold names of entities, and of relations."""
LIST = "relations"
"""The argument that is written as a list."""
PAGE = "page"
"""The argument behind all others, a number that page 1 is written without."""
_NEXT = b', "'
"""Leads to the next string of a list."""


@dataclass(slots=True)
class Shown:
    """What an episode has shown so far, as a grammar needs it."""

    names: dict[str, str] = field(default_factory=dict[str, str])
    """Ids of entities by the names shown; `""` for a topic entity without an id."""
    listed: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])
    """Relations by the id of the entity at which they were listed."""
    relations: dict[str, None] = field(default_factory=dict[str, None])
    spent: set[tuple[str, str, str]] = field(default_factory=set[tuple[str, str, str]])
    """(tool, entity's name, relation or `""`) of calls that would show nothing new."""
    cut: dict[tuple[str, str, str], int] = field(default_factory=dict[tuple[str, str, str], int])
    """The last page shown of such calls that have a further one, where there are pages."""
    choices: Choices | None = None
    """What the tools know about the arguments of calls, where they are functions."""

    def add(self, turn: Turn) -> None:
        """Take in what a turn has shown."""
        self.names.update((entity.name, entity.id) for entity in turn.shown)
        for entity_id, hops in turn.listed:
            found = dict.fromkeys(hop.relation for hop in hops)
            self.listed.setdefault(entity_id, {}).update(found)
            self.relations.update(found)
        if "tool" in turn.action:
            arguments: dict[str, Any] = turn.action["arguments"]
            written: Any = next((arguments[key] for key in RELATIONS if key in arguments), "")
            # A model may have written anything there, such as a number.
            relations = [written] if isinstance(written, str) else _listed(written)
            entity = str(arguments.get(ENTITY))
            calls = {(turn.action["tool"], entity, str(relation)) for relation in relations}
            if turn.hidden and not turn.error:
                page = arguments.get(PAGE, 1)
                self.cut.update(dict.fromkeys(calls, page if isinstance(page, int) else 1))
            else:
                self.spent.update(calls)


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


@dataclass(frozen=True, slots=True)
class TagGrammar:
    """The grammar of calls such as `tool("Name", ["a.b"])` and of answers such as `["Name"]`.

    >>> shown = Shown({"Oslo": "m.1", "Oslofjord": "m.2"})
    >>> grammar = TagGrammar(shown, {"get_relations": ("entity",)}, "kg-query", str)
    >>> grammar.continuations(b'<kg-query> get_relations("Osl')
    [b'o") </kg-query>', b'ofjord") </kg-query>']
    >>> grammar.continuations(b'<answer> ["Oslo"')
    [b'] </answer>', b', "']
    >>> grammar.continuations(b'<answer> ["Oslo", "')
    [b'Oslofjord"] </answer>']
    """

    shown: Shown
    tools: Mapping[str, Sequence[str]]
    """The names of each tool's arguments, in the order in which they are written."""
    call_tag: str
    neutral: Callable[[str], str]
    """Escapes what could act as a tag inside a written name."""
    pages: bool = False
    """Whether a call that was cut may be made again, for its next page."""

    def continuations(self, written: bytes) -> Sequence[bytes] | None:
        opening = _last_action(written, self.call_tag)
        if opening is None:
            return None
        tool, body = opening
        place = _place(body)
        used = place.before[-1]
        if self.pages and tool in self.tools and place.argument == len(self.tools[tool]):
            named = place.before[-2][:1]
            page = self._page(tool, place, named[0] if named else "")
            return _rest([f" {page}".encode() + self._close()], place.text)
        choices = self._choices(tool, place)
        if choices is None:
            return None
        listed = set(used)
        left: dict[int, list[str]] = {}
        for choice in choices:
            if choice not in listed:
                left.setdefault(self._page(tool, place, choice), []).append(choice)
        page = self._page(tool, place, used[0]) if used else 1
        if used:  # a list holds what has the same next page
            left = {page: left[page]} if page in left else {}
        if not place.inside:
            again = self._ends(tool, place, page) if used else self._begins(tool, place)
            # A list with nothing left to add ends.
            texts = again if left else [text for text in again if not text.endswith(b'"')]
            return _rest(texts, place.text)
        texts: list[bytes] = []
        for page, names in left.items():
            ends = self._ends(tool, place, page)
            more = ends if len(names) > 1 else [end for end in ends if end != _NEXT]
            texts += [_quoted(name, self.neutral) + end for name in names for end in more]
        return _rest(texts, place.text)

    def _page(self, tool: str, place: "_Place", name: str) -> int:
        """The page that a call with this name in its last argument would show; 1 before that."""
        keys = self.tools.get(tool, ())
        if not self.pages or not keys or place.argument < len(keys) - 1:
            return 1
        if keys[-1] not in RELATIONS:
            return self.shown.cut.get((tool, name, ""), 0) + 1
        started = place.before[keys.index(ENTITY)][-1:] if ENTITY in keys else []
        return self.shown.cut.get((tool, started[0] if started else "", name), 0) + 1

    def _choices(self, tool: str, place: "_Place") -> list[str] | None:
        """What the string at a place may be; None where it may be anything."""
        if not tool:
            return list(self.shown.names)
        keys = self.tools.get(tool, ())
        key = keys[place.argument] if place.argument < len(keys) else ""
        if key == ENTITY:
            return self._entities(tool, keys)
        if key in RELATIONS and ENTITY in keys[: place.argument]:
            name = place.before[keys.index(ENTITY)][-1:]
            return self._relations(tool, name[0] if name else "")
        return None

    def _begins(self, tool: str, place: "_Place") -> list[bytes]:
        """What may stand before the first string of an argument or of an answer."""
        if not tool:
            return [b' ["', b" [] </answer>"]
        begins = self._begin(tool, place.argument)
        return [begins] if place.argument == 0 else [b" " + begins]

    def _ends(self, tool: str, place: "_Place", page: int) -> list[bytes]:
        """What may stand after a string's last quote: the rest of the action up to its end or to
        the next string; a call for a further page names it."""
        if not tool:
            return [b"] </answer>", _NEXT]
        last = place.argument == len(self.tools[tool]) - 1
        after = self._close() if last else b", " + self._begin(tool, place.argument + 1)
        after = f", {page}".encode() + after if page > 1 else after
        return [b"]" + after, _NEXT] if self.tools[tool][place.argument] == LIST else [after]

    def _close(self) -> bytes:
        return f") </{self.call_tag}>".encode()

    def _begin(self, tool: str, argument: int) -> bytes:
        return b'["' if self.tools[tool][argument] == LIST else b'"'

    def _entities(self, tool: str, keys: Sequence[str]) -> list[str]:
        known = self.shown.names.items()
        names = [name for name, entity_id in known if not is_literal(entity_id)]
        if any(key in RELATIONS for key in keys):
            return [name for name in names if self._relations(tool, name)]
        return [name for name in names if not self._made(tool, name, "")]

    def _relations(self, tool: str, name: str) -> list[str]:
        shown = self.shown
        here = shown.listed.get(shown.names.get(name, name), shown.relations)
        return [relation for relation in here if not self._made(tool, name, relation)]

    def _made(self, tool: str, name: str, relation: str) -> bool:
        """Whether the call would show nothing new."""
        call = (tool, name, relation)
        return call in self.shown.spent or (call in self.shown.cut and not self.pages)


@lru_cache(maxsize=4096)
def _quoted(name: str, neutral: Callable[[str], str]) -> bytes:
    """A name as a string holds it, with the quote behind it."""
    return neutral(json.dumps(name, ensure_ascii=False))[1:].encode("utf-8", "replace")


def _rest(texts: Iterable[bytes], written: bytes) -> list[bytes] | None:
    """The rest of those texts that begin with what is written; None where none does."""
    rest = [text[len(written) :] for text in texts if text.startswith(written)]
    return [text for text in rest if text] or None


def _last_action(written: bytes, call_tag: str) -> tuple[str, bytes] | None:
    """(tool, what follows its parenthesis), or ("", what follows `<answer>`), of an open action."""
    start = written.rfind(b"<answer>")
    if start >= 0 and b"</answer>" not in written[start:]:
        return "", written[start + len(b"<answer>") :]
    tag = f"<{call_tag}>".encode()
    start = written.rfind(tag)
    found = _CALL.match(written, start + len(tag)) if start >= 0 else None
    return (found[1].decode(), written[found.end() :]) if found else None


_CALL = re.compile(rb"\s*([A-Za-z_]\w*)\s*\(")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a body ends: in which argument, after which whole strings of each argument up to it;
    whether inside a string, and what is written of it, or since the last one."""

    argument: int
    before: list[list[str]]
    inside: bool
    text: bytes


def _place(body: bytes) -> _Place:
    before: list[list[str]] = [[]]
    depth = position = since = 0
    while position < len(body):
        character = body[position : position + 1]
        if character == b'"':
            end = _STRING.match(body, position)
            if end is None:
                return _Place(len(before) - 1, before, True, body[position + 1 :])
            before[-1].append(_decoded(end[0]))
            position = since = end.end()
            continue
        depth += (character == b"[") - (character == b"]")
        position += 1
        if character == b"," and depth == 0:
            before.append([])
            since = position
    return _Place(len(before) - 1, before, False, body[since:])


_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)


def _decoded(text: bytes) -> str:
    try:
        return str(json.loads(text, strict=False))
    except ValueError:
        return text[1:-1].decode("utf-8", "replace")
