"""The teacher's requests: a prompt, how its answer is read, and when a run is given up."""

import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from data_pipeline.teacher.config import TeacherConfig
from data_pipeline.teacher.parse import Unreadable
from data_pipeline.teacher.prompts import Prompts
from graphwalker.errors import PolicyError, UserError
from graphwalker.policies.chat.client import Completions, Messages
from graphwalker.policies.chat.connection import ContextFull, Declined
from graphwalker.policies.chat.store import Spent, StoredAnswer

T = TypeVar("T")


class Unusable(Exception):
    """The teacher gave nothing usable for one prompt; the text is a reason to count drops by."""


class TeacherClient:
    """Requests an answer, reads it, requests another where it cannot be read. Thread-safe.

    Every answer is stored, and none is paid for twice. Raises `UserError` when the server cannot be
    reached or refuses everybody, when a cap is reached, and when it never answers in format: a run
    ends then, and its answers are kept.
    """

    def __init__(self, config: TeacherConfig, folder: Path) -> None:
        self.config = config
        self.prompts = Prompts(config.prompts_dir)
        folder = Path(config.cache_dir) if config.cache_dir else folder
        self._completions = Completions(config, config.model, folder)
        self._lock = threading.Lock()
        self._unreadable: Counter[str] = Counter()
        self._end: UserError | None = None

    @property
    def spent(self) -> Spent:
        """What all that share the folder have cost."""
        return self._completions.spent

    def request(
        self,
        purpose: str,
        prompt: str,
        read: Callable[[str], T],
        temperature: float | None = None,
    ) -> T:
        """What `read` makes of the answer. Raises `Unusable` with the reason of a drop."""
        first = {"role": "user", "content": prompt}
        talk: Messages = (first,)
        warmth = self.config.temperature if temperature is None else temperature
        problem = Unreadable("nothing was answered")
        for _ in range(self.config.format_retries + 1):
            answer = self._answer(purpose, talk, warmth)
            try:
                value = read(answer.text)
            except Unreadable as error:
                problem = error
                if answer.finish == "length":
                    problem = Unreadable(f"{error} (cut off at {self.config.max_tokens} tokens)")
                again = self.prompts.fill("again", {"problem": problem})
                reply = {"role": "assistant", "content": answer.text}
                talk = (first, reply, {"role": "user", "content": again})
            else:
                self._unreadable[purpose] = 0
                return value
        self._count_unreadable(purpose, problem)
        raise Unusable("unreadable_answer")

    def stop(self) -> None:
        """Send nothing more; what is under way ends as it ends, and is kept."""
        self._completions.stop()

    def close(self) -> None:
        """Close connections and store; no request may be under way."""
        self._completions.close()

    def _answer(self, purpose: str, talk: Messages, temperature: float) -> StoredAnswer:
        if self._end is not None:
            raise self._end
        try:
            return self._completions.complete(
                talk,
                temperature=temperature,
                max_tokens=self.config.max_tokens,
                seed=self.config.seed,
                purpose=purpose,
            )
        except (ContextFull, Declined) as error:
            self._count_unreadable(purpose, error)
            raise Unusable("declined_prompt") from None
        except PolicyError as error:
            raise self._over(f"teacher: {error}") from None

    def _count_unreadable(self, purpose: str, problem: Exception) -> None:
        """Raises the end of the run when a model never gives what is wanted of it."""
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
        """The end of the run, the same for every thread; nothing more is sent."""
        with self._lock:
            if self._end is None:
                self._end = UserError(f"{line}; what is made is kept, the same command resumes")
        self._completions.stop()
        return self._end
