"""The ranker that a setting names: a trained one, BM25, a chat model over it, or the user's own."""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphwalker.errors import UserError
from graphwalker.named import find, is_own
from graphwalker.ranking.bm25 import Ranker, bm25
from graphwalker.ranking.chat import ChatReranker, RerankerConfig

RANKERS: Mapping[str, Ranker] = {"bm25": bm25}


def load_ranker(name: str, reranker: RerankerConfig, count: int) -> Ranker:
    """What orders relations: the folder of a trained ranker, `bm25`, or `module:NAME` of one's
    own, a function `(question, entity, relations) -> order` or a class of objects with such a
    method `rank`.

    A chat model, where `reranker` names one, chooses the best `count` of BM25's first ones.
    Raises `UserError`.
    """
    if reranker.chats:
        if name != "bm25":
            raise UserError(f"ranker={name} and reranker.base_url: set one of them")
        return ChatReranker(reranker, count)
    if is_folder(name):
        from graphwalker.ranking.learned.folder import read_ranker

        return read_ranker(name)
    found: Any = find(RANKERS, name, "ranker")
    if inspect.isclass(found):
        found = found()
    ranker = getattr(found, "rank", found)
    if not callable(ranker):
        raise UserError(f"ranker {name}: neither a function nor an object with a method rank")
    return ranker  # pyright: ignore[reportReturnType]


def is_folder(name: str) -> bool:
    """Whether the setting names the folder of a trained ranker, there or not."""
    return name not in RANKERS and not is_own(name) and ("/" in name or Path(name).is_dir())
