"""The summary of a question file: how many, of which split, type and level, answered by what."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from graphwalker.datasets.base import Loaded
from graphwalker.datasets.catalogue import dataset
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.graphs.literals import is_literal
from graphwalker.question import Answer, Question

MANY = 20
"""A facet with more values than this is not counted value by value."""


def summarise(loaded: Loaded) -> dict[str, Any]:
    """Counts of a loaded file, as JSON: by split, structure, hops and facet; topics; answers."""
    questions = loaded.questions
    found = dataset(loaded.dataset)
    return {
        "dataset": loaded.dataset,
        "title": found.title,
        "form": loaded.form,
        "questions": len(questions),
        "published": publication(loaded),
        "with": [path.name for path in loaded.companions],
        "set_aside": loaded.unanswered,
        "notes": loaded.notes,
        "split": _counts(q.split or "(unknown)" for q in questions),
        "structure": _counts(q.structure or "(none)" for q in questions),
        "hops": _counts(str(q.hops or "(unknown)") for q in questions),
        "facets": _facets(questions),
        "topic_entities": _counts(_topics(q.topic_entities) for q in questions),
        "answers_per_question": _counts(_how_many(len(q.answers)) for q in questions),
        "answers": _counts(_answer(a) for q in questions for a in q.answers),
    }


def publication(loaded: Loaded) -> str:
    """Return how the file stands to what was published: `whole: test, 1,639`."""
    sizes = dataset(loaded.dataset).sizes
    if loaded.size:
        named = (loaded.size.split, loaded.size.part, f"{loaded.size.count:,}")
        return f"whole: {', '.join(name for name in named if name)}"
    if not sizes:
        return ""
    listed = (f"{' '.join(n for n in (s.split, s.part) if n)} {s.count:,}" for s in sizes)
    return f"not a whole published file ({'; '.join(text.strip() for text in listed)})"


def must_be_whole(loaded: Loaded) -> None:
    """Raise `UserError` unless the file has exactly the questions of a published one."""
    if loaded.size is None:
        raise UserError(f"{len(loaded.questions):,} questions: {publication(loaded)}")
    if loaded.notes:
        raise UserError("; ".join(loaded.notes))


def _facets(questions: list[Question]) -> dict[str, dict[str, int]]:
    names = dict.fromkeys(name for question in questions for name in question.facets)
    counts = {
        name: _counts(q.facets.get(name, "") or "(none)" for q in questions) for name in names
    }
    return {name: found for name, found in counts.items() if len(found) <= MANY}


def _counts(values: Iterable[str]) -> dict[str, int]:
    """Return the counts, most frequent first."""
    return dict(sorted(Counter(values).items(), key=lambda item: (-item[1], item[0])))


def _topics(entities: tuple[Entity, ...]) -> str:
    if not entities:
        return "none"
    ids, names = all(e.id for e in entities), all(e.name for e in entities)
    return "ids and names" if ids and names else "ids" if ids else "names" if names else "mixed"


def _how_many(count: int) -> str:
    return str(count) if count < 2 else "2 to 5" if count <= 5 else "6 or more"


def _answer(answer: Answer) -> str:
    if is_literal(answer.id):
        return "yes or no" if answer.id.endswith("boolean>") else "date, number or text"
    if not answer.id:
        return "name without id"
    return "id and name" if answer.name else "id without name"
