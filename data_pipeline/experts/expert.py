"""The scripted expert: plays the query of a question, errs, sees it and recovers."""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from data_pipeline.experts.erring import ErringWalk
from graphwalker.datasets.own.searched import queries_to
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
