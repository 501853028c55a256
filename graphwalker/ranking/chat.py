"""The reranker: a chat model that orders relations, each of its answers asked for once."""

import hashlib
import json
import logging
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from graphwalker.errors import PolicyError
from graphwalker.policies.chat.budget import Ledger, Spent, at_worst, unbilled
from graphwalker.policies.chat.client import ChatClient, ContextFull, Json, Refused, Unbilled
from graphwalker.policies.chat.policy import api_key
from graphwalker.policies.chat.reranker_config import RerankerConfig
from graphwalker.policies.chat.store import AnswerStore
from graphwalker.ranking.rerank import bm25, chosen, fill, load_prompt

log = logging.getLogger(__name__)


class ChatReranker:
    """The best `count` relations of an entity, from BM25's first ones; a `Ranker`. Thread-safe.

    An answer is a function of question, entity and relations alone, not of the thought before it,
    and is kept on disk: one call has one observation, in any run. Invented and repeated relations
    are left out, BM25's order fills up; an answer that names none leaves BM25's order, which is
    counted and said. Raises `PolicyError` when the server fails: that is never an observation.
    After such a failure each further request is sent once, until one is answered.
    """

    def __init__(self, config: RerankerConfig, count: int) -> None:
        self.config, self._count = config, count
        self._prompt = load_prompt(config.prompt)
        key = api_key(config)
        self._patient = ChatClient(config, key)
        self._hasty = ChatClient(config.model_copy(update={"retries": 0}), key)
        self._store = AnswerStore(_folder(config))
        self._ledger = Ledger(config.prices)
        self._lock = threading.Lock()
        self._flying: dict[str, threading.Lock] = {}
        self._refusal: PolicyError | None = None
        self._failing = False
        self.asked = self.unreadable = 0

    @property
    def spent(self) -> Spent:
        """What this process has paid; the caps of `prices` hold for each process."""
        return self._ledger.spent

    def __call__(self, question: str, entity: str, relations: tuple[str, ...]) -> Sequence[str]:
        ranked = bm25(question, entity, relations)
        if len(ranked) <= self._count:
            return ranked
        offered = ranked[: self.config.candidates]
        wanted = min(self._count, len(offered))
        body = self._body(fill(self._prompt, question, entity, offered, wanted))
        names = chosen(self._answer(body), offered)
        self._note(bool(names))
        return tuple(dict.fromkeys((*names, *ranked)))

    def _note(self, readable: bool) -> None:
        with self._lock:
            self.asked += 1
            self.unreadable += not readable
            told = not readable and str(self.unreadable).strip("0") == "1"
        if told:  # the 1st, 10th, 100th, ...
            log.warning(
                "reranker: %d of %d answers of %s named no relation of the list; BM25's order "
                "stands there",
                self.unreadable,
                self.asked,
                self.config.model,
            )

    def _answer(self, body: Json) -> str:
        text = json.dumps(body, sort_keys=True, ensure_ascii=False)
        key = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
        with self._lock:
            flying = self._flying.setdefault(key, threading.Lock())
        with flying:  # the same prompt from two threads is paid for once
            found = self._store.find(key)
            if found is None:
                found = self._buy(key, body)
        with self._lock:
            self._flying.pop(key, None)
        return found

    def _buy(self, key: str, body: Json) -> str:
        if self._refusal is not None:
            raise self._refusal
        size = len(body["messages"][0]["content"].encode())
        worst = at_worst(self._ledger, size, 1, self.config.max_tokens)
        try:
            self._ledger.reserve(worst)
        except PolicyError as error:
            self._refusal = PolicyError(f"reranker: {error}")
            raise self._refusal from None
        actual = worst
        try:
            client = self._hasty if self._failing else self._patient
            answer = client.post(body, size // 4 + self.config.max_tokens)
            actual = self._billed(answer, worst)
        except PolicyError as error:
            if isinstance(error, Refused | Unbilled | ContextFull):
                actual = unbilled(worst)
            raise self._failed(error) from None
        finally:
            self._ledger.settle(worst, actual)
        self._failing = False
        text = str(answer["choices"][0]["message"].get("content") or "")
        return self._store.keep(key, text, actual)

    def _failed(self, error: PolicyError) -> PolicyError:
        failure = PolicyError(f"reranker: {error}")
        self._failing = True
        if isinstance(error, Refused):
            self._refusal = failure
        return failure

    def _body(self, prompt: str) -> Json:
        body: Json = {
            "model": self.config.model,
            "messages": [{"role": "user", "content": prompt}],
            "temperature": 0.0,
            self.config.token_limit_field: self.config.max_tokens,
            "seed": self.config.seed,
            **self.config.body,
        }
        return {field: value for field, value in body.items() if value is not None}

    def _billed(self, answer: Json, worst: Spent) -> Spent:
        """What the server says it used; where it says nothing, the worst."""
        usage = answer.get("usage")
        used = cast(dict[str, Any], usage) if isinstance(usage, dict) else {}
        prompt, completion = used.get("prompt_tokens"), used.get("completion_tokens")
        if not isinstance(prompt, int) or not isinstance(completion, int):
            return worst
        return self._ledger.priced(prompt, completion)


def _folder(config: RerankerConfig) -> Path:
    if config.cache_dir:
        return Path(config.cache_dir)
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches) / "graphwalker" / "reranker"
