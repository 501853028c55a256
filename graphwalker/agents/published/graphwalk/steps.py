"""GraphWalk's oracle in steps that a small model can learn, for results as numbered lines.

After each result its thought copies the lines that matter as far as it needs them, says of each
what follows from it, and how far the episode then is: rows of the answer found (`#2 {...}`), nodes
in the queue (`3@"City", "rome" depth 1`). So each choice is read off the line just written, the
last result, or the one place that has a certain number.
"""

import json
import re
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from graphwalker.agents.published.graphwalk.lines import (
    OUTGOING,
    VALUE_MARK,
    keys_in_order,
    label_line,
    line_values,
    read_lines,
    relationship_keys,
    starts_line,
    values_text,
)
from graphwalker.answers.rows import row_text
from graphwalker.graphs.properties import PropertyGraph
from graphwalker.protocols.base import FinalAnswer
from graphwalker.synthetic.patterns import Values
from graphwalker.tools.base import Call
from graphwalker.tools.properties import AROUND, FIND, VALUES
from graphwalker.trajectory import Turn

LearnableSteps = Generator[tuple[str, Call | FinalAnswer], Turn, None]
_LINE = re.compile(r"^(\d+)([.:] )(\[.*\])$", re.MULTILINE)


class ShownLine(NamedTuple):
    """A line of a result that shows a neighbour."""

    number: str
    kind: str
    side: str
    values: list[Any]
    center: str
    key: str
    label: str

    @property
    def side_shown(self) -> str:
        """The line up to its side."""
        return f"{_open([self.kind, self.side])}, {_opening(self.values)}"

    @property
    def values_shown(self) -> str:
        """The line up to the relationship's values."""
        return f"{_open([self.kind, self.side])}, {values_text(int(self.number[:-2]), self.values)}"

    @property
    def copied(self) -> str:
        """The line up to the neighbour's label."""
        return f"{self.values_shown}, {_inside([self.center, self.key, self.label])}"


@dataclass(slots=True)
class StepNotes:
    """What an episode needs to remember, and its thought in the making."""

    graph: PropertyGraph
    values: Values
    rows: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    written: list[str] = field(default_factory=list[str])
    queued: int = 0

    def text(self, name: str) -> str:
        return str(self.values[name])

    def thought(self, last: str) -> str:
        written, self.written = [*self.written, last], []
        return "\n".join(written)

    def found(self, **row: Any) -> str:
        """Says that this is a row of the answer."""
        self.rows.append(row)
        return f"#{len(self.rows)} {row_text(row)}"

    @property
    def count(self) -> str:
        return f"{len(self.rows)} found; "

    def answer(self) -> FinalAnswer:
        """The rows as an answer counts them: down to the first one."""
        return FinalAnswer(tuple(map(row_text, reversed(self.rows))), "rows")

    def listed(self, turn: Turn, so_far: str = "") -> list[tuple[str, list[Any]]]:
        """The lines of a result by their numbers; the thought opens with how far the episode is,
        and with the first and the last number."""
        found = [(n + mark, line_values(text)) for n, mark, text in _LINE.findall(turn.observation)]
        ends = f"{found[0][0]}to {found[-1][0]}" if found else "None."
        self.written.append(f"{so_far}{self.count}{ends}")
        return found

    def neighbours(self, turn: Turn, so_far: str = "", kind: str = "") -> Iterator[ShownLine]:
        """The outgoing ones, of one type or of any; the thought passes over the others."""
        for number, values in self.listed(turn, so_far):
            line = ShownLine(number, *values)
            if line.side == OUTGOING and (not kind or line.kind == kind):
                yield line
            else:
                self.judge(line, "-", line.side_shown)

    def judge(self, line: ShownLine, verdict: str, copied: str = "") -> None:
        """Says what follows from a line, and how far the episode then is."""
        self.written.append(f"{line.number}{copied or line.copied} {verdict} ; {self.state}")

    @property
    def state(self) -> str:
        """The counters after a line."""
        queued = f"{self.queued} queued; " if self.queued else ""
        return f"{queued}{self.count}"

    def starts(self, kind: str) -> list[str]:
        known = self.graph.schema().relationships
        return list(dict.fromkeys(one.start for one in known if one.type == kind))


def node_by_property(walk: StepNotes) -> LearnableSteps:
    about = {"property_name": walk.text("property"), "property_value": walk.values["value"]}
    turn = yield "One look is enough.", Call(FIND, {"label": walk.text("source"), **about})
    for number, values in walk.listed(turn):
        walk.written.append(f"{number}{_open(values[:1])} {walk.found(node_key=values[0])}")
    yield walk.thought(f"{_now(walk)}done."), walk.answer()


def relationship_by_property(walk: StepNotes) -> LearnableSteps:
    """All values of a property of each label at which such relationships start.

    Labels and values are numbered, and each thought says at which of how many it is: what comes
    next, and whether anything does, is read off the thought itself. A thought about a result opens
    with the wanted value, so that lines are compared with what stands beside them, and copies every
    outgoing line up to its values before it judges.
    """
    kind, wanted = walk.text("relationship"), walk.values["value"]
    labels = walk.starts(kind)
    schema = walk.graph.schema()
    keys = relationship_keys(schema)[kind]
    place = keys.index(walk.text("property"))
    numbered = "".join(f"{n}) {label}, " for n, label in enumerate(labels, 1))
    thought = f"{starts_line(schema, kind)}\n{numbered}of {len(labels)}) ; next 1) {labels[0]}"
    last = 0
    for number, label in enumerate(labels, 1):
        key = _sweeping(walk.graph, label)
        about = {"entity_name": label, "property_name": key, "entity_type": "node"}
        turn = yield thought, Call(VALUES, about)
        values = [one["values"] for one in read_lines(turn.observation, schema, label)]
        first, last = last + 1, last + len(values)
        thought = f"{number}) of {len(labels)}) ; {first - 1}= of {last}= "
        for at, value in enumerate(values, first):
            following = f"next {at}{VALUE_MARK}{_text(value)}"
            turn = yield f"{thought}; {following}", _around(label, key, value)
            walk.written.append(f"{_text(wanted)} : ")
            for line in walk.neighbours(turn):
                if line.kind != kind or line.values[place] != wanted:
                    walk.judge(line, "no", line.values_shown)
                    continue
                about = dict(zip(keys, line.values, strict=True))
                row = {**about, "source_key": line.center, "target_key": line.key}
                walk.judge(line, walk.found(**row))
            thought = walk.thought(f"{_now(walk)}{at}= of {last}= ")
        thought = f"{thought}; {number}) of {len(labels)}) "
        thought += "".join(f"; next {number + 1}) {one}" for one in labels[number : number + 1])
    yield f"{thought}; done.", walk.answer()


def path_from_node(walk: StepNotes) -> LearnableSteps:
    """Node after node of a queue, each entered with its number, label, key and distance."""
    hops, start = int(walk.values["hops"]), walk.text("key")
    queue = [(walk.text("source"), start, 0)]
    seen, at, walk.queued = {start}, 0, 1
    thought = "I begin there."
    while at < len(queue):
        label, key, depth = queue[at]
        turn = yield thought, _around(label, "key", key)
        for line in walk.neighbours(turn, f"at {at + 1}; depth {depth}; {len(queue)} queued; "):
            new = line.key not in seen
            seen.add(line.key)
            verdict = "leaf" if new else "seen"
            if new and depth + 1 < hops:
                queue.append((line.label, line.key, depth + 1))
                walk.queued = len(queue)
                verdict = _entry(queue)
            row = {"target_node_key": line.key}
            # The start was seen from the beginning, but may be an answer.
            fresh = new or (line.key == start and row not in walk.rows)
            if fresh and line.label == walk.text("target"):
                verdict = f"{verdict} {walk.found(**row)}"
            walk.judge(line, verdict)
        at += 1
        thought = walk.thought(f"next {_entry(queue, at)}." if at < len(queue) else "done.")
    yield thought, walk.answer()


def remote_property(walk: StepNotes) -> LearnableSteps:
    """The queue of `path_from_node`, until a node stands in it that will do. A thought about a
    result opens with what is wanted of it."""
    hops, start, target = int(walk.values["hops"]), walk.text("key"), walk.text("target")
    queue = [(walk.text("source"), start, 0)]
    seen, at, near, goal, walk.queued = {start}, 0, set[str](), "", 1
    thought = "I begin there."
    while at < len(queue) and not goal:
        label, key, depth = queue[at]
        turn = yield thought, _around(label, "key", key)
        walk.written.append(f"to {_text(target)} : ")
        for line in walk.neighbours(turn, f"at {at + 1}; depth {depth}; {len(queue)} queued; "):
            new, verdict = line.key not in seen, "seen"
            seen.add(line.key)
            if depth == 0:
                near.add(line.key)
            if new or line.key == start:
                verdict = "leaf"
            if line.label == target and depth and line.key not in near:
                verdict, goal = f"goal {_text(line.key)}", line.key
            elif new and depth + 1 < hops:
                queue.append((line.label, line.key, depth + 1))
                walk.queued = len(queue)
                verdict = _entry(queue)
            walk.judge(line, verdict)
            if goal:
                break
        at += 1
        thought = walk.thought(
            "done." if goal or at == len(queue) else f"next {_entry(queue, at)}."
        )
    about = {"property_name": "key", "property_value": goal}
    turn = yield thought, Call(FIND, {"label": target, **about})
    schema, name = walk.graph.schema(), walk.text("property")
    (known,) = (one for one in schema.labels if one.name == target)
    upto = keys_in_order(known.keys).index(name) + 1
    walk.written.append(f"{_text(name)} in {label_line(schema, target)} : ")
    for number, values in walk.listed(turn):
        found = walk.found(value=values[upto - 1])
        walk.written.append(f"{number}{_open(values[:upto])} {found}")
    yield walk.thought("Now 1 found; done."), walk.answer()


def relationship_negation(walk: StepNotes) -> LearnableSteps:
    kind, target = walk.text("relationship"), walk.text("target")
    keys = relationship_keys(walk.graph.schema())[kind]
    place = keys.index(walk.text("relationship_property"))
    call = _around(walk.text("source"), walk.text("property"), walk.values["value"])
    turn = yield "Their relationships say it.", call
    unwanted = walk.values["unwanted"]
    walk.written.append(f"{_text(kind)} to {_text(target)} not {_text(unwanted)} : ")
    for line in walk.neighbours(turn, kind=kind):
        row = {"node_key": line.center}
        hit = line.label == target and line.values[place] not in (None, unwanted)
        again = hit and row in walk.rows
        walk.judge(line, "seen" if again else walk.found(**row) if hit else "no")
    yield walk.thought(f"{_now(walk)}done."), walk.answer()


STEPS: dict[str, Callable[[StepNotes], LearnableSteps]] = {
    "node_by_property": node_by_property,
    "relationship_by_property": relationship_by_property,
    "path_from_node": path_from_node,
    "remote_property": remote_property,
    "relationship_negation": relationship_negation,
}
"""Templates whose every step is spelled out. The others see the graph, and then know."""


def _now(walk: StepNotes) -> str:
    return f"Now {walk.count}"


def _entry(queue: list[tuple[str, str, int]], at: int = -1) -> str:
    """A node of the queue, the last one unless told: `3@"City", "rome" depth 1; `."""
    label, key, depth = queue[at]
    return f"{at % len(queue) + 1}@{_inside([label, key])} depth {depth}; "


def _around(label: str, key: str, value: object) -> Call:
    return Call(AROUND, {"label": label, "property_name": key, "property_value": value})


def _sweeping(graph: PropertyGraph, label: str) -> str:
    """The first property that the schema names after `key`."""
    (known,) = (one for one in graph.schema().labels if one.name == label)
    return next((key for key in keys_in_order(known.keys) if key != "key"), "key")


def _open(values: list[Any]) -> str:
    """The beginning of a line with these values."""
    return _text(values)[:-1]


def _opening(values: list[Any]) -> str:
    """How a list of values begins."""
    return '["' if values and isinstance(values[0], str) else "["


def _inside(values: list[Any]) -> str:
    return _text(values)[1:-1]


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
