"""Phrases files, made in three ways: from the words in use, from questions, by a chat model."""

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from data_pipeline.phrasing.ask import ask
from data_pipeline.phrasing.config import PhrasesConfig
from data_pipeline.phrasing.files import frames_text, model_text
from data_pipeline.phrasing.mine import mine
from data_pipeline.phrasing.prompt import LOOKED_AT, ShownRelation, facts_of
from data_pipeline.teacher.client import TeacherClient
from data_pipeline.wording.banks.bank import not_asked
from data_pipeline.wording.lexicon import Lexicon
from data_pipeline.wording.own_phrases import used_words_text, words_of_lexicon
from data_pipeline.wording.vocabulary import lexicon_of, most_used, spread
from graphwalker.errors import UserError
from graphwalker.files import write_text
from graphwalker.graphs.base import Direction, KnowledgeGraph
from graphwalker.query.query import Hop

FileFacts = dict[str, Any]
"""What the command prints of a file that was made."""


def as_used(graph: KnowledgeGraph, name: str, out: Path) -> FileFacts:
    """Write the words that are used now, most used relations first."""
    relations = _relations(graph, name)
    write_text(out, used_words_text(name, lexicon_of(graph), relations))
    return {"relations": len(relations), "written": str(out)}


def from_questions(
    graph: KnowledgeGraph, out: Path, files: Sequence[Path], settings: PhrasesConfig
) -> FileFacts:
    """Write how questions of training files ask. Raises `UserError` for test questions."""
    found = mine(files, graph, words_of_lexicon(lexicon_of(graph)))
    write_text(out, frames_text(found, settings.least))
    used = found.counts.pop("used")
    frames = sum(map(len, found.frames.values()))
    facts = {"questions": used + found.counts.total(), "used": used, "frames": frames}
    return {**facts, "hops": len(found.frames), "not used": dict(found.counts), "written": str(out)}


def by_model(
    graph: KnowledgeGraph,
    name: str,
    out: Path,
    settings: PhrasesConfig,
    tick: Callable[[int, int], None],
) -> FileFacts:
    """Write what a chat model says; its answers are kept in `OUT.answers`, and paid for once."""
    lexicon = lexicon_of(graph)
    relations = _of_one_spelling(_relations(graph, name), lexicon)[: settings.most]
    facts = facts_of(graph, relations, list(spread(graph, LOOKED_AT)))
    shown = [
        ShownRelation(relation, *_nouns(lexicon, relation), facts[relation])
        for relation in relations
        if facts[relation]
    ]
    folder = out.with_name(f"{out.name}.answers")
    with closing(TeacherClient(settings.teacher, folder)) as client:
        found = ask(client, shown, settings.teacher.concurrency, tick)
        spent = client.usage
    if not found.kept:
        raise UserError(f"{settings.teacher.model} wrote no usable text: {dict(found.refused)}")
    write_text(out, model_text(name, settings.teacher.model, shown, found))
    return {
        "relations": len(shown),
        "worded": len(found.wordings),
        "texts": found.kept,
        "refused": dict(found.refused),
        "without words": dict(found.unusable),
        "requests": spent.requests,
        "written": str(out),
    }


def _relations(graph: KnowledgeGraph, name: str) -> list[str]:
    relations = most_used(graph)
    if not relations:
        raise UserError(f"{name} cannot list its relations: write the file by hand")
    return relations


def _of_one_spelling(relations: Sequence[str], lexicon: Lexicon) -> list[str]:
    """Without those that nobody asks for, and of a relation and its inverse the more used one."""
    kept: dict[str, None] = {}
    for relation in relations:
        inverse = lexicon.inverse(Hop(relation))
        known = inverse is not None and inverse.relation in kept
        if not known and relation not in not_asked():
            kept[relation] = None
    return list(kept)


def _nouns(lexicon: Lexicon, relation: str) -> tuple[str, str]:
    found = (lexicon.entry(Hop(relation, d)) for d in (Direction.IN, Direction.OUT))
    subject, target = (entry.noun if not entry.generated else "" for entry in found)
    return subject, target
