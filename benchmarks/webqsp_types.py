"""Demonstrations for `benchmarks.webqsp_rows` of questions for a type, where results say how much
of them is of it: the next relation is taken where nothing is."""

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.webqsp_demonstrations import (
    about,
    deepest_place,
    entities_having,
    listed_in,
    noun_wanted,
    of_one_hop,
    play,
    relations_of,
    reordered,
    templates_of,
)
from graphwalker.agents.environment import Environment
from graphwalker.agents.episode import Episode
from graphwalker.agents.rollout import untimed
from graphwalker.files import read_records, write_jsonl
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph
from graphwalker.protocols.base import FinalAnswer
from graphwalker.query.type_nouns import all_nouns, is_called
from graphwalker.question import Question
from graphwalker.tools.base import Call
from graphwalker.tools.wide.references import ends, reference, result_number, typed_reference
from graphwalker.trajectory import Trajectory

_MOVED = (1, 2, 3, 4)
"""How many relations are moved before the right one, each as often."""
_IN_VAIN = 0.1
"""Of the walks at any entity so many look for any noun, most of them in vain."""
_DRAWN = 8
"""Entities of which the largest is taken for every second walk."""
_PAGES = 5
"""Pages of a result that are read at most."""
_TRIES = 5
"""Relations that are taken before the first is answered with."""


def next_relations(
    source: Path, environment: Environment, out: Path, seed: int = 0, deepest: int = 8
) -> dict[str, int]:
    """Write walks that take one relation after the other, as listed, until one leads to what the
    question asks for by a noun ("what city"); the types that results show are what tells. Of the
    file's walks of one hop: those whose relation stands behind others that lead to nothing of the
    kind, none past the place `deepest`; where it stands first, with one to four others moved
    before it; and where it leads to nothing of the kind itself, with four more tried in vain: the
    answer is then what the first leads to. Of a result of several pages that holds nothing of the
    kind on the first the others are not read. Returns the counts."""
    counts, rng = Counter[str](), random.Random(seed)
    wanted: list[str] = []
    there = reordered(environment, wanted)

    def walks() -> Iterator[Trajectory]:
        for walk in read_records(source, Trajectory.from_json):
            place, noun = deepest_place(walk), noun_wanted(walk.question, environment.graph)
            if not noun or place is None or place >= deepest or not of_one_hop(walk.question):
                continue
            others = listed_in(walk.turns[0])[1 : deepest + 1]
            moved = rng.sample(others, min(rng.choice(_MOVED), len(others)))
            # Fewer, where one of them leads to something of the kind.
            orders = [[]] if place else [moved[:most] for most in range(len(moved), 0, -1)]
            made = None
            while orders and not made:
                wanted[:] = orders.pop(0)
                made = _next_relations(walk, noun, there)
            if made:
                counts["moved" if wanted else "later"] += 1
                yield made
            elif not place and (made := _in_vain(walk, noun, environment)):
                counts["in_vain"] += 1
                yield made

    write_jsonl(out, (walk.to_json() for walk in walks()))
    return dict(counts)


def next_anywhere(
    questions: Path, environment: Environment, count: int, seed: int, out: Path, pages: bool = False
) -> dict[str, int]:
    """Write walks as those of `next_relations` about any entity of the graph: one-hop questions of
    the file that want a type, with a noun of what one relation of the entity leads to in place of
    their own, each relation of the graph in turn, behind up to four others. Half of the entities
    are large ones, whose relations have several pages. What the question says besides has nothing
    to do with them, so what is learned is to go down the list. Of the noun any in a tenth: most of
    those are looked for in vain. With `pages` further pages of what is answered with are read, as
    the oracle does, without them no such walk is written. Returns the counts."""
    graph, rng = environment.graph, random.Random(seed)
    entities = entities_having(graph)
    relations = sorted(entities)
    plural = {noun: k % 2 for row in all_nouns().values() for k, noun in enumerate(row)}
    templates = [
        (template, noun)
        for template in templates_of(questions, "1-hop")
        if (noun := noun_wanted(template, graph))
    ]
    wanted: list[str] = []
    there = reordered(environment, wanted)
    counts = Counter[str]()

    def walks() -> Iterator[Trajectory]:
        for number in range(count):
            relation = relations[number % len(relations)]
            topic = _topic(environment, entities[relation], relation, rng, pages)
            template, own = rng.choice(templates)
            fitting = [noun for noun in sorted(plural) if plural[noun] == plural[own]]
            if rng.random() >= _IN_VAIN:
                kinds = _kinds_of_ends(graph, topic, relation)
                fitting = [noun for noun in fitting if is_called(noun, kinds)]
            if not fitting:
                continue
            noun = rng.choice(fitting)
            text = re.sub(rf"\b{own}\b", noun, template.text, count=1, flags=re.IGNORECASE)
            question = about(replace(template, text=text), topic, f"anywhere/{number}")
            others = [one for one in sorted(_sizes(graph, topic)) if one != relation]
            moved = rng.sample(others, min(rng.randrange(_TRIES), len(others)))
            wanted[:] = [*moved, relation]
            if made := _down_the_list(question, noun, there, pages):
                counts[f"tries_{len(made.turns) - 2}"] += 1
                yield made

    write_jsonl(out, (walk.to_json() for walk in walks()))
    return dict(counts)


def _topic(
    environment: Environment, places: Sequence[int], relation: str, rng: random.Random, pages: bool
) -> Entity:
    """Any of the entities at these places, or as often the one of `_DRAWN` with the most triples:
    its relations have several pages. With `pages` as often the one with the most of the relation.
    """
    graph, by = environment.graph, rng.choice(("", "triples", "relation")[: 3 if pages else 2])
    drawn = [graph.entity_at(rng.choice(places)) for _ in range(_DRAWN if by else 1)]
    if by == "relation":
        return max(drawn, key=lambda entity: _size(environment, entity, relation))
    return max(drawn, key=lambda entity: _sizes(graph, entity).total())


def _sizes(graph: KnowledgeGraph, entity: Entity) -> Counter[str]:
    """How many entities each of its relations leads to."""
    found = Counter[str]()
    for side in Direction:
        for relation, count in graph.flat_relations(entity.id, side):
            found[relation] += count
    return found


def _size(environment: Environment, entity: Entity, relation: str) -> int:
    """How many entities the relation leads to, none where they are on too many pages."""
    count = _sizes(environment.graph, entity)[relation]
    return count if count <= _PAGES * environment.config.triples_per_relation else 0


def _kinds_of_ends(graph: KnowledgeGraph, entity: Entity, relation: str) -> set[str]:
    found = (end for side in Direction for end in graph.step(entity.id, relation, side))
    return {kind for end in found if end != entity for kind in graph.types(end.id)}


def _down_the_list(
    question: Question, noun: str, environment: Environment, pages: bool
) -> Trajectory | None:
    """The walk that takes one relation after the other until one leads to something of the noun,
    and answers with that, or else with what the first leads to."""
    tried = _Tried(question, noun, environment)
    for relation in tried.listed[:_TRIES]:
        found = tried.take(relation, _PAGES if pages else 1)
        if found is None:
            return None
        if found:
            return tried.answered_with(result_number(tried.episode.turns[-1].observation))
    return tried.answered_with(1) if tried.listed else None  # the environment may skip all of them


class _Tried:
    """An episode in which relations of the topic are taken one after the other."""

    def __init__(self, question: Question, noun: str, environment: Environment) -> None:
        self.episode = Episode(question, 0, environment)
        self._topic, self._noun = question.topic_entities[0], noun
        self._environment = environment
        self._part = False
        self._write(Call("get_relations", {"entity": self._topic.name}))
        self.listed = listed_in(self.episode.turns[-1])

    def take(self, relation: str, pages: int = 1) -> bool | None:
        """Whether it leads to something of the noun, by its first page; None where more pages than
        so many may have more of that, or it leads to the topic alone."""
        look = {"entity": self._topic.name, "relations": [relation]}
        self._write(Call("get_triples", look))
        seen = self.episode.turns[-1]
        if seen.error:
            return None
        found = ends(seen.triples, self._topic.id, frozenset())
        called = [self._is_called(end) for end in found]
        page = 1
        while any(called) and seen.hidden and page < pages:
            page += 1
            self._write(Call("get_triples", {**look, "page": page}))
            seen = self.episode.turns[-1]
            found |= ends(seen.triples, self._topic.id, frozenset())
            called = [self._is_called(end) for end in found]
        self._part = any(called) and not all(called)
        return None if not found or (any(called) and seen.hidden) else any(called)

    def _is_called(self, end: str) -> bool:
        return is_called(self._noun, self._environment.graph.types(end))

    def answered(self, walk: Trajectory, number: int) -> Trajectory | None:
        """With the walk's answer, pointing at that result; None where it is not the same."""
        names = walk.turns[-1].action["answer"]
        pointed = [name.replace(reference(1), reference(number), 1) for name in names]
        made = self._ended(pointed)
        return made if made and set(made.answer_ids) == set(walk.answer_ids) else None

    def answered_with(self, number: int) -> Trajectory | None:
        """With what that result leads to, of the noun alone where the last one says so."""
        return self._ended(
            [typed_reference(number, self._noun) if self._part else reference(number)]
        )

    def _ended(self, names: Sequence[str]) -> Trajectory | None:
        """With that answer; None where it is of no entity."""
        self._write(FinalAnswer(tuple(names)))
        made = untimed(self.episode.trajectory("next-relation"))
        return made if made.answer_ids else None

    def _write(self, action: Call | FinalAnswer) -> None:
        play(self.episode, self._environment, action)


def _next_relations(walk: Trajectory, noun: str, environment: Environment) -> Trajectory | None:
    """The walk with the relations before its own taken first; None where one of them leads to
    something of that noun, or its own does not, or it is the first."""
    right, tried = next(relations_of(walk)), _Tried(walk.question, noun, environment)
    for place, relation in enumerate(tried.listed):
        if tried.take(relation) is not (relation == right):
            return None
        if relation == right:
            number = result_number(tried.episode.turns[-1].observation)
            return tried.answered(walk, number) if place else None
    return None


def _in_vain(
    walk: Trajectory, noun: str, environment: Environment, most: int = _TRIES
) -> Trajectory | None:
    """The walk with the relations behind its own tried, too, where it leads to nothing of the noun,
    and neither do they: the first is then the best."""
    if walk.turns[-1].action["answer"] != [reference(1)]:
        return None
    tried = _Tried(walk.question, noun, environment)
    if any(tried.take(relation) is not False for relation in tried.listed[:most]):
        return None
    return tried.answered(walk, 1)
