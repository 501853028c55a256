"""Constrained decoding: the tokens with which a completion may continue, by its grammar."""

import json
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphwalker.errors import UserError
from graphwalker.policies.base import Grammar

CONTINUES = "\x1d"
"""Begins a token that continues a word, in the tokenizers of our tiny models: any other one that
begins a word stands after an implied space where a word precedes, and a relation, which is found in
normalized text, may stand after an implied comma (`training/tiny/make.py`)."""

WORD = "a"
"""A word that every byte-level vocabulary has."""

KNOWN = 4096
"""Lists of texts whose tokens are kept."""


class TokenTexts:
    """The tokens of a vocabulary by the bytes that they stand for."""

    def __init__(self, tokenizer: Any, vocabulary: int) -> None:
        """Raises `UserError` for a tokenizer whose tokens are not pieces of UTF-8 (byte-level BPE,
        as Qwen's and Llama 3's, or our tiny models')."""
        texts, spaced = _texts(tokenizer, min(vocabulary, len(tokenizer)))
        self._elsewhere = _Index(texts)
        self._after_word = self._elsewhere if texts == spaced else _Index(spaced)

    def text(self, token: int, before: bytes) -> bytes:
        """What a token adds to the text before it; nothing if it stands for no text."""
        return self._index(before).text(token)

    def beginning(self, texts: Sequence[bytes], before: bytes) -> "_Beginning":
        """Tokens that after what is written are the beginning of one of the texts, or begin with a
        whole one."""
        return self._index(before).beginning(texts)

    def _index(self, before: bytes) -> "_Index":
        return self._after_word if _ends_in_word(before) else self._elsewhere


def _ends_in_word(text: bytes) -> bool:
    last = text[-8:].decode("utf-8", "ignore")[-1:]
    return _is_word(last) if last else False


def _begins_with_word(text: bytes) -> bool:
    """Whether the first character is of a word. One of which the token has but a part is, unless
    its first byte is that of signs (U+0080 to U+00BF, U+2000 to U+2FFF)."""
    first = text[:4].decode("utf-8", "ignore")[:1]
    return _is_word(first) if first else text[:1] not in (b"", b"\xc2", b"\xe2")


def _is_word(character: str) -> bool:
    return character == "_" or character.isalnum()


@dataclass(frozen=True, slots=True)
class _Beginning:
    """Tokens that may begin texts, each kind rising."""

    within: list[int]
    """They end within one of the texts, or with it."""
    beyond: list[int]
    """They hold a whole one, and more."""


class _Index:
    def __init__(self, texts: Sequence[bytes]) -> None:
        self._texts = texts
        self._ids: dict[bytes, list[int]] = {}
        for token, text in enumerate(texts):
            if text:
                self._ids.setdefault(text, []).append(token)
        self._sorted = sorted(self._ids)
        self._longest = max(map(len, self._sorted), default=0)
        self._found: dict[tuple[bytes, ...], _Beginning] = {}

    def text(self, token: int) -> bytes:
        return self._texts[token] if token < len(self._texts) else b""

    def beginning(self, texts: Sequence[bytes]) -> _Beginning:
        # The samples of a question, and its tokens up to the choice, have the same texts before
        # them.
        key = tuple(texts)
        if key not in self._found:
            if len(self._found) >= KNOWN:
                self._found.clear()
            self._found[key] = self._beginning(texts)
        return self._found[key]

    def _beginning(self, texts: Sequence[bytes]) -> _Beginning:
        within: dict[bytes, None] = {}
        beyond: dict[bytes, None] = {}
        for text in texts:
            for length in range(1, min(len(text), self._longest) + 1):
                if text[:length] in self._ids:
                    within[text[:length]] = None
            place = bisect_left(self._sorted, text)
            while place < len(self._sorted) and self._sorted[place].startswith(text):
                beyond[self._sorted[place]] = None
                place += 1
        return _Beginning(self._tokens(within), self._tokens(beyond.keys() - within.keys()))

    def _tokens(self, texts: Iterable[bytes]) -> list[int]:
        return sorted(token for text in texts for token in self._ids[text])


@dataclass(slots=True)
class Written:
    """A completion that a grammar constrains, as far as it is written."""

    grammar: Grammar
    tokens: TokenTexts
    text: bytearray = field(default_factory=bytearray)

    def allowed(self) -> list[int] | None:
        """The tokens that may follow; None where all may. A grammar that no token of the
        vocabulary can follow is let go: the tools say what is wrong."""
        before = bytes(self.text)
        texts = self.grammar.continuations(before)
        if not texts:
            return None
        found = self.tokens.beginning(texts, before)
        known: dict[bytes, Sequence[bytes] | None] = {before: texts}
        # What a token holds behind a whole text has to be allowed there, too.
        longer = [t for t in found.beyond if self._fits(before, self.tokens.text(t, before), known)]
        return sorted(found.within + longer) or None

    def _fits(
        self, before: bytes, piece: bytes, known: dict[bytes, Sequence[bytes] | None]
    ) -> bool:
        """Whether the grammar allows this piece there."""
        if before not in known:
            known[before] = self.grammar.continuations(before)
        texts = known[before]
        return not texts or any(
            text.startswith(piece)
            or (piece.startswith(text) and self._fits(before + text, piece[len(text) :], known))
            for text in texts
        )

    def add(self, token: int) -> None:
        """What was drawn."""
        self.text += self.tokens.text(token, bytes(self.text))


def _texts(tokenizer: Any, count: int) -> tuple[list[bytes], list[bytes]]:
    """What each token adds: elsewhere, and after a word."""
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None or "ByteLevel" not in str(json.loads(backend.to_str())["decoder"]):
        raise UserError(
            "environment.constrained: this model's tokens are not pieces of bytes; constrained "
            "decoding needs a byte-level tokenizer (Qwen, Llama 3, our tiny ones)"
        )
    table: dict[str, int] = {letter: byte for byte, letter in bytes_to_unicode().items()}
    added = {int(token): text for token, text in tokenizer.added_tokens_decoder.items()}
    pieces: list[str | None] = tokenizer.convert_ids_to_tokens(list(range(count)))
    tiny = any(piece is not None and piece.startswith(CONTINUES) for piece in pieces)
    word = tokenizer.convert_tokens_to_ids(WORD)
    texts: list[bytes] = []
    spaced: list[bytes] = []
    for token, piece in enumerate(pieces):
        text, joins = b"", not tiny
        if token in added:
            text = str(added[token]).encode()
            joins = joins or any(letter.isspace() for letter in str(added[token]))
        elif piece is not None:
            joins = joins or piece.startswith(CONTINUES)
            text = bytes(table[letter] for letter in piece.removeprefix(CONTINUES))
        if not joins and text and 0x80 <= text[0] < 0xC0:
            text = b""  # the rest of a character stands in a word, and would not begin one
        texts.append(text)
        if not joins and token in added and added[token].normalized:
            spaced.append(tokenizer.decode([word, token]).removeprefix(WORD).encode())
        else:
            spaced.append(text if joins or not _begins_with_word(text) else b" " + text)
    return texts, spaced
