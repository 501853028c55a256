"""Think-on-Graph (Sun et al., 2024): a beam of paths, pruned by the model at every depth."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

from graphwalker.agents.base import AgentRun, Ask, Log
from graphwalker.agents.prompt import Prompt
from graphwalker.agents.published.dialogue import (
    BudgetSpent,
    Dialogue,
    EpisodeBudget,
    WritesNoAction,
)
from graphwalker.agents.published.pathwise.beam import (
    BeamPath,
    Branching,
    best_branchings,
    best_paths,
    chosen_hops,
    extended,
    path_lines,
    scores_of,
)
from graphwalker.agents.published.pathwise.tools import PathTools
from graphwalker.graphs.literals import is_literal
from graphwalker.policies.base import Completion
from graphwalker.protocols.base import ActionProtocol
from graphwalker.question import Question
from graphwalker.tools.base import Call, ErrorKind, Observation, ToolBox
from graphwalker.tools.namebook import quote

FORMS: Mapping[str, Mapping[str, Any]] = {
    "relations": {"relations": [{"relation": "relation", "score": 0.5}]},
    "entities": {"entities": [{"entity": "Name", "score": 0.5}]},
    "sufficient": {"sufficient": True},
}
RELATIONS = (
    "Which of these relations of {entity} help to answer the question? Choose up to {width}, each "
    "with a score from 0 to 1; `~` marks an incoming one.\n{listing}\n"
    'Write {{"thought": "why", "relations": [{{"relation": "relation", "score": 0.5}}]}}'
)
ENTITIES = (
    "By {relation}, {entity} leads to these. Score from 0 to 1 how much each helps to answer the "
    'question.\n{listing}\nWrite {{"thought": "why", "entities": [{{"entity": "Name", "score": '
    "0.5}}]}}"
)
SUFFICIENT = (
    "These are the paths so far:\n{paths}\nAre they and what you know enough to answer?\n"
    'Write {{"thought": "why", "sufficient": true}}'
)
FINAL = (
    "These paths were found:\n{paths}\nAnswer from them, else from what you know.\n"
    'Write {{"thought": "why", "answer": ["Name"]}}'
)


@dataclass(frozen=True, slots=True)
class TogAgent:
    """Builds the generator of an episode; `width` paths are kept, up to `depth` hops long. Every
    question to the model is a context of its own."""

    protocol: ActionProtocol
    prompt: Prompt
    budget: EpisodeBudget
    width: int = 3
    depth: int = 3

    def __call__(self, question: Question, tools: ToolBox, log: Log) -> AgentRun:
        if not isinstance(tools, PathTools):
            raise TypeError("ToG needs its own tools")
        talk = Dialogue(self.protocol, self.budget, log)
        paths = [BeamPath(topic) for topic in tools.topics()]
        beam = [paths]
        try:
            yield from self._explore(question, tools, talk, beam)
        except BudgetSpent:
            pass
        except WritesNoAction:
            return None
        self._open(talk, question, tools)
        try:
            found = self.protocol.observe(path_lines(beam[-1]) or "none")
            return (yield from talk.answer(FINAL.format(paths=found)))
        except WritesNoAction:
            return None

    def _explore(
        self, question: Question, tools: PathTools, talk: Dialogue, beam: list[list[BeamPath]]
    ) -> Generator[Ask, Completion, None]:
        for _ in range(self.depth):
            branchings: list[Branching] = []
            for path in beam[-1]:
                branchings += yield from self._relations(question, tools, talk, path)
            longer: list[BeamPath] = []
            for one in best_branchings(branchings, self.width):
                longer += yield from self._entities(question, tools, talk, one)
            if not longer:
                return
            beam.append(best_paths(longer, self.width))
            self._open(talk, question, tools)
            talk.say(SUFFICIENT.format(paths=self.protocol.observe(path_lines(beam[-1]))))
            call = yield from talk.decide(("sufficient",))
            if isinstance(call, Call) and call.arguments["sufficient"]:
                return

    def _relations(
        self, question: Question, tools: PathTools, talk: Dialogue, path: BeamPath
    ) -> Generator[Ask, Completion, list[Branching]]:
        listing, listed = tools.listing(path.tail)
        if not listed.hops or is_literal(path.tail.id):
            return []
        self._open(talk, question, tools)
        entity = self.protocol.observe(quote(path.tail.name))
        shown = self.protocol.observe(listing)
        talk.say(RELATIONS.format(entity=entity, width=self.width, listing=shown))

        def run(call: Call) -> Observation:
            hops = [hop for hop, _ in chosen_hops(call.arguments, listed.hops, self.width)]
            if call.arguments["relations"] and not hops:
                kind = ErrorKind.UNKNOWN_RELATION
                return Observation(f"Error {kind}: none of these relations was listed", kind)
            return tools.triples(path.tail, hops)

        call = yield from talk.decide(("relations",), run)
        if not isinstance(call, Call):
            return []
        chosen = chosen_hops(call.arguments, listed.hops, self.width)
        return [
            Branching(path, hop, score, tuple(tools.ends(path.tail, hop))) for hop, score in chosen
        ]

    def _entities(
        self, question: Question, tools: PathTools, talk: Dialogue, one: Branching
    ) -> Generator[Ask, Completion, list[BeamPath]]:
        if len(one.ends) <= 1:
            return extended(one, {end.name: 1.0 for end in one.ends})
        self._open(talk, question, tools)
        talk.say(
            ENTITIES.format(
                relation=self.protocol.observe(str(one.hop)),
                entity=self.protocol.observe(quote(one.path.tail.name)),
                listing=self.protocol.observe("\n".join(quote(end.name) for end in one.ends)),
            )
        )
        call = yield from talk.decide(("entities",))
        return extended(one, scores_of(call.arguments)) if isinstance(call, Call) else []

    def _open(self, talk: Dialogue, question: Question, tools: ToolBox) -> None:
        talk.begin(
            *self.prompt.messages(
                {
                    "question": question.text,
                    "entities": ", ".join(map(quote, tools.topic_names())),
                    "tools": "",
                    "max_turns": str(self.budget.max_turns),
                }
            )
        )
