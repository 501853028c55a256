"""Conversations in the text of the functions protocol, as a server with `tool_calls` takes them.

The text is what an episode records. What is sent is the same conversation taken apart: the tools
stand in `tools` and no longer in the prompt, calls in `tool_calls`, each tool's answer in a message
of its own. What comes back is put together to text again.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from graphwalker.policies.chat.replies import message_text
from graphwalker.tokens.tool_calls import UnreadableCall, block_of_tools, neutral, read_calls
from graphwalker.trajectory import Message

Json = dict[str, Any]
_RESPONSE = re.compile(r"<tool_response>\n(.*?)\n</tool_response>\n?", re.DOTALL)


def to_wire(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> list[Json]:
    """The messages as the server takes them. A call that cannot be read stays text, and so does
    what was answered to it: servers refuse calls that are no JSON."""
    block = block_of_tools(tools)
    sent: list[Json] = []
    called: list[Json] = []
    made = 0
    for place, message in enumerate(messages):
        if message.role == "assistant":
            following = messages[place + 1].content if place + 1 < len(messages) else ""
            wire, called = _spoken(message.content, made, len(_RESPONSE.findall(following)))
            made += len(called)
            sent.append(wire)
        elif called:
            sent += _answered(message.content, called)
            called = []
        else:
            text = _RESPONSE.sub(r"\1\n", message.content.replace(block, "")).strip()
            sent.append({"role": message.role, "content": text})
    return sent


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a server's message: its words, then its calls, their arguments exactly as the
    server wrote them where that is JSON, else as a string that no parser takes for arguments."""
    content, calls = message_text(dict(message)), message.get("tool_calls")
    parts = [content] if content else []
    listed = cast(list[Any], calls) if isinstance(calls, list) else []
    for call in listed:
        function = cast(Json, call).get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            parts.append(_written(cast(Json, function)))
    return "\n".join(parts)


def _spoken(text: str, made: int, answers: int) -> tuple[Json, list[Json]]:
    """The assistant's message, and its calls where each of them was answered."""
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


def _answered(text: str, called: Sequence[Json]) -> list[Json]:
    """One message for each call; what stands behind the last is the user's."""
    shown = _RESPONSE.findall(text)
    answers = [
        {"role": "tool", "tool_call_id": call["id"], "content": answer}
        for call, answer in zip(called, shown, strict=True)
    ]
    rest = _RESPONSE.sub("", text).strip()
    return [*answers, {"role": "user", "content": rest}] if rest else answers


def _written(function: Mapping[str, Any]) -> str:
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
