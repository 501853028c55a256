"""Rewards of the final answer: each reads it alone, or it and what the tools showed, so no text in
a thought, an observation or the prompt can earn one."""

import re
from collections.abc import Callable, Mapping

from graphwalker.answers.values import answer_key
from graphwalker.graphs.literals import is_literal
from graphwalker.question import Question
from graphwalker.scoring import GoldSet, predicted_entities
from graphwalker.trajectory import Trajectory

Reward = Callable[[Trajectory, Question, Mapping[str, float]], float]
_ARTICLES = re.compile(r"\b(?:a|an)\b")


def em(trajectory: Trajectory, question: Question, scores: Mapping[str, float]) -> float:
    """Strict set EM, 0 or 1 (GraphWalker: this alone)."""
    return scores["em"]


def grounded_em(trajectory: Trajectory, question: Question, scores: Mapping[str, float]) -> float:
    """Strict set EM of an answer whose every entity some observation showed: a right name that was
    never looked up earns nothing."""
    return scores["em"] * scores["grounded"]


def f1(trajectory: Trajectory, question: Question, scores: Mapping[str, float]) -> float:
    """Set F1, from 0 to 1: part of the reward for part of the answers."""
    return scores["f1"]


def hits1(trajectory: Trajectory, question: Question, scores: Mapping[str, float]) -> float:
    """1 when the first answer is right."""
    return scores["hits1"]


def relaxed_em(trajectory: Trajectory, question: Question, scores: Mapping[str, float]) -> float:
    """Return the EM of GraphWalker's released evaluator (`graphwalker_em` of `graphwalker score`),
    whose figures the paper prints: 1 when any answered name equals a gold name, holds one, or
    stands within one. One right letter is enough, and so is one right name of many: policies find
    that out. `grounded_relaxed_em` asks that the tools showed what was answered."""
    if not question.answers:  # the graph does not hold the answer: no letter is right
        return scores["em"]
    golds = [_released_form(gold.name) for gold in question.answers]
    named = [_released_form(name) for name in trajectory.answer or () if name.strip()]
    return float(any(g in s or (s and s in g) for s in named for g in golds))


def grounded_relaxed_em(
    trajectory: Trajectory, question: Question, scores: Mapping[str, float]
) -> float:
    """`relaxed_em` of answers that some observation showed, and of no more of them than there are
    gold answers: neither a letter nor a list of everything earns it."""
    few = scores["grounded"] and not over_answer(trajectory, question, scores)
    return relaxed_em(trajectory, question, scores) if few else 0.0


def answered(trajectory: Trajectory, question: Question, scores: Mapping[str, float]) -> float:
    """1 when an answer was given at all, right or wrong."""
    return float(trajectory.answer is not None)


def over_answer(trajectory: Trajectory, question: Question, scores: Mapping[str, float]) -> float:
    """Penalty from -1 to 0: the share of the distinct answers beyond the gold set's number."""
    # A literal's id is one spelling of its value: two spellings are one answer.
    predicted = {
        answer_key(e.name) if is_literal(e.id) or not e.id else e.id
        for e in predicted_entities(trajectory) or ()
    }
    gold = len(GoldSet.of(question.answers).ids)
    return -max(0, len(predicted) - gold) / len(predicted) if predicted else 0.0


ANSWER_REWARDS: dict[str, Reward] = {
    function.__name__: function
    for function in (
        em, f1, hits1, answered, over_answer, grounded_em, relaxed_em, grounded_relaxed_em,
    )
}  # fmt: skip


def _released_form(name: str) -> str:
    """Lower case, the words a and an dropped, white space folded, as the released code does."""
    return " ".join(_ARTICLES.sub(" ", name.lower()).split())
