"""ARK-V1 (Klein and Ohnemus, 2025): anchor, relation, triples, reasoning, summary, and anew."""

from collections.abc import Generator, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import Any

from pydantic import Field

from graphwalker.agents.base import AgentPart, AgentRun
from graphwalker.agents.dialogue import BudgetSpent, Dialogue, DialogueAgent
from graphwalker.agents.preset import Preset
from graphwalker.agents.prompt import read_texts
from graphwalker.agents.published.decisions import (
    DecisionTools,
    EpisodeResources,
    more_lines,
    tools_of,
    triple_text,
)
from graphwalker.config import Config
from graphwalker.datasets.evidence import evidence_of
from graphwalker.graphs.base import Direction, Entity, Step
from graphwalker.graphs.literals import is_literal, literal_name
from graphwalker.graphs.names import fold
from graphwalker.graphs.properties import PropertyGraph
from graphwalker.oracle.gold_walk import EntitySearch, NameSearch, WalkOracle, query_of
from graphwalker.oracle.plan import Move, OwnOracle, has_query
from graphwalker.protocols.forms import FormProtocol
from graphwalker.query.constraint import choose_candidates, filter_candidates
from graphwalker.query.query import Hop
from graphwalker.question import Question
from graphwalker.ranking.bm25 import bm25_stems
from graphwalker.ranking.nodes.index import NodeHit, NodeIndexName
from graphwalker.tools.base import Call, ErrorKind, Listed, Observation, ShownTriple, mistake
from graphwalker.tools.namebook import quote
from graphwalker.trajectory import Turn

TEXTS = read_texts(__file__)
FORMS = {
    "anchor": {"anchor": "NAME OF AN ENTITY"},
    "relation": {"relation": "RELATION"},
    "reason": {
        "triples": ["ab12"],
        "implication": "what follows",
        "continue": True,
        "reset": False,
    },
    "summary": {"summary": "what is known so far"},
}
INDEXED_NODES = 1_000_000
"""Graphs of more nodes have no index of nodes: after a wrong name, only known ones are proposed."""
NEAR_ENTITIES, NEAR_RELATIONS = 5, 2
"""Proposals after a wrong name, as in the released code."""


class ArkOptions(Config):
    """`environment.options` of ARK-V1."""

    attempts: int = Field(default=5, ge=1)
    """C_max: attempts at an anchor, a relation, or a reasoning (the released code's number)."""
    steps: int = Field(default=8, ge=1)
    """K_max: reasoning steps (the released code's number)."""
    relations: int = Field(default=200, ge=1)
    """Most relations of an anchor that are listed."""
    triples: int = Field(default=50, ge=1)
    """Most triples of a relation that are shown."""
    nearest: NodeIndexName = "tfidf"
    """What proposes entities after a wrong name: a node index (`bm25`, `tfidf`, `embed:MODEL`;
    the paper's code takes `embed:sentence-transformers/all-MiniLM-L6-v2`), or `none`."""

    @property
    def index(self) -> str:
        return self.nearest


class ArkTools(DecisionTools[ArkOptions]):
    """The tools of one episode. `anchor` and `relation` look up, `reason` checks keys."""

    def __init__(self, shared: EpisodeResources[ArkOptions], question: Question) -> None:
        super().__init__(shared, question)
        self._list = shared.list
        self._anchor: Entity | None = None
        self._triples: dict[str, ShownTriple] = {}

    def call(self, call: Call) -> Observation:
        """Run a filled-in form; a wrong value comes back with what is near it."""
        values = call.arguments
        if call.tool == "anchor":
            return self._choose_anchor(str(values.get("anchor", "")))
        if call.tool == "relation":
            return self._choose_relation(str(values.get("relation", "")))
        if call.tool == "reason":
            named = values.get("triples") or ()  # chat models write the triple behind its key
            return self._check_keys([str(key).partition(":")[0].strip() for key in named])
        if call.tool == "summary":
            return Observation("")
        return mistake(ErrorKind.UNKNOWN_TOOL, f"there is no {call.tool}")

    def signatures(self) -> str:
        return "anchor, relation, triples: chosen one after the other, along outgoing relations."

    def _choose_anchor(self, name: str) -> Observation:
        entity = self._book.find(name) if name.strip() else None
        # Valid iff it is the head of some triple (Eq. 2): nothing else has outgoing relations.
        out = self._list(entity.id).out if entity else {}
        if entity is None or not out:
            hits = self._nearest_nodes(name[:200])
            known = self._book.near(name, NEAR_ENTITIES)
            known += [self._book.show(hit.entity) for hit in hits]
            near = list(dict.fromkeys(known))[:NEAR_ENTITIES] or list(self._topics)
            text = f"{quote(name[:200])} is the head of no triple{_nearest(map(quote, near))}"
            return mistake(ErrorKind.UNKNOWN_ENTITY, text, calls=2)
        self._anchor = entity
        shown = list(out)[: self._options.relations]
        hidden = len(out) - len(shown)
        return Observation(
            f"Relations from {quote(entity.name)}:\n" + "\n".join(shown) + more_lines(hidden),
            shown=(entity,),
            listed=(Listed(entity.id, self._list(entity.id).hops(shown)),),
            hidden=hidden,
            graph_calls=2,
        )

    def _nearest_nodes(self, name: str) -> list[NodeHit]:
        small = 0 < self._graph.size <= INDEXED_NODES
        found = self._options.nearest != "none" and small
        return self._shared.index.search(name, limit=NEAR_ENTITIES) if found else []

    def _choose_relation(self, relation: str) -> Observation:
        """Return the triples of the anchor with that relation; `""` asks for another anchor."""
        anchor = self._anchor
        out = self._list(anchor.id).out if anchor else {}
        if not relation or anchor is None:
            return Observation("")
        if relation not in out:
            near = bm25_stems(relation[:200], "", tuple(out))[:NEAR_RELATIONS]
            text = f"no {quote(relation[:200])} here{_nearest(near)}"
            return mistake(ErrorKind.UNKNOWN_RELATION, text)
        step = Step(anchor.id, relation, Direction.OUT, self._options.triples)
        ends = self._graph.step_many([step])[0]
        hidden = max(0, out[relation] - len(ends))
        self._triples = key_triples(
            [ShownTriple(anchor, relation, self._book.show_entity(end)) for end in ends]
        )
        lines = [f"{key}: {self._line(one)}" for key, one in self._triples.items()]
        return Observation(
            "Triples:\n" + "\n".join(lines) + more_lines(hidden),
            triples=tuple(self._triples.values()),
            hidden=hidden,
            graph_calls=1,
        )

    def _check_keys(self, keys: Sequence[str]) -> Observation:
        unknown = [key for key in keys if key not in self._triples]
        wrong, known = ", ".join(map(quote, unknown[:5])), ", ".join(self._triples)
        text = f"no triple has the key {wrong}; keys are {known}"
        return mistake(ErrorKind.BAD_ARGUMENTS, text) if unknown else Observation("")

    def evidence(self, keys: Sequence[str]) -> str:
        """Return the triples of those keys in words, for the notes."""
        return "; ".join(self._line(self._triples[key]) for key in keys if key in self._triples)

    def _line(self, triple: ShownTriple) -> str:
        """Return the triple, and the properties of its edge behind it: `{since: 1990}`."""
        (head, relation, tail), line = triple, triple_text(triple)
        if not isinstance(self._graph, PropertyGraph):
            return line
        for known in self._graph.relationship_properties(head.id, relation, tail.id):
            pairs = ", ".join(f"{key}: {value}" for key, value in sorted(known.items()))
            line += f" {{{pairs}}}" if pairs else ""
        return line


def _nearest(names: Iterable[str]) -> str:
    near = ", ".join(names)
    return f"; nearest are {near}" if near else ""


def key_triples(triples: Sequence[ShownTriple]) -> dict[str, ShownTriple]:
    """Keys of four letters, made of the triple alone; where two would be equal, of a count, too."""
    by_key: dict[str, ShownTriple] = {}
    for one in triples:
        text, count = f"{one.head.id}\t{one.relation}\t{one.tail.id}", 0
        while (key := _short_hash(f"{text}\t{count}" if count else text)) in by_key:
            count += 1
        by_key[key] = one
    return by_key


def _short_hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=2).hexdigest()


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

    def _explore(self, tools: ArkTools, talk: Dialogue, notes: list[str]) -> AgentPart[None]:
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

    def _attempt(self, talk: Dialogue, form: str, attempts: int) -> AgentPart[Call]:
        """Take one sub-step: up to C_max attempts at a valid value (the counter starts anew)."""
        talk.say(TEXTS[form])
        for attempt in range(1, attempts + 1):
            call = yield from talk.decide((form,), talk.tools.call)
            if self.code_counting and attempt >= attempts:
                break
            if isinstance(call, Call) and not talk.log.turns[-1].error:
                return call
        raise AttemptsSpent

    def _open(self, talk: Dialogue, notes: list[str]) -> None:
        talk.begin()
        if notes:
            talk.say("Known so far: {known}", known="\n".join(notes))


class _Halt(Exception):
    """The question needs what this agent does not see: an incoming relation, one step more."""

    def __init__(self, form: str = "anchor", tried: int = 0) -> None:
        """Take the form that is to be filled in next (none: the answer is due), and how often it
        was tried."""
        super().__init__(form, tried)
        self.form, self.tried = form, tried


class ArkOracle(WalkOracle):
    """Takes each hop of the query, entity by entity, or looks every piece of evidence up.

    Only outgoing relations can be taken, and `steps` (K_max) of them: other questions are lost.
    """

    def names(self) -> NameSearch:
        self._left = self.settings.read_options(ArkOptions).steps
        self._known: list[str] = []
        try:
            return (yield from self._names())
        except _Halt as halt:
            yield from self._give_up(halt)
            return ("None",)

    def _give_up(self, halt: _Halt) -> Generator[Move, Turn, None]:
        """Spend the attempts at an anchor: no other way leads to the answer."""
        if not halt.form:
            return
        if halt.form == "relation":
            yield "None of them leads on.", Call("relation", {"relation": ""})
        tried = halt.tried if halt.form == "anchor" else 0
        for _ in range(self.settings.read_options(ArkOptions).attempts - tried):
            yield "Nothing leads on.", Call("anchor", {"anchor": ""})

    def _names(self) -> NameSearch:
        if self.question.query or not evidence_of(self.question):
            found = yield from self.walk()
            return self.shown_names((yield from self._weigh(found)))
        pairs = dict.fromkeys((one.head, one.relation) for one in evidence_of(self.question))
        for left, (head, relation) in zip(range(len(pairs))[::-1], pairs, strict=True):
            entity = next(iter(self.graph.resolve(head)), Entity("", head))
            known = [r for r, _ in self.graph.relations(entity.id, Direction.OUT) if entity.id]
            same = next((r for r in known if fold(r) == fold(relation)), relation)
            yield from self._step(entity, same, not left)
        return tuple(answer.name for answer in self.question.answers)

    def look(self, frontier: list[Entity], hop: Hop, last: bool, over: bool) -> EntitySearch:
        query, found = query_of(self.question), list[Entity]()
        if hop.direction is Direction.IN:
            raise _Halt
        over = over and not (query.constraint and query.constraint.relations)
        for entity in frontier:
            ends = yield from self._step(entity, hop.relation, over and entity is frontier[-1])
            found += [end for end in ends if end.id not in query.avoided_ids]
        return found

    def _weigh(self, found: list[Entity]) -> EntitySearch:
        """Return those that the constraint keeps, by values that are shown."""
        constraint = query_of(self.question).constraint
        if constraint is None:
            return found
        if constraint.kind == "type":
            return list(filter_candidates(self.graph, constraint, found))
        than = [constraint.than] if constraint.than else []
        values: dict[str, tuple[str, ...]] = {}
        candidates = list({entity.id: entity for entity in (*than, *found)}.values())
        for entity in candidates:
            seen = yield from self._step(entity, constraint.relation, entity is candidates[-1])
            values[entity.id] = tuple(literal_name(e.id) for e in seen if is_literal(e.id))
        own = values[than[0].id] if than else ()
        return list(choose_candidates(constraint, {e: values[e.id] for e in found}, own))

    def _step(self, entity: Entity, relation: str, last: bool) -> EntitySearch:
        """Take one reasoning step. Returns the ends of the triples shown."""
        turn = yield from self._fill("anchor", "Explore this.", anchor=self.view.name(entity))
        if relation not in {hop.relation for one in turn.listed for hop in one.hops}:
            raise _Halt("relation")
        turn = yield from self._fill("relation", "This fits.", relation=relation)
        ends = [triple.tail for triple in turn.triples]
        self._left -= 1
        found = f"{relation} of {self.view.name(entity)}: {', '.join(e.name for e in ends)}"
        self._known.append(found)
        chosen = {"triples": [*key_triples(turn.triples)], "implication": found}
        yield from self._fill("reason", **chosen, **{"continue": not last, "reset": False})
        yield from self._fill("summary", summary="; ".join(self._known))
        if not self._left and not last:
            raise _Halt(form="")
        return ends

    def _fill(self, form: str, why: str = "", /, **values: Any) -> Generator[Move, Turn, Turn]:
        turn = yield from self.fill(form, why, **values)
        if turn.error:
            raise _Halt(form, tried=1)
        return turn


ARK = Preset(
    name="ark-v1",
    version=4,
    source="ARK-V1 (Klein and Ohnemus, 2025); the fifth of five attempts may succeed",
    tools=tools_of(ArkTools, ArkOptions),
    protocol=lambda settings: FormProtocol(FORMS),
    agent=ArkAgent,
    # Eight steps of four completions, and room for wrong attempts; K_max ends it before.
    defaults={"max_turns": 60, "max_malformed": 5},
    prompts={"ark-v1": TEXTS["prompt"]},
    options=ArkOptions,
    most_entries=lambda settings: (
        (own := settings.read_options(ArkOptions)).relations + own.triples
    ),
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
