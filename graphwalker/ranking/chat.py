"""The reranker: a chat model that orders relations, each of its answers paid for once."""

import logging
import re
import threading
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from graphwalker.errors import HopelessError, PolicyError, UserError
from graphwalker.files import cache_folder
from graphwalker.policies.chat.client import Completions
from graphwalker.policies.chat.config import OptionalChatConfig
from graphwalker.policies.chat.store import Usage
from graphwalker.ranking.bm25 import Ranker, bm25
from graphwalker.tokens.loose_json import string_list
from graphwalker.trust import Address, FilePath, Text

log = logging.getLogger(__name__)

SHIPPED = Path(__file__).parent / "prompts" / "rerank.txt"
_SLOT = re.compile(r"\{\{(\w+)\}\}")
_SLOTS = {"question", "entity", "relations", "count"}


class RerankerConfig(OptionalChatConfig):
    """An OpenAI-compatible server that chooses which relations an agent is shown (GraphWalker
    section 3, Table 8). Nothing is sent where all relations would be shown anyway."""

    block = "reranker"

    base_url: Address = ""
    """Address up to and without `/chat/completions`. Empty: BM25 alone."""
    model: Text = ""
    """The model's name on that server (the paper: Qwen2.5-7B-Instruct)."""
    candidates: int = Field(default=100, ge=1)
    """Relations put before the model, BM25's first ones."""
    max_tokens: int = Field(default=1024, ge=16)
    """Completion tokens of one answer; it is drawn at temperature 0."""
    seed: int = 0
    """Sent with every request."""
    prompt: FilePath = ""
    """Your own prompt by path, with the slots of `graphwalker/ranking/prompts/rerank.txt`."""
    cache_dir: FilePath = ""
    """Where answers are kept, for all runs and processes of a machine to share: the same question
    at the same entity shows the same relations in data, training and evaluation. Empty:
    `reranker` in the cache folder of graphwalker."""


class ChatReranker:
    """The best `count` relations of an entity, from BM25's first ones; a `Ranker`. Thread-safe.

    An answer is a function of question, entity and relations alone, not of the thought before it,
    and is kept on disk: one call has one observation, in any run. Invented and repeated relations
    are dropped, BM25's order fills up; an answer that names none leaves BM25's order, which is
    counted and logged. Raises `PolicyError` when the server fails: that is never an observation.
    After such a failure each further request is sent once, until one is answered.
    """

    def __init__(self, config: RerankerConfig, count: int, first: Ranker = bm25) -> None:
        self.config, self._count, self._first = config, count, first
        self._prompt = load_prompt(config.prompt)
        self._completions = Completions(config, config.model, _folder(config))
        self._lock = threading.Lock()
        self._failing = False
        self.answers = self.unreadable = 0

    @property
    def usage(self) -> Usage:
        """What all that share `cache_dir` have paid."""
        return self._completions.usage

    def __call__(self, question: str, entity: str, relations: tuple[str, ...]) -> Sequence[str]:
        ranked = self._first(question, entity, relations)
        if len(ranked) <= self._count:
            return ranked
        offered = ranked[: self.config.candidates]
        wanted = min(self._count, len(offered))
        answer = self._answer(fill(self._prompt, question, entity, offered, wanted))
        names = known_relations(answer, offered)
        self._count_answer(bool(names))
        return tuple(dict.fromkeys((*names, *ranked)))

    def _answer(self, prompt: str) -> str:
        try:
            answer = self._completions.complete(
                [{"role": "user", "content": prompt}],
                temperature=0.0,
                max_tokens=self.config.max_tokens,
                seed=self.config.seed,
                purpose="rerank",
                retries=0 if self._failing else None,
            )
        except PolicyError as error:
            self._failing = True
            kind = HopelessError if isinstance(error, HopelessError) else PolicyError
            raise kind(f"reranker: {error}") from None
        self._failing = False
        return answer.text

    def _count_answer(self, readable: bool) -> None:
        with self._lock:
            self.answers += 1
            self.unreadable += not readable
            logged = not readable and str(self.unreadable).strip("0") == "1"
        if logged:  # the 1st, 10th, 100th, ...
            log.warning(
                "reranker: %d of %d answers of %s named no relation of the list; BM25's order "
                "stands there",
                self.unreadable,
                self.answers,
                self.config.model,
            )


def load_prompt(path: str = "") -> str:
    """Return the shipped prompt, or one's own by path. Raises `UserError` without our slots."""
    file = Path(path) if path else SHIPPED
    if not file.is_file():
        raise UserError(f"{path}: no such prompt for the reranker")
    text = file.read_text(encoding="utf-8").strip()
    if set(_SLOT.findall(text)) != _SLOTS:
        slots = ", ".join(f"{{{{{slot}}}}}" for slot in sorted(_SLOTS))
        raise UserError(f"{path}: the reranker's prompt has exactly the slots {slots}")
    return text


def fill(prompt: str, question: str, entity: str, relations: Sequence[str], count: int) -> str:
    """Return the prompt with its slots filled; what fills a slot is never read for slots itself."""
    values = {
        "question": " ".join(question.split()),
        "entity": " ".join(entity.split()),
        "relations": "\n".join(relations),
        "count": str(count),
    }
    return _SLOT.sub(lambda slot: values[slot[1]], prompt)


def known_relations(answer: str, relations: Sequence[str]) -> list[str]:
    """Return the known relations of an answer, each once, in its order; none where it names none.

    >>> known_relations('["c.d", "made.up", "c.d"]', ["a.b", "c.d"])
    ['c.d']
    """
    known = set(relations)
    return [name for name in dict.fromkeys(string_list(answer) or ()) if name in known]


def _folder(config: RerankerConfig) -> Path:
    if config.cache_dir:
        return Path(config.cache_dir)
    return cache_folder() / "reranker"
