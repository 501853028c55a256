"""GraphWalk's oracle in steps that a small model can learn, for results as numbered lines.

After each result its thought copies the lines that matter as far as it needs them, says of each
what follows from it, and how far the episode then is: rows of the answer found (`#2 {...}`), nodes
in the queue (`3@"City", "rome" depth 1`). So each choice is read off the line just written, the
last result, or the one place that has a certain number.
"""

import json
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from typing import Any

from graphwalker.agents.published.graphwalk.lines import (
    OUTGOING,
    VALUE_MARK,
    NeighbourLine,
    keys_in_order,
    neighbours_shown,
    node_text,
    nodes_shown,
    opening_text,
    read_lines,
    relationship_keys,
    starts_line,
    starts_of,
)
from graphwalker.answers.rows import row_text
from graphwalker.graphs.properties import PropertyGraph
from graphwalker.protocols.base import FinalAnswer
from graphwalker.synthetic.patterns import Values
from graphwalker.tools.base import Call
from graphwalker.tools.properties import AROUND, FIND, VALUES
from graphwalker.trajectory import Turn

LearnableSteps = Generator[tuple[str, Call | FinalAnswer], Turn, None]


@dataclass(slots=True)
class StepNotes:
    """What an episode needs to remember, and its thought in the making."""

    graph: PropertyGraph
    values: Values
    rows: list[str] = field(default_factory=list[str])
    """Of the answer, as JSON or by the number of the line that shows it."""
    written: list[str] = field(default_factory=list[str])
    queued: int = 0

    def text(self, name: str) -> str:
        return str(self.values[name])

    def thought(self, last: str) -> str:
        written, self.written = [*self.written, last], []
        return "\n".join(written)

    def found(self, **row: Any) -> str:
        """Says that this is a row of the answer."""
        return self._counted(row_text(row))

    def found_line(self, line: NeighbourLine) -> str:
        """Says that the row of this line is one of the answer."""
        return self._counted(f"{line.number}.")

    def _counted(self, row: str) -> str:
        self.rows.append(row)
        return f"#{len(self.rows)} {row}"

    @property
    def count(self) -> str:
        return f"{len(self.rows)} found; "

    def answer(self) -> FinalAnswer:
        """The rows as an answer counts them: down to the first one."""
        return FinalAnswer(tuple(reversed(self.rows)), "rows")

    def open(self, numbers: list[int], mark: str, so_far: str = "") -> None:
        """The thought about a result opens with how far the episode is, and with the first and the
        last number."""
        ends = f"{numbers[0]}{mark}to {numbers[-1]}{mark}" if numbers else "None."
        self.written.append(f"{so_far}{self.count}{ends}")

    def nodes(self, turn: Turn) -> list[tuple[int, list[tuple[str, Any]]]]:
        """The lines of a result that show nodes."""
        found = nodes_shown(turn.observation)
        self.open([number for number, _ in found], ": ")
        return found

    def neighbours(self, turn: Turn, so_far: str = "", kind: str = "") -> Iterator[NeighbourLine]:
        """The outgoing ones, of one type or of any; the thought passes over the others."""
        found = neighbours_shown(turn.observation)
        self.open([line.number for line in found], ". ", so_far)
        for line in found:
            if line.side == OUTGOING and (not kind or line.kind == kind):
                yield line
            else:
                self.judge(line.opened, "-")

    def judge(self, copied: str, verdict: str) -> None:
        """Says what follows from a line, and how far the episode then is."""
        self.written.append(f"{copied} {verdict} ; {self.state}")

    @property
    def state(self) -> str:
        """The counters after a line."""
        queued = f"{self.queued} queued; " if self.queued else ""
        return f"{queued}{self.count}"


def node_by_property(walk: StepNotes) -> LearnableSteps:
    about = {"property_name": walk.text("property"), "property_value": walk.values["value"]}
    turn = yield "One look is enough.", Call(FIND, {"label": walk.text("source"), **about})
    for number, values in walk.nodes(turn):
        walk.written.append(f"{_begun(number, values, 1)} {walk.found(node_key=values[0][1])}")
    yield walk.thought(f"{_now(walk)}done."), walk.answer()


def relationship_by_property(walk: StepNotes) -> LearnableSteps:
    """All values of a property of each label at which such relationships start.

    Labels and values are numbered, and each thought says at which of how many it is: what comes
    next, and whether anything does, is read off the thought itself. A thought about a result opens
    as a wanted line does, and copies every outgoing line of the type up to the value that is
    compared with that.
    """
    kind, name, wanted = walk.text("relationship"), walk.text("property"), walk.values["value"]
    schema = walk.graph.schema()
    labels = starts_of(schema, kind)
    upto = relationship_keys(schema)[kind].index(name) + 1
    ends = labels[-1][0] if labels else 0
    thought = f"{starts_line(schema, kind)}\nof {ends}) "
    last = 0
    for number, label in labels:
        key = _sweeping(walk.graph, label)
        about = {"entity_name": label, "property_name": key, "entity_type": "node"}
        turn = yield f"{thought}; next {number}) {_text(label)}", Call(VALUES, about)
        values = [one["values"] for one in read_lines(turn.observation)]
        first, last = last + 1, last + len(values)
        thought = f"{number}) of {ends}) ; {first - 1}= of {last}= "
        for at, value in enumerate(values, first):
            following = f"next {at}{VALUE_MARK}{_text(value)}"
            turn = yield f"{thought}; {following}", _around(label, key, value)
            walk.written.append(f"{opening_text(kind)}{_text(name)[1:]}:{_text(wanted)} : ")
            for line in walk.neighbours(turn, kind=kind):
                if line.values[upto - 1][1] != wanted:
                    walk.judge(line.valued(upto), "no")
                    continue
                walk.judge(line.valued(upto), walk.found_line(line))
            thought = walk.thought(f"{_now(walk)}{at}= of {last}= ")
        thought = f"{thought}; {number}) of {ends}) "
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
            fresh = new or (line.key == start and row_text(row) not in walk.rows)
            if fresh and line.label == walk.text("target"):
                verdict = f"{verdict} {walk.found(**row)}"
            walk.judge(line.labelled, verdict)
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
            walk.judge(line.labelled, verdict)
            if goal:
                break
        at += 1
        thought = walk.thought(
            "done." if goal or at == len(queue) else f"next {_entry(queue, at)}."
        )
    about = {"property_name": "key", "property_value": goal}
    turn = yield thought, Call(FIND, {"label": target, **about})
    name = walk.text("property")
    walk.written.append(f"{_text(name)} : ")
    for number, values in walk.nodes(turn):
        upto = [key for key, _ in values].index(name) + 1
        found = walk.found(value=values[upto - 1][1])
        walk.written.append(f"{_begun(number, values, upto)} {found}")
    yield walk.thought("Now 1 found; done."), walk.answer()


def relationship_negation(walk: StepNotes) -> LearnableSteps:
    kind, target = walk.text("relationship"), walk.text("target")
    name, unwanted = walk.text("relationship_property"), walk.values["unwanted"]
    call = _around(walk.text("source"), walk.text("property"), walk.values["value"])
    turn = yield "Their relationships say it.", call
    unlike = f"{opening_text(kind)}{_text(name)[1:]}:{_text(unwanted)}"
    walk.written.append(f"to {_text(target)} not {unlike} : ")
    for line in walk.neighbours(turn, kind=kind):
        row = {"node_key": line.center}
        hit = line.label == target and dict(line.values)[name] not in (None, unwanted)
        again = hit and row_text(row) in walk.rows
        verdict = "seen" if again else walk.found(**row) if hit else "no"
        walk.judge(line.labelled, verdict)
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
    """A node of the queue, the last one unless told: `3@"City", "rome" depth 1`."""
    label, key, depth = queue[at]
    return f"{at % len(queue) + 1}@{_inside([label, key])} depth {depth}"


def _around(label: str, key: str, value: object) -> Call:
    return Call(AROUND, {"label": label, "property_name": key, "property_value": value})


def _sweeping(graph: PropertyGraph, label: str) -> str:
    """The first property that the schema names after `key`."""
    (known,) = (one for one in graph.schema().labels if one.name == label)
    return next((key for key in keys_in_order(known.keys) if key != "key"), "key")


def _begun(number: int, values: list[tuple[str, Any]], count: int) -> str:
    """The line of a node up to so many of its values."""
    return f"{number}: {node_text(values[:count])[:-1]}"


def _inside(values: list[Any]) -> str:
    return _text(values)[1:-1]


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
