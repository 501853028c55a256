"""Given questions: what a benchmark's own question needs before the expert can play it."""

from collections.abc import Sequence

from graphwalker.datasets.answers import is_yes_no
from graphwalker.datasets.queries import EQUAL, EXECUTED, NO_QUERY, REASONS, resolve_one
from graphwalker.errors import UserError
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.question import Question


def resolve_given(question: Question, graph: KnowledgeGraph) -> Question:
    """Get the question with its query executed; a synthesized one, which has phrases, as it is."""
    is_ready = question.wording is not None or EXECUTED in question.annotations
    return question if is_ready else resolve_one(question, graph)


def refusal(question: Question) -> str:
    """Return why the expert cannot play the question, else `""`: it asks for yes or no or has no
    query (the reason of `dataset resolve`), or its query finds other answers (`superset`)."""
    if question.query is None:
        no_query = str(question.annotations.get(NO_QUERY, "no_path"))
        return "yes_no" if is_yes_no(question.answers) else no_query
    executed = str(question.annotations.get(EXECUTED, EQUAL))
    return "" if executed == EQUAL or question.wording else executed


def refuse_all_without_query(questions: Sequence[Question], file: str) -> None:
    """Raise `UserError` where no question says what it asks, of those of this graph."""
    reasons = [refusal(question) for question in questions if question.query is None]
    if len(reasons) == len(questions) and {*reasons} - {"topic_not_in_graph"}:
        found = [(r, f": {REASONS[r]}" if r in REASONS else "") for r in dict.fromkeys(reasons)]
        counts = "; ".join(f"{reasons.count(r)} {r}{words}" for r, words in found)
        searched = "searched=2, which needs answers alone, or " if {*reasons} - {"yes_no"} else ""
        raise UserError(
            f"{file}: no question has a query on this graph ({counts}): set {searched}policy.model"
        )
