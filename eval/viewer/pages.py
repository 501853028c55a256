"""Trajectories to read: which ones, and each as a piece of the page."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eval.markup import Child, Markup, element, fragment
from graphwalker.trajectory import StopReason, Trajectory, Turn

LONGEST_OBSERVATION = 6000


@dataclass(frozen=True, slots=True)
class Walk:
    """A trajectory to read, and how other stages answered its question (name -> trajectory)."""

    trajectory: Trajectory
    others: Mapping[str, Trajectory] = field(default_factory=dict)


def choose(trajectories: Sequence[Trajectory], count: int = 10) -> list[Trajectory]:
    """A varied few: recovered, wrong and right in turn, each time the structure seen least so far.

    The choice depends on ids and scores alone, never on luck or file order.
    """
    pool = [t for t in trajectories if not t.stop.ours]
    chosen: list[Trajectory] = []
    outcomes: Counter[str] = Counter()
    structures: Counter[str] = Counter()
    while pool and len(chosen) < count:
        best = min(
            pool,
            key=lambda t: (outcomes[outcome(t)], structures[t.question.structure], _shuffled(t.id)),
        )
        pool.remove(best)
        chosen.append(best)
        outcomes[outcome(best)] += 1
        structures[best.question.structure] += 1
    return chosen


def outcome(trajectory: Trajectory) -> str:
    """`recovered` (right after an error), `right` or `wrong`."""
    if trajectory.scores.get("em") != 1:
        return "wrong"
    return "recovered" if trajectory.scores.get("recovered") else "right"


def walk_markup(number: int, walk: Walk, is_open: bool = False) -> Markup:
    """One trajectory: question, turns, verdict, and what other stages answered."""
    trajectory = walk.trajectory
    question = trajectory.question
    tags = [question.structure, question.split, f"{len(trajectory.turns)} turns"]
    summary = element(
        "summary",
        verdict(trajectory),
        f"{number}. {question.text} ",
        element("span", " · ".join(tag for tag in tags if tag), class_="tags"),
    )
    body = element(
        "div",
        _labelled("Topic entities", _names([e.name for e in question.topic_entities])),
        element("ol", [_turn(i, t) for i, t in enumerate(trajectory.turns, 1)], class_="turns"),
        _labelled("Answer given", given(trajectory)),
        _labelled("Gold answer", _names([a.name for a in question.answers])),
        _scores(trajectory),
        _others(walk.others),
        class_="body",
    )
    return element("details", summary, body, class_="walk", open="open" if is_open else None)


def verdict(trajectory: Trajectory) -> Markup:
    """The outcome in words; colour only repeats it."""
    word, look = {
        "right": ("✓ CORRECT", "good"),
        "recovered": ("✓ CORRECT, RECOVERED", "good"),
        "wrong": ("✗ INCORRECT", "bad"),
    }[outcome(trajectory)]
    return element("span", word, class_=f"verdict {look}")


def given(trajectory: Trajectory) -> Markup:
    """The answered names, or why there are none."""
    if trajectory.answer is None:
        return element("em", f"none ({ENDS[trajectory.stop]})")
    if not trajectory.answer:
        return element("em", "an empty list")
    return _names(trajectory.answer)


def written(action: Mapping[str, Any]) -> str:
    """An action as a person writes it: `get_relations("Ann Lee")`, `answer ["Oslo"]`."""
    if "tool" in action:
        arguments = dict(action.get("arguments") or {})
        inside = ", ".join(json.dumps(v, ensure_ascii=False) for v in arguments.values())
        return f"{action['tool']}({inside})"
    if "answer" in action:
        return f"answer {json.dumps(action['answer'], ensure_ascii=False)}"
    return f"no valid action: {action.get('malformed', 'unreadable')}"


ENDS = {
    StopReason.ANSWERED: "answered",
    StopReason.FORCED: "asked to answer after the last turn",
    StopReason.MAX_TURNS: "the turn budget ran out",
    StopReason.LENGTH: "a completion ran into its token limit",
    StopReason.MALFORMED: "no readable action",
    StopReason.GRAPH_ERROR: "the graph failed",
    StopReason.POLICY_ERROR: "the policy failed",
}


def _turn(number: int, turn: Turn) -> Markup:
    observation = turn.observation
    if len(observation) > LONGEST_OBSERVATION:
        cut = len(observation) - LONGEST_OBSERVATION
        observation = f"{observation[:LONGEST_OBSERVATION]}\n… {cut:,} more characters"
    mistake = f" · mistake: {turn.error}" if turn.error else ""
    malformed = "malformed" in turn.action
    return element(
        "li",
        element("div", f"Turn {number}", element("span", mistake, class_="mark"), class_="label"),
        element("pre", turn.thought) if turn.thought else None,
        element("pre", written(turn.action), class_="action"),
        element("pre", turn.completion, class_="observation") if malformed else None,
        element("pre", observation, class_="observation") if observation else None,
        class_="slip" if turn.error or malformed else None,
    )


def _labelled(label: str, *children: Child) -> Markup:
    return element("p", element("span", label, class_="label"), " ", *children)


def _names(names: Sequence[str]) -> Markup:
    return fragment([element("span", name, class_="name") for name in names])


def _scores(trajectory: Trajectory) -> Markup:
    shown = {"EM": "em", "F1": "f1", "precision": "precision", "recall": "recall"}
    figures = [
        f"{label} {trajectory.scores[key]:.2f}"
        for label, key in shown.items()
        if key in trajectory.scores
    ]
    ended = f"ended: {ENDS[trajectory.stop]}"
    return element("p", " · ".join([*figures, ended]), class_="note")


def _others(others: Mapping[str, Trajectory]) -> Markup | None:
    if not others:
        return None
    rows = [
        element(
            "tr",
            element("th", name, scope="row"),
            element("td", verdict(trajectory), given(trajectory)),
        )
        for name, trajectory in others.items()
    ]
    return fragment(
        element("p", element("span", "The same question at other stages", class_="label")),
        element("table", element("tbody", rows), class_="facts"),
    )


def _shuffled(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
