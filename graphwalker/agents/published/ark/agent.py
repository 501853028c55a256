"""ARK-V1 (Klein and Ohnemus, 2025): anchor, relation, triples, reasoning, summary, and anew."""

from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from graphwalker.agents.base import AgentRun, Ask
from graphwalker.agents.dialogue import BudgetSpent, Dialogue, DialogueAgent
from graphwalker.agents.preset import AgentSettings, Preset
from graphwalker.agents.prompt import read_texts
from graphwalker.agents.published.ark.tools import ArkOptions, ArkTools, ark_tools, key_triples
from graphwalker.agents.published.oracles import (
    DecisionOracle,
    Ends,
    decide,
    give_answers,
    query_of,
    walk_query,
)
from graphwalker.datasets.evidence import evidence_of
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.literals import is_literal, literal_name
from graphwalker.graphs.names import fold
from graphwalker.oracle.plan import Move, OwnOracle, Plan, View, has_query
from graphwalker.policies.base import Completion
from graphwalker.protocols.base import FinalAnswer
from graphwalker.protocols.forms import FormProtocol
from graphwalker.query.constraint import choose_candidates, filter_candidates
from graphwalker.query.query import Hop
from graphwalker.question import Question
from graphwalker.tools.base import Call
from graphwalker.trajectory import Turn

TEXTS = read_texts(__file__)
FORMS = {
    "anchor": {"anchor": "Name"},
    "relation": {"relation": "relation"},
    "reason": {
        "triples": ["ab12"],
        "implication": "what follows",
        "continue": True,
        "reset": False,
    },
    "summary": {"summary": "what is known so far"},
}


class AttemptsSpent(BudgetSpent):
    """C_max attempts at one value led nowhere: state 11, the answer."""


@dataclass(frozen=True, slots=True)
class ArkAgent(DialogueAgent):
    """Explores by ARK-V1's states. With `code_counting` an attempt that reaches C_max leads to the
    answer even if it is valid (Eqs. 3, 7, 10 as written, and the released code): of five attempts
    four are of use."""

    code_counting: bool = False

    def play(self, talk: Dialogue, tools: ArkTools) -> AgentRun:
        notes: list[str] = []
        with suppress(BudgetSpent):
            yield from self._explore(tools, talk, notes)
        self._open(talk, notes)
        talk.say(TEXTS["final"])
        return (yield from talk.answer())

    def _explore(
        self, tools: ArkTools, talk: Dialogue, notes: list[str]
    ) -> Generator[Ask, Completion, None]:
        """States 2 to 10. `notes` holds the summary so far, or the steps that none covers yet."""
        options = self.settings.read_options(ArkOptions)
        for _ in range(options.steps):
            self._open(talk, notes)
            relation = ""
            while not relation:  # none of them helps: another anchor, state 4
                yield from self._attempt(talk, "anchor", options.attempts)
                call = yield from self._attempt(talk, "relation", options.attempts)
                relation = call.arguments["relation"]
            step = (yield from self._attempt(talk, "reason", options.attempts)).arguments
            if not step["triples"] or step["reset"]:
                continue
            notes.append(f"{tools.evidence(step['triples'])}: {step['implication'].strip()}")
            talk.say(TEXTS["summary"])
            call = yield from talk.decide(("summary",), tools.call)
            if isinstance(call, Call) and call.arguments["summary"].strip():
                notes[:] = [call.arguments["summary"].strip()]
            if not step["continue"]:
                return

    def _attempt(
        self, talk: Dialogue, form: str, attempts: int
    ) -> Generator[Ask, Completion, Call]:
        """One sub-step: up to C_max attempts at a valid value (the counter starts anew)."""
        talk.say(TEXTS[form])
        for attempt in range(1, attempts + 1):
            call = yield from talk.decide((form,), talk.tools.call)
            if self.code_counting and attempt >= attempts:
                break
            if isinstance(call, Call) and not talk.log.turns[-1].error:
                return call
        raise AttemptsSpent

    def _open(self, talk: Dialogue, notes: list[str]) -> None:
        known = self.protocol.observe("\n".join(notes))
        talk.begin(f"Known so far: {known}" if notes else "")


class _Halt(Exception):
    """The question needs what this agent does not see: an incoming relation, one step more."""


class _Walk:
    """The steps of one episode: how many were taken, and what was found on the way."""

    def __init__(self, view: View, most: int, avoided: frozenset[str] = frozenset()) -> None:
        self._view, self._left, self._avoided = view, most, avoided
        self._known: list[str] = []

    def step(self, entity: Entity, relation: str, last: bool) -> Ends:
        """One reasoning step. Returns the ends of the triples shown."""
        turn = yield from self._do("anchor", "Explore this.", anchor=self._view.name(entity))
        if relation not in {hop.relation for one in turn.listed for hop in one.hops}:
            raise _Halt
        turn = yield from self._do("relation", "This fits.", relation=relation)
        ends = [triple.tail for triple in turn.triples]
        self._left -= 1
        found = f"{relation} of {self._view.name(entity)}: {', '.join(e.name for e in ends)}"
        self._known.append(found)
        flags = {"continue": not last, "reset": False}
        keys = list(key_triples(turn.triples))
        yield from self._do("reason", triples=keys, implication=found, **flags)
        yield from self._do("summary", summary="; ".join(self._known))
        if not self._left and not last:
            raise _Halt
        return ends

    def _do(self, form: str, why: str = "", /, **values: object) -> Generator[Move, Turn, Turn]:
        turn = yield from decide(self._view, form, why, **values)
        if turn.error:
            raise _Halt
        return turn

    def follow(self, frontier: list[Entity], hops: Sequence[Hop], over: bool) -> Ends:
        """`over`: after these hops nothing is left to be looked up."""
        for k, hop in enumerate(hops):
            if hop.direction is Direction.IN:
                raise _Halt
            found: dict[str, Entity] = {}
            for at, entity in enumerate(frontier):
                last = over and k == len(hops) - 1 and at == len(frontier) - 1
                ends = yield from self.step(entity, hop.relation, last)
                found.update((end.id, end) for end in ends if end.id not in self._avoided)
            frontier = list(found.values())
        return frontier


class ArkOracle(DecisionOracle):
    """Takes each hop of the query, entity by entity, or looks every piece of evidence up.

    Only outgoing relations can be taken, and `steps` (K_max) of them: other questions are lost.
    """

    def plan(self, key: str, question: Question) -> Plan:
        view = View(self.graph, question.topic_entities)
        steps = int(self.settings.options.get("steps", 8))
        why, names = "That is the answer.", ("None",)
        try:
            if not question.query and evidence_of(question):
                yield from self._look_up(_Walk(view, steps), question)
                names = tuple(answer.name for answer in question.answers)
            else:
                avoided = query_of(question).avoided_ids
                found = yield from self._query(_Walk(view, steps, avoided), question)
                yield from give_answers(why, question, found, view)
        except _Halt:
            pass
        while True:  # a step under way is ended first
            yield why, FinalAnswer(names)

    def _look_up(self, walk: _Walk, question: Question) -> Generator[Move, Turn, None]:
        pairs = dict.fromkeys((one.head, one.relation) for one in evidence_of(question))
        for left, (head, relation) in zip(range(len(pairs))[::-1], pairs, strict=True):
            entity = next(iter(self.graph.resolve(head)), Entity("", head))
            known = [r for r, _ in self.graph.relations(entity.id, Direction.OUT) if entity.id]
            same = next((r for r in known if fold(r) == fold(relation)), relation)
            yield from walk.step(entity, same, not left)

    def _query(self, walk: _Walk, question: Question) -> Ends:
        query = query_of(question)
        constraint = query.constraint
        weighed = bool(constraint and constraint.relations)  # by values that are shown

        def follow(start: list[Entity], hops: Sequence[Hop], left: int) -> Ends:
            behind = query.tail if left == 0 else left > 0
            return walk.follow(start, hops, not behind and not weighed)

        found = yield from walk_query(query, follow)
        if constraint is None:
            return found
        if constraint.kind == "type":
            return list(filter_candidates(self.graph, constraint, found))
        than = [constraint.than] if constraint.than else []
        values: dict[str, tuple[str, ...]] = {}
        candidates = list({entity.id: entity for entity in (*than, *found)}.values())
        for entity in candidates:
            last = entity is candidates[-1]
            seen = yield from walk.step(entity, constraint.relation, last)
            values[entity.id] = tuple(literal_name(e.id) for e in seen if is_literal(e.id))
        own = values[than[0].id] if than else ()
        return list(choose_candidates(constraint, {e: values[e.id] for e in found}, own))


def _most_entries(settings: AgentSettings) -> int:
    options = settings.read_options(ArkOptions)
    return options.relations + options.triples


ARK = Preset(
    name="ark-v1",
    version=3,
    source="ARK-V1 (Klein and Ohnemus, 2025); the fifth of five attempts may succeed",
    tools=ark_tools,
    protocol=lambda settings: FormProtocol(FORMS),
    agent=ArkAgent,
    # Eight steps of four completions, and room for wrong attempts; K_max ends it before.
    defaults={"max_turns": 60, "max_malformed": 5},
    prompts={"ark-v1": TEXTS["prompt"]},
    options=ArkOptions,
    most_entries=_most_entries,
    oracle=OwnOracle(
        ArkOracle,
        lambda question: has_query(question) or bool(evidence_of(question)),
        "a query or evidence that names its topic",
    ),
    calls=tuple(FORMS),
    graphs="any graph with names; it walks outgoing relations alone",
)
ARK_CODE = replace(
    ARK,
    name="ark-v1-code",
    source="ARK-V1 as its equations and its released code count attempts: of five, four can win",
    agent=partial(ArkAgent, code_counting=True),
)
