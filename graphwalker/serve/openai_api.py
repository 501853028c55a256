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
    """Return the last user message of a chat request. Raises `UserError`."""
    messages = body.get("messages")
    for message in reversed(cast(list[Any], messages) if isinstance(messages, list) else []):
        if isinstance(message, dict) and message.get("role") == "user":  # pyright: ignore[reportUnknownMemberType]
            return _text(cast(Json, message).get("content"))
    raise UserError("messages must hold a user message: it is the question")


def _text(content: Any) -> str:
    """Return a plain text, or the text parts of a list of parts."""
    if isinstance(content, list):
        parts = [cast(Json, p) if isinstance(p, dict) else {} for p in cast(list[Any], content)]
        if not all(part.get("type") == "text" for part in parts):
            raise UserError("the content of the question must be text alone")
        content = "\n".join(str(part.get("text", "")) for part in parts)
    if not isinstance(content, str):
        raise UserError("the content of a message must be a text")
    return content


def check_request(body: Mapping[str, Any], model: str) -> None:
    """Raise `UserError` for another model than the one served, and for what this agent cannot do:
    a client that asks for tools or a JSON schema would take the answer for one that has them."""
    name = body.get("model") or model
    if name not in (model, model.partition("/")[2]):
        raise UserError(f"model {str(name)[:80]!r} is not served here; there is {model!r}")
    for field, value in body.items():
        if value and field not in TAKEN and value not in HARMLESS.get(field, ()):
            raise UserError(f"{field[:80]} is nothing that this agent can do; leave it out")
    if not isinstance(body.get("stream") or False, bool):
        raise UserError("stream must be true or false")


TAKEN = (
    "messages", "model", "topics", "stream", "stream_options", "temperature", "top_p", "seed", "n",
    "max_tokens", "max_completion_tokens", "user", "metadata", "service_tier", "safety_identifier",
    "prompt_cache_key", "parallel_tool_calls",
)  # fmt: skip
"""Fields of a request that are followed, or that change no answer."""
HARMLESS = {
    "tool_choice": ("auto", "none"),
    "function_call": ("auto", "none"),
    "response_format": ({"type": "text"},),
    "modalities": (["text"],),
}
"""Values of other fields that ask for what is done anyway, as every empty value does."""


def read_sampling(body: Mapping[str, Any], most_tokens: int) -> Sampling:
    """Return how to draw: greedily unless a temperature is asked for. `max_tokens` is of a turn,
    `most_tokens` at most. Raises `UserError`."""
    temperature, top_p = _number(body, "temperature", 0.0, 2.0), _number(body, "top_p", 1.0, 1.0)
    seed, count = body.get("seed") or 0, body.get("n")
    if type(seed) is not int or top_p == 0:
        raise UserError("seed must be an integer, and top_p more than 0")
    if count is not None and (type(count) is not int or count != 1):
        raise UserError("n must be 1: one request is one episode")
    given = [body.get(name) for name in ("max_tokens", "max_completion_tokens")]
    limits = [most_tokens, *(limit for limit in given if limit is not None)]
    if any(type(limit) is not int or limit < 1 for limit in limits):
        raise UserError("max_tokens must be a number from 1 on: the tokens of a turn")
    return Sampling(temperature, top_p, min(limits), seed)


def _number(body: Mapping[str, Any], name: str, default: float, most: float) -> float:
    value = body.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise UserError(f"{name} must be a number from 0 to {most:g}")
    return float(value)


def answer_text(end: Event) -> str:
    """Return the answer as text: one name per line; a sentence where there is none."""
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
        """Return what a stream says about an event: turns as reasoning, the answer as content."""
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
        """Return the completion; `graphwalker` holds the walk and the answers with their ids."""
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
    """Return a turn as text: what the agent wrote and what it saw."""
    seen = f"\n{turn['observation']}" if turn["observation"] else ""
    return f"{turn['completion']}{seen}\n"


def error_body(message: str, kind: str = "invalid_request_error") -> Json:
    """Return an error in OpenAI's form."""
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def _usage(end: Event) -> Json:
    usage = cast(Mapping[str, float], end.get("usage", {}))
    prompt, completion = (int(usage.get(f"{k}_tokens", 0)) for k in ("prompt", "completion"))
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
