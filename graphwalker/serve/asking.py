"""Asking over HTTP: a request becomes a question, and its session an async stream of events."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

from graphwalker.errors import UserError
from graphwalker.files import dumps
from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.policies.base import Sampling
from graphwalker.question import Question
from graphwalker.serve.ask import NO_TOPIC, find_topic, find_topics
from graphwalker.serve.sessions import Event, Sessions, failure_event


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """What one client may take."""

    max_tokens: int = 512
    """Completion tokens per turn."""
    timeout_s: float = 300.0
    """Longest time for one question."""
    max_body: int = 256 * 1024
    """Bytes of a request."""
    request_s: float = 10.0
    """Longest time until a request is whole; its connection is closed then."""
    connections: int = 512
    """Connections that are open at once."""


MAX_QUESTION = 2000
"""Characters of a question."""
MAX_TOPICS = 8
ENDS = ("end", "error")
TICK_S = 2.0
"""A quiet stream shows every so often that it is alive, and notices that nobody listens."""


def read_question(graph: KnowledgeGraph, text: Any, topics: Any) -> Question:
    """Read the question of a request. Raises `UserError`, and `GraphError`."""
    if not isinstance(text, str) or not text.strip():
        raise UserError("a question is a text that is not empty")
    if len(text) > MAX_QUESTION:
        raise UserError(f"a question has at most {MAX_QUESTION} characters")
    try:
        dumps([text, topics]).encode()
    except (UnicodeEncodeError, ValueError):
        raise UserError("the question is not valid Unicode") from None
    entities = _entities(graph, text, topics)
    if not entities:
        raise UserError(NO_TOPIC)
    return Question("ask", text.strip(), entities, dataset="ask")


def _entities(graph: KnowledgeGraph, text: str, topics: Any) -> tuple[Entity, ...]:
    if topics is None or topics == []:
        return find_topics(graph, text)
    named = cast(list[Any], topics) if isinstance(topics, list) else []
    if not named or len(named) > MAX_TOPICS or not all(isinstance(name, str) for name in named):
        raise UserError(f"topic entities (`topics`) are a list of 1 to {MAX_TOPICS} names or ids")
    return tuple(dict.fromkeys(find_topic(graph, str(name).strip()[:500]) for name in named))


@asynccontextmanager
async def session_events(
    sessions: Sessions,
    question: Question,
    sampling: Sampling,
    timeout_s: float,
    drawn: bool = False,
) -> AsyncGenerator[AsyncIterator[Event | None]]:
    """Yield the events of one question, `None` every few quiet seconds. Leaving the block cancels
    the episode. The time limit begins when its turn has come. Raises `Busy`."""
    loop = asyncio.get_running_loop()
    events: asyncio.Queue[Event] = asyncio.Queue()

    def listen(event: Event) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(events.put_nowait, event)

    task = sessions.ask(question, sampling, listen, drawn)
    try:
        yield _stream(events, lambda: sessions.place(task), timeout_s)
    finally:
        sessions.cancel(task)


WAIT_S = 0.5
"""How often a place in line is looked up."""


async def _stream(
    events: "asyncio.Queue[Event]", place: Callable[[], int], timeout_s: float
) -> AsyncIterator[Event | None]:
    loop = asyncio.get_running_loop()
    deadline, shown = loop.time() + timeout_s, 0
    while True:
        if shown or events.empty():
            now = place()
            deadline = loop.time() + timeout_s if shown else deadline
            if now != shown:
                yield {"type": "queue", "place": now}
            shown = now
        left = deadline - loop.time()
        if left <= 0:
            yield failure_event("timeout", "the time for a question is over")
            return
        try:
            event = await asyncio.wait_for(events.get(), min(left, WAIT_S if shown else TICK_S))
        except TimeoutError:
            yield None
            continue
        yield event
        if event["type"] in ENDS:
            return
