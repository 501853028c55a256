"""Token segments: the one place that turns a conversation into ids and says which are trained.

A conversation is tokenised segment by segment and never again across a border, because ids made
from joined text differ from the ids that a policy sampled. SFT labels, GRPO masks and the prompts
of rollout engines all come from here, so they agree by construction:

    prompt_ids(messages + [assistant, user])
        == prompt_ids(messages) + completion_ids(assistant) + extension_ids([user])

**The agreement with rollout engines.** `Completion.token_ids` (and `Turn.token_ids`) always end
with the end-of-turn token; `Completion.text` never shows it. Where a stop string or the token limit
ended the turn, the engine appends that token itself (`closed_ids`); `logprobs` has one entry per
token that was really sampled, so it is then one shorter than `token_ids`, and GRPO leaves the
appended token out. In a format with inline observations nothing is appended: the assistant's
message continues after the observation, and only its last turn ends with that token.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Any, Protocol

from graphwalker.errors import UserError
from graphwalker.tokens.formats import FORMATS, ROLES, ChatFormat
from graphwalker.trajectory import Message, Trajectory, Turn

IGNORED = -100
"""Label of a token that is not trained on (PyTorch and TRL leave it out of the loss)."""


class Tokenizer(Protocol):
    """What is needed of a Hugging Face tokenizer."""

    def encode(
        self, text: str, *, add_special_tokens: bool = ..., split_special_tokens: bool = ...
    ) -> list[int]: ...

    def convert_tokens_to_ids(self, tokens: str) -> Any: ...

    def get_added_vocab(self) -> dict[str, int]: ...

    @property
    def all_special_tokens(self) -> Any: ...

    @property
    def unk_token_id(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of token ids, all trained on or none."""

    ids: tuple[int, ...]
    trained: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One training example: two lists of one length, `labels` repeats the trained ids and is
    `IGNORED` elsewhere."""

    input_ids: list[int]
    labels: list[int]

    @property
    def longest_turn(self) -> int:
        """Tokens of the longest trained turn, its end-of-turn token included.

        >>> Row([5, 6, 7, 8, 9], [IGNORED, 6, 7, IGNORED, 9]).longest_turn
        2
        """
        runs = groupby(self.labels, lambda label: label != IGNORED)
        return max((len(list(run)) for trained, run in runs if trained), default=0)


def segment_messages(
    messages: Iterable[Message], fmt: ChatFormat, tokenizer: Tokenizer
) -> list[Segment]:
    """Return the whole conversation; assistant texts and their end-of-turn tokens are trained."""
    return _segments([(message, None) for message in messages], fmt, tokenizer)


def prompt_ids(messages: Iterable[Message], fmt: ChatFormat, tokenizer: Tokenizer) -> list[int]:
    """Return ids up to the place where the assistant must write."""
    messages = list(messages)
    pairs = [(message, None) for message in messages]
    ids = [t for s in _segments(pairs, fmt, tokenizer, continues=True) for t in s.ids]
    if not messages:
        ids += _start(messages, fmt, tokenizer)
    elif messages[-1].role == "assistant":
        ids += _markup(fmt.after_turn, tokenizer)
    spoken = any(message.role == "assistant" for message in messages)
    return ids + _opening(spoken, fmt, tokenizer)


def extension_ids(messages: Iterable[Message], fmt: ChatFormat, tokenizer: Tokenizer) -> list[int]:
    """Tell what follows a completion: `messages` (observations), up to the next place to write."""
    ids = _markup(fmt.after_turn, tokenizer)
    for message in messages:
        ids += _context_ids(message, True, fmt, tokenizer)
    return ids + _opening(True, fmt, tokenizer)


def completion_ids(
    text: str, fmt: ChatFormat, tokenizer: Tokenizer, *, continues: bool = False
) -> list[int]:
    """Return an assistant text and its end-of-turn token. With inline observations a turn that
    `continues` (an observation follows) has no such token."""
    # Encoded alone, without the header before it and the observation behind it: across a border a
    # tokenizer may merge characters into tokens that no policy drew.
    ids = _content(fmt.write_turn(text), fmt, tokenizer)
    if continues and fmt.inline_observations:
        return ids
    return [*ids, end_of_turn_id(fmt, tokenizer)]


def closed_ids(ids: Sequence[int], fmt: ChatFormat, tokenizer: Tokenizer) -> list[int]:
    """Drawn ids as an engine keeps them: with the end-of-turn token, whether drawn or not, but
    with inline observations just as drawn."""
    end = end_of_turn_id(fmt, tokenizer)
    if fmt.inline_observations or (ids and ids[-1] == end):
        return list(ids)
    return [*ids, end]


def end_of_turn_id(fmt: ChatFormat, tokenizer: Tokenizer) -> int:
    """Get the id that ends an assistant message. Raises `UserError` if the tokenizer has none."""
    token = tokenizer.convert_tokens_to_ids(fmt.end_of_turn)
    if token is None or token == tokenizer.unk_token_id:
        raise UserError(
            f"the tokenizer has no token {fmt.end_of_turn!r}, so format {fmt.name!r} does not fit "
            f"this model; choose one of {', '.join(sorted(FORMATS))}, or describe your own"
        )
    return int(token)


def training_rows(
    trajectory: Trajectory, fmt: ChatFormat, tokenizer: Tokenizer, untrained: Collection[int] = ()
) -> list[Row]:
    """Return one row per unbroken context: a turn that restarts its context opens a new row.

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
            # Its place: behind the context messages that have just been added.
            silent[-1].add(len(contexts[-1]))
        contexts[-1].append((Message("assistant", turn.completion), turn))
    return [
        _row(_segments(context, fmt, tokenizer, places))
        for context, places in zip(contexts, silent, strict=True)
    ]


def training_row(trajectory: Trajectory, fmt: ChatFormat, tokenizer: Tokenizer) -> Row:
    """Return the row of a trajectory that never restarts its context (see `training_rows`)."""
    rows = training_rows(trajectory, fmt, tokenizer)
    if len(rows) != 1:
        raise UserError(f"trajectory {trajectory.id!r} holds {len(rows)} contexts, not one")
    return rows[0]


def _segments(
    messages: Sequence[tuple[Message, Turn | None]],
    fmt: ChatFormat,
    tokenizer: Tokenizer,
    silent: Collection[int] = (),
    continues: bool = False,
) -> list[Segment]:
    segments: list[Segment] = []
    lead = _start([m for m, _ in messages], fmt, tokenizer) if messages else []
    for place, (message, turn) in enumerate(messages):
        spoken = bool(segments)
        if message.role == "assistant":
            lead += _opening(spoken, fmt, tokenizer)
            segments.append(Segment(tuple(lead), trained=False))
            more = continues or place + 1 < len(messages)
            ids = _turn_ids(message.content, turn, more, fmt, tokenizer)
            segments.append(Segment(tuple(ids), trained=place not in silent))
            lead = _markup(fmt.after_turn, tokenizer)
        else:
            lead += _context_ids(message, spoken, fmt, tokenizer)
    last = messages[-1][0] if messages else None
    if last is not None and last.role != "assistant":
        segments.append(Segment(tuple(lead), trained=False))
    return segments


def _turn_ids(
    text: str, turn: Turn | None, continues: bool, fmt: ChatFormat, tokenizer: Tokenizer
) -> Sequence[int]:
    if turn is None or turn.token_ids is None:
        return completion_ids(text, fmt, tokenizer, continues=continues)
    # The drawn ids, never the text encoded again: a text has many spellings in tokens, and the
    # log-probabilities are those of the one that was drawn.
    end = end_of_turn_id(fmt, tokenizer)
    if fmt.inline_observations:
        ended = continues or turn.token_ids[-1:] == (end,)
        return turn.token_ids if ended else (*turn.token_ids, end)
    if not turn.token_ids or turn.token_ids[-1] != end:
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


def _start(messages: Sequence[Message], fmt: ChatFormat, tokenizer: Tokenizer) -> list[int]:
    ids = _markup(fmt.begin, tokenizer)
    if messages and messages[0].role == "system":
        return ids
    # The templates of Qwen2.5 and Llama 3.1 write a system message where the conversation has none.
    return ids + _markup(fmt.default_system, tokenizer)


def _opening(spoken: bool, fmt: ChatFormat, tokenizer: Tokenizer) -> list[int]:
    """Return what stands before an assistant text; one that continues inline needs nothing."""
    if spoken and fmt.inline_observations:
        return []
    return _markup(fmt.prefixes["assistant"], tokenizer)


def _context_ids(
    message: Message, spoken: bool, fmt: ChatFormat, tokenizer: Tokenizer
) -> list[int]:
    if message.role not in fmt.prefixes or message.role not in ROLES:
        known = ", ".join(role for role in ROLES if role in fmt.prefixes)
        raise UserError(f"message role {message.role!r} is unknown; known: {known}")
    # Some models have a role for tool responses; before the first turn a user speaks as a user.
    role = "observation" if spoken and message.role == "user" else message.role
    return [
        *_markup(fmt.prefixes[role], tokenizer),
        *_content(message.content, fmt, tokenizer),
        *_markup(fmt.suffixes[role], tokenizer),
    ]


def _markup(text: str, tokenizer: Tokenizer) -> list[int]:
    """Return our own layout, whose special tokens are themselves."""
    if not text:
        return []
    return tokenizer.encode(text, add_special_tokens=False, split_special_tokens=False)


def _content(text: str, fmt: ChatFormat, tokenizer: Tokenizer) -> list[int]:
    """Somebody's text: a special token spelled out in it (a node's name, say) stays plain text."""
    if not text:
        return []
    ids = tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)
    reserved, spelled = _reserved_tokens(tokenizer, fmt.markup)
    # The usual case: no text spells a token of the layout.
    if reserved.isdisjoint(ids):
        return ids
    # Tokens of the layout that the tokenizer does not call special (Qwen3's `<tool_response>`),
    # and tokenizers that cannot split special ones: cut behind the first character.
    cuts = [0, *(match.start() + 1 for match in spelled.finditer(text)), len(text)]
    parts = [text[a:b] for a, b in pairwise(cuts)]
    ids = [
        token
        for part in parts
        for token in tokenizer.encode(part, add_special_tokens=False, split_special_tokens=True)
    ]
    if not reserved.isdisjoint(ids):
        raise UserError(f"the tokenizer cannot keep a special token apart from text: {text[:80]!r}")
    return ids


@lru_cache(maxsize=16)
def _reserved_tokens(tokenizer: Tokenizer, markup: str) -> tuple[frozenset[int], "re.Pattern[str]"]:
    """Return ids that only the layout may write, and where a text spells them out."""
    special: set[str] = set(tokenizer.all_special_tokens)
    added = {token for token in tokenizer.get_added_vocab() if token in markup}
    # Cutting behind the first character cannot break a token of one character.
    tokens = [token for token in special | added if len(token) > 1 and not token.isspace()]
    ids = {token: int(tokenizer.convert_tokens_to_ids(token)) for token in tokens}
    ids = {token: number for token, number in ids.items() if number != tokenizer.unk_token_id}
    names = "|".join(re.escape(token) for token in sorted(ids)) or r"(?!)"
    return frozenset(ids.values()), re.compile(f"(?={names})", re.IGNORECASE)


class RememberingTokenizer:
    """Encodes as the tokenizer that it is made from, which must not change meanwhile. It keeps the
    ids of the last `texts` texts."""

    def __init__(self, tokenizer: Tokenizer, texts: int = 1 << 16) -> None:
        self._tokenizer = tokenizer
        self._encoded = lru_cache(texts)(self._encode)
        self._id = lru_cache(1024)(tokenizer.convert_tokens_to_ids)
        self.all_special_tokens = tokenizer.all_special_tokens
        self.unk_token_id = tokenizer.unk_token_id

    def encode(
        self, text: str, *, add_special_tokens: bool = True, split_special_tokens: bool = False
    ) -> list[int]:
        return list(self._encoded(text, add_special_tokens, split_special_tokens))

    def convert_tokens_to_ids(self, tokens: str) -> Any:
        return self._id(tokens)

    def get_added_vocab(self) -> dict[str, int]:
        return self._tokenizer.get_added_vocab()

    def _encode(self, text: str, special: bool, split: bool) -> tuple[int, ...]:
        return tuple(
            self._tokenizer.encode(text, add_special_tokens=special, split_special_tokens=split)
        )
