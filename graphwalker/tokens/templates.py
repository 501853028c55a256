"""A chat template as a format: its layout, read off conversations with known contents."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphwalker.errors import UserError
from graphwalker.tokens.layout import ChatFormat

_SYSTEM, _ASK, _SAY, _SEE, _END = "Gw0systemGw", "Gw1askGw", "Gw2sayGw", "Gw3seeGw", "Gw4endGw"


def format_of_template(text: str, end_of_turn: str, bos_token: str, name: str) -> ChatFormat:
    """The format that lays messages out as the Jinja template `text` does.

    Raises `UserError` for a template that is not valid, or that changes earlier messages when
    later ones come (as those do that drop thoughts): ids that a policy sampled could not be kept.
    """

    def render(messages: list[dict[str, str]], open_turn: bool) -> str:
        return _render(text, messages, bos_token, open_turn, name)

    try:
        return read_layout(render, end_of_turn, name)
    except ValueError:
        raise UserError(
            f"chat format: template {name} does not write messages one after another, each ended "
            f"by its own text and the agent's by {end_of_turn!r}: write the layout as patterns "
            "(user, assistant, end_of_turn), or take a known format as base"
        ) from None


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
    """Raises `ValueError` where the renderings do not fit together."""
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
