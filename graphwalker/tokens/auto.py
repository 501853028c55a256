"""`format: auto`: the chat template of a model's own tokenizer, as one of our formats."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from graphwalker.errors import UserError
from graphwalker.pretrained.limits import run_limited
from graphwalker.tokens.formats import (
    FORMATS,
    RENDER_S,
    ChatFormat,
    FormatSetting,
    chat_format,
    read_layout,
)
from graphwalker.tokens.segments import prompt_ids, segment_messages
from graphwalker.trajectory import Message

AUTO = "auto"
FIND_S = 60.0
"""Seconds of computing that the comparison with all formats may take."""
DATE = "26 Jul 2024"
"""The day that templates write which name one (Llama 3.1's own default): prompts must not change
from one day to the next."""
_THOUGHT = FORMATS["qwen3"].thought
_PROBE = (
    Message("system", "Walk the graph."),
    Message("user", "Who is it?"),
    Message("assistant", _THOUGHT.replace("{thought}", "Look first.") + "[look]"),
    Message("user", "Ana, Bob"),
    Message("assistant", _THOUGHT.replace("{thought}", "Seen.") + "[Ana]"),
)


def resolve_format(setting: FormatSetting, tokenizer: Any, model: str) -> FormatSetting:
    """Return `setting`, or for `auto` the format that writes what the tokenizer's template writes.

    Known layouts are recognised by what the template renders, not by the model's name; any other
    layout is read off and returned as the fields of a `FormatConfig`. Raises `UserError` naming the
    setting `format` for a tokenizer without a template, and for one whose conversations cannot be
    reproduced id for id.
    """
    if setting != AUTO:
        return setting
    if not getattr(tokenizer, "chat_template", None):
        known = ", ".join(sorted(FORMATS))
        raise UserError(
            f"{model}: its tokenizer has no chat template: set format to one of {known}"
        )
    what = f"{model}: rendering its chat template"
    run_limited(partial(_try_template, tokenizer), what, RENDER_S)
    return run_limited(partial(_find_format, tokenizer, model), what, FIND_S)


def _try_template(tokenizer: Any) -> None:
    """Write the longest conversation. Raises what a broken template raises; one that refuses the
    conversation is not broken."""
    with suppress(ValueError):
        _render([{"role": m.role, "content": m.content} for m in _PROBE], tokenizer, False)


def _find_format(tokenizer: Any, model: str) -> FormatSetting:
    for name, fmt in FORMATS.items():
        if _same_ids(fmt, tokenizer):
            return name
    # The end of a turn is one of the tokenizer's own tokens, often its `eos_token`, but not always.
    for end in dict.fromkeys((tokenizer.eos_token, *tokenizer.get_added_vocab())):
        try:
            found = _read_off(tokenizer, end)
            if _same_ids(chat_format(found), tokenizer):
                return found
        except (UserError, ValueError):
            continue
    raise UserError(
        f"{model}: the chat template of its tokenizer cannot be reproduced id for id while an "
        "episode grows: set format to a known layout, or describe one (docs/training.md)"
    )


def _same_ids(fmt: ChatFormat, tokenizer: Any) -> bool:
    """Tell whether the format writes the probe's conversations and prompts as the template does."""
    for start in (0, 1):
        for length in (2, 4):
            opened = _PROBE[start:length]
            theirs = _template_ids(opened, fmt, tokenizer, open_turn=True)
            if not _equal(prompt_ids(opened, fmt, tokenizer), theirs, fmt, tokenizer):
                return False
        messages = _PROBE[start:]
        segments = segment_messages(messages, fmt, tokenizer)
        ours = [token for segment in segments for token in segment.ids]
        theirs = _template_ids(messages, fmt, tokenizer, open_turn=False)
        rest = tokenizer.encode(fmt.after_turn, add_special_tokens=False)
        if not _equal(ours + rest, theirs, fmt, tokenizer):
            return False
    return True


def _equal(ours: list[int], theirs: list[int] | None, fmt: ChatFormat, tokenizer: Any) -> bool:
    """Return whether both are the same ids. The layout of tiny models has no token between
    messages, and is learned from our segments alone: there the same text is enough."""
    if fmt.name == "inline" and theirs is not None:
        return tokenizer.decode(ours) == tokenizer.decode(theirs)
    return ours == theirs


def _template_ids(
    messages: Sequence[Message], fmt: ChatFormat, tokenizer: Any, *, open_turn: bool
) -> list[int] | None:
    """Return the ids of what the template writes; `None` where it refuses the conversation."""
    tool = "tool_response" in fmt.prefixes["observation"]
    after_agent, spoken = False, list[dict[str, str]]()
    for message in messages:
        role = "tool" if tool and after_agent and message.role == "user" else message.role
        spoken.append({"role": role, "content": message.content})
        after_agent = after_agent or message.role == "assistant"
    try:
        text = _render(spoken, tokenizer, open_turn)
    except ValueError:
        return None
    return tokenizer.encode(text, add_special_tokens=False)


def _render(messages: list[dict[str, str]], tokenizer: Any, open_turn: bool) -> str:
    """Return what the template writes. Raises `ValueError` where it refuses."""
    from jinja2 import TemplateError

    try:
        return tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=open_turn, date_string=DATE
        )
    except (TemplateError, TypeError, AttributeError, KeyError) as error:
        raise ValueError(str(error)) from None


def _read_off(tokenizer: Any, end: str | None) -> dict[str, Any]:
    """Return the layout as fields of a `FormatConfig`, turns ended by the token `end`.

    Raises `ValueError` where there is none.
    """
    if not end:
        raise ValueError

    def render(messages: list[dict[str, str]], open_turn: bool) -> str:
        return _render(messages, tokenizer, open_turn)

    fmt = read_layout(render, end, "template")
    patterns = {
        role: f"{fmt.prefixes[role]}{{content}}{fmt.suffixes[role]}" for role in ("system", "user")
    }
    assistant = f"{fmt.prefixes['assistant']}{{content}}{end}{fmt.after_turn}"
    return {
        **patterns,
        "assistant": assistant,
        "end_of_turn": end,
        "default_system": fmt.default_system,
    }
