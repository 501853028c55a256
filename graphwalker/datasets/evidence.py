"""Evidence of yes-no questions (CoLoTa, CR-LT): its triples read from texts, and as a graph.

Two faults of the published files are met here: a text that is no triple, and evidence that belongs
to another variant of its question. Both are set aside, and named.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from graphwalker.errors import UserError
from graphwalker.graphs.names import fold
from graphwalker.question import Question

EVIDENCE = "evidence"
"""The annotation of a question's own usable triples, once `with_evidence` has read a file."""
_QUALIFIER = re.compile(r"\{([^{}]*)\}")
_VALUE = re.compile(
    r"[+-]?\d[\d,.]*|\d{1,2}\.? (?:century|millennium).*|\d{1,2} [A-Z][a-z]+ \d{3,4}"
    r"|[+-]?\d[\d,.]*(?: [^\d\s]\S*){1,3}"
)


@dataclass(frozen=True, slots=True)
class EvidenceTriple:
    """One triple in words, with its qualifiers."""

    head: str
    relation: str
    tail: str
    qualifiers: tuple[tuple[str, str], ...] = ()

    @property
    def tail_is_value(self) -> bool:
        """Whether the tail is a number or a date, and stands alone."""
        return not self.qualifiers and _VALUE.fullmatch(self.tail) is not None


@dataclass(frozen=True, slots=True)
class WithEvidence:
    """Questions of one file, each with its usable triples, and what was set aside."""

    questions: list[Question]
    unread: list[str] = field(default_factory=list[str])
    """`ID: text` of texts that are no triples."""
    foreign: list[str] = field(default_factory=list[str])
    """Ids of questions whose triples do not name their topic, and that no others could replace."""
    joined: list[str] = field(default_factory=list[str])
    """Ids of questions that got their triples from other records, by the topic's name."""

    @property
    def usable(self) -> list[Question]:
        """The questions that have evidence."""
        return [question for question in self.questions if evidence_of(question)]


def read_triples(text: str, heads: Iterable[str] = ()) -> list[EvidenceTriple]:
    """Return the triples in a text, `(h, r, t)` each. Commas may stand in t, and in h where it is
    one of `heads`. Raises `UserError` for a text that is none.

    >>> [one] = read_triples("(Ada, position held, Mayor of Ro, Italy, {replaces, Bo})")
    >>> one.relation, one.tail, one.qualifiers
    ('position held', 'Mayor of Ro, Italy', (('replaces', 'Bo'),))
    """
    names = sorted(heads, key=len, reverse=True)
    return [_triple(body, names) for body in _bodies(text)]


def evidence_of(question: Question) -> tuple[EvidenceTriple, ...]:
    """Return the question's triples, where they name its topic; else none."""
    stored = question.annotations.get(EVIDENCE)
    if stored is not None:
        return tuple(EvidenceTriple(h, r, t, tuple(map(tuple, q))) for h, r, t, q in stored)
    found, _ = _own(question)
    return tuple(found) if _names_topic(question, found) else ()


def with_evidence(questions: Sequence[Question]) -> WithEvidence:
    """Return each question with the triples that count for it: its own where they name its topic,
    else those of the file that begin at it."""
    own: list[list[EvidenceTriple]] = []
    result = WithEvidence([])
    for question in questions:
        found, bad = _own(question)
        own.append(found)
        result.unread.extend(f"{question.id}: {text}" for text in bad)
    by_head: dict[str, list[EvidenceTriple]] = {}
    for one in dict.fromkeys(triple for found in own for triple in found):
        by_head.setdefault(fold(one.head), []).append(one)
    for question, found in zip(questions, own, strict=True):
        if not _names_topic(question, found):
            topics = [fold(topic.name) for topic in question.topic_entities]
            found = [triple for topic in topics for triple in by_head.get(topic, ())]
            (result.joined if found else result.foreign).append(question.id)
        stored = [[t.head, t.relation, t.tail, [list(q) for q in t.qualifiers]] for t in found]
        annotations = {**question.annotations, EVIDENCE: stored}
        result.questions.append(replace(question, annotations=annotations))
    return result


def graph_records(questions: Sequence[Question]) -> Iterator[dict[str, Any]]:
    """Yield the union of usable evidence as records of a property graph (`graph build --property`).

    A topic's node has its Wikidata id, any other its name: nodes of one name are one node. A tail
    that is a number or a date becomes a property of its head.
    """
    ids = {fold(t.name): t for q in questions for t in q.topic_entities if t.id}
    triples = list(dict.fromkeys(t for q in questions for t in evidence_of(q)))
    names: dict[str, str] = {}
    values: dict[str, dict[str, list[str]]] = {}

    def node(name: str) -> str:
        topic = ids.get(fold(name))
        key = topic.id if topic else name.lstrip('"') or name
        names.setdefault(key, topic.name if topic else name)
        return key

    edges: list[dict[str, Any]] = []
    for one in triples:
        head = node(one.head)
        if one.tail_is_value:
            values.setdefault(head, {}).setdefault(one.relation, []).append(one.tail)
            continue
        edge = {"start": {"id": head}, "label": one.relation, "end": {"id": node(one.tail)}}
        edges.append({"type": "relationship", **edge, "properties": _merge(one.qualifiers)})
    for key, name in names.items():
        properties = {"name": name, **values.get(key, {})}
        yield {"type": "node", "id": key, "labels": ["entity"], "properties": properties}
    yield from edges


def _own(question: Question) -> tuple[list[EvidenceTriple], list[str]]:
    """Return the triples of the question's record, and the texts that are none."""
    heads = [topic.name for topic in question.topic_entities]
    found: list[EvidenceTriple] = []
    bad: list[str] = []
    for text in question.annotations.get("triples", ()):
        try:
            found += read_triples(str(text), heads)
        except UserError:
            bad.append(str(text))
    return found, bad


def _names_topic(question: Question, triples: Sequence[EvidenceTriple]) -> bool:
    heads = {fold(triple.head) for triple in triples}
    return any(fold(topic.name) in heads for topic in question.topic_entities)


def _bodies(text: str) -> Iterator[str]:
    """Yield what stands between the outermost parentheses."""
    depth = start = 0
    found = False
    for place, letter in enumerate(text):
        if letter == "(":
            start = place + 1 if depth == 0 else start
            depth += 1
        elif letter == ")" and depth:
            depth -= 1
            if depth == 0:
                found = True
                yield text[start:place]
    if depth or not found:
        raise UserError(f"no triple (head, relation, tail): {text[:80]!r}")


def _triple(body: str, names: Sequence[str]) -> EvidenceTriple:
    known = next((n for n in names if fold(body).startswith(f"{fold(n)},")), None)
    parts = [known or "", body[len(known) + 1 :]] if known else body.split(",", 1)
    relation, comma, rest = parts[-1].partition(",")
    if len(parts) < 2 or not comma:
        raise UserError(f"no triple (head, relation, tail): {body[:80]!r}")
    qualifiers: list[tuple[str, str]] = []
    for inner in _QUALIFIER.findall(rest):
        key, comma, value = inner.partition(",")
        if not comma:  # `{represents Some Party}`
            key, _, value = inner.strip().partition(" ")
        qualifiers.append((key.strip(), value.strip()))
    tail = _QUALIFIER.sub("", rest).strip().rstrip(",").strip()
    head, relation = parts[0].strip(), relation.strip()
    if not head or not relation or not tail or "{" in tail or "}" in tail:
        raise UserError(f"no triple (head, relation, tail): {body[:80]!r}")
    return EvidenceTriple(head, relation, tail, tuple(qualifiers))


def _merge(qualifiers: Sequence[tuple[str, str]]) -> dict[str, str]:
    merged: dict[str, str] = {}
    for key, value in qualifiers:
        merged[key] = f"{merged[key]}; {value}" if key in merged else value
    return merged
