"""One episode of the oracle: the walk of a query, call by call, each with its thought."""

from collections.abc import Callable, Generator, Iterable, Sequence
from functools import partial
from typing import TypeVar

from graphwalker.answers.kinds import Absent
from graphwalker.errors import PolicyError
from graphwalker.graphs.base import FLATTENED, Direction, Entity, KnowledgeGraph, Step
from graphwalker.graphs.literals import is_literal, literal_name
from graphwalker.oracle import thoughts
from graphwalker.oracle.choices import Aim
from graphwalker.oracle.plan import Move, Plan, View
from graphwalker.protocols.base import FinalAnswer
from graphwalker.query.constraint import Constraint, choose_candidates, filter_candidates
from graphwalker.query.draft import fill_bound, plain_wording
from graphwalker.query.query import Branch, Hop, Query, own_side
from graphwalker.question import Question
from graphwalker.tools.base import Call
from graphwalker.trajectory import Turn

T = TypeVar("T")
Steps = Generator[Move, Turn, T]
"""Yields moves, is sent the turns that came of them, returns what was found."""
PAGES_READ = 2
"""Pages of relations that are read before one is said to be missing: they are ranked, and a
relation that is there seldom stands further back."""
EndsByStart = dict[str, list[Entity]]
"""The ends that were shown, by the id of the entity that they were reached from."""


class QueryWalk:
    """The walk of one question's query; a subclass may take other steps before the right ones."""

    def __init__(self, view: View, question: Question, rng: thoughts.Choice) -> None:
        """`rng` draws among the forms of thoughts; `None` takes the plain ones."""
        self.view, self.question, self.rng = view, question, rng
        self.wording = question.wording or plain_wording(query_of(question))
        self._pending: list[str] = []
        self.number = -1
        """The hop at hand, counted over the branches and the tail."""
        self.later: Sequence[tuple[Hop, Aim]] = ()
        """The hops behind it in its branch or tail."""
        self.ends: list[list[Entity]] = []
        """Where the branches before it end."""
        self._is_counted = not view.counts_steps
        self._step = self._found_by = ""
        """The step at hand, and the one that the last findings are of: ` (step 1 of 2)`."""

    # --- what a subclass may do more

    def before_look(self, entity: Entity, hop: Hop, aim: Aim, why: str) -> Steps[str]:
        """Take other steps before an entity's relations are listed; return the thought that the
        listing then has."""
        return why
        yield

    def before_ask(self, frontier: Sequence[Entity], hop: Hop, aim: Aim) -> Steps[None]:
        """Take other steps once the relation of the hop is listed."""
        return
        yield

    # --- the walk

    def play(self) -> Plan:
        """Yield all steps, the answer last."""
        query, wording = query_of(self.question), self.wording
        if isinstance(self.question.gold, Absent):
            yield from self._miss(query.branches[0], wording.phrases[0])
            return
        for number, (branch, phrases) in enumerate(
            zip(query.branches, wording.phrases, strict=True)
        ):
            name = self.view.name(branch.topic)
            opening = partial(thoughts.branch if number else thoughts.start, name, number=number)
            aims = self._aims(branch.hops, phrases, is_last=not query.tail)
            self.ends.append((yield from self._follow([branch.topic], branch.hops, aims, opening)))
        answers = shared(self.ends)
        if query.tail:
            opening = partial(thoughts.intersect, [self.view.name(entity) for entity in answers])
            aims = self._aims(query.tail, wording.tail_phrases)
            answers = yield from self._follow(answers, query.tail, aims, opening)
        if query.constraint and answers:
            phrase = fill_bound(wording.constraint, query.constraint)
            answers = yield from self._weigh(answers, query.constraint, phrase)
            by_type = query.constraint.kind == "type"
            yield self._answer(answers, partial(thoughts.keep, phrase=phrase, by_type=by_type))
        else:
            both = partial(thoughts.answer_both, branches=len(self.ends))
            tell = thoughts.answer if query.tail or len(self.ends) == 1 else both
            yield self._answer(prefer_gold(self.question, answers), tell)

    def _miss(self, branch: Branch, phrases: Sequence[str]) -> Plan:
        """Take all hops but the last, look there for its relation, which is missing, and answer
        nothing."""
        frontier, why = [branch.topic], ""
        opening = partial(thoughts.start, self.view.name(branch.topic))
        *_, aim = aims = self._aims(branch.hops, phrases)
        if branch.hops[:-1]:
            frontier = yield from self._follow(frontier, branch.hops[:-1], aims[:-1], opening)
        else:
            why = opening(aim.sought, self.rng)
        self.number, self.later = self.number + 1, ()
        for entity in frontier:
            why = why or self.moving(frontier, entity, aim)
            why = yield from self.before_look(entity, branch.hops[-1], aim, why)
            turn = yield from self.do(why, self.view.look(entity, branch.hops[-1].direction))
            yield from self._read_on(turn, entity, aim)
            why = ""
        thought = thoughts.absent(self.view.name(frontier[-1]), aim.sought, self.rng)
        yield self._speak(thought), FinalAnswer(())

    def _read_on(self, turn: Turn, entity: Entity, aim: Aim) -> Steps[None]:
        """Turn as many pages of relations as are read for one that is missing."""
        pages = self.view.abilities.pages
        for page in range(2, PAGES_READ + 1) if pages else ():
            if pages and _is_cut(turn):
                call = pages.relations_page(self.view.name(entity), page)
                turn = yield from self.do(thoughts.next_relations(aim.sought, self.rng), call)

    def _answer(self, answers: Sequence[Entity], tell: Callable[..., str]) -> Move:
        names = tuple(self.view.name(entity) for entity in answers)
        return self._speak(tell(names, rng=self.rng)), FinalAnswer(names)

    def _aims(self, hops: Sequence[Hop], phrases: Sequence[str], is_last: bool = True) -> list[Aim]:
        """Return the words of the hops. `is_last`: whether the question asks for what they find."""
        choices, plain = self.view.choices, self.rng is None
        return [
            choices.aim(hop, own, plain, is_last and number == len(hops))
            for number, (hop, own) in enumerate(zip(hops, phrases, strict=True), 1)
        ]

    @property
    def _steps(self) -> int:
        """Hops of the question, and a step that compares values; 0 where thoughts count none."""
        query = query_of(self.question)
        weighs = query.constraint is not None and query.constraint.kind != "type"
        return self.view.counts_steps and len(query.all_hops) + weighs

    def _say_step(self, number: int) -> str:
        return f" (step {number} of {self._steps})" if self._steps else ""

    def _follow(
        self,
        frontier: list[Entity],
        hops: Sequence[Hop],
        aims: Sequence[Aim],
        opening: Callable[..., str],
    ) -> Steps[list[Entity]]:
        """Return where the hops lead to. `opening` words the first thought by what is sought."""
        why = opening(sought=aims[0].sought, rng=self.rng)
        for number, (hop, aim) in enumerate(zip(hops, aims, strict=True)):
            self.number += 1
            self._step = self._say_step(self.number + 1)
            self.later = tuple(zip(hops[number + 1 :], aims[number + 1 :], strict=True))
            if self.view.abilities.directed:
                ends = yield from self._directed_hop(frontier, hop, aim, why)
                frontier = list({e.id: e for found in ends.values() for e in found}.values())
            else:
                frontier = yield from self._hop(frontier, hop, aim, why)
            why = ""
        self._step = ""
        return frontier

    def _hop(self, frontier: list[Entity], hop: Hop, aim: Aim, why: str) -> Steps[list[Entity]]:
        """Return where a hop leads to from all of these; nothing where it was never listed."""
        if not frontier:  # the hop before led nowhere, as on a graph that changed
            return []
        same = self._same_hops(frontier, hop)
        for entity in frontier:
            why = why or self.moving(frontier, entity, aim)
            why = yield from self.before_look(entity, hop, aim, why)
            yield from self._list(entity, same, aim, why)
            why = ""
            if self._is_listed(same):
                break
        taken = next((one for one in same if one.relation in self.view.listed), None)
        if taken is None:
            return []
        yield from self.before_ask(frontier, taken, aim)
        found: dict[str, Entity] = {}
        starts = [entity for entity in frontier if self.view.may_have(entity, taken.relation)]
        for k, entity in enumerate(starts):
            next_one = self.moving(frontier, entity, aim) if k else ""
            why = next_one or self.view.why(frontier, taken, aim, self.rng)
            turn = yield from self.do(why, self.view.ask(entity, taken.relation, taken.direction))
            ends = yield from self._more_triples(turn, entity, taken)
            found.update((end.id, end) for end in ends)
        return list(found.values())

    def _same_hops(self, frontier: Sequence[Entity], hop: Hop) -> list[Hop]:
        """Return the hop and its inverse relation, where both lead to the same: of the two, the one
        that goes out of the entity is taken, so that equal lists are answered equally."""
        inverse = self.view.choices.phrases.inverse(hop)
        if inverse is None or inverse.relation == hop.relation:
            return [hop]
        here = [[entity] for entity in frontier]
        if any(
            self.view.ends_of(e, hop).keys() != self.view.ends_of(e, inverse).keys() for e in here
        ):
            return [hop]
        return sorted((hop, inverse), key=own_side)

    def _is_listed(self, hops: Iterable[Hop]) -> bool:
        return any(hop.relation in self.view.listed for hop in hops)

    def _list(self, entity: Entity, hops: Sequence[Hop], aim: Aim, why: str) -> Steps[None]:
        """List the relations of an entity, page by page until one of these is there; further pages
        only where the tools have them and the entity the relation."""
        turn = yield from self.do(why, self.view.look(entity))
        page, pages = 2, self.view.abilities.pages
        while pages and _is_cut(turn) and not self._is_listed(hops):
            if not any(self.view.has(entity, hop.relation) for hop in hops):
                break
            call = pages.relations_page(self.view.name(entity), page)
            turn = yield from self.do(thoughts.next_relations(aim.sought, self.rng), call)
            page += 1

    def _more_triples(self, turn: Turn, entity: Entity, hop: Hop) -> Steps[list[Entity]]:
        """Return what the hop leads to: in `turn`, and on further pages where it was cut."""
        found, page, self._found_by = self.view.found_ends(turn, [entity], hop), 2, self._step
        pages = self.view.abilities.pages
        count = len(self.view.ends_of([entity], hop)) if _is_cut(turn) else 0
        while pages and _is_cut(turn) and len(found) < count:
            call = pages.triples_page(self.view.name(entity), hop.relation, page)
            turn = yield from self.do(thoughts.next_triples(self.rng), call)
            found += self.view.found_ends(turn, [entity], hop)
            self._found_by, page = self._step, page + 1
        return found

    def do(self, why: str, call: Call) -> Steps[Turn]:
        """Take a step, unless a recalled turn made the same call."""
        turn = self.view.recalled_turn(call)
        if turn is None:
            turn = yield self._speak(why), call
            self.view.see(turn)
        return turn

    def say(self, thought: str) -> None:
        """Keep a thought to open the next step with."""
        self._pending.append(thought)

    def _speak(self, thought: str) -> str:
        """Get the thought, opened by what the turn before it gave and by what waits to be told."""
        found = self.view.findings(self.rng, self._found_by)
        opened = [found, self.view.regret(self.rng), *self._pending]
        self._pending, self._found_by = [], ""
        if not self._is_counted:
            thought, self._is_counted = thought + thoughts.takes(self._steps), True
        return " ".join(filter(None, (*opened, thought)))

    def moving(self, frontier: Sequence[Entity], entity: Entity, aim: Aim) -> str:
        """Return the thought of continuing from one of the entities that a step found."""
        name = self.view.name(entity)
        if len(frontier) > 1:
            return thoughts.move_many(len(frontier), name, aim.sought, self.rng)
        return thoughts.move(name, aim.sought, self.rng)

    # --- tools that look in one direction

    def _directed_hop(
        self, frontier: Sequence[Entity], hop: Hop, aim: Aim, why: str
    ) -> Steps[EndsByStart]:
        """Return what a hop leads to from each entity; nothing where it was never listed."""
        directed = self.view.abilities.directed
        assert directed
        steps = halves(self.view.graph, frontier, hop) if directed.walks_cvts else (hop,)
        step = self._step
        self._step = step if len(steps) == 1 else ""  # no step ends at a CVT node
        found = yield from self._directed_step(frontier, steps[0], aim, why)
        self._step = step
        if len(steps) == 1:
            return found
        nodes = {node.id: node for ends in found.values() for node in ends}
        behind = yield from self._directed_step(list(nodes.values()), steps[1], aim, "")
        ways = {
            here: [e for n in ends for e in behind.get(n.id, ())] for here, ends in found.items()
        }
        # A way through a CVT node never leads back.
        return {
            here: list({end.id: end for end in ends if end.id != here}.values())
            for here, ends in ways.items()
        }

    def _directed_step(
        self, frontier: Sequence[Entity], hop: Hop, aim: Aim, why: str
    ) -> Steps[EndsByStart]:
        """Looks at entities until one shows the relation, then asks the others for it alone."""
        view, found, listed = self.view, EndsByStart(), False
        directed = view.abilities.directed
        sought = directed.listed_as(hop) if directed else hop
        for k, entity in enumerate(frontier):
            if not listed:
                why = why or self.moving(frontier, entity, aim)
                why = yield from self.before_look(entity, hop, aim, why)
                turn = yield from self.do(why, view.look(entity, hop.direction))
                why = ""
                listed = sought in view.listed_of(entity)
                if not listed:
                    found[entity.id] = []
                    continue
                ends = any(entity.id in (t.head.id, t.tail.id) for t in turn.triples)
                if ends and not turn.hidden:
                    found[entity.id] = view.triple_ends(turn, entity, hop, by_call=False)
                    self._found_by = self._step
                    continue
                yield from self.before_ask([entity], hop, aim)
            next_one = self.moving(frontier, entity, aim) if k else ""
            why_this = next_one or view.why(frontier, hop, aim, self.rng)
            turn = yield from self.do(why_this, view.ask(entity, hop.relation, hop.direction))
            found[entity.id], self._found_by = view.triple_ends(turn, entity, hop), self._step
        return found

    # --- constraints

    def _weigh(
        self, candidates: Sequence[Entity], constraint: Constraint, phrase: str
    ) -> Steps[list[Entity]]:
        """Return the candidates that the constraint keeps by the values that the environment shows.

        The entity to compare with comes first. Relations are listed until the one that is needed
        stands in a list; where it never does, nothing is kept. Types are not shown: the oracle
        knows them by the graph, as a model knows that Spain is a country.
        """
        if constraint.kind == "type":
            return list(filter_candidates(self.view.graph, constraint, candidates))
        than = [constraint.than] if constraint.than else []
        why = thoughts.weigh(len(candidates), phrase, self.rng)
        if than:
            why = f"{why} {thoughts.weigh_than(self.view.name(than[0]), self.rng)}"
        values: dict[str, tuple[str, ...]] = {}
        self._step = self._say_step(self._steps)
        hop = Hop(constraint.relation)
        (aim,) = self._aims([hop], [""])
        for entity in {e.id: e for e in (*than, *candidates)}.values():
            why = why or thoughts.weigh_next(self.view.name(entity), self.rng)
            found = yield from self._value(entity, hop, aim, why)
            if found is None:
                return []
            values[entity.id], why = found, ""
        weighed = {candidate: values[candidate.id] for candidate in candidates}
        return list(choose_candidates(constraint, weighed, values[than[0].id] if than else ()))

    def _value(self, entity: Entity, hop: Hop, aim: Aim, why: str) -> Steps[tuple[str, ...] | None]:
        """Return the values of an entity; `None` where their relation is not listed."""
        if self.view.abilities.directed:
            found = yield from self._directed_hop([entity], hop, aim, why)
            return _texts(found.get(entity.id, ()))
        if hop.relation not in self.view.listed:
            yield from self._list(entity, [hop], aim, why)
            why = self.view.why([entity], hop, aim, self.rng)
        if hop.relation not in self.view.listed:
            return None
        turn = yield from self.do(why, self.view.ask(entity, hop.relation, Direction.OUT))
        self._found_by = self._step
        return _texts(self.view.found_ends(turn, [entity], hop))


def query_of(question: Question) -> Query:
    """Raise `PolicyError` for a question that does not say what it asks."""
    if question.query is None:
        raise PolicyError(f"{question.id} has no query: the oracle cannot play it")
    return question.query


def _is_cut(turn: Turn) -> bool:
    return turn.hidden > 0 and not turn.error


def _texts(ends: Iterable[Entity]) -> tuple[str, ...]:
    return tuple(literal_name(end.id) for end in ends if is_literal(end.id))


def halves(graph: KnowledgeGraph, entities: Sequence[Entity], hop: Hop) -> tuple[Hop, ...]:
    """Return the steps that a flattened hop takes through its CVT nodes; the hop alone where the
    graph stores the relation as it is."""
    first, flat, second = hop.relation.partition(FLATTENED)
    steps = [Step(entity.id, hop.relation, hop.direction, 1) for entity in entities]
    if not flat or any(graph.neighbors_many(steps)):
        return (hop,)
    taken = (first, second) if hop.direction is Direction.OUT else (second, first)
    return tuple(Hop(relation, hop.direction) for relation in taken)


def prefer_gold(question: Question, found: list[Entity]) -> list[Entity]:
    """Return the gold answers alone where all of them are among those found; else what was found.

    A query made of a gold path finds more where the question has a condition that its path does not
    say: `what countries border france?` shows seas, too.
    """
    gold = {answer.id for answer in question.answers}
    kept = [entity for entity in found if entity.id in gold]
    return kept if kept and len(kept) == len(gold) else found


def shared(ends: Sequence[Sequence[Entity]]) -> list[Entity]:
    """Return the entities that every branch leads to, in the order of the first."""
    kept = set[str].intersection(*({entity.id for entity in end} for end in ends))
    return [entity for entity in ends[0] if entity.id in kept]
