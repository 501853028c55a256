"""Gold relation paths of questions as typed queries, their directions found by execution."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from graphwalker.files import read_json
from graphwalker.graphs.base import FLATTENED, Direction, Entity, KnowledgeGraph, Side
from graphwalker.query.directed import (
    FRONTIER_LIMIT,
    LONGEST_PATH,
    Way,
    chains,
    conjunctions,
    inverses,
)
from graphwalker.query.query import Hop, Query, execute
from graphwalker.query.stated import from_s_expression, says_all, walks
from graphwalker.question import Answer, Question
from graphwalker.scoring import GoldSet, compare

EQUAL = "equal"
FITS = (EQUAL, "superset", "subset", "overlap", "disjoint")
"""What a query's executed answers are to the gold answers of its question: the same set, more
(`superset`), fewer (`subset`), some right and some wrong, or none of them. A path is never given a
query that is `disjoint`; a query that the record had may be."""
REASONS = {
    "no_path": "the record has no relation path",
    "no_walk": "its SPARQL is no walk from a topic entity (it counts, joins other patterns, ...)",
    "path_too_long": f"the path has more than {LONGEST_PATH} hops",
    "no_topic": "no topic entity has an id on this graph",
    "topic_not_in_graph": "the graph has no triple of the topic entity",
    "no_way": "the path leads nowhere, in whatever directions",
    "too_wide": "too many entities on the way",
    "no_gold_answer": "the path leads somewhere, but to no gold answer",
    "ambiguous": "several choices of directions fit the gold answers equally well",
}
"""Why a record keeps no query."""
_PROPERTY = re.compile(r"P\d+\b")
_DIRECT = re.compile(r"wdt\.(P\d+)(?:\.\w*)?")
EXECUTED, NO_QUERY = "executed", "no_query"
"""Where a record says it, under `query`: `executed` is one of `FITS`, `no_query` of `REASONS`."""
LABEL = "relation_label"
"""Where a record has the last part of its relation alone."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """Questions, and how many of them have a query and what it finds."""

    questions: list[Question]
    counts: Counter[str]
    """By `FITS` and `REASONS`."""

    def summary(self) -> dict[str, Any]:
        """Return as JSON how many questions have a query, how answers fit, why others have none."""
        fits = {fit: self.counts[fit] for fit in FITS}
        reasons = {reason: self.counts[reason] for reason in REASONS if self.counts[reason]}
        return {
            "questions": self.counts.total(),
            "with_query": sum(fits.values()),
            "executed": fits,
            "no_query": reasons,
        }


def resolve(questions: Iterable[Question], graph: KnowledgeGraph) -> Resolution:
    """Give every question with a gold relation path the query that walks it on this graph.

    The gold answers stay as they are; `annotations["executed"]` says what the query's answers are
    to them. A query that is there already is executed and keeps. Raises `GraphError`.
    """
    done = [resolve_one(question, graph) for question in questions]
    counts = Counter(str(q.annotations.get(EXECUTED) or q.annotations[NO_QUERY]) for q in done)
    return Resolution(done, counts)


def resolve_one(question: Question, graph: KnowledgeGraph) -> Question:
    """`resolve` of one question."""
    graph = graph.for_question(question)
    known = {k: v for k, v in question.annotations.items() if k not in (EXECUTED, NO_QUERY)}
    gold = GoldSet.of(question.answers)
    if question.query is not None:
        found = execute(graph, question.query, FRONTIER_LIMIT).answers
        way: Way | str = Way(question.query, found)
    else:
        way = _way(question, graph, gold)
    if isinstance(way, str):
        return replace(question, annotations={**known, NO_QUERY: way})
    if not question.answers:  # the record states its query alone
        found = tuple(Answer(end.name or end.id, end.id) for end in way.answers or ())
        question = replace(question, answers=found)
        gold = GoldSet.of(found)
    return replace(question, query=way.query, annotations={**known, EXECUTED: _fit(way, gold)})


def states_query(question: Question) -> bool:
    """Return whether its record states what it asks, in a form that may become a query."""
    return bool(gold_path(question) or stated_sparql(question))


def stated_sparql(question: Question) -> list[str]:
    """Return the SPARQL of its record, one for each parse, or made of its s-expression.

    Raises `UserError` for an s-expression that is not read.
    """
    known = question.annotations
    rows: list[dict[str, Any]] = known.get("parses") or []
    texts = [known.get("sparql"), *(row.get("sparql") for row in rows)]
    found = [text for text in texts if isinstance(text, str) and text.strip()]
    if not found and (expression := known.get("s_expression")):
        return [from_s_expression(str(expression))]
    return found


def gold_path(question: Question) -> tuple[str, ...]:
    """Return the relations of its gold path as the dataset gives them, `~` before inverse ones.

    Of SimpleQuestions with topic entities, whose records name no relation: the last part of its id.
    """
    if label := question.annotations.get(LABEL):
        return (str(label),)
    parses: list[dict[str, Any]] = question.annotations.get("parses") or [{}]
    path = question.annotations.get("relation_path") or parses[0].get("chain") or ()
    return tuple(map(str, path)) if isinstance(path, list | tuple) else ()  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _of_label(graph: KnowledgeGraph, topics: Sequence[Entity], label: str) -> list[str]:
    """Return the relations of the topic entities whose ids end in a label."""
    sides = [Side(topic.id, direction) for topic in topics for direction in Direction]
    found = {relation for own in graph.relations_many(sides) for relation, _ in own}
    return sorted(one for one in found if one.rpartition(".")[2] == label)


def _way(question: Question, graph: KnowledgeGraph, gold: GoldSet) -> Way | str:
    """Return the way that fits the gold answers best, or why there is none."""
    path = gold_path(question)
    topics = [topic for topic in question.topic_entities if topic.id]
    stated, tried = _stated_ways(question, graph, topics, gold)
    if stated is not None or (stated_sparql(question) and not path):
        return stated or _why_not(tried, graph, topics)
    if not path or len(path) > LONGEST_PATH:
        return "path_too_long" if path else "no_path"
    if not topics:
        return "no_topic"
    is_label = bool(question.annotations.get(LABEL))
    paths = [(one,) for one in _of_label(graph, topics, path[0])] if is_label else [path]
    ways = [way for one in paths for way in chains(graph, topics, one)]
    walked = [way for way in ways if way.answers is not None]
    best = list(_best(walked, gold))
    if not best or _fit(best[0], gold) != EQUAL:
        # A record does not say whether its relations are a chain or meet in the answers, whether a
        # walk may come back to its topic, nor that it was written for a graph with both of two
        # inverse relations. Of these readings only one that finds exactly the gold is believed.
        others = conjunctions(graph, topics, path) + [o for w in best for o in _other(graph, w)]
        best = [way for way in others if _fit(way, gold) == EQUAL][:1] or best
    if not ways and not _is_known(graph, topics):
        return "topic_not_in_graph"
    if not best:
        return "no_gold_answer" if walked else "too_wide" if ways else "no_way"
    # Two ways to the same entities ask the same: the one with more hops out stands first.
    different = {frozenset(end.id for end in way.answers or ()) for way in best}
    return best[0] if len(different) == 1 else "ambiguous"


def _is_known(graph: KnowledgeGraph, topics: Sequence[Entity]) -> bool:
    return any(graph.relations_many([Side(t.id, d) for t in topics for d in Direction]))


def _why_not(tried: Sequence[Way], graph: KnowledgeGraph, topics: Sequence[Entity]) -> str:
    """Return why none of the walks of its SPARQL finds a gold answer."""
    if not topics:
        return "no_topic"
    if not tried:
        return "no_walk"
    return "no_gold_answer" if _is_known(graph, topics) else "topic_not_in_graph"


def _stated_ways(
    question: Question, graph: KnowledgeGraph, topics: Sequence[Entity], gold: GoldSet
) -> tuple[Way | None, list[Way]]:
    """Return the walk of its SPARQL that fits the gold answers best, `None` where none finds any;
    and all walks that were tried."""
    ways: list[Way] = []
    for text in stated_sparql(question) if topics else ():
        for stated in walks(text, topics):
            query = _as_named(stated, graph)
            way = Way(query, execute(graph, query, FRONTIER_LIMIT).answers)
            ways.append(way)
            if _fit(way, gold) == EQUAL or (not gold.ids and way.answers and says_all(query, text)):
                return way, ways
    return next(_best(ways, gold), None), ways


@lru_cache(maxsize=4)
def _property_names(graph: KnowledgeGraph) -> dict[str, str]:
    """Return what the graph calls a property of Wikidata: `wdt.P19.place_of_birth` under its layer,
    or the name that a file of names gave it."""
    from graphwalker.graphs.build.build import BUILD_NAME, RENAMED

    found = {m[1]: r for r in graph.relation_ids() if (m := _DIRECT.fullmatch(r))}
    if path := getattr(graph, "path", None):
        built = Path(path).with_name(BUILD_NAME)
        found |= read_json(built).get(RENAMED, {}) if built.is_file() else {}
    return found


def _as_named(query: Query, graph: KnowledgeGraph) -> Query:
    """Return the query with the graph's own names of Wikidata's properties."""
    if graph.is_remote or not any(map(_PROPERTY.match, query.relations)):
        return query
    names = _property_names(graph)

    def rename(hops: Iterable[Hop]) -> tuple[Hop, ...]:
        halves = ((hop.relation.split(FLATTENED), hop.direction) for hop in hops)
        return tuple(Hop(FLATTENED.join(names.get(h, h) for h in own), d) for own, d in halves)

    branches = tuple(replace(branch, hops=rename(branch.hops)) for branch in query.branches)
    return replace(query, branches=branches, tail=rename(query.tail))


def _other(graph: KnowledgeGraph, way: Way) -> Iterator[Way]:
    """Yield the same path without a return to its topic, and a relation that is its inverse."""
    query = replace(way.query, avoids_topics=True)
    yield Way(query, execute(graph, query, FRONTIER_LIMIT).answers)
    yield from inverses(graph, way)


def _best(ways: Sequence[Way], gold: GoldSet) -> Iterator[Way]:
    """Return those of the highest F1 with the gold answers, none where no way finds any of them."""
    scores = [compare(way.answers, gold)["f1"] for way in ways]
    top = max(scores, default=0.0)
    return (way for way, f1 in zip(ways, scores, strict=True) if f1 == top > 0)


def _fit(way: Way, gold: GoldSet) -> str:
    found = compare(way.answers, gold)
    if found["em"]:
        return EQUAL
    if not found["hit_any"]:
        return "disjoint"
    whole, clean = found["recall"] == 1, found["precision"] == 1
    return "superset" if whole else "subset" if clean else "overlap"
