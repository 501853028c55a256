"""The oracle: a policy that knows the query and speaks its next action."""

import random
from collections.abc import Sequence

from graphwalker.errors import PolicyError
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.oracle import thoughts
from graphwalker.oracle.choices import NO_PHRASES, ChoiceThoughts, Phrases
from graphwalker.oracle.plan import WALKER, Plan, PlannedPolicy, View, narrate, retell
from graphwalker.oracle.speakers import Speaker
from graphwalker.oracle.walk import QueryWalk
from graphwalker.protocols.base import ActionProtocol
from graphwalker.query.draft import plain_wording
from graphwalker.question import Question
from graphwalker.trajectory import Turn


class OraclePolicy(PlannedPolicy):
    """Takes the walk of the question's query, each hop a look and its queries; never guesses.

    A step that the environment does not show (the relation ranked out, an entity cut off) ends the
    plan with what was found: the trajectory then fails its certificate.
    """

    name = "oracle"

    def __init__(
        self,
        graph: KnowledgeGraph,
        protocol: ActionProtocol,
        seed: int = 0,
        plain: bool = False,
        speaker: Speaker | None = WALKER,
        silent: bool = False,
        phrases: Phrases = NO_PHRASES,
    ) -> None:
        """`plain`: every kind of thought has one form only; `silent`: actions without thoughts;
        `phrases`: what thoughts call a hop."""
        super().__init__(graph, protocol, speaker)
        self._seed, self._plain, self._silent = seed, plain, silent
        self._phrases = phrases

    def plan(self, key: str, question: Question) -> Plan:
        return self.continue_from(question, ())

    def continue_from(self, question: Question, turns: Sequence[Turn]) -> Plan:
        """The steps that are still to take where another policy has taken these turns: what they
        showed is not asked again. Raises `PolicyError` at the first step without a query."""
        view = self.view_of(question)
        view.recall(turns)
        rng = None if self._plain else random.Random(f"{self._seed}/{question.id}/oracle")
        plan = narrate(view, self._steps(view, question, rng), rng)
        plan = _with_regret(view, plan, rng) if turns else plan
        return retell(plan, lambda thought: "") if self._silent else plan

    def view_of(self, question: Question) -> View:
        """The view of an episode that begins."""
        avoided = question.query.avoided_ids if question.query else frozenset[str]()
        choices = ChoiceThoughts(question, self._phrases)
        return View(self.graph, question.topic_entities, self.speaker, avoided, choices)

    def _steps(self, view: View, question: Question, rng: thoughts.Choice) -> Plan:
        if question.query is None:
            raise PolicyError(f"{question.id} has no query: the oracle cannot play it")
        wording = question.wording or plain_wording(question.query)
        yield from QueryWalk(view, question, wording, rng).play()


def _with_regret(view: View, plan: Plan, rng: thoughts.Choice) -> Plan:
    """The plan, its first thought opened by what was wrong with the turn before it."""
    first = [view.regret]

    def tell(thought: str) -> str:
        return " ".join(filter(None, (first.pop()(rng), thought))) if first else thought

    return retell(plan, tell)
