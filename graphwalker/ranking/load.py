"""The ranker that a setting names: a trained one, BM25, a chat model over it, or the user's own."""

import inspect
import reprlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from graphwalker.errors import GraphWalkerError, UserError
from graphwalker.files import digest
from graphwalker.ranking.bm25 import Ranker, bm25, bm25_ids, bm25_stems
from graphwalker.ranking.chat import ChatReranker, RerankerConfig
from graphwalker.settings.named import failure, find, is_own, own

RANKERS: Mapping[str, Ranker] = {"bm25": bm25, "bm25-ids": bm25_ids, "stems": bm25_stems}


def load_ranker(name: str, reranker: RerankerConfig, count: int) -> Ranker:
    """Return what orders relations: the folder of a trained ranker, `bm25`, `bm25-ids` (underscores
    do not separate), `stems` (BM25 over stems and letter trigrams), or `module:NAME` of one's own:
    a function `(question, entity, relations) -> order`, or a class of objects with such a method
    `rank`.

    A chat model, where `reranker` names one, chooses the best `count` of BM25's first ones.
    Raises `UserError`.
    """
    if reranker.chats:
        if name not in RANKERS:
            raise UserError(f"ranker={name} and reranker.base_url: set one of them")
        return ChatReranker(reranker, count, RANKERS[name])
    if is_folder(name):
        from graphwalker.ranking.learned.ranker import read_ranker

        return read_ranker(name)
    found: Any = find(RANKERS, name, "ranker")
    return OwnRanker(name, found) if is_own(name) else found


class OwnRanker:
    """A ranker of the user's own; what is wrong with it is one line that says where it stands."""

    def __init__(self, name: str, found: Any) -> None:
        self._name, self._rank = name, found
        if inspect.isclass(found):
            self._rank = self._call_guarded(found)
        self._rank = getattr(self._rank, "rank", self._rank)
        if not callable(self._rank):
            raise UserError(f"ranker {name}: neither a function nor an object with a method rank")

    def __call__(self, question: str, entity: str, relations: tuple[str, ...]) -> Sequence[str]:
        found: Any = self._call_guarded(self._rank, question, entity, relations)
        if not isinstance(found, Sequence) or isinstance(found, str):
            raise self._wrong(cast(Any, found))
        ranked, known = cast("Sequence[Any]", found), set(relations)
        for relation in ranked:
            if not isinstance(relation, str) or relation not in known:
                raise self._wrong(ranked, f", where {relation!r} is none of the relations")
        return ranked

    def _call_guarded(self, call: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except GraphWalkerError:
            raise
        except Exception as error:
            trace = error.__traceback__
            inside = trace and trace.tb_next  # else the call itself does not fit
            text = failure(error) if inside else f"{type(error).__name__}: {error}{self._place()}"
            raise UserError(f"ranker {self._name}: {text}") from error

    def _wrong(self, ranked: Any, why: str = "") -> UserError:
        return UserError(
            f"ranker {self._name}: returns {reprlib.repr(ranked)}{why}{self._place()}; it must "
            "return a list of relations that it was given"
        )

    def _place(self) -> str:
        """Return where the ranker's code begins."""
        code = getattr(self._rank, "__code__", None)
        return f" ({code.co_filename}, line {code.co_firstlineno})" if code else ""


def is_learned(ranker: Ranker) -> bool:
    """Return whether it is a trained ranker."""
    from graphwalker.ranking.learned.ranker import LearnedRanker

    return isinstance(ranker, LearnedRanker)


def ranker_digest(name: str) -> str:
    """16 characters that tell a trained ranker, or the file of one's own, from any other; `""` for
    ours, which come with the version."""
    if is_folder(name):
        from graphwalker.ranking.learned.ranker import folder_digest

        return folder_digest(name)
    file = inspect.getsourcefile(own(name, "ranker")) if is_own(name) else None
    return digest(file) if file else ""


def trained_ranker(name: str) -> dict[str, str]:
    """Return what a run claims besides a trained ranker's name: its `ranker_digest`."""
    return {"ranker_digest": ranker_digest(name)} if is_folder(name) else {}


def is_folder(name: str) -> bool:
    """Return whether the setting names the folder of a trained ranker, there or not."""
    return name not in RANKERS and not is_own(name) and ("/" in name or Path(name).is_dir())
