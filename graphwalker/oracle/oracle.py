"""The oracle: a policy that knows the query and speaks its next action."""

import functools
import random
from collections.abc import Generator, Sequence
from dataclasses import replace

from graphwalker.errors import PolicyError
from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.oracle import thoughts
from graphwalker.oracle.choices import ChoiceThoughts, Says, says_nothing
from graphwalker.oracle.plan import WALKER, Move, Plan, PlannedPolicy, View, narrate, retell
from graphwalker.oracle.speakers import Speaker
from graphwalker.oracle.steps import directed_hop, more_relations, more_triples, moving, weigh
from graphwalker.protocols.base import ActionProtocol, FinalAnswer
from graphwalker.query.constraint import Constraint
from graphwalker.query.draft import Draft, fill_bound, plain_wording
from graphwalker.query.query import Branch, Hop
from graphwalker.question import Question
from graphwalker.tools.base import Call
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
        says: Says = says_nothing,
    ) -> None:
        """`plain`: every kind of thought has one form only; `silent`: actions without thoughts;
        `says`: what thoughts call a hop."""
        super().__init__(graph, protocol, speaker)
        self._seed = seed
        self._plain = plain
        self._silent = silent
        self._says = says

    def plan(self, key: str, question: Question) -> Plan:
        return self.continue_from(question, ())

    def continue_from(self, question: Question, turns: Sequence[Turn]) -> Plan:
        """The steps that are still to take where another policy has taken these turns: what they
        showed is not asked again. Raises `PolicyError` at the first step without a query."""
        rng = None if self._plain else random.Random(f"{self._seed}/{question.id}/oracle")
        avoided = question.query.avoided_ids if question.query else frozenset[str]()
        choices = ChoiceThoughts(question, self._says)
        view = View(self.graph, question.topic_entities, self.speaker, avoided, choices)
        view.recall(turns)
        plan = narrate(view, self._steps(view, question, rng), rng)
        plan = _with_regret(view, plan, rng) if turns else plan
        return retell(plan, lambda thought: "") if self._silent else plan

    def _steps(self, view: View, question: Question, rng: thoughts.Choice) -> Plan:
        if question.query is None:
            raise PolicyError(f"{question.id} has no query: the oracle cannot play it")
        query, wording = question.query, self._wording(question)
        ends: list[list[Entity]] = []
        for branch, phrases in zip(query.branches, wording.phrases, strict=True):
            ends.append((yield from _branch(view, branch, phrases, len(ends), rng)))
        answers = shared(ends)
        for k, (hop, phrase) in enumerate(zip(query.tail, wording.tail_phrases, strict=True)):
            names = [view.name(entity) for entity in answers]
            why = thoughts.intersect(names, phrase, rng) if k == 0 else ""
            answers = yield from _hop(view, answers, hop, phrase, why, rng)
        if query.constraint and answers:
            phrase = fill_bound(wording.constraint, query.constraint)
            do = functools.partial(_do, view)
            answers = yield from weigh(view, do, answers, query.constraint, phrase, rng)
            yield close_constrained(view, answers, query.constraint, phrase, rng)
            return
        branches = 1 if query.tail else len(ends)
        yield closing(view, prefer_gold(question, answers), branches, rng)

    def _wording(self, question: Question) -> Draft:
        """The phrases of a question. What is no noun phrase, such as a whole question, hardly fits
        into a sentence: a noun phrase says the same, where one is known."""
        assert question.query is not None
        plain = plain_wording(question.query, self._says)
        wording = question.wording
        if wording is None or self._plain:
            return wording or plain
        branches = tuple(map(_noun_phrases, wording.phrases, plain.phrases))
        tail = _noun_phrases(wording.tail_phrases, plain.tail_phrases)
        return replace(wording, phrases=branches, tail_phrases=tail)


def _noun_phrases(phrases: Sequence[str], plain: Sequence[str]) -> tuple[str, ...]:
    both = zip(phrases, plain, strict=True)
    return tuple(own if own.startswith("the ") else noun or own for own, noun in both)


def prefer_gold(question: Question, found: list[Entity]) -> list[Entity]:
    """The gold answers alone where all of them are among those found; else what was found.

    A query made of a gold path finds more where the question has a condition that its path does not
    say: `what countries border france?` shows seas, too.
    """
    gold = {answer.id for answer in question.answers}
    kept = [entity for entity in found if entity.id in gold]
    return kept if kept and len(kept) == len(gold) else found


def _with_regret(view: View, plan: Plan, rng: thoughts.Choice) -> Plan:
    """The plan, its first thought opened by what was wrong with the turn before it."""
    first = [view.regret]

    def tell(thought: str) -> str:
        return " ".join(filter(None, (first.pop()(rng), thought))) if first else thought

    return retell(plan, tell)


def _do(view: View, why: str, call: Call) -> Generator[Move, Turn, Turn]:
    """Take a step, unless a recalled turn made the same call."""
    turn = view.recalled_turn(call)
    if turn is None:
        turn = yield why, call
        view.see(turn)
    return turn


def _branch(
    view: View, branch: Branch, phrases: Sequence[str], number: int, rng: thoughts.Choice
) -> Generator[Move, Turn, list[Entity]]:
    frontier = [branch.topic]
    for k, (hop, phrase) in enumerate(zip(branch.hops, phrases, strict=True)):
        why = opening(view.name(branch.topic), phrase, number, rng) if k == 0 else ""
        frontier = yield from _hop(view, frontier, hop, phrase, why, rng)
    return frontier


def _hop(
    view: View, frontier: list[Entity], hop: Hop, phrase: str, why: str, rng: thoughts.Choice
) -> Generator[Move, Turn, list[Entity]]:
    do = functools.partial(_do, view)
    if view.abilities.directed:
        reached = yield from directed_hop(view, do, frontier, hop, phrase, why, rng)
        return list({end.id: end for ends in reached.values() for end in ends}.values())
    for entity in frontier:
        why = why or moving(view, frontier, entity, phrase, rng)
        turn = yield from do(why, view.look(entity))
        yield from more_relations(view, do, turn, entity, hop.relation, rng)
        why = ""
        if hop.relation in view.listed:
            break
    if hop.relation not in view.listed:
        return []
    found: dict[str, Entity] = {}
    for k, entity in enumerate(frontier):
        next_one = moving(view, frontier, entity, phrase, rng) if k else ""
        why = next_one or view.why(frontier, hop, phrase, rng)
        turn = yield from do(why, view.ask(entity, hop.relation, hop.direction))
        ends = yield from more_triples(view, do, turn, entity, hop, rng)
        found.update((e.id, e) for e in ends)
    return list(found.values())


def opening(topic: str, phrase: str, number: int, rng: thoughts.Choice) -> str:
    """The thought that begins a branch, the first one being number 0."""
    if number:
        return thoughts.branch(topic, phrase, rng, number + 1)
    return thoughts.start(topic, phrase, rng)


def closing(view: View, answers: Sequence[Entity], branches: int, rng: thoughts.Choice) -> Move:
    """The last step: the answers, as shown, in which so many branches meet."""
    names = tuple(view.name(entity) for entity in answers)
    both = branches > 1
    why = thoughts.answer_both(names, rng, branches) if both else thoughts.answer(names, rng)
    return why, FinalAnswer(names)


def close_constrained(
    view: View,
    answers: Sequence[Entity],
    constraint: Constraint,
    phrase: str,
    rng: thoughts.Choice,
) -> Move:
    """The last step of a question with a constraint: what it keeps."""
    names = tuple(view.name(entity) for entity in answers)
    explain = thoughts.keep_of_type if constraint.kind == "type" else thoughts.keep_by_value
    return explain(names, phrase, rng), FinalAnswer(names)


def shared(ends: Sequence[Sequence[Entity]]) -> list[Entity]:
    """The entities that every branch leads to, in the order of the first."""
    kept = set[str].intersection(*({entity.id for entity in end} for end in ends))
    return [entity for entity in ends[0] if entity.id in kept]
