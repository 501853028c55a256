"""The audit of a benchmark on a graph: its gold queries executed, its questions looked through."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from graphwalker.agents.environment import Environment
from graphwalker.ceilings.ceiling import reach_of
from graphwalker.datasets.answers import wikidata_id
from graphwalker.datasets.queries import NO_QUERY, REASONS, gold_path, resolve_one, stated_sparql
from graphwalker.errors import QueryLimitError, UserError
from graphwalker.files import JsonlAppender, read_jsonl
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, OverGraph, Side
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.names import fold
from graphwalker.graphs.ntriples import FREEBASE
from graphwalker.graphs.sparql.graph import SparqlGraph
from graphwalker.graphs.sparql_engine.engine import check_installed
from graphwalker.graphs.sparql_engine.wording import QueryShape, read_shape
from graphwalker.query.directed import FRONTIER_LIMIT
from graphwalker.query.query import execute
from graphwalker.question import Question
from graphwalker.scoring import GoldSet, compare

ANSWERS, SECONDS = 20_000, 60.0
"""A query is given up past so many answers, or seconds."""
_PREFIXES: dict[str, str] = dict.fromkeys(("", "ns", "fb"), FREEBASE)
_ENTITY = re.compile(
    rf"<(?:{re.escape(FREEBASE)}([mg]\.\w+)|(http://www\.wikidata\.org/entity/Q\d+))>"
)
_OUTSIDE = re.compile(r"(?<![?$\w])(?:SERVICE|FROM|LOAD|INSERT|DELETE|DROP|CLEAR)\b", re.IGNORECASE)


class NotExecutedError(UserError):
    """The query could not be executed; says why."""


def run_sparql(graph: KnowledgeGraph, text: str) -> list[Entity]:
    """Tell what the query selects, each once, or whether it holds (ASK). Raises `NotExecutedError`,
    `GraphError` when the graph fails, and another `UserError` without Oxigraph."""
    shape = _read(text)
    if _OUTSIDE.search(shape.text):
        raise NotExecutedError("asks for more than to read this graph")
    while isinstance(graph, OverGraph):
        graph = graph.graph
    if isinstance(graph, SparqlGraph):
        return _ask_endpoint(graph, shape.fill().strip())
    check_installed()
    return _ask_engine(graph, text)


def entities_of(text: str) -> list[str]:
    """Return the ids of the entities that the query names, each once, as a graph has them."""
    found = map(_ENTITY.fullmatch, _read(text).constants)
    return list(dict.fromkeys(one[1] or one[2] for one in found if one))


def _read(text: str) -> QueryShape:
    try:
        return read_shape(text, _PREFIXES)
    except UserError as error:
        raise NotExecutedError(str(error)) from None


def _ask_endpoint(graph: SparqlGraph, query: str) -> list[Entity]:
    if query[:6].upper() != "SELECT":
        raise NotExecutedError("only SELECT is sent to an endpoint")
    is_bounded = "LIMIT" in query.rpartition("}")[2].upper()
    query = re.sub(r"\{(?=\w)", "{ ", query if is_bounded else f"{query}\nLIMIT {ANSWERS + 1}")
    rows = graph.client.rows(f"SELECT {query[6:].lstrip()}")
    ids = list(dict.fromkeys(graph.vocabulary.node_id(row[name]) for row in rows for name in row))
    return _name_all(graph, ids)


def _name_all(graph: KnowledgeGraph, ids: list[str]) -> list[Entity]:
    if len(ids) > ANSWERS:
        raise NotExecutedError(f"more than {ANSWERS:,} answers")
    names = graph.names_many(ids)
    return [Entity(wikidata_id(i) or i, name) for i, name in zip(ids, names, strict=True)]


def _ask_engine(graph: KnowledgeGraph, query: str) -> list[Entity]:
    try:
        found = graph.sparql(query, SECONDS)
    except (UserError, QueryLimitError) as error:
        raise NotExecutedError(str(error)[:160]) from None
    if isinstance(found, bool):
        return [Entity("", str(found))]
    return _name_all(graph, list(dict.fromkeys(end.id for row in found for end in row.values())))


VERDICTS = {
    "equal": "the gold query finds exactly the gold answers",
    "partial": "some of them, or others as well",
    "empty": "nothing, though the graph knows its entities",
    "disjoint": "other answers only",
    "not in this graph": "nothing, and the graph has no triple of an entity of the query",
    "not executed": "the query cannot be run here: see `why`",
    "no gold query": "the record states none",
}
FLAGS = ("answer_in_question", "duplicate_of", "unwinnable")
_OF_PATHS = {
    "no_way": "empty",
    "no_gold_answer": "disjoint",
    "topic_not_in_graph": "not in this graph",
}
_WORD = re.compile(r"\w+")
SHOWN = 5
"""Answers that a record names of those missing and those besides the gold."""


def audit(
    questions: Sequence[Question],
    graph: KnowledgeGraph,
    out: Path,
    environment: Environment | None = None,
    tick: Callable[[int], None] = lambda done: None,
) -> list[dict[str, Any]]:
    """Return the record of each question, in order; `out` gets each as it is made, and keeps those
    that it has. With an environment it is found out whether its tools lead to the answers.

    Raises `UserError` for a file of another graph and without the extra `sparql`, `GraphError` when
    the graph fails.
    """
    about = {"graph": graph.checksum, "with_tools": environment is not None}
    first: dict[str, str] = {}
    with JsonlAppender(out) as kept:  # it has cut away what a killed run left half-written
        known = {record["id"]: record for record in read_jsonl(out)}
        if any(record.get("about") != about for record in known.values()):
            raise UserError(f"{out}: an audit of another graph, or of other parts; take another")
        for done, question in enumerate(questions, start=1):
            same = first.setdefault(fold(question.text), question.id)
            if question.id not in known:
                record = {"id": question.id, **_verdict(question, graph)}
                if named := _named_in(question):
                    record["answer_in_question"] = named[:SHOWN]
                if same != question.id:
                    record["duplicate_of"] = same
                if environment is not None:
                    record["unwinnable"] = not reach_of(question, environment).winnable
                known[question.id] = {**record, "about": about}
                kept.append(known[question.id])
            tick(done)
    return [known[question.id] for question in questions]


def summarise_audit(records: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Count the questions of each verdict and flag, and what their gold was read from."""
    rows = list(records)
    counts = Counter(str(row["verdict"]) for row in rows)
    return {
        "questions": len(rows),
        "verdicts": {name: counts[name] for name in VERDICTS},
        "gold from": dict(Counter(str(row["by"]) for row in rows if row["by"])),
        **{flag: sum(bool(row.get(flag)) for row in rows) for flag in FLAGS},
        "why": dict(Counter(str(row["why"]) for row in rows if row.get("why")).most_common(5)),
    }


def _verdict(question: Question, graph: KnowledgeGraph) -> dict[str, Any]:
    """Return what the gold query finds: the SPARQL as stated, else our query or the gold path."""
    graph = graph.for_question(question)
    try:
        if texts := stated_sparql(question):
            found = [end for text in texts for end in run_sparql(graph, text)]
            if found or question.query is None:
                named = [key for text in texts for key in entities_of(text)]
                return {"by": "sparql", **_compare(found, question, graph, named)}
            # A graph that holds ways through CVT nodes as one relation knows no such pattern.
    except NotExecutedError as error:
        return {"by": "sparql", "verdict": "not executed", "why": str(error)}
    if question.query is None and not gold_path(question):
        return {"by": "", "verdict": "no gold query"}
    by = "walk of the sparql" if texts else "relation path" if gold_path(question) else "query"
    resolved = resolve_one(question, graph)
    if resolved.query is not None:
        found = execute(graph, resolved.query, FRONTIER_LIMIT).answers
        topics = [topic.id for topic in question.topic_entities]
        return {"by": by, **_compare(found, question, graph, topics)}
    reason = str(resolved.annotations[NO_QUERY])
    return {"by": by, "verdict": _OF_PATHS.get(reason, "not executed"), "why": REASONS[reason]}


def _compare(
    found: Sequence[Entity], question: Question, graph: KnowledgeGraph, named: Sequence[str]
) -> dict[str, Any]:
    gold = GoldSet.of(question.answers)
    missing = [a.name or a.id for a in question.answers if not compare(found, [a])["hit_any"]]
    besides = [e.name or e.id for e in found if not compare([e], gold)["hit_any"]]
    counts = {"found": len(found), "gold": len(question.answers)}
    about = {**counts, "missing": missing[:SHOWN], "besides": besides[:SHOWN]}
    # A count of 0 and a plain no say as little as nothing does.
    names_none = all(not end.id or is_literal(end.id) for end in found)
    strange = [k for k in named if k and not _is_known(graph, k)] if names_none else []
    if strange:
        return {"verdict": "not in this graph", **about, "unknown": strange}
    if not found:
        return {"verdict": "empty", **about}
    fit = compare(found, gold)
    verdict = "equal" if fit["em"] else "partial" if fit["hit_any"] else "disjoint"
    return {"verdict": verdict, **about}


def _is_known(graph: KnowledgeGraph, entity_id: str) -> bool:
    return any(graph.relations_many([Side(entity_id, direction) for direction in Direction]))


def _named_in(question: Question) -> list[str]:
    """Get the gold answers that the question names, but for yes, no and what is hardly a name."""
    text = f" {' '.join(_WORD.findall(fold(question.text)))} "
    names = (answer.name for answer in question.answers if not is_literal(answer.id))
    return [n for n in names if len(n) > 2 and f" {' '.join(_WORD.findall(fold(n)))} " in text]
