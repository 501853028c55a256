"""The teacher's line to its server: each prompt is paid for once, and never past the cap."""

import hashlib
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from data_pipeline.teacher.config import TeacherConfig
from data_pipeline.teacher.journal import Entry, Journal
from data_pipeline.teacher.parse import Unreadable
from data_pipeline.teacher.prompts import Prompts
from graphwalker.errors import PolicyError, UserError
from graphwalker.files import dumps
from graphwalker.policies.chat.budget import Ledger, Spent, at_worst, unbilled
from graphwalker.policies.chat.client import (
    ChatClient,
    ContextFull,
    Declined,
    Refused,
    Unbilled,
)
from graphwalker.policies.chat.policy import api_key

T = TypeVar("T")
Talk = tuple[dict[str, str], ...]
"""Messages as the server takes them."""


class Unusable(Exception):
    """The teacher gave nothing usable for one prompt; the text is a reason to count drops by."""


class TeacherClient:
    """Asks, reads, asks again where an answer cannot be read; keeps every answer. Thread-safe.

    Raises `UserError` when the server cannot be reached or refuses everybody, when the cap is
    reached, and when it never answers in format: a run ends then, and its answers are kept.
    """

    def __init__(self, config: TeacherConfig, folder: Path) -> None:
        self.config = config
        self.prompts = Prompts(config.prompts_dir)
        key = api_key(config)
        self._journal = Journal(Path(config.cache_dir) if config.cache_dir else folder)
        self._ledger = Ledger(config.prices, self._journal.spent)
        self._client = ChatClient(config, key)
        self._lock = threading.Lock()
        self._flying: dict[str, threading.Lock] = {}
        self._unreadable: Counter[str] = Counter()
        self._end: UserError | None = None

    @property
    def spent(self) -> Spent:
        """What the run and those that it goes on with have cost."""
        return self._ledger.spent

    def ask(
        self,
        purpose: str,
        prompt: str,
        read: Callable[[str], T],
        temperature: float | None = None,
    ) -> T:
        """What `read` makes of the answer. Raises `Unusable` with the reason of a drop."""
        talk: Talk = ({"role": "user", "content": prompt},)
        warmth = self.config.temperature if temperature is None else temperature
        problem = Unreadable("nothing was asked")
        for _ in range(self.config.format_retries + 1):
            answer = self._answer(purpose, talk, warmth)
            try:
                value = read(answer["text"])
            except Unreadable as error:
                problem = error
                if answer["finish"] == "length":
                    problem = Unreadable(f"{error} (cut off at {self.config.max_tokens} tokens)")
                again = self.prompts.fill("again", {"problem": problem})
                said = {"role": "assistant", "content": answer["text"]}
                talk = (*talk[:1], said, {"role": "user", "content": again})
            else:
                self._unreadable[purpose] = 0
                return value
        self._count_unreadable(purpose, problem)
        raise Unusable("unreadable_answer")

    def stop(self) -> None:
        """Send nothing more; what is under way ends as it ends, and is kept."""
        self._client.stop()

    def close(self) -> None:
        """Close connections and journal; no request may be under way."""
        self._client.close()
        self._journal.close()

    def _answer(self, purpose: str, talk: Talk, temperature: float) -> Entry:
        body = self._body(talk, temperature)
        key = hashlib.blake2b(dumps(body).encode(), digest_size=16).hexdigest()
        with self._lock:
            flying = self._flying.setdefault(key, threading.Lock())
        with flying:  # the same prompt from two threads is paid for once
            found = self._journal.find(key)
            if found is None:
                found = self._buy(purpose, key, body)
        with self._lock:
            self._flying.pop(key, None)
        return found

    def _buy(self, purpose: str, key: str, body: dict[str, Any]) -> Entry:
        if self._end is not None:
            raise self._end
        size = sum(len(message["content"].encode()) for message in body["messages"])
        worst = at_worst(self._ledger, size, len(body["messages"]), self.config.max_tokens)

        def send() -> None:
            try:
                self._ledger.reserve(worst)
            except PolicyError as error:
                raise self._over(f"teacher: {error}") from None
            self._journal.write({"key": key, "sent": _booked(worst)})

        def lose() -> None:
            self._journal.write({"key": key, "lost": _booked(worst)})
            self._ledger.settle(worst, worst)

        def again() -> None:
            lose()
            send()

        def free() -> None:
            self._journal.write({"key": key, "free": True})
            self._ledger.settle(worst, unbilled(worst))

        send()
        tokens = size // 4 + self.config.max_tokens
        try:
            answer = self._client.post(body, tokens, again)
        except (ContextFull, Declined) as error:
            free()
            self._count_unreadable(purpose, error)
            raise Unusable("declined_prompt") from None
        except PolicyError as error:
            free() if isinstance(error, Refused | Unbilled) else lose()
            raise self._over(f"teacher: {error}") from None
        actual = self._billed(answer, worst)
        choice = answer["choices"][0]
        entry: Entry = {
            "key": key,
            "for": purpose,
            "text": str(choice["message"].get("content") or ""),
            "finish": "length" if choice.get("finish_reason") == "length" else "stop",
            "paid": _booked(actual),
        }
        self._journal.write(entry)
        self._ledger.settle(worst, actual)
        return entry

    def _body(self, talk: Talk, temperature: float) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.config.model,
            "messages": list(talk),
            "temperature": temperature,
            self.config.token_limit_field: self.config.max_tokens,
            "seed": self.config.seed,
            **self.config.body,
        }
        return {field: value for field, value in body.items() if value is not None}

    def _billed(self, answer: dict[str, Any], worst: Spent) -> Spent:
        """What the server says it used; where it says nothing, the worst."""
        usage = answer.get("usage")
        used = usage if isinstance(usage, dict) else {}
        prompt, completion = used.get("prompt_tokens"), used.get("completion_tokens")
        if not isinstance(prompt, int) or not isinstance(completion, int):
            return worst
        return self._ledger.priced(prompt, completion)

    def _count_unreadable(self, purpose: str, problem: Exception) -> None:
        with self._lock:
            self._unreadable[purpose] += 1
            count = self._unreadable[purpose]
        if count >= self.config.give_up_after:
            raise self._over(
                f"teacher: {self.config.model} gave no usable answer to {count} prompts "
                f"in a row for a {purpose}: {problem}; try another model, a larger "
                "teacher.max_tokens, or prompts of your own (teacher.prompts_dir)"
            )

    def _over(self, line: str) -> UserError:
        """The end of the run, told by every thread alike; nothing more is sent."""
        with self._lock:
            if self._end is None:
                self._end = UserError(f"{line}; what is made is kept, the same command goes on")
        self._client.stop()
        return self._end


def _booked(spent: Spent) -> list[float]:
    return [spent.prompt_tokens, spent.completion_tokens, spent.cost]
