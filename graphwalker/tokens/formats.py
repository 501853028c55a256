"""Chat formats: how messages are laid out for a family of models, ours or the user's own."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ValidationError

from graphwalker.config import Config
from graphwalker.errors import UserError
from graphwalker.pretrained.limits import run_limited
from graphwalker.trust import RUNS, ByHand, OptionalText, Text

RENDER_S = 1.0
"""Seconds of computing that a template may take."""
_THINKS = re.compile(r"\s*<think>(.*?)</think>\s*(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ChatFormat:
    """How messages are laid out for one family of models. Only `end_of_turn` is trained."""

    name: str
    prefixes: Mapping[str, str]
    """Text before a message, by role. An `observation` is a user message that follows the agent."""
    suffixes: Mapping[str, str]
    """Text after a system or user message or an observation, by role."""
    end_of_turn: str
    """The one token that ends an assistant message."""
    begin: str = ""
    """Text before the first message."""
    after_turn: str = ""
    """Text between an end of turn and the next message."""
    default_system: str = ""
    """What follows `begin` where the first message is not a system message."""
    inline_observations: bool = False
    """Observations stand inside the assistant's message: it is opened once, and only its last turn
    ends with `end_of_turn`."""

    thought: str = ""
    """How an agent's text begins, its thought at `{thought}` (empty where it has none), in families
    whose template writes thoughts in a form of its own. Empty: as the protocol writes them."""

    def write_turn(self, text: str) -> str:
        """Write an agent's text as this family's template does. What a policy drew stays as drawn.

        >>> ChatFormat("f", {}, {}, "", thought="<think>\\n{thought}\\n</think>\\n\\n").write_turn(
        ...     "<think> So. </think>\\n<answer> [] </answer>")
        '<think>\\nSo.\\n</think>\\n\\n<answer> [] </answer>'
        """
        if not self.thought:
            return text
        if match := _THINKS.fullmatch(text):
            return self.thought.replace("{thought}", match[1].strip()) + match[2]
        # A thought that does not open the text is nothing that a template would read.
        return text if "</think>" in text else self.thought.replace("{thought}", "") + text

    @property
    def markup(self) -> str:
        """Every text that the layout itself writes, one after another."""
        parts = (self.begin, self.default_system, *self.prefixes.values())
        return "\n".join((*parts, *self.suffixes.values(), self.end_of_turn, self.after_turn))


_SYSTEM, _ASK, _SAY, _SEE, _END = "Gw0systemGw", "Gw1askGw", "Gw2sayGw", "Gw3seeGw", "Gw4endGw"


def format_of_template(text: str, end_of_turn: str, bos_token: str, name: str) -> ChatFormat:
    """Return the format that lays messages out as the Jinja template `text` does.

    Raises `UserError` for a template that is not valid, or that changes earlier messages when
    later ones come (as those do that drop thoughts): ids that a policy sampled could not be kept.
    """

    def render(messages: list[dict[str, str]], open_turn: bool) -> str:
        return _render(text, messages, bos_token, open_turn, name)

    def read() -> ChatFormat:
        try:
            return read_layout(render, end_of_turn, name)
        except UserError:
            raise
        except ValueError:
            raise UserError(
                f"chat format: template {name} does not write messages one after another, each "
                f"ended by its own text and the agent's by {end_of_turn!r}: write the layout as "
                "patterns (user, assistant, end_of_turn), or take a known format as base"
            ) from None

    return run_limited(read, f"chat format: rendering template {name}", RENDER_S)


def read_layout(
    render: Callable[[list[dict[str, str]], bool], str], end_of_turn: str, name: str
) -> ChatFormat:
    """Return the layout in which `render(messages, open_turn)` writes conversations.

    Raises `ValueError` where its texts do not fit together.
    """

    def write(*contents: str, open_turn: bool = False) -> str:
        messages = [{"role": _role(content), "content": content} for content in contents]
        return render(messages, open_turn)

    return _read_off(write, end_of_turn, name)


def _role(content: str) -> str:
    return {_SYSTEM: "system", _SAY: "assistant", _END: "assistant"}.get(content, "user")


def _render(
    text: str, messages: Sequence[Mapping[str, str]], bos_token: str, open_turn: bool, name: str
) -> str:
    from jinja2 import TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    def refuse(message: str) -> None:
        raise TemplateError(message)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.globals["raise_exception"] = refuse  # type: ignore[assignment]
    try:
        return environment.from_string(text).render(
            messages=messages, bos_token=bos_token, add_generation_prompt=open_turn
        )
    except (TemplateError, TypeError) as error:
        raise UserError(f"chat format: template {name}: {error}") from None


def _read_off(render: Any, end_of_turn: str, name: str) -> ChatFormat:
    """Raise `ValueError` where the renderings do not fit together."""
    head, user_suffix = _around(render(_ASK), _ASK)
    assistant_prefix = _after(render(_ASK, open_turn=True), _ASK + user_suffix)
    close = _after(render(_ASK, _SAY), _ASK + user_suffix + assistant_prefix + _SAY)
    after_turn = _after(close, end_of_turn, at_start=True)
    user_prefix = _between(render(_ASK, _SAY, _SEE), _SAY + close, _SEE + user_suffix)
    system_prefix, rest = _around(render(_SYSTEM, _ASK), _SYSTEM)
    system_suffix = _before(rest, user_prefix + _ASK + user_suffix)
    fmt = ChatFormat(
        name=name,
        prefixes={
            "system": system_prefix,
            "user": user_prefix,
            "assistant": assistant_prefix,
            "observation": user_prefix,
        },
        suffixes={"system": system_suffix, "user": user_suffix, "observation": user_suffix},
        end_of_turn=end_of_turn,
        after_turn=after_turn,
        default_system=_before(head, user_prefix),
    )
    middle = user_prefix + _ASK + user_suffix + assistant_prefix + _SAY + close
    seen = user_prefix + _SEE + user_suffix + assistant_prefix + _END + close
    for start, whole in (
        (fmt.default_system, render(_ASK, _SAY, _SEE, _END)),
        (system_prefix + _SYSTEM + system_suffix, render(_SYSTEM, _ASK, _SAY, _SEE, _END)),
    ):
        if start + middle + seen != whole:
            raise ValueError
    return fmt


def _around(text: str, part: str) -> tuple[str, str]:
    before, found, after = text.partition(part)
    if not found:
        raise ValueError
    return before, after


def _after(text: str, part: str, at_start: bool = False) -> str:
    if at_start and not text.startswith(part):
        raise ValueError
    return _around(text, part)[1]


def _before(text: str, end: str) -> str:
    if not text.endswith(end):
        raise ValueError
    return text.removesuffix(end)


def _between(text: str, start: str, end: str) -> str:
    return _before(_after(text, start), end)


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
    """Return one text for each role; observations are user messages."""
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
    """Return the format of that name, or the one that the fields of a `FormatConfig` describe.

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
    return _apply_observations(_apply_patterns(_base(config), config), config)


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


def _apply_patterns(fmt: ChatFormat, config: FormatConfig) -> ChatFormat:
    """Put the parts that the config gives in place of the base's."""
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


def _apply_observations(fmt: ChatFormat, config: FormatConfig) -> ChatFormat:
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
