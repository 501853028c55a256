"""Given questions: what a benchmark's own question needs before the expert can play it."""

from collections.abc import Sequence
from dataclasses import replace

from data_pipeline.wording.lexicon import Lexicon
from graphwalker.datasets.queries import EQUAL, EXECUTED, NO_QUERY, resolve_one
from graphwalker.errors import UserError
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.query.draft import plain_wording
from graphwalker.query.query import Hop
from graphwalker.question import Question
from graphwalker.ranking.words import stems


def resolve_given(question: Question, graph: KnowledgeGraph) -> Question:
    """The question with its query executed; a synthesized one, which has phrases, as it is."""
    is_ready = question.wording is not None or EXECUTED in question.annotations
    return question if is_ready else resolve_one(question, graph)


def refusal(question: Question) -> str:
    """Why the expert cannot play the question, `""` where it can: it has no query (the reason of
    `dataset resolve`), or its query finds other answers than the gold ones (`superset`)."""
    if question.query is None:
        return str(question.annotations.get(NO_QUERY, "no_path"))
    executed = str(question.annotations.get(EXECUTED, EQUAL))
    return "" if executed == EQUAL or question.wording else executed


def refuse_all_without_query(questions: Sequence[Question], file: str) -> None:
    """Raises `UserError` where no question says what it asks."""
    reasons = [refusal(question) for question in questions if question.query is None]
    if questions and len(reasons) == len(questions):
        counts = ", ".join(f"{reasons.count(r)} {r}" for r in dict.fromkeys(reasons))
        raise UserError(
            f"{file}: no question has a query on this graph ({counts}): set searched=2, which "
            "needs answers alone, or policy.model"
        )


def nearest_phrase(lexicon: Lexicon, hop: Hop, text: str) -> str:
    """The noun phrase of the hop that has most words of the text and fewest others."""
    phrases = lexicon.entry(hop).phrases
    words = frozenset(stems(text))

    def nearness(phrase: str) -> tuple[int, int]:
        own = frozenset(stems(phrase.replace("{x}", " ")))
        return len(own & words), -len(own - words)

    return max([p for p in phrases if p.startswith("the ")] or phrases, key=nearness)


def with_wording(question: Question, lexicon: Lexicon) -> Question:
    """The question with the phrases nearest to its words, where it has none."""
    if question.wording is not None or question.query is None:
        return question
    plain = plain_wording(question.query, lambda hop: nearest_phrase(lexicon, hop, question.text))
    return replace(question, wording=plain)
