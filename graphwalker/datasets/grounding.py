"""Questions met with a graph: names for ids, and ids for the names of topic entities."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from graphwalker.answers.values import value_key
from graphwalker.counts import number_of
from graphwalker.datasets.base import load_questions
from graphwalker.datasets.loaders.other.own_questions import OWN
from graphwalker.datasets.own.resolver import Resolver, Unresolved, join_parts
from graphwalker.datasets.queries import gold_path, resolve_one, states_query
from graphwalker.errors import UserError, nearest
from graphwalker.files import read_jsonl, write_jsonl
from graphwalker.graphs.base import FLATTENED, Direction, Entity, KnowledgeGraph, Side
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.views.sets import GraphSet
from graphwalker.query.query import parse_hop
from graphwalker.question import Answer, Question
from graphwalker.runs import UNRESOLVED

LOOKED_AT = 50
"""Questions, evenly spread, whose topic entities are looked for before a run."""

log = logging.getLogger(__name__)


def refuse_unknown_topics(
    questions: Sequence[Question], graph: KnowledgeGraph, name: str, least: float = 0.0
) -> None:
    """Raise `UserError` where the graph has no triple of any topic entity looked for: an empty
    store, or the graph of other questions, on which every episode would be scored 0. With `least`,
    also where it has triples of a smaller share of them."""
    if isinstance(graph, GraphSet):
        _refuse_unknown_members(questions, graph, name)
        return
    with_topics = [q for q in questions if any(topic.id for topic in q.topic_entities)]
    if not with_topics and all(question.gold for question in questions):
        return  # questions about a whole graph need no place to start from
    count = min(LOOKED_AT, len(with_topics))
    some = [with_topics[i * len(with_topics) // count] for i in range(count)]
    # A topic that is the end of triples alone counts as well.
    sides = [[Side(t.id, d) for t in q.topic_entities if t.id for d in Direction] for q in some]
    needed = list(dict.fromkeys(side for own in sides for side in own))
    relations = dict(zip(needed, graph.relations_many(needed), strict=True))
    known = [any(relations[side] for side in own) for own in sides]
    if questions and not any(known):
        named = next((topic.name for q in questions for topic in q.topic_entities), "none is given")
        looked_for = needed[0].entity_id if needed else named
        raise UserError(
            f"{name}: has no triple of the topic entities of these questions "
            f"({count or len(questions)} looked for, the first {looked_for!r}): "
            "is it their graph, and is it loaded?"
        )
    if known.count(True) < least * count:
        raise UserError(
            f"{name}: has no triple of the topic entities of {known.count(False)} of {count} "
            "questions looked for: is it their graph? ceiling=never evaluates them all the same"
        )
    if missing := known.count(False):
        log.warning("%s: no triple of %d of %d topic entities looked for", name, missing, count)


def _refuse_unknown_members(questions: Sequence[Question], graphs: GraphSet, name: str) -> None:
    missing = [q for q in questions if not graphs.holds(graphs.member_name(q))]
    if missing:
        raise UserError(
            f"{name}: holds no graph {graphs.member_name(missing[0])!r}, which {missing[0].id} "
            f"asks about (as do {len(missing) - 1} more): are these its questions?"
        )


STOP, DROP = "stop", "drop"


def settle(
    questions: Sequence[Question],
    graph: KnowledgeGraph,
    folder: Path,
    unresolved: str = STOP,
    option: str = "unresolved=",
) -> list[Question]:
    """Find the topic entities and answers of questions of one's own; others are left alone.

    What the graph does not settle is written to `unresolved.jsonl` in `folder`, with candidates.
    `unresolved` is `stop`, `drop`, or that file after it was edited: its topics and answers count;
    `option` is how the command at hand spells it. Raises `UserError` for what is left, unless it is
    to be dropped.
    """
    given = [] if unresolved in (STOP, DROP) else load_questions(unresolved, unanswered="keep")
    edited = {question.id: question for question in given}
    resolver, settled, left = Resolver(graph), list[Question](), list[Unresolved]()
    for question in questions:
        latest = replace(edited.get(question.id, question), annotations=question.annotations)
        found = resolver.resolve(latest) if _is_open(latest) else question
        if isinstance(found, Unresolved):
            left.append(found)
        else:
            settled.append(found)
    if left:
        place = folder / UNRESOLVED
        folder.mkdir(parents=True, exist_ok=True)
        rows = [one.to_json(graph) for one in left]
        write_jsonl(place, _keep_edited(place, unresolved, rows))
        first = left[0]
        what = f"{len(left)} of {len(questions)} questions are unresolved, written to {place}"
        if unresolved != DROP or not settled:
            raise UserError(
                f"{what}; the first, {first.question.id}: {'; '.join(first.problems)}. Set topic "
                f"and answer there (an id decides) and give it back as {option}{place}"
                + (f", or leave them out with {option}drop" if unresolved != DROP else "")
            )
        log.warning("%s, and dropped", what)
    return settled


def _keep_edited(place: Path, given: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of a file of unresolved questions with what was edited in the one that is
    there: rows that settle questions where it is given back, else rows of the same questions."""
    before = {str(row.get("id")): row for row in read_jsonl(place)} if place.is_file() else {}
    if given in (STOP, DROP):
        known = ((row, before.get(row["id"], {})) for row in rows)
        return [old if old.get("question") == row["question"] else row for row, old in known]
    if Path(given).resolve() != place.resolve():
        return rows
    left = {row["id"] for row in rows}
    return [*rows, *(row for row_id, row in before.items() if row_id not in left)]


def _is_open(question: Question) -> bool:
    """Return whether a question of one's own still has to be met with the graph."""
    topics = question.topic_entities
    return question.dataset == OWN and not (topics and all(topic.id for topic in topics))


def _settle_one(question: Question, resolver: Resolver) -> Question:
    found = resolver.resolve(question) if _is_open(question) else question
    if isinstance(found, Unresolved):
        raise UserError(
            f"{question.id}: {'; '.join(found.problems)}; `graphwalker dataset check FILE --graph "
            "G` lists all such questions with candidates"
        )
    return found


def ground(questions: Iterable[Question], graph: KnowledgeGraph) -> list[Question]:
    """Fill in what a dataset lacks and the graph knows; nothing that is given changes.

    A topic entity or an answer that is an id only gets the graph's name; a topic entity that is a
    name only gets the id of the first entity of that name. Names of answers that a file divided at
    a comma, as MetaQA's do, are joined where the graph has the whole alone. What the graph does not
    know stays as it is; how many names of answers it does not know is logged. A gold path that the
    record states becomes its query, but where a look-up asks a server. Raises `GraphError` when
    the graph fails.
    """
    resolver = Resolver(graph)
    settled = [_settle_one(question, resolver) for question in questions]
    found = [ground_one(question, graph) for question in settled]
    # An endpoint, which lists no entities, would be asked for each name.
    if graph.size:
        _warn_of_namesakes(settled, graph)
        _warn_of_unknown_relations(settled, graph)
        known = _KnownNames(graph)
        found = [replace(q, answers=_join_divided(q.answers, known)) for q in found]
        needed = (a for q in found for a in q.answers if known.needs(a))
        named = [a for a in needed if a.id or not value_key(a.name)]  # 1.7 may be written 1.70
        if missing := [a.name for a in named if not any(known[n] for n in (a.name, *a.aliases))]:
            log.warning(
                "%d of %d gold answers are no entity of this graph by name, the first %r",
                len(missing), len(named), missing[0],
            )  # fmt: skip
    done = [_with_query(question, graph) for question in found]
    if left := [q.id for before, q in zip(found, done, strict=True) if _has_none(before, q)]:
        log.warning(
            "%d of %d questions have no answers, and their queries find none on this graph (the "
            "first %s): left out", len(left), len(done), left[0],
        )  # fmt: skip
    return [q for before, q in zip(found, done, strict=True) if not _has_none(before, q)]


def _warn_of_namesakes(questions: Sequence[Question], graph: KnowledgeGraph) -> None:
    """Tell of topic entities without an id whose name several entities bear."""
    names = [topic.name for q in questions for topic in q.topic_entities if not topic.id]
    if shared := [name for name in names if len(graph.resolve(name)) > 1]:
        log.warning(
            "%d of %d topic entities without an id bear the name of several entities, the first "
            "%r: the first entity of that name is taken", len(shared), len(names), shared[0],
        )  # fmt: skip


def _warn_of_unknown_relations(questions: Sequence[Question], graph: KnowledgeGraph) -> None:
    """Tell of relations in the paths of questions of one's own that the graph does not have."""
    paths = {q.id: gold_path(q) for q in questions if q.dataset == OWN}
    if not any(paths.values()):
        return
    known = set(graph.relation_ids())
    lacking = [
        (question_id, part)
        for question_id, path in paths.items()
        for hop in path
        for part in parse_hop(hop).relation.split(FLATTENED)
        if part not in known
    ]
    if lacking:
        question_id, relation = lacking[0]
        near = nearest(relation, known)
        log.warning(
            "relation_path: %s no relation of this graph, the first %r of %s%s",
            number_of(len(lacking), "name is", "names are"), relation, question_id,
            f": did you mean {near!r}?" if near else "",
        )  # fmt: skip


def _has_none(before: Question, question: Question) -> bool:
    """Return whether the graph should have given the answers of a question, and has not."""
    return states_query(before) and not (before.answers or question.answers)


def _with_query(question: Question, graph: KnowledgeGraph) -> Question:
    is_stated = question.query is None and states_query(question)
    # A server is asked for the answers alone that nothing else gives.
    can_ask = not graph.is_remote or not question.answers
    return resolve_one(question, graph) if is_stated and can_ask else question


def ground_known(questions: Iterable[Question], graph: KnowledgeGraph) -> list[Question]:
    """Fill in the topic entities and the names that the graph knows. A question of one's own that
    it does not settle stays as it is."""
    resolver = Resolver(graph)
    found = ((q, resolver.resolve(q) if _is_open(q) else q) for q in questions)
    return [ground_one(q if isinstance(one, Unresolved) else one, graph) for q, one in found]


class _KnownNames(dict[str, bool]):
    """Whether an entity of the graph has a name."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        super().__init__()
        self._graph = graph

    def __missing__(self, name: str) -> bool:
        self[name] = known = bool(self._graph.resolve(name))
        return known

    def needs(self, answer: Answer) -> bool:
        """True for an answer that nothing but its name tells."""
        return bool(answer.name) and answer.id in ("", answer.name)


def _join_divided(answers: tuple[Answer, ...], known: _KnownNames) -> tuple[Answer, ...]:
    """Join an unknown answer and the next ones where together they are a known name."""
    if len(answers) < 2 or not all(map(known.needs, answers)):
        return answers
    joined, at = list[Answer](), 0
    names = [answer.name for answer in answers]
    for name, parts in join_parts(names, known.__getitem__, ", "):
        own = answers[at]
        joined.append(own if parts == 1 else Answer(name, own.id and name))
        at += parts
    return tuple(joined)


def ground_one(question: Question, graph: KnowledgeGraph) -> Question:
    """Fill in the ids of its topic entities and the names of its answers that the graph knows."""
    topics = tuple(_topic(entity, question, graph) for entity in question.topic_entities)
    answers = tuple(_answer(answer, question, graph) for answer in question.answers)
    if (topics, answers) == (question.topic_entities, question.answers):
        return question
    return replace(question, topic_entities=topics, answers=answers)


def _topic(entity: Entity, question: Question, graph: KnowledgeGraph) -> Entity:
    own = graph.for_question(question)
    if entity.id and not entity.name:
        return Entity(entity.id, own.name(entity.id))
    if entity.id and not _is_a_name_there(entity, own):
        return entity
    found = own.resolve(entity.name)
    return Entity(found[0].id, entity.name) if found else entity


def _answer(answer: Answer, question: Question, graph: KnowledgeGraph) -> Answer:
    own = graph.for_question(question)
    if answer.name and _is_a_name_there(answer, own) and own.resolve(answer.name):
        return replace(answer, id="")
    if answer.name or not answer.id or is_literal(answer.id):
        return answer
    return replace(answer, name=own.name(answer.id))


def _is_a_name_there(entity: Entity | Answer, graph: KnowledgeGraph) -> bool:
    """Return whether the dataset calls it by its name, as MetaQA does, and the graph by an id."""
    return entity.id == entity.name and not graph.is_remote and not graph.name(entity.id)
