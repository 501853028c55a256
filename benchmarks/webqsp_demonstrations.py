"""Demonstrations for `benchmarks.webqsp_rows`: which of the oracle's walks are trained on, and what
an agent got wrong with the way back."""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from graphwalker.agents.base import Log
from graphwalker.agents.environment import Environment
from graphwalker.agents.episode import Episode
from graphwalker.agents.rollout import untimed
from graphwalker.files import read_records, write_jsonl
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph
from graphwalker.policies.base import Completion
from graphwalker.protocols.base import FinalAnswer
from graphwalker.query.type_nouns import wanted_noun
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker
from graphwalker.tools.base import Call, ToolBox
from graphwalker.tools.wide.references import ends, reference, result_number
from graphwalker.trajectory import StopReason, Trajectory, Turn

_NONE = re.compile(r"#[0-9]+: \([^()]+: none\) ")


def balanced(
    source: Path,
    out: Path,
    first_share: float,
    deepest: int,
    seed: int,
    copies: Mapping[int, int] | None = None,
    structure_copies: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """Write the walks whose relations stand among the first `deepest` of their lists, without
    further pages; of those that take another than the first as many, drawn by seed, as leave
    `first_share` to the first. Walks of several hops are all kept: few have such relations at each
    hop, and an agent that hardly sees them answers after the first. Where results show types, one
    of one hop whose result holds none of the type asked for is left out. `copies` as in `repeated`;
    `{"2I": 3}` as `structure_copies` writes conjunctions of two three times. Returns the counts."""
    first: list[Trajectory] = []
    later: list[Trajectory] = []
    several: list[Trajectory] = []
    dropped = 0
    for walk in read_records(source, Trajectory.from_json):
        place = deepest_place(walk)
        if place is not None and not of_one_hop(walk.question):
            several.append(walk)
        elif place is None or place >= deepest or _answers_with_none(walk):
            dropped += 1
        else:
            (later if place else first).append(walk)
    rng = random.Random(seed)
    rng.shuffle(later)
    later = later[: round(len(first) * (1 - first_share) / first_share)]
    kept = [*first, *later, *several]
    often = structure_copies or {}
    kept = [walk for walk in kept for _ in range(often.get(walk.question.structure, 1))]
    rng.shuffle(kept)
    rows = repeated(kept, copies, seed) if copies else kept
    write_jsonl(out, (walk.to_json() for walk in rows))
    counts = {"first": len(first), "later": len(later), "several_hops": len(several)}
    return {**counts, "dropped": dropped, "rows": len(rows)}


def _answers_with_none(walk: Trajectory) -> bool:
    """Whether its result says that it holds nothing of the type that is asked for."""
    return any(_NONE.match(turn.observation) for turn in walk.turns)


def of_one_hop(question: Question) -> bool:
    return question.structure == "1-hop" or (question.structure == "type" and question.hops == 1)


def repeated(walks: Sequence[Trajectory], copies: Mapping[int, int], seed: int) -> list[Trajectory]:
    """The walks in another order, those with a rare relation several times: `{5: 4}` writes a walk
    four times whose rarest relation at most five walks take. An agent that has seen a relation a
    few times reads the listings in which it is right badly."""
    taken = [set(relations_of(walk)) for walk in walks]
    uses = Counter(relation for relations in taken for relation in relations)
    rows: list[Trajectory] = []
    for walk, relations in zip(walks, taken, strict=True):
        rarest = min((uses[relation] for relation in relations), default=len(walks))
        fitting = [number for limit, number in sorted(copies.items()) if rarest <= limit]
        rows += [walk] * (fitting[0] if fitting else 1)
    random.Random(seed).shuffle(rows)
    return rows


def relations_of(walk: Trajectory) -> Iterator[str]:
    """Those that it asks for triples of."""
    for turn in walk.turns:
        if turn.action.get("tool") == "get_triples":
            yield from turn.action["arguments"].get("relations", ())


def deepest_place(walk: Trajectory) -> int | None:
    """The last place, from 0 on, at which one of its relations stood in the list that it was taken
    from; `None` where a further page of relations was called for."""
    listed: list[str] = []
    places = [0]
    for turn in walk.turns:
        arguments = turn.action.get("arguments", {})
        if turn.action.get("tool") == "get_relations" and "page" in arguments:
            return None
        if turn.listed:
            listed = listed_in(turn)
        relations = arguments.get("relations", ())
        places += [listed.index(relation) for relation in relations if relation in listed]
    return max(places)


def ways_back(source: Path, out: Path, latest: int = 4) -> dict[str, int]:
    """Write the walks that failed and were led back within `latest` turns, no loss on what comes
    before the way back. Returns the counts."""
    counts = {"walks": 0, "ways_back": 0}

    def led_back() -> Iterator[Trajectory]:
        for walk in read_records(source, Trajectory.from_json):
            counts["walks"] += 1
            at = walk.provenance.get("way_back", 0)
            if 0 < at <= latest:
                counts["ways_back"] += 1
                errors = [{"kind": "way_back", "turn": k, "slip": True} for k in range(at)]
                yield replace(walk, provenance={**walk.provenance, "errors": errors})

    write_jsonl(out, (walk.to_json() for walk in led_back()))
    return counts


def first_looks(
    questions: Path, environment: Environment, count: int, seed: int, out: Path
) -> dict[str, int]:
    """Write walks of one turn, the look at the topic: questions of the file with any entity of the
    graph in place of their own. A first call that misspells its topic loses the question, and the
    topics of a few thousand questions do not teach how names are copied. Returns the counts."""
    graph, templates = environment.graph, templates_of(questions)
    rng, provenance = random.Random(seed), environment.provenance

    def looks() -> Iterator[Trajectory]:
        for number in range(count):
            template, topic = rng.choice(templates), graph.entity_at(rng.randrange(graph.size))
            walk = _first_look(environment, about(template, topic, f"look/{number}"))
            yield replace(walk, provenance=provenance)

    write_jsonl(out, (walk.to_json() for walk in looks()))
    return {"looks": count}


def first_relations(
    questions: Path, environment: Environment, count: int, seed: int, out: Path
) -> dict[str, int]:
    """Write walks that take the relation that is listed first and answer with all that it shows:
    one-hop questions of the file about any entity of the graph, at which one relation after the
    other is moved to the first place. Questions take a part of the graph's relations alone, and an
    agent that has not seen one taken leaves it where it is first. Where results show types, no
    question that asks for one: it is not to be answered with what comes first. Returns the
    counts."""
    graph, rng = environment.graph, random.Random(seed)
    entities = entities_having(graph)
    relations = sorted(entities)
    wanted: list[str] = []
    there = reordered(environment, wanted)
    templates = templates_of(questions, "1-hop")
    if environment.config.options.get("show_types"):
        templates = [template for template in templates if not noun_wanted(template, graph)]
    taken = Counter[str]()
    walks: list[Trajectory] = []
    for number in range(count):
        wanted[:] = [relations[number % len(relations)]]
        topic = graph.entity_at(rng.choice(entities[wanted[0]]))
        question = about(rng.choice(templates), topic, f"first/{number}")
        if walk := _first_relation(Episode(question, 0, there), there):
            taken.update(relations_of(walk))
            walks.append(walk)
    rng.shuffle(walks)
    write_jsonl(out, (walk.to_json() for walk in walks))
    return {"walks": len(walks), "relations": len(taken)}


def noun_wanted(question: Question, graph: KnowledgeGraph) -> str:
    """The noun of the type that a question asks for, "" where it asks for none."""
    topics = question.topic_entities
    return wanted_noun(question.text, [kind for one in topics for kind in graph.types(one.id)])


def listed_in(turn: Turn) -> list[str]:
    """The relations that a turn shows, each once."""
    return list(dict.fromkeys(hop.relation for one in turn.listed for hop in one.hops))


def reordered(environment: Environment, wanted: list[str]) -> Environment:
    """The environment, where relations that are wanted come first in each list, in that order."""

    def tools(graph: KnowledgeGraph, settings: Any, rank: Ranker) -> Callable[[Question], ToolBox]:
        def wanted_first(question: str, entity: str, relations: tuple[str, ...]) -> Sequence[str]:
            order = rank(question, entity, relations)
            first = [relation for relation in wanted if relation in order]
            return [*first, *(relation for relation in order if relation not in wanted)]

        return environment.preset.tools(graph, settings, wanted_first)

    preset = replace(environment.preset, tools=tools)
    return Environment(environment.graph, environment.config, preset)


def play(episode: Episode, environment: Environment, action: Call | FinalAnswer) -> None:
    episode.feed(Completion(environment.protocol.render("", action)))


def entities_having(graph: KnowledgeGraph) -> dict[str, list[int]]:
    """The places of the entities that have a relation, by the relation."""
    found: dict[str, list[int]] = {}
    for place in range(graph.size):
        entity = graph.entity_at(place).id
        sides = (graph.flat_relations(entity, direction) for direction in Direction)
        for relation in dict.fromkeys(relation for side in sides for relation, _ in side):
            found.setdefault(relation, []).append(place)
    return found


def templates_of(questions: Path, structure: str = "") -> list[Question]:
    return [
        question
        for question in read_records(questions, Question.from_json)
        if question.text.count(question.topic_entities[0].name) == 1
        and structure in ("", question.structure)
    ]


def about(template: Question, topic: Entity, question_id: str) -> Question:
    """The template's words about another entity."""
    text = template.text.replace(template.topic_entities[0].name, topic.name)
    return Question(question_id, text, (topic,))


def _first_relation(episode: Episode, environment: Environment) -> Trajectory | None:
    """The walk, where its relation shows something else than the topic, on one page."""
    topic = episode.question.topic_entities[0]
    play(episode, environment, Call("get_relations", {"entity": topic.name}))
    if not (listed := listed_in(episode.turns[-1])):
        return None
    asked = {"entity": topic.name, "relations": listed[:1]}
    play(episode, environment, Call("get_triples", asked))
    seen = episode.turns[-1]
    if seen.error or seen.hidden or not ends(seen.triples, topic.id, frozenset()):
        return None
    play(episode, environment, FinalAnswer((reference(result_number(seen.observation)),)))
    return untimed(episode.trajectory("first-relation"))


def _first_look(environment: Environment, question: Question) -> Trajectory:
    tools = environment.toolbox(question)
    episode = environment.agent(question, tools, Log())
    context = next(episode).messages
    episode.close()
    call = Call("get_relations", {"entity": tools.topic_names()[0]})
    turn = Turn(context, environment.protocol.render("", call))
    return Trajectory(
        question,
        environment.name,
        "first-look",
        (turn,),
        None,
        StopReason.MAX_TURNS,
    )
