"""GraphRunner (Kashmira et al.): a whole plan, verified before it runs, and one answer."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass

from graphwalker.agents.base import AgentRun, Ask, Log
from graphwalker.agents.prompt import Prompt
from graphwalker.agents.published.dialogue import (
    BudgetSpent,
    Dialogue,
    EpisodeBudget,
    WritesNoAction,
)
from graphwalker.agents.published.graphrunner.plans import ACTIONS
from graphwalker.policies.base import Completion
from graphwalker.protocols.base import ActionProtocol, Malformed
from graphwalker.question import Question
from graphwalker.tools.base import ToolBox
from graphwalker.tools.namebook import quote
from graphwalker.trajectory import Message

FORMS: Mapping[str, Mapping[str, object]] = {"plan": {"plan": [{"action": "Find_Node"}]}}
PLANNING = (
    "Plan the whole walk before anything is looked up. The actions are:\n"
    + "\n".join(f"- {form}" for form in ACTIONS.values())
    + "\nFind_Node finds nodes of a type by a name or a description, and every plan begins with "
    "it. Fetch_Neighbors goes on from all nodes of the step before: by an edge type one step, by "
    'a node type to the nearest nodes of that type (add "direction": "in" to follow an edge '
    "type against its direction where both are possible). Find_Common_Nodes gives the nodes that "
    'several are joined to; "$1" stands for the nodes of step 1, any other text is a hint.\n'
    'Write {"thought": "why", "plan": [step, step, ...]}, with types exactly as listed.'
)
AGAIN = "An earlier plan cannot be executed. Its fault: {fault}\nPlan again without it."
FINAL = (
    "Answer the question from these nodes: the names or attributes that are asked for, or how many "
    'there are.\nWrite {{"thought": "why", "answer": ["Name"]}}'
)


@dataclass(frozen=True, slots=True)
class GraphRunnerAgent:
    """Builds the generator of an episode: a context for each plan, one for the answer. After
    `replans` rejected plans more the answer is given from what there is: nothing."""

    protocol: ActionProtocol
    prompt: Prompt
    budget: EpisodeBudget
    examples: str = ""
    replans: int = 3

    def __call__(self, question: Question, tools: ToolBox, log: Log) -> AgentRun:
        talk = Dialogue(self.protocol, self.budget, log)
        seen = "No plan could be executed: nothing was retrieved."
        try:
            seen = yield from self._planned(question, tools, talk, seen)
        except BudgetSpent:
            pass
        except WritesNoAction:
            return None
        talk.begin(*self._opening(question, tools, ""))
        talk.say(f"Retrieved: {self.protocol.observe(seen)}")
        try:
            return (yield from talk.answer(FINAL.format()))
        except WritesNoAction:
            return None

    def _planned(
        self, question: Question, tools: ToolBox, talk: Dialogue, nothing: str
    ) -> Generator[Ask, Completion, str]:
        """Plan, verify, execute. Only the failed step and its reason reach the next plan."""
        fault = ""
        for _ in range(1 + self.replans):
            talk.begin(*self._opening(question, tools, tools.signatures()))
            talk.say(f"{self.examples}\n{PLANNING}".strip())
            if fault:
                talk.say(AGAIN.format(fault=self.protocol.observe(fault)))
            action = yield from talk.decide(("plan",), tools.call)
            turn = talk.log.turns[-1]
            if not turn.error:
                return turn.observation
            fault = action.reason if isinstance(action, Malformed) else turn.observation
        return nothing

    def _opening(self, question: Question, tools: ToolBox, schema: str) -> tuple[Message, ...]:
        return self.prompt.messages(
            {
                "question": question.text,
                "entities": ", ".join(map(quote, tools.topic_names())),
                "tools": schema,
                "max_turns": str(self.budget.max_turns),
            }
        )
