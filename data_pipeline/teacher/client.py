"""The teacher's requests: a prompt, how its answer is read, and when a run is given up."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from data_pipeline.teacher.config import ChatWorkConfig, JudgeConfig, TeacherConfig
from data_pipeline.teacher.parse import Unreadable
from data_pipeline.teacher.prompts import Prompts
from graphwalker.errors import PolicyError, UserError
from graphwalker.policies.chat.client import Completions, Messages
from graphwalker.policies.chat.connection import ContextFull, Declined
from graphwalker.policies.chat.store import StoredAnswer, Usage

T = TypeVar("T")


class Unusable(Exception):
    """The teacher gave nothing usable for one prompt; the text is a reason to count drops by, and
    `detail` says what was wrong with the last answer."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.detail = detail


class TeacherClient:
    """Requests an answer, reads it, requests another where it cannot be read. Thread-safe.

    Every answer is stored, and none is paid for twice. Raises `UserError` when the server cannot be
    reached or refuses everybody, when a cap is reached, and when it never answers as it should: a
    run ends then, and its answers are kept.
    """

    def __init__(self, config: ChatWorkConfig, folder: Path, name: str = "teacher") -> None:
        """`name`: the section of the settings that it is set by, for messages."""
        self.config, self.name = config, name
        self.prompts = Prompts(config.prompts_dir)
        folder = Path(config.cache_dir) if config.cache_dir else folder
        self._completions = Completions(config, config.model, folder)
        self._lock = threading.Lock()
        self._useless: Counter[str] = Counter()
        self._takes_schemas = True
        self._end: UserError | None = None

    @property
    def usage(self) -> Usage:
        """What all that share the folder have cost."""
        return self._completions.usage

    def request(
        self,
        purpose: str,
        prompt: str,
        read: Callable[[str], T],
        temperature: float | None = None,
        max_tokens: int = 0,
        counts: bool = True,
        fields: Sequence[str] = (),
    ) -> T:
        """Return what `read` makes of the answer, which may take `max_tokens` (0: those of the
        settings). Raises `Unusable` with the reason of a drop. `counts`: a useless answer counts
        towards the end of the run. `fields`: what the answer holds; where it cannot be read, the
        server is asked for JSON with these fields."""
        first = {"role": "user", "content": prompt}
        talk: Messages = (first,)
        warmth = self.config.temperature if temperature is None else temperature
        limit = max_tokens or self.config.max_tokens
        problem = Unreadable("nothing was answered")
        for attempt in range(self.config.format_retries + 1):
            schema = _schema(purpose, fields) if attempt and fields else None
            try:
                answer = self._answer(purpose, talk, warmth, limit, schema)
            except (ContextFull, Declined) as error:
                if counts:
                    self.count(f"readable {purpose}", str(error))
                raise Unusable("declined_prompt", str(error)) from None
            try:
                value = read(answer.text)
            except Unreadable as error:
                problem = error
                if answer.finish == "length":
                    problem = Unreadable(f"{error} (cut off at {limit} tokens)")
                again = self.prompts.fill("again", {"problem": problem})
                reply = {"role": "assistant", "content": answer.text}
                talk = (first, reply, {"role": "user", "content": again})
            else:
                self.count(f"readable {purpose}")
                return value
        if counts:
            self.count(f"readable {purpose}", str(problem))
        raise Unusable("unreadable_answer", str(problem))

    def count(self, kind: str, fault: str = "", times: int = 1) -> None:
        """Count an answer of that kind as useful, or as useless for the fault that it has.

        Raises `UserError`, the end of the run, after `times` times `give_up_after` useless ones in
        a row: such a teacher is paid for nothing.
        """
        with self._lock:
            self._useless[kind] = self._useless[kind] + 1 if fault else 0
            count = self._useless[kind]
        if count >= times * self.config.give_up_after:
            raise self._over(
                f"{self.name}: {self.config.model} gave no usable answer {count} times in a row "
                f"({kind}), last: {fault}; try another model, a larger {self.name}.max_tokens, or "
                f"prompts of your own ({self.name}.prompts_dir)"
            )

    def stop(self) -> None:
        """Send nothing more; what is under way ends as it ends, and is kept."""
        self._completions.stop()

    def close(self) -> None:
        """Close connections and store; no request may be under way."""
        self._completions.close()

    def _answer(
        self,
        purpose: str,
        talk: Messages,
        temperature: float,
        max_tokens: int,
        schema: dict[str, Any] | None,
    ) -> StoredAnswer:
        if self._end is not None:
            raise self._end
        schema = schema if self._takes_schemas else None
        try:
            return self._completions.complete(
                talk,
                temperature=temperature,
                max_tokens=max_tokens,
                seed=self.config.seed,
                purpose=purpose,
                response_format=schema,
            )
        except Declined:
            if not schema:
                raise
            # The server may know no `response_format`: it is asked without from now on.
            self._takes_schemas = False
            return self._answer(purpose, talk, temperature, max_tokens, None)
        except ContextFull:
            raise
        except PolicyError as error:
            raise self._over(f"{self.name}: {error}") from None

    def _over(self, line: str) -> UserError:
        """Return the end of the run, the same for every thread; nothing more is sent."""
        with self._lock:
            if self._end is None:
                self._end = UserError(f"{line}; what is made is kept, the same command resumes")
        self._completions.stop()
        return self._end


def _schema(purpose: str, fields: Sequence[str]) -> dict[str, Any]:
    """Return the `response_format` of an answer with these fields; all but scores are text."""
    kind = {"type": "integer" if purpose == "score" else "string"}
    schema = {
        "type": "object",
        "properties": dict.fromkeys(fields, kind),
        "required": list(fields),
        "additionalProperties": False,
    }
    return {
        "type": "json_schema",
        "json_schema": {"name": purpose, "strict": True, "schema": schema},
    }


@dataclass(frozen=True, slots=True)
class Chats:
    """The lines of a run to chat models: to its teacher, and to a judge of its own."""

    teacher: TeacherClient | None
    judge: TeacherClient | None

    @classmethod
    def open(cls, teacher: TeacherConfig, judge: JudgeConfig, out: Path) -> "Chats":
        """Answers are kept in `teacher/` and `judge/` of the run's folder, unless the settings name
        another. Raises `UserError` for a key that would travel unencrypted."""
        return cls(
            TeacherClient(teacher, out / "teacher") if teacher.chats else None,
            TeacherClient(judge, out / "judge", "judge") if judge.chats else None,
        )

    def stop(self) -> None:
        """Send nothing more."""
        for line in self._lines:
            line.stop()

    def close(self) -> None:
        """Close connections and stores; no request may be under way."""
        for line in self._lines:
            line.close()

    @property
    def _lines(self) -> list[TeacherClient]:
        return [line for line in (self.teacher, self.judge) if line]
