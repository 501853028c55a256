"""Errors by kind: each wrong episode falls into the first kind that fits, and into no other."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from graphwalker.query.query import spellings
from graphwalker.question import Question
from graphwalker.scoring import score
from graphwalker.trajectory import StopReason, Trajectory

KINDS: dict[str, str] = {
    "malformed": "no answer: it stopped writing valid actions",
    "budget": "no answer, or a forced one without all answers in sight: turns or tokens ran out",
    "ungrounded": "an answer that no observation showed",
    "partial answer set": "some answers right, but not the set",
    "wrong entity": "the answer was in sight, or the gold relations walked; another or none given",
    "not reached": "no answer came in sight; the question states no path to one",
    "stopped early": "only relations of the gold path, but not to its end",
    "wrong relation": "a relation off the gold path was walked instead",
}
"""The kinds in the order in which they are tried, and what each means."""

CLASSES: dict[str, str] = {
    "hallucination": "a step that cannot be executed, to the end, or an answer that nothing showed",
    "reasoning": "valid steps to another end, or a wrong choice among what was retrieved",
    "context window": "no answer: a prompt was longer than the model's context",
}
"""GraphRunner's classes (section 4.5, Table 2), which its authors told by hand."""


def error_kind(trajectory: Trajectory) -> str:
    """Return the kind of a wrong episode, `""` for a right one.

    The gold path is read from the question's `query`. Without one, an unseen answer counts as
    `stopped early` when fewer calls than hops were made, else as `wrong relation`; where the hops
    are unknown too, as `not reached`. Raises `ValueError` for an infrastructure failure: it is no
    error of the agent.
    """
    scores = trajectory.scores if "grounded" in trajectory.scores else score(trajectory)
    if scores["em"] == 1.0:
        return ""
    if trajectory.answer is None:
        return "malformed" if trajectory.stop is StopReason.MALFORMED else "budget"
    if trajectory.stop is StopReason.FORCED and not scores["retrieval_all"]:
        return "budget"
    if trajectory.answer and not scores["grounded"]:
        return "ungrounded"
    if scores["hit_any"]:
        return "partial answer set"
    if scores["retrieval_any"]:
        return "wrong entity"
    return _off_the_path(trajectory)


def error_class(trajectory: Trajectory, verdict: bool | None = None) -> str:
    """Return the class of a wrong episode by GraphRunner, `""` for a right one.

    A judge's `verdict` says whether it is right, else our EM.
    """
    scores = trajectory.scores if "grounded" in trajectory.scores else score(trajectory)
    if verdict if verdict is not None else scores["em"] == 1.0:
        return ""
    if trajectory.answer is None and trajectory.stop is StopReason.LENGTH:
        return "context window"
    if trajectory.answer is None:
        failed = trajectory.stop is StopReason.MALFORMED
    else:
        failed = bool(trajectory.answer) and not scores["grounded"]
    return "hallucination" if failed else "reasoning"


def class_shares(
    trajectories: Sequence[Trajectory], verdicts: Mapping[str, bool | None]
) -> dict[str, dict[str, Any]]:
    """Count the episodes of each of GraphRunner's classes, with their share of all episodes.

    `verdicts` of a judge by episode or question; without one, EM says what is wrong.
    """
    judged = [verdicts.get(t.id, verdicts.get(t.question.id)) for t in trajectories]
    found = Counter(map(error_class, trajectories, judged))
    return {
        name: {"count": found[name], "share": found[name] / len(trajectories), "meaning": meaning}
        for name, meaning in CLASSES.items()
    }


def _off_the_path(trajectory: Trajectory) -> str:
    gold = gold_steps(trajectory.question)
    walked = walked_relations(trajectory)
    if not gold and not trajectory.question.hops:
        return "not reached"
    if not gold:
        return "stopped early" if len(walked) < trajectory.question.hops else "wrong relation"
    if all(step & set(walked) for step in gold):
        return "wrong entity"
    on_path = frozenset[str]().union(*gold)
    return "stopped early" if on_path.issuperset(walked) else "wrong relation"


def walked_relations(trajectory: Trajectory) -> tuple[str, ...]:
    """Relations whose triples a turn showed, in order, each once a turn."""
    turns = ((triple.relation for triple in turn.triples) for turn in trajectory.turns)
    return tuple(relation for shown in turns for relation in dict.fromkeys(shown))


def gold_steps(question: Question) -> tuple[frozenset[str], ...]:
    """Return the relations of each hop of the question's query: the hop's own and its inverse."""
    if question.query is None:
        return ()
    ways = spellings(question.query, question.relation_path)
    return tuple(frozenset(same.relation for same in hop) for way in ways for hop in way)


def taxonomy(trajectories: Sequence[Trajectory], examples: int = 5) -> dict[str, dict[str, Any]]:
    """Count the episodes of each kind, with their share of all wrong ones and the first ids.

    Infrastructure failures are set aside; so are right answers.
    """
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for trajectory in trajectories:
        if not trajectory.stop.infrastructure_failure and (kind := error_kind(trajectory)):
            found[kind].append(trajectory.id)
    wrong = sum(map(len, found.values()))
    return {
        kind: {
            "count": len(ids),
            "share": len(ids) / wrong if wrong else 0.0,
            "meaning": KINDS[kind],
            "examples": ids[:examples],
        }
        for kind, ids in found.items()
    }
