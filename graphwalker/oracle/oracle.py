"""The oracle: a policy that knows the query and speaks its next action."""

import random
from collections.abc import Sequence

from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.oracle.choices import NO_PHRASES, ChoiceThoughts, Phrases
from graphwalker.oracle.plan import WALKER, Plan, PlannedPolicy, View, retell
from graphwalker.oracle.speakers import Speaker
from graphwalker.oracle.walk import QueryWalk
from graphwalker.protocols.base import ActionProtocol
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
        counts_steps: bool = False,
    ) -> None:
        """`plain`: every kind of thought has one form only; `silent`: actions without thoughts;
        `phrases`: what thoughts call a hop; `counts_steps`: they count the question's steps."""
        super().__init__(graph, protocol, speaker)
        self._seed, self._plain, self._silent = seed, plain, silent
        self._phrases, self._counts_steps = phrases, counts_steps

    def plan(self, key: str, question: Question) -> Plan:
        return self.continue_from(question, ())

    def continue_from(self, question: Question, turns: Sequence[Turn]) -> Plan:
        """Return the steps that are still to take where another policy has taken these turns: what
        they showed is not asked again. Raises `PolicyError` at the first step without a query."""
        rng = None if self._plain else random.Random(f"{self._seed}/{question.id}/oracle")
        walk = QueryWalk(self.view_of(question), question, rng)
        walk.view.recall(turns)
        return retell(walk.play(), lambda thought: "") if self._silent else walk.play()

    def view_of(self, question: Question) -> View:
        """Return the view of an episode that begins."""
        avoided = question.query.avoided_ids if question.query else frozenset[str]()
        choices = ChoiceThoughts(question, self._phrases)
        topics = question.topic_entities
        return View(self.graph, topics, self.speaker, avoided, choices, self._counts_steps)
