"""The sessions of an OpenEnv server: each plays one episode at a time, and ends when it is idle."""

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from uuid import uuid4

from graphwalker.agents.environment import Environment
from graphwalker.errors import GraphWalkerError, UserError
from graphwalker.integrations.external_episode import ExternalEpisode, check_reward
from graphwalker.question import Question

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_CHOICES = ("index", "question", "seed")
"""Arguments of `reset`, each of which names a question; `split` is where `index` counts."""


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """What clients may take."""

    sessions: int = 64
    """Sessions at once; one more client is refused."""
    idle_s: float = 600.0
    """A session without a `reset` or a `step` for so long ends, connected or not."""
    message_bytes: int = 256 * 1024
    """Bytes of a message; a longer one ends the connection."""
    request_s: float = 10.0
    """Longest time until a request is whole; a WebSocket is whole once it is open."""


class Full(Exception):
    """As many sessions as are allowed are under way."""


@dataclass(slots=True)
class Session:
    """One client's place: its episode, and the connection that it has now."""

    name: str
    is_kept: bool
    """Whether it outlives its connection: its client gave it a name to come back by."""
    used: float = field(default_factory=time.monotonic)
    episode: ExternalEpisode | None = None
    episode_id: str = ""
    leave: Callable[[], None] = lambda: None
    """Ends the connection; a client that comes back takes the place of its lost self."""
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a message is answered."""


class EpisodeSessions:
    """All sessions over one environment and its questions. Its methods run on the event loop, but
    for `reset` and `step`, which may wait for the graph."""

    def __init__(
        self,
        environment: Environment,
        questions: Sequence[Question],
        reward: str = "em",
        limits: SessionLimits | None = None,
    ) -> None:
        self.environment, self.questions = environment, list(questions)
        self.limits = limits or SessionLimits()
        self._reward = check_reward(reward)
        self._by_id = {question.id: question for question in self.questions}
        self.splits: dict[str, list[Question]] = {}
        for question in self.questions:
            self.splits.setdefault(question.split or "all", []).append(question)
        self._next = count()
        self._sessions: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def enter(self, name: str, leave: Callable[[], None]) -> Session:
        """Return the session of that name, or a new one; without a name it lasts as long as its
        connection. Raises `Full`, and `UserError` for a name that is none."""
        if name and not _NAME.fullmatch(name):
            raise UserError("a session's name has 1 to 64 letters, digits, dots, - and _")
        session = self._sessions.get(name)
        if session is not None:
            session.leave()
        else:
            if len(self._sessions) >= self.limits.sessions:
                raise Full(f"{len(self._sessions)} sessions are under way, the most allowed here")
            session = Session(name or uuid4().hex, bool(name))
            self._sessions[session.name] = session
            self._expire(session)
        session.leave = leave
        return session

    def end(self, session: Session) -> None:
        """Forget the session."""
        if self._sessions.get(session.name) is session:
            del self._sessions[session.name]

    def reset(self, session: Session, data: Mapping[str, Any]) -> dict[str, Any]:
        """Begin an episode. Raises `UserError` and what `ExternalEpisode` does."""
        session.used, session.episode = time.monotonic(), None
        question = self._question(data)
        episode_id = data.get("episode_id")
        session.episode_id = episode_id[:255] if isinstance(episode_id, str) else uuid4().hex
        session.episode = ExternalEpisode(self.environment, question, self._reward)
        return _observation(session.episode, None)

    def step(self, session: Session, data: Mapping[str, Any]) -> dict[str, Any]:
        """Play a turn. Raises `UserError`; after an infrastructure failure there is no episode."""
        session.used, episode = time.monotonic(), session.episode
        if episode is None:
            raise UserError("no episode is under way: send reset")
        text = data.get("text")
        if not isinstance(text, str) or set(data) - {"text", "metadata"}:
            raise UserError('an action is {"text": what the model wrote}')
        try:
            episode.play(text)
        except UserError:
            raise
        except GraphWalkerError:
            session.episode = None
            raise
        return _observation(episode, episode.reward)

    def split(self, name: Any) -> list[Question]:
        """Return the questions of a split. Raises `UserError` for one that is not here."""
        if not isinstance(name, str) or name not in self.splits:
            raise UserError(f"no split {name!r:.60}; there are {', '.join(self.splits)}")
        return self.splits[name]

    def state(self, session: Session) -> dict[str, Any]:
        """Return where the session stands, with the last reply for a client that missed it."""
        episode = session.episode
        return {
            "episode_id": session.episode_id or None,
            "step_count": episode.steps if episode else 0,
            "session": session.name,
            "questions": len(self.questions),
            "last": _observation(episode, episode.reward if episode.steps else None)
            if episode
            else None,
        }

    def _question(self, data: Mapping[str, Any]) -> Question:
        known = (*_CHOICES, "split", "episode_id")
        if unknown := set(data) - set(known):
            raise UserError(
                f"reset: unknown argument {sorted(unknown)[0]!r:.60}; known: {', '.join(known)}"
            )
        given = {key: data[key] for key in _CHOICES if data.get(key) is not None}
        wanted = given.pop("question", None)
        if wanted is not None:
            if not isinstance(wanted, str) or wanted not in self._by_id:
                raise UserError(f"reset: no question has the id {wanted!r:.60}")
            return self._by_id[wanted]
        split = data.get("split")
        questions = self.questions if split is None else self.split(split)
        index = given.get("index", given.get("seed"))
        index = next(self._next) if index is None else index
        if type(index) is not int or index < 0:
            raise UserError(f"reset: index and seed are numbers from 0 on, not {index!r:.60}")
        if "index" in given and index >= len(questions):
            raise UserError(f"reset: index={index}, and there are {len(questions)} questions")
        return questions[index % len(questions)]

    def _expire(self, session: Session) -> None:
        """End the session once it was idle for too long; look again when it may be."""
        left = session.used + self.limits.idle_s - time.monotonic()
        if self._sessions.get(session.name) is not session:
            return
        if left <= 0 and not session.turn.locked():
            self.end(session)
            session.leave()
            return
        asyncio.get_running_loop().call_later(max(left, 0.05), self._expire, session)


def _observation(episode: ExternalEpisode, reward: float | None) -> dict[str, Any]:
    shown = {**episode.to_json(), "question_id": episode.question.id}
    return {"observation": shown, "reward": reward, "done": episode.done}
