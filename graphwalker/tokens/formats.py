"""Chat formats: how messages are laid out for a family of models, ours or the user's own."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ValidationError

from graphwalker.config import Config
from graphwalker.errors import UserError
from graphwalker.tokens.layout import ChatFormat
from graphwalker.tokens.templates import format_of_template
from graphwalker.trust import RUNS, ByHand, OptionalText, Text

ROLES = ("system", "user", "assistant")


class FormatConfig(Config):
    """A chat format of the user's own; each pattern holds `{content}` once."""

    base: Text = ""
    """A known format from which everything that is not given here is taken."""
    template: Annotated[str, ByHand(RUNS)] = ""
    """Instead of `base`: a Jinja chat template, by path, whose layout is read off."""
    bos_token: Text = ""
    """What `template` calls `bos_token`."""
    begin: OptionalText = None
    """Text before the first message."""
    default_system: OptionalText = None
    """What follows `begin` where the first message is not a system message."""
    system: Text = ""
    """A system message: `"<|system|>{content}<|end|>"`."""
    user: Text = ""
    """A user message."""
    observation: Text = ""
    """An observation. By default as a user message; inline, on lines of its own."""
    assistant: Text = ""
    """An agent's message: `"<|assistant|>{content}<|end|>"`, `end_of_turn` right after it."""
    end_of_turn: Text = ""
    """The special token that ends an agent's message."""
    observations: Literal["user", "inline"] = "user"
    """`user`: an observation is a message between two of the agent's. `inline`: it stands inside
    the agent's one message, as in search agents that write on after a result."""


def _headers(template: str) -> dict[str, str]:
    """One text for each role; observations are user messages."""
    texts = {role: template.format(role=role) for role in ROLES}
    return texts | {"observation": texts["user"]}


_LLAMA_HEADER = "<|start_header_id|>{role}<|end_header_id|>\n\n"
_LLAMA_SYSTEM = (
    _LLAMA_HEADER.format(role="system")
    + "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"
)
_CHATML = ChatFormat(
    name="chatml",  # Qwen2.5, without the system message that its template invents
    prefixes=_headers("<|im_start|>{role}\n"),
    suffixes=_headers("<|im_end|>\n"),
    end_of_turn="<|im_end|>",
    after_turn="\n",
)
_LLAMA3 = ChatFormat(
    name="llama3",
    prefixes=_headers(_LLAMA_HEADER),
    suffixes=_headers("<|eot_id|>"),
    end_of_turn="<|eot_id|>",
    begin="<|begin_of_text|>",
)
_QWEN_SYSTEM = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."

FORMATS: dict[str, ChatFormat] = {
    "chatml": _CHATML,
    "qwen2.5": replace(
        _CHATML, name="qwen2.5", default_system=f"<|im_start|>system\n{_QWEN_SYSTEM}<|im_end|>\n"
    ),
    # Qwen3's template drops the thoughts before the last user message. It keeps them where what
    # follows is a tool response, so this is what observations are. It writes a thought on lines of
    # its own, and opens a turn without one by an empty block.
    "qwen3": replace(
        _CHATML,
        name="qwen3",
        prefixes={**_CHATML.prefixes, "observation": "<|im_start|>user\n<tool_response>\n"},
        suffixes={**_CHATML.suffixes, "observation": "\n</tool_response><|im_end|>\n"},
        thought="<think>\n{thought}\n</think>\n\n",
    ),
    "llama3": _LLAMA3,
    "llama3.1": replace(  # and 3.2, whose template writes the day of the run instead
        _LLAMA3,
        name="llama3.1",
        prefixes={**_LLAMA3.prefixes, "system": _LLAMA_SYSTEM},
        default_system=f"{_LLAMA_SYSTEM}<|eot_id|>",
    ),
    "inline": ChatFormat(
        name="inline",  # tiny models: no headers, the protocol's tags say who speaks
        prefixes=_headers(""),
        suffixes=_headers("\n"),
        end_of_turn="<|im_end|>",
    ),
}


def chat_format(setting: str | Mapping[str, Any]) -> ChatFormat:
    """The format of that name, or the one that the fields of a `FormatConfig` describe.

    Raises `UserError` that lists the known names, or names the field and what it must hold.
    """
    if isinstance(setting, str):
        if setting not in FORMATS:
            known = ", ".join(sorted(FORMATS))
            raise UserError(
                f"chat format {setting!r} is unknown; known: {known}; or describe your own "
                "(user, assistant, end_of_turn, or base, or template)"
            )
        return FORMATS[setting]
    try:
        config = FormatConfig.model_validate(dict(setting))
    except ValidationError as error:
        problem = error.errors()[0]
        raise UserError(f"chat format: {problem['loc'][0]}: {problem['msg']}") from None
    return _observed(_patterned(_base(config), config), config)


def _check(setting: str | dict[str, Any]) -> str | dict[str, Any]:
    try:
        if setting != "auto":
            chat_format(setting)
    except UserError as error:
        raise ValueError(str(error)) from None
    return setting


FormatSetting = Annotated[
    str | dict[str, Any],
    AfterValidator(_check),
    ByHand(RUNS, lambda value: isinstance(value, str) or not value.get("template")),
]
"""A config field: `auto`, the name of a format, or a mapping with the fields of `FormatConfig`."""


def _base(config: FormatConfig) -> ChatFormat:
    if config.base:
        return chat_format(config.base)
    if config.template:
        path = Path(config.template)
        if not path.is_file():
            raise UserError(f"chat format: template: {path}: no such file")
        if not config.end_of_turn:
            raise UserError("chat format: a template needs end_of_turn, the token it ends turns by")
        text = path.read_text(encoding="utf-8")
        return format_of_template(text, config.end_of_turn, config.bos_token, path.name)
    for field in ("user", "assistant", "end_of_turn"):
        if not getattr(config, field):
            raise UserError(f"chat format: {field} is missing (or name a base or a template)")
    return ChatFormat("custom", {}, {}, config.end_of_turn)


def _patterned(fmt: ChatFormat, config: FormatConfig) -> ChatFormat:
    """With the parts that the config gives in place of the base's."""
    prefixes, suffixes = dict(fmt.prefixes), dict(fmt.suffixes)
    for role in ("system", "user", "observation"):
        pattern = getattr(config, role)
        if pattern:
            prefixes[role], suffixes[role] = _parts(role, pattern)
            if role == "user":
                prefixes["observation"], suffixes["observation"] = prefixes[role], suffixes[role]
    end, after = config.end_of_turn or fmt.end_of_turn, fmt.after_turn
    if config.assistant:
        prefixes["assistant"], rest = _parts("assistant", config.assistant)
        if not rest.startswith(end):
            raise UserError(
                f"chat format: assistant: end_of_turn {end!r} must follow {{content}} at once, "
                f"here it is {rest!r}"
            )
        after = rest.removeprefix(end)
    return replace(
        fmt,
        prefixes=prefixes,
        suffixes=suffixes,
        end_of_turn=end,
        after_turn=after,
        begin=fmt.begin if config.begin is None else config.begin,
        default_system=(
            fmt.default_system if config.default_system is None else config.default_system
        ),
    )


def _observed(fmt: ChatFormat, config: FormatConfig) -> ChatFormat:
    if config.observations == "user":
        return fmt
    before, after = _parts("observation", config.observation or "\n{content}\n")
    return replace(
        fmt,
        prefixes={**fmt.prefixes, "observation": before},
        suffixes={**fmt.suffixes, "observation": after},
        after_turn="",
        inline_observations=True,
    )


def _parts(field: str, pattern: str) -> tuple[str, str]:
    if pattern.count("{content}") != 1:
        raise UserError(
            f"chat format: {field}: {pattern!r} must hold {{content}} once, where the text goes"
        )
    before, _, after = pattern.partition("{content}")
    return before, after
