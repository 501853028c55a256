"""The walked subgraph of a trajectory: what was shown in which turn, with the gold path over it."""

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphwalker.graphs.names import fold
from graphwalker.trajectory import Trajectory, Turn
from graphwalker.viewer.gold import UNKNOWN, NameTriple, lay

MOST_LINKS = 600
"""Triples of one drawing, those of the gold path first."""


@dataclass(frozen=True, slots=True)
class Link:
    """A triple in the drawing. `turn` counts from 1 and is the first that showed it; 0: never."""

    head: str
    relation: str
    tail: str
    turn: int
    gold: bool = False


@dataclass(frozen=True, slots=True)
class WalkGraph:
    """Nodes by name, each with its marks, and the links between them.

    Marks: `t` topic entity, `g` gold answer, `a` answered, `?` on the gold path but never shown,
    `c` without a name. `focus[i]` is the node that turn i + 1 looked at, or `""`.
    """

    nodes: Mapping[str, str]
    links: tuple[Link, ...]
    focus: tuple[str, ...]


def walk_graph(trajectory: Trajectory) -> WalkGraph:
    """Draw what the walk saw, turn by turn, and the gold path where the question has one."""
    topics = _topic_names(trajectory)
    ids = [entity.id for entity in trajectory.question.topic_entities]
    first_seen, focus = _read_turns(trajectory.turns, topics, ids)
    names = {fold(n): n for n in [*topics, *_ends(first_seen), *focus] if n}
    gold = _gold_names(trajectory, names)
    on_path, missing = set[NameTriple](), list[NameTriple]()
    if states_triples(trajectory):
        on_path, missing = lay(trajectory.question, first_seen, gold)
    links = [Link(*t, turn, t in on_path) for t, turn in first_seen.items()]
    links += [Link(*triple, 0, True) for triple in missing]
    kept = set(sorted(links, key=lambda link: not link.gold)[:MOST_LINKS])
    links = [link for link in links if link in kept]
    given = [names.get(fold(name), name) for name in trajectory.answer or ()]
    marks: dict[str, str] = defaultdict(str)
    for mark, marked in (("t", topics), ("g", gold), ("a", given)):
        for name in dict.fromkeys(marked):
            marks[name] += mark
    nodes = dict.fromkeys(topics)
    for number, name in enumerate((*focus, ""), start=1):  # as they came: a longer walk only adds
        shown = (x for x in links if (x.turn or len(focus) + 1) == number)
        nodes |= dict.fromkeys([name] if name else [])
        nodes |= dict.fromkeys(end for x in shown for end in (x.head, x.tail))
    nodes |= dict.fromkeys(filter(None, (*gold, *given)))
    return WalkGraph(
        {n: marks[n] or ("?" if n.startswith(UNKNOWN) else _kind(n)) for n in nodes},
        tuple(links),
        tuple(focus),
    )


def _kind(name: str) -> str:
    """`c` for a node without a name, such as a Freebase CVT or a Wikidata statement."""
    return "c" if _MACHINE_ID.fullmatch(name) else ""


def states_triples(trajectory: Trajectory) -> bool:
    """Return whether the turns hold what they showed as data: some tools state no triples, and no
    path of their walks is drawn."""
    turns = trajectory.turns
    return any(t.triples or t.listed for t in turns) or not any(t.shown for t in turns)


def label(node: str) -> str:
    """Return the label of a node."""
    return "?" if node.startswith(UNKNOWN) else node


_MACHINE_ID = re.compile(r"[mg]\.[0-9a-z_]+|_:.+|.*/statement/.+")


def _topic_names(trajectory: Trajectory) -> list[str]:
    """Topic entities as an episode shows them: namesakes carry their ids."""
    names: list[str] = []
    for entity in trajectory.question.topic_entities:
        name = entity.name or entity.id
        names.append(f"{name} ({entity.id})" if name in names else name)
    return names


def _read_turns(
    turns: Sequence[Turn], topics: Sequence[str], ids: Iterable[str]
) -> tuple[dict[NameTriple, int], list[str]]:
    """Return the first turn that showed each triple, and the node that each turn looked at. `ids`
    are those of the topics."""
    names = {fold(one): name for one, name in zip(ids, topics, strict=True) if one}
    names |= {fold(name): name for name in topics}
    seen: dict[NameTriple, int] = {}
    focus: list[str] = []
    for number, turn in enumerate(turns, start=1):
        for head, relation, tail in turn.triples:
            seen.setdefault((head.name, relation, tail.name), number)
        ends = (end for triple in turn.triples for end in (triple.head, triple.tail))
        for entity in (*turn.shown, *ends):
            for text in filter(None, (entity.name, entity.id)):  # a call may hold either
                names.setdefault(fold(text), entity.name or entity.id)
        here = looked_at(turn.action, names)
        known = names.get(fold(here), "" if turn.error else here)
        focus.append(known)
        if known:
            names.setdefault(fold(known), known)
    return seen, focus


def looked_at(action: Mapping[str, Any], names: Container[str] = ()) -> str:
    """Get the entity that a call is about: its argument `entity`, else the first text that is one
    of the `names` known (case-folded); else `""`.

    >>> looked_at({"tool": "look", "arguments": {"entity": "Ann"}})
    'Ann'
    """
    arguments: Mapping[str, Any] = action.get("arguments") or {}
    entity = arguments.get("entity")
    if isinstance(entity, str):
        return entity.removeprefix("wd:")
    texts = (text for text in arguments.values() if isinstance(text, str))
    return next((text for text in texts if fold(text) in names), "")


def _ends(triples: Iterable[NameTriple]) -> Iterable[str]:
    return (end for head, _, tail in triples for end in (head, tail))


def _gold_names(trajectory: Trajectory, names: Mapping[str, str]) -> list[str]:
    """Return the gold answers, each by the name under which the walk saw it, if it did."""
    ids = {e.id: e.name for turn in trajectory.turns for e in turn.shown if e.id}
    found: list[str] = []
    for answer in trajectory.question.answers:
        if answer.id and answer.id in ids:
            found.append(ids[answer.id])
            continue
        known = (names.get(fold(name)) for name in (answer.name, *answer.aliases))
        found.append(next((name for name in known if name), answer.name or answer.id))
    return list(dict.fromkeys(found))
