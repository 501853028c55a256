"""Reranking: the prompt that asks for the most useful relations, and what is made of the answer."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from graphwalker.errors import UserError
from graphwalker.loose_json import string_list
from graphwalker.ranking.bm25 import rank_relations

SHIPPED = Path(__file__).parent / "prompts" / "rerank.txt"
_SLOT = re.compile(r"\{\{(\w+)\}\}")
_SLOTS = {"question", "entity", "relations", "count"}


class Ranker(Protocol):
    """The relations of an entity, most relevant to the question first. May raise `PolicyError`."""

    def __call__(self, question: str, entity: str, relations: tuple[str, ...]) -> Sequence[str]: ...


def bm25(question: str, entity: str, relations: tuple[str, ...]) -> Sequence[str]:
    """The order of BM25 between the question with the entity's name and the relation ids."""
    return rank_relations(f"{question} {entity}", relations)


def load_prompt(path: str = "") -> str:
    """The shipped prompt, or one's own by path. Raises `UserError` for one without our slots."""
    file = Path(path) if path else SHIPPED
    if not file.is_file():
        raise UserError(f"{path}: no such prompt for the reranker")
    text = file.read_text(encoding="utf-8").strip()
    if set(_SLOT.findall(text)) != _SLOTS:
        slots = ", ".join(f"{{{{{slot}}}}}" for slot in sorted(_SLOTS))
        raise UserError(f"{path}: the reranker's prompt has exactly the slots {slots}")
    return text


def fill(prompt: str, question: str, entity: str, relations: Sequence[str], count: int) -> str:
    """The prompt with its slots filled; what fills a slot is never read for slots itself."""
    values = {
        "question": " ".join(question.split()),
        "entity": " ".join(entity.split()),
        "relations": "\n".join(relations),
        "count": str(count),
    }
    return _SLOT.sub(lambda slot: values[slot[1]], prompt)


def chosen(answer: str, relations: Sequence[str]) -> list[str]:
    """The known relations of an answer, each once, in its order; none where it names none.

    >>> chosen('["c.d", "made.up", "c.d"]', ["a.b", "c.d"])
    ['c.d']
    """
    known = set(relations)
    return [name for name in dict.fromkeys(string_list(answer) or ()) if name in known]
