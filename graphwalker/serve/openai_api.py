"""The whole agent as one OpenAI-compatible model: a chat's last user message is the question."""

import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, cast

from graphwalker.errors import UserError
from graphwalker.policies.base import Sampling
from graphwalker.serve.sessions import Event

Json = dict[str, Any]


def question_text(body: Mapping[str, Any]) -> str:
    """The last user message of a chat request. Raises `UserError`."""
    messages = body.get("messages")
    for message in reversed(cast(list[Any], messages) if isinstance(messages, list) else []):
        if isinstance(message, dict) and message.get("role") == "user":  # pyright: ignore[reportUnknownMemberType]
            return _text(cast(Json, message).get("content"))
    raise UserError("messages must hold a user message: it is the question")


def _text(content: Any) -> str:
    """A plain text, or the text parts of a list of parts."""
    if isinstance(content, list):
        parts = [cast(Json, p) for p in cast(list[Any], content) if isinstance(p, dict)]
        content = "\n".join(str(p.get("text", "")) for p in parts if p.get("type") == "text")
    if not isinstance(content, str):
        raise UserError("the content of a message must be a text")
    return content


def read_sampling(body: Mapping[str, Any], max_tokens: int) -> Sampling:
    """Greedy unless a temperature is asked for; `max_tokens` is of a turn. Raises `UserError`."""
    temperature, top_p = _number(body, "temperature", 0.0, 2.0), _number(body, "top_p", 1.0, 1.0)
    seed = body.get("seed", 0) or 0
    if not isinstance(seed, int) or top_p == 0:
        raise UserError("seed must be an integer, and top_p more than 0")
    if body.get("n", 1) not in (1, None):
        raise UserError("n must be 1: one request is one episode")
    return Sampling(temperature, top_p, max_tokens, seed)


def _number(body: Mapping[str, Any], name: str, default: float, most: float) -> float:
    value = body.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise UserError(f"{name} must be a number from 0 to {most:g}")
    return float(value)


def answer_text(end: Event) -> str:
    """The answer as text: one name per line; a sentence where there is none."""
    if not end.get("answered"):
        return "I found no answer."
    return "\n".join(one["name"] for one in end["answer"]) or "Nothing."


class Reply:
    """One chat completion in the making: its id, and its chunks or its whole."""

    def __init__(self, model: str) -> None:
        self._head: Json = {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "created": int(time.time()),
            "model": model,
        }
        self.turns: list[Event] = []

    def chunks(self, event: Event) -> Sequence[Json]:
        """What a stream says about an event: turns as reasoning, the answer as content."""
        if event["type"] == "turn":
            return [self._chunk({"role": "assistant", "reasoning_content": turn_text(event)})]
        if event["type"] == "end":
            text = self._chunk({"role": "assistant", "content": answer_text(event)})
            return [text, {**self._chunk({}, "stop"), "usage": _usage(event)}]
        if event["type"] == "retry":
            text = "(This attempt failed and begins again.)\n"
            return [self._chunk({"role": "assistant", "reasoning_content": text})]
        return [error_body(event["error"], "server_error")]

    def whole(self, end: Event) -> Json:
        """The completion; `graphwalker` holds the walk and the answers with their ids."""
        message = {
            "role": "assistant",
            "content": answer_text(end),
            "reasoning_content": "".join(map(turn_text, self.turns)),
        }
        return {
            **self._head,
            "object": "chat.completion",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": _usage(end),
            "graphwalker": {**end, "turns": self.turns},
        }

    def _chunk(self, delta: Json, finish: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {**self._head, "object": "chat.completion.chunk", "choices": [choice]}


def turn_text(turn: Event) -> str:
    """A turn as text: what the agent wrote and what it saw."""
    seen = f"\n{turn['observation']}" if turn["observation"] else ""
    return f"{turn['completion']}{seen}\n"


def error_body(message: str, kind: str = "invalid_request_error") -> Json:
    """An error in OpenAI's form."""
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def _usage(end: Event) -> Json:
    usage = cast(Mapping[str, float], end.get("usage", {}))
    prompt, completion = (int(usage.get(f"{k}_tokens", 0)) for k in ("prompt", "completion"))
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
