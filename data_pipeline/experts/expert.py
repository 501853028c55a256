"""The scripted expert: which questions it can play; plays the query of one, errs and recovers."""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from data_pipeline.experts.erring import ErringWalk
from graphwalker.datasets.answers import is_yes_no
from graphwalker.datasets.own.searched import queries_to
from graphwalker.datasets.queries import EQUAL, EXECUTED, NO_QUERY, REASONS, resolve_one
from graphwalker.errors import UserError
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.oracle.oracle import OraclePolicy
from graphwalker.oracle.plan import Plan
from graphwalker.protocols.base import ActionProtocol, FinalAnswer
from graphwalker.question import Question


class ScriptedExpert(OraclePolicy):
    """Takes the walk of the question's query. A share `error_rate` of its episodes holds an
    injected error on top of honest wrong readings.

    With `searched` it takes a shortest walk of at most so many hops from each topic entity to
    exactly the answers, and errs never: then it reads neither the question's words nor its query,
    and gives up where there is no walk.
    """

    name = "expert"

    def __init__(
        self,
        graph: KnowledgeGraph,
        protocol: ActionProtocol,
        *,
        error_rate: float = 0.0,
        kinds: Sequence[str] = (),
        searched: int = 0,
        **common: Any,
    ) -> None:
        """`kinds` of errors to draw from; `common`: as the oracle's."""
        super().__init__(graph, protocol, **common)
        self._error_rate, self._kinds, self._searched = error_rate, kinds, searched
        self.name = "searched" if searched else self.name
        self._walks: dict[str, ErringWalk] = {}

    def plan(self, key: str, question: Question) -> Plan:
        if self._searched:
            return self._plan_searched(question)
        rng = random.Random(f"{self._seed}/{key}/expert")
        walk = ErringWalk(self.view_of(question), question, self._plain, rng)
        self._walks[key] = walk
        if self._kinds and rng.random() < self._error_rate:
            walk.inject(rng.choice(self._kinds))
        return walk.play()

    def errors(self, key: str) -> list[dict[str, Any]]:
        """Return what went wrong, by turn, and the turn that put it right; forget it."""
        walk = self._walks.pop(key, None)
        return walk.recoveries() if walk else []

    def _plan_searched(self, question: Question) -> Plan:
        rng = random.Random(f"{self._seed}/{question.id}/searched")
        queries = list(queries_to(self.graph, question, self._searched))
        if not queries:
            return _give_up()
        return self.continue_from(replace(question, query=rng.choice(queries), wording=None), ())


def _give_up() -> Plan:
    yield "No walk leads to the answers.", FinalAnswer(())


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
