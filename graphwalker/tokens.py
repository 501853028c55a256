"""Token segments: the one place that turns a conversation into ids and says which are trained.

A conversation is tokenised segment by segment and never again across a border, because ids made
from joined text differ from the ids that a policy sampled. SFT labels, GRPO masks and the prompts
of rollout engines all come from here, so they agree by construction:

    prompt_ids(messages + [assistant, user])
        == prompt_ids(messages) + completion_ids(assistant) + extension_ids([user])

**The agreement with rollout engines.** `Completion.token_ids` (and `Turn.token_ids`) always end
with the end-of-turn token; `Completion.text` never shows it. Where a stop string or the token limit
ended the turn, the engine appends that token itself; `logprobs` has one entry per token that was
really sampled, so it is then one shorter than `token_ids`, and GRPO leaves the appended token out.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from graphwalker.errors import UserError
from graphwalker.trajectory import Message, Trajectory, Turn

IGNORED = -100
"""Label of a token that is not trained on (PyTorch and TRL leave it out of the loss)."""


class Tokenizer(Protocol):
    """What is needed of a Hugging Face tokenizer."""

    def encode(
        self, text: str, *, add_special_tokens: bool = ..., split_special_tokens: bool = ...
    ) -> list[int]: ...

    def convert_tokens_to_ids(self, tokens: str) -> Any: ...

    @property
    def unk_token_id(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class ChatFormat:
    """How messages are laid out for one family of models. Only `end_of_turn` is trained."""

    name: str
    prefixes: Mapping[str, str]
    """Text before a message, by role."""
    suffixes: Mapping[str, str]
    """Text after a system or user message, by role."""
    end_of_turn: str
    """The one token that ends an assistant message."""
    begin: str = ""
    """Text before the first message."""
    after_turn: str = ""
    """Text between an end of turn and the next message."""


def _headers(template: str) -> dict[str, str]:
    return {role: template.format(role=role) for role in ("system", "user", "assistant")}


FORMATS: dict[str, ChatFormat] = {
    "chatml": ChatFormat(
        name="chatml",  # Qwen2.5, without the system message that its template invents
        prefixes=_headers("<|im_start|>{role}\n"),
        suffixes=_headers("<|im_end|>\n"),
        end_of_turn="<|im_end|>",
        after_turn="\n",
    ),
    "llama3": ChatFormat(
        name="llama3",
        prefixes=_headers("<|start_header_id|>{role}<|end_header_id|>\n\n"),
        suffixes=_headers("<|eot_id|>"),
        end_of_turn="<|eot_id|>",
        begin="<|begin_of_text|>",
    ),
    "inline": ChatFormat(
        name="inline",  # tiny models: no headers, the protocol's tags say who speaks
        prefixes=_headers(""),
        suffixes=_headers("\n"),
        end_of_turn="<|im_end|>",
    ),
}


def chat_format(name: str) -> ChatFormat:
    """The format of that name. Raises `UserError` listing the known ones."""
    if name not in FORMATS:
        raise UserError(f"chat format {name!r} is unknown; known: {', '.join(sorted(FORMATS))}")
    return FORMATS[name]


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of token ids, all trained on or none."""

    ids: tuple[int, ...]
    trained: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One training example: `labels` repeats the trained ids and is `IGNORED` elsewhere."""

    input_ids: list[int]
    labels: list[int]


def segment_messages(
    messages: Iterable[Message], fmt: ChatFormat, tokenizer: Tokenizer
) -> list[Segment]:
    """The whole conversation; assistant texts and their end-of-turn tokens are trained."""
    return _segments([(message, None) for message in messages], fmt, tokenizer)


def prompt_ids(messages: Iterable[Message], fmt: ChatFormat, tokenizer: Tokenizer) -> list[int]:
    """Ids up to the place where the assistant must write."""
    messages = list(messages)
    ids = [token for s in segment_messages(messages, fmt, tokenizer) for token in s.ids]
    if not messages:
        ids += _markup(fmt.begin, tokenizer)
    elif messages[-1].role == "assistant":
        ids += _markup(fmt.after_turn, tokenizer)
    return ids + _markup(fmt.prefixes["assistant"], tokenizer)


def extension_ids(messages: Iterable[Message], fmt: ChatFormat, tokenizer: Tokenizer) -> list[int]:
    """What follows a completion: `messages` (observations), up to the next place to write."""
    ids = _markup(fmt.after_turn, tokenizer)
    for message in messages:
        ids += _context_ids(message, fmt, tokenizer)
    return ids + _markup(fmt.prefixes["assistant"], tokenizer)


def completion_ids(text: str, fmt: ChatFormat, tokenizer: Tokenizer) -> list[int]:
    """An assistant text and its end-of-turn token."""
    return [*_content(text, tokenizer), end_of_turn_id(fmt, tokenizer)]


def end_of_turn_id(fmt: ChatFormat, tokenizer: Tokenizer) -> int:
    """The id that ends an assistant message. Raises `UserError` if the tokenizer has none."""
    token = tokenizer.convert_tokens_to_ids(fmt.end_of_turn)
    if token is None or token == tokenizer.unk_token_id:
        raise UserError(
            f"the tokenizer has no token {fmt.end_of_turn!r}, so format {fmt.name!r} does not fit "
            f"this model; choose one of {', '.join(sorted(FORMATS))}"
        )
    return int(token)


def training_rows(
    trajectory: Trajectory,
    fmt: ChatFormat,
    tokenizer: Tokenizer,
    untrained: Collection[int] = (),
) -> list[Row]:
    """One row per unbroken context: a turn that restarts its context opens a new row.

    Turns whose number is in `untrained` are read as context only.
    """
    contexts: list[list[tuple[Message, Turn | None]]] = []
    silent: list[set[int]] = []
    for number, turn in enumerate(trajectory.turns):
        if turn.restart or not contexts:
            contexts.append([])
            silent.append(set())
        contexts[-1] += [(message, None) for message in turn.context]
        if number in untrained:
            silent[-1].add(len(contexts[-1]))
        contexts[-1].append((Message("assistant", turn.completion), turn))
    return [
        _row(_segments(context, fmt, tokenizer, places))
        for context, places in zip(contexts, silent, strict=True)
    ]


def training_row(trajectory: Trajectory, fmt: ChatFormat, tokenizer: Tokenizer) -> Row:
    """The row of a trajectory that never restarts its context (see `training_rows`)."""
    rows = training_rows(trajectory, fmt, tokenizer)
    if len(rows) != 1:
        raise UserError(f"trajectory {trajectory.id!r} holds {len(rows)} contexts, not one")
    return rows[0]


def _segments(
    messages: Sequence[tuple[Message, Turn | None]],
    fmt: ChatFormat,
    tokenizer: Tokenizer,
    silent: Collection[int] = (),
) -> list[Segment]:
    segments: list[Segment] = []
    lead = _markup(fmt.begin, tokenizer) if messages else []
    for place, (message, turn) in enumerate(messages):
        if message.role == "assistant":
            lead += _markup(fmt.prefixes["assistant"], tokenizer)
            segments.append(Segment(tuple(lead), trained=False))
            ids = _turn_ids(message.content, turn, fmt, tokenizer)
            segments.append(Segment(tuple(ids), trained=place not in silent))
            lead = _markup(fmt.after_turn, tokenizer)
        else:
            lead += _context_ids(message, fmt, tokenizer)
    last = messages[-1][0] if messages else None
    if last is not None and last.role != "assistant":
        segments.append(Segment(tuple(lead), trained=False))
    return segments


def _turn_ids(text: str, turn: Turn | None, fmt: ChatFormat, tokenizer: Tokenizer) -> Sequence[int]:
    if turn is None or turn.token_ids is None:
        return completion_ids(text, fmt, tokenizer)
    if not turn.token_ids or turn.token_ids[-1] != end_of_turn_id(fmt, tokenizer):
        raise UserError(
            f"a turn's token_ids do not end with {fmt.end_of_turn!r}: they come from another model "
            "or format; remove them to tokenise the text"
        )
    return turn.token_ids


def _row(segments: Iterable[Segment]) -> Row:
    row = Row([], [])
    for segment in segments:
        row.input_ids.extend(segment.ids)
        row.labels.extend(segment.ids if segment.trained else [IGNORED] * len(segment.ids))
    return row


def _context_ids(message: Message, fmt: ChatFormat, tokenizer: Tokenizer) -> list[int]:
    if message.role not in fmt.prefixes:
        known = ", ".join(fmt.prefixes)
        raise UserError(f"message role {message.role!r} is unknown; known: {known}")
    return [
        *_markup(fmt.prefixes[message.role], tokenizer),
        *_content(message.content, tokenizer),
        *_markup(fmt.suffixes[message.role], tokenizer),
    ]


def _markup(text: str, tokenizer: Tokenizer) -> list[int]:
    """Our own layout: special tokens are themselves."""
    if not text:
        return []
    return tokenizer.encode(text, add_special_tokens=False, split_special_tokens=False)


def _content(text: str, tokenizer: Tokenizer) -> list[int]:
    """Somebody's text: a special token spelled out in it (a node's name, say) stays plain text."""
    if not text:
        return []
    return tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)
