"""The walked subgraph of a trajectory: what was shown in which turn, with the gold path over it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eval.viewer.gold import UNKNOWN, NameTriple, lay
from graphwalker.graphs.names import fold
from graphwalker.trajectory import Trajectory, Turn

FEW = 4
"""Ends of one relation that are all drawn; of more, the ones that lead nowhere are folded."""


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
    `+` stands for several. `focus[i]` is the node that turn i + 1 looked at, or `""`.
    """

    nodes: Mapping[str, str]
    links: tuple[Link, ...]
    focus: tuple[str, ...]
    columns: Mapping[str, int] = field(default_factory=dict)
    """Distance from a topic entity, or from where else a part of the walk began."""


def walk_graph(trajectory: Trajectory) -> WalkGraph:
    """Draw what the walk saw, turn by turn, and the gold path where the question has one."""
    topics = _topic_names(trajectory)
    first_seen, focus = _read_turns(trajectory.turns, topics)
    names = {fold(n): n for n in [*topics, *_ends(first_seen), *focus] if n}
    gold = _gold_names(trajectory, names)
    on_path, missing = set[NameTriple](), list[NameTriple]()
    if states_triples(trajectory):
        on_path, missing = lay(trajectory.question, first_seen, gold)
    links = [Link(*t, turn, t in on_path) for t, turn in first_seen.items()]
    links += [Link(*triple, 0, True) for triple in missing]
    given = [names.get(fold(name), name) for name in trajectory.answer or ()]
    marks: dict[str, str] = defaultdict(str)
    for mark, marked in (("t", topics), ("g", gold), ("a", given)):
        for name in dict.fromkeys(marked):
            marks[name] += mark
    folded = _fold_ends(links, {*marks, *focus})
    nodes = {n: marks[n] for n in [*topics, *(e for x in folded for e in (x.head, x.tail))]}
    nodes |= {name: marks[name] for name in [*focus, *gold, *given] if name}
    nodes = {n: m or ("?" if n.startswith(UNKNOWN) else "") for n, m in nodes.items()}
    nodes |= {x: "+" for x in nodes if x.startswith(_FOLDED)}
    return WalkGraph(
        nodes,
        tuple(folded),
        tuple(focus),
        _columns(nodes, folded, [topics, *([n] for n in focus if n)]),
    )


def states_triples(trajectory: Trajectory) -> bool:
    """Whether the turns hold what they showed as data: some tools state no triples, and no path of
    their walks is drawn."""
    turns = trajectory.turns
    return any(t.triples or t.listed for t in turns) or not any(t.shown for t in turns)


def label(node: str) -> str:
    """Return the label of a node."""
    if node.startswith(_FOLDED):
        return node.removeprefix(_FOLDED).partition(_FOLDED)[0]
    return "?" if node.startswith(UNKNOWN) else node


_FOLDED = "\ue001"  # private use: no entity is called so


def _topic_names(trajectory: Trajectory) -> list[str]:
    """Topic entities as an episode shows them: namesakes carry their ids."""
    names: list[str] = []
    for entity in trajectory.question.topic_entities:
        name = entity.name or entity.id
        names.append(f"{name} ({entity.id})" if name in names else name)
    return names


def _read_turns(
    turns: Sequence[Turn], topics: Sequence[str]
) -> tuple[dict[NameTriple, int], list[str]]:
    """The first turn that showed each triple, and the node that each turn looked at."""
    names = {fold(name): name for name in topics}
    seen: dict[NameTriple, int] = {}
    focus: list[str] = []
    for number, turn in enumerate(turns, start=1):
        for head, relation, tail in turn.triples:
            triple = (head.name, relation, tail.name)
            seen.setdefault(triple, number)
            names |= {fold(end): end for end in (triple[0], triple[2]) if fold(end) not in names}
        here = looked_at(turn.action)
        known = names.get(fold(here), "" if turn.error else here)
        focus.append(known)
        if known:
            names.setdefault(fold(known), known)
    return seen, focus


def looked_at(action: Mapping[str, Any]) -> str:
    """The entity that a call is about: its argument `entity`, else its first text; else `""`.

    >>> looked_at({"tool": "get_relations", "arguments": {"entity": "Ann"}})
    'Ann'
    """
    arguments = action.get("arguments") or {}
    texts = [arguments.get("entity"), *arguments.values()]
    return next((text for text in texts if isinstance(text, str)), "")


def _ends(triples: Iterable[NameTriple]) -> Iterable[str]:
    return (end for head, _, tail in triples for end in (head, tail))


def _gold_names(trajectory: Trajectory, names: Mapping[str, str]) -> list[str]:
    """The gold answers, each by the name under which the walk saw it, if it did."""
    ids = {e.id: e.name for turn in trajectory.turns for e in turn.shown if e.id}
    found: list[str] = []
    for answer in trajectory.question.answers:
        if answer.id and answer.id in ids:
            found.append(ids[answer.id])
            continue
        known = (names.get(fold(name)) for name in (answer.name, *answer.aliases))
        found.append(next((name for name in known if name), answer.name or answer.id))
    return list(dict.fromkeys(found))


def _fold_ends(links: Sequence[Link], kept: set[str]) -> list[Link]:
    """Replace many ends of one relation that lead nowhere by three of them and a count."""
    degree: dict[str, int] = defaultdict(int)
    for link in links:
        degree[link.head] += 1
        degree[link.tail] += 1
    groups: dict[tuple[str, str, int, bool], list[Link]] = defaultdict(list)
    for link in links:
        for here, end, out in ((link.head, link.tail, True), (link.tail, link.head, False)):
            if degree[end] == 1 and end not in kept and not link.gold:
                groups[here, link.relation, link.turn, out].append(link)
    dropped: set[Link] = set()
    added: list[Link] = []
    for (here, relation, turn, out), group in groups.items():
        if len(group) > FEW:
            dropped.update(group[FEW - 1 :])
            more = f"{_FOLDED}{len(group) - FEW + 1} more{_FOLDED}{here} {relation} {turn} {out}"
            head, tail = (here, more) if out else (more, here)
            added.append(Link(head, relation, tail, turn))
    return [link for link in links if link not in dropped] + added


def _columns(
    nodes: Iterable[str], links: Sequence[Link], starts: Sequence[Sequence[str]]
) -> dict[str, int]:
    """Breadth first from the topic entities; then from what no earlier start reaches (an entity
    that the agent looked at of its own accord). What hangs on nothing comes last."""
    beside: dict[str, list[str]] = defaultdict(list)
    for link in links:
        beside[link.head].append(link.tail)
        beside[link.tail].append(link.head)
    columns: dict[str, int] = {}
    for first in (*starts, *([node] for node in beside)):
        frontier = [node for node in first if node not in columns]
        depth = 0
        while frontier:
            columns |= dict.fromkeys(frontier, depth)
            found = (n for at in frontier for n in beside[at] if n not in columns)
            frontier, depth = list(dict.fromkeys(found)), depth + 1
    last = max(columns.values(), default=0) + 1
    return {name: columns.get(name, last) for name in nodes}
