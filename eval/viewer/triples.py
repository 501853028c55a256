"""Triples that a turn displayed, read back from the text of its observation."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from graphwalker.graphs.names import fold
from graphwalker.trajectory import Turn

Triple = tuple[str, str, str]
"""Head, relation and tail, by the names under which they were shown."""

_NAME = r'("(?:[^"\\]|\\.)*"|[^\[\]",\\]+)'
_PLAIN = re.compile(r"[^,\[\]]+")


def _entry(relation: str) -> re.Pattern[str]:
    return re.compile(rf"\[{_NAME}, ({relation}), {_NAME}\]")


_ENTRY = _entry(_PLAIN.pattern)


def shown_triples(turn: Turn) -> list[Triple]:
    """The triples that the turn displayed, in order; names as shown, quotes taken off.

    >>> from graphwalker.trajectory import Turn
    >>> text = '[Ann, r.s, "Oslo, Norway"], [Bo, r.s, Ann] (+2 more)'
    >>> shown_triples(Turn((), "", observation=text))
    [('Ann', 'r.s', 'Oslo, Norway'), ('Bo', 'r.s', 'Ann')]

    A tool that writes other text than triples still says which entities it showed: these are then
    joined to the entity that was looked at, by the relations asked for.
    """
    known = {fold(entity.name) for entity in turn.shown}
    found = [t for t in _written(turn) if not known or {fold(t[0]), fold(t[2])} <= known]
    if found or not known:
        return found
    here = looked_at(turn.action)
    label = ", ".join(_asked(turn.action)) or str(turn.action.get("tool", ""))
    return [(here, label, e.name) for e in turn.shown if here and fold(e.name) != fold(here)]


def looked_at(action: Mapping[str, Any]) -> str:
    """The entity that a call is about: its argument `entity`, else its first text; else `""`.

    >>> looked_at({"tool": "get_relations", "arguments": {"entity": "Ann"}})
    'Ann'
    """
    arguments = action.get("arguments")
    if not isinstance(arguments, Mapping):
        return ""
    entity = arguments.get("entity")
    texts = [entity, *arguments.values()]
    return next((text for text in texts if isinstance(text, str)), "")


def _written(turn: Turn) -> Iterator[Triple]:
    """Entries `[head, relation, tail]`; a relation asked for may hold commas and brackets."""
    odd = [re.escape(r) for r in _asked(turn.action) if not _PLAIN.fullmatch(r)]
    entry = _entry("|".join([*odd, _PLAIN.pattern])) if odd else _ENTRY
    for head, relation, tail in entry.findall(turn.observation):
        yield _bare(head), relation, _bare(tail)


def _asked(action: Mapping[str, Any]) -> list[str]:
    arguments = action.get("arguments")
    relations = arguments.get("relations") if isinstance(arguments, Mapping) else None
    return [str(r) for r in relations] if isinstance(relations, list | tuple) else []


def _bare(name: str) -> str:
    if not name.startswith('"'):
        return name
    try:
        return str(json.loads(name))
    except json.JSONDecodeError:
        return name
