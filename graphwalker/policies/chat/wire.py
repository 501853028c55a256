"""What is sent to a chat server and what it answers, and the text that an episode records of both.

The text of the functions protocol is what an episode records. A server with `tool_calls` gets the
same conversation taken apart: the tools in `tools` and no longer in the prompt, calls in
`tool_calls`, each tool's answer in a message of its own. Its answer is put together to text again.

An HTTP 200 holds a turn of the model or somebody's failure:

*Retry*
: `error` at the top, in a choice or as the whole body, without a `code` that says more
  (OpenRouter, LiteLLM, vLLM, SGLang); `finish_reason` error, abort, network_error or
  insufficient_system_resource (OpenRouter, vLLM, SGLang, z.AI, DeepSeek); no choices, no message,
  or neither a text nor a reason to end nor a token written (LiteLLM before Gemini, OpenRouter).
  After the last attempt the episode is set aside.

*Set aside*
: `finish_reason` content_filter or sensitive, with or without text (OpenAI, Azure, Gemini, z.AI).
  The episode is an infrastructure failure, which is never scored.

*The model's own*
: `finish_reason` length without text, whether or not `reasoning_content` (llama.cpp, SGLang,
  DeepSeek) or `reasoning` (vLLM, OpenRouter) says why: an empty turn, which is counted. `refusal`
  in place of the content (OpenAI, Azure). Content in parts (Mistral), and null beside `tool_calls`.
  Scored as it stands.

An `error` with a `code` counts as that HTTP status: 402 ends the run, 403 sets the episode aside,
429 is retried. Words of a context that is too long end the episode, as the agent's own doing.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from graphwalker.tokens.tool_calls import UnreadableCall, block_of_tools, neutral, read_calls
from graphwalker.trajectory import Message

Json = dict[str, Any]

_RESPONSE = re.compile(r"<tool_response>\n(.*?)\n</tool_response>\n?", re.DOTALL)
TOO_LONG = ("context_length_exceeded", "maximum context length", "longer than the maximum")
"""Words by which servers say that a conversation is longer than the model's context."""
_FILTERED = frozenset({"content_filter", "sensitive", "content_policy_violation"})
_FAILED = frozenset({"error", "abort", "network_error", "insufficient_system_resource"})
_CUT = frozenset({"length", "max_tokens", "model_context_window_exceeded"})
_REASONING = (
    "reasoning_content",  # DeepSeek, SGLang, llama.cpp
    "reasoning",  # vLLM, OpenRouter, Ollama
    "reasoning_details",
    "thinking",
    "thinking_blocks",  # LiteLLM
)
_REASONING_PARTS = frozenset({"thinking", "redacted_thinking", "reasoning"})
BAD_REQUEST, DECLINED, BAD_GATEWAY = 400, 403, 502


class ServerFailure(NamedTuple):
    """What went wrong inside a 200, as the status that would have said so."""

    status: int
    text: str


def failure_in(body: Json) -> ServerFailure | None:
    """Return the failure that a chat completion holds; `None` where it holds a turn of the model.

    >>> failure_in({"error": {"code": 429, "message": "slow down"}})
    ServerFailure(status=429, text='slow down 429')
    >>> failure_in({"choices": [{"message": {"content": "so"}, "finish_reason": "stop"}]})
    """
    choice = first_choice(body)
    reason = choice.get("finish_reason")
    error = body.get("error") or choice.get("error") or (body if _is_error(body) else None)
    if error:
        return _of_error(error)
    if not isinstance(choice.get("message"), dict):
        return ServerFailure(BAD_GATEWAY, "no chat completion, or one that was cut off")
    if reason in _FILTERED:
        return ServerFailure(DECLINED, f"finish_reason {reason}")
    if reason in _FAILED:
        return ServerFailure(BAD_GATEWAY, f"finish_reason {reason}")
    if is_blank(choice) and (reason is None or (reason not in _CUT and _tokens(body) == 0)):
        return ServerFailure(BAD_GATEWAY, "a completion without any text")
    return None


def first_choice(body: Json) -> Json:
    """Return the first choice of a completion, `{}` where it has none."""
    choices = body.get("choices")
    listed = cast(list[Any], choices) if isinstance(choices, list) else []
    return cast(Json, listed[0]) if listed and isinstance(listed[0], dict) else {}


def finish_of(choice: Json) -> str:
    """`length` where a limit cut the turn, else `stop`."""
    return "length" if choice.get("finish_reason") in _CUT else "stop"


def message_text(message: Json) -> str:
    """Return the words of a message: its content, whole or in parts, or the refusal in its place.

    >>> message_text({"content": [{"type": "thinking"}, {"type": "text", "text": "so"}]})
    'so'
    """
    content = message.get("content")
    if isinstance(content, list):
        parts = [cast(Json, part) for part in cast(list[Any], content) if isinstance(part, dict)]
        content = "".join(
            str(part.get("text") or "") for part in parts if part.get("type") == "text"
        )
    text = content or message.get("refusal")
    return text if isinstance(text, str) else ""


def has_reasoning(message: Json) -> bool:
    """Return whether a message holds reasoning besides its content, or as a part of it.

    >>> has_reasoning({"content": "so", "reasoning_content": "Hm."})
    True
    """
    content = message.get("content")
    parts = cast(list[Any], content) if isinstance(content, list) else []
    kinds = {str(cast(Json, part).get("type")) for part in parts if isinstance(part, dict)}
    return any(message.get(name) for name in _REASONING) or bool(kinds & _REASONING_PARTS)


def error_text(error: Any) -> str:
    """Return what an error says, with its code."""
    if not isinstance(error, dict):
        return str(error)
    fields = cast(Json, error)
    return " ".join(str(fields[key]) for key in ("message", "code") if fields.get(key))


def is_blank(choice: Json) -> bool:
    """Return whether a choice has neither words nor calls."""
    message = cast(Json, choice["message"])
    return not (message_text(message) or message.get("tool_calls"))


def _of_error(error: Any) -> ServerFailure:
    text = error_text(error)
    fields: Json = cast(Json, error) if isinstance(error, dict) else {}
    code = str(fields.get("code"))
    if code.isdecimal() and 400 <= int(code) < 600:
        return ServerFailure(int(code), text)
    if code in _FILTERED:
        return ServerFailure(DECLINED, text)
    too_long = any(words in text.lower() for words in TOO_LONG)
    return ServerFailure(BAD_REQUEST if too_long else BAD_GATEWAY, text)


def _is_error(body: Json) -> bool:
    """Return whether the body is the error: the old form of vLLM and SGLang."""
    return body.get("object") == "error"


def _tokens(body: Json) -> int | None:
    """Completion tokens that the server counted; `None` where it does not say."""
    usage = body.get("usage")
    count = cast(Json, usage).get("completion_tokens") if isinstance(usage, dict) else None
    return count if type(count) is int else None


def to_wire(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> list[Json]:
    """Return the messages as the server takes them. A call that cannot be read stays text, and so
    does what was answered to it: servers refuse calls that are no JSON."""
    block = block_of_tools(tools)
    sent: list[Json] = []
    called: list[Json] = []
    made = 0
    for place, message in enumerate(messages):
        if message.role == "assistant":
            following = messages[place + 1].content if place + 1 < len(messages) else ""
            wire, called = _assistant_message(
                message.content, made, len(_RESPONSE.findall(following))
            )
            made += len(called)
            sent.append(wire)
        elif called:
            sent += _tool_messages(message.content, called)
            called = []
        else:
            text = _RESPONSE.sub(r"\1\n", message.content.replace(block, "")).strip()
            sent.append({"role": message.role, "content": text})
    return sent


def text_of(message: Mapping[str, Any]) -> str:
    """Get the text of a server's message: its words, then its calls, their arguments exactly as the
    server wrote them where that is JSON, else as a string that no parser takes for arguments."""
    content, calls = message_text(dict(message)), message.get("tool_calls")
    parts = [content] if content else []
    listed = cast(list[Any], calls) if isinstance(calls, list) else []
    for call in listed:
        function = cast(Json, call).get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            parts.append(_call_text(cast(Json, function)))
    return "\n".join(parts)


def _assistant_message(text: str, made: int, answers: int) -> tuple[Json, list[Json]]:
    """Return the assistant's message, and its calls where each of them was answered."""
    try:
        before, calls = read_calls(text)
    except UnreadableCall:
        calls, before = [], text
    if not calls or len(calls) != answers:
        return {"role": "assistant", "content": text}, []
    wire: list[Json] = [
        {
            # Nine letters and digits: Mistral's servers refuse any other id.
            "id": f"call{number:05d}",
            "type": "function",
            "function": {
                "name": call.tool,
                "arguments": json.dumps(call.arguments, ensure_ascii=False),
            },
        }
        for number, call in enumerate(calls, start=made)
    ]
    message: Json = {"role": "assistant", "content": before.strip() or None, "tool_calls": wire}
    return message, wire


def _tool_messages(text: str, called: Sequence[Json]) -> list[Json]:
    """Return one message for each call; what stands behind the last is the user's."""
    shown = _RESPONSE.findall(text)
    answers = [
        {"role": "tool", "tool_call_id": call["id"], "content": answer}
        for call, answer in zip(called, shown, strict=True)
    ]
    rest = _RESPONSE.sub("", text).strip()
    return [*answers, {"role": "user", "content": rest}] if rest else answers


def _call_text(function: Mapping[str, Any]) -> str:
    name, arguments = function.get("name"), function.get("arguments") or "{}"
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    if not _is_object(raw):
        raw = json.dumps(raw, ensure_ascii=False)
    body = f'{{"name": {json.dumps(name, ensure_ascii=False)}, "arguments": {raw.strip()}}}'
    return f"<tool_call>\n{neutral(body)}\n</tool_call>"


def _is_object(raw: str) -> bool:
    try:
        return isinstance(json.loads(raw, strict=False), dict)
    except (ValueError, RecursionError):
        return False
